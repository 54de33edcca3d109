//===- GuardedMemory.cpp - arrays whose ends are watched ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/GuardedMemory.h"
#include "attn/Error.h"

#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace attn;
using namespace attn::runtime;

GuardedMemory::GuardedMemory(const void *source, size_t bytes) : bytes(bytes) {
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t usable = (bytes + 16 + page - 1) / page * page;
  mapped = usable + page;
  void *made = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED)
    throw Error("out of memory for an emulated array");
  pages = static_cast<char *>(made);
  mprotect(pages + usable, page, PROT_NONE);
  // The latest begin of the source's alignment.
  uintptr_t wanted = source ? reinterpret_cast<uintptr_t>(source) % 16 : 0;
  auto last = reinterpret_cast<uintptr_t>(pages + usable - bytes);
  begin = pages + usable - bytes - (last + 16 - wanted) % 16;
  if (source)
    std::memcpy(begin, source, bytes);
  else
    std::memset(begin, 0xff, bytes);
}

GuardedMemory::GuardedMemory(GuardedMemory &&other) noexcept
    : pages(std::exchange(other.pages, nullptr)), begin(other.begin),
      mapped(other.mapped), bytes(other.bytes) {}

GuardedMemory::~GuardedMemory() {
  if (pages)
    munmap(pages, mapped);
}

void GuardedMemory::copyTo(void *destination) const {
  if (bytes)
    std::memcpy(destination, begin, bytes);
}

static sigjmp_buf escape;

static void onFault(int) { siglongjmp(escape, 1); }

bool runtime::runGuarded(const std::function<void()> &work) {
  // The fault may come on a fiber's stack, which has room; what is skipped owns
  // nothing but its own memory.
  struct sigaction action = {}, segment = {}, bus = {};
  action.sa_handler = onFault;
  sigaction(SIGSEGV, &action, &segment);
  sigaction(SIGBUS, &action, &bus);
  volatile bool good = true;
#if defined(__x86_64__)
  unsigned mode = __builtin_ia32_stmxcsr();
#endif
  if (sigsetjmp(escape, 1) == 0)
    work();
  else
    good = false;
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(mode); // the kernel's is not the caller's
#endif
  sigaction(SIGSEGV, &segment, nullptr);
  sigaction(SIGBUS, &bus, nullptr);
  return good;
}
