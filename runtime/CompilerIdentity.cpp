//===- CompilerIdentity.cpp - which build makes the code ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A version number is not enough: between two of them there are many builds,
// and a distribution changes LLVM without a new one. Linkers give every program
// and library an identifier, a hash of its contents.
//
//===----------------------------------------------------------------------===//

#include "runtime/Cache.h"

#include "mlir/Pass/PassManager.h"
#include "llvm-c/Core.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"

#include <cstring>
#include <elf.h>
#include <link.h>

using namespace attn::runtime;

namespace {
struct Search {
  uintptr_t address;
  std::string id;
};
} // namespace

/// The GNU build identifier among the notes of a segment, in hexadecimal.
static std::string buildIdIn(const char *notes, size_t bytes) {
  size_t at = 0;
  auto aligned = [](size_t n) { return (n + 3) & ~size_t(3); };
  while (at + sizeof(ElfW(Nhdr)) <= bytes) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    size_t name = at + sizeof note;
    size_t description = name + aligned(note.n_namesz);
    size_t end = description + aligned(note.n_descsz);
    if (end > bytes)
      break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        !std::memcmp(notes + name, "GNU", 4))
      return llvm::toHex(llvm::StringRef(notes + description, note.n_descsz));
    at = end;
  }
  return {};
}

static int visit(struct dl_phdr_info *object, size_t, void *data) {
  auto *search = static_cast<Search *>(data);
  bool holds = false;
  for (size_t n = 0; n < object->dlpi_phnum; ++n) {
    const ElfW(Phdr) &segment = object->dlpi_phdr[n];
    uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    holds |= segment.p_type == PT_LOAD && search->address >= begin &&
             search->address < begin + segment.p_memsz;
  }
  if (!holds)
    return 0;
  for (size_t n = 0; n < object->dlpi_phnum && search->id.empty(); ++n) {
    const ElfW(Phdr) &segment = object->dlpi_phdr[n];
    if (segment.p_type == PT_NOTE)
      search->id = buildIdIn(
          reinterpret_cast<const char *>(object->dlpi_addr + segment.p_vaddr),
          segment.p_memsz);
  }
  return 1;
}

/// The identifier of the program or library that holds this function.
template <typename Function> static std::string buildIdOf(Function *function) {
  Search search{reinterpret_cast<uintptr_t>(function), {}};
  dl_iterate_phdr(visit, &search);
  return search.id;
}

static void ours() {}

const std::string &attn::runtime::compilerIdentity() {
  static const std::string identity = []() -> std::string {
    // A function that each of the libraries defines. In position independent
    // code its address is in the library.
    std::string text = "LLVM " LLVM_VERSION_STRING;
    for (const std::string &id :
         {buildIdOf(&ours), buildIdOf(&LLVMGetVersion),
          buildIdOf(&mlir::registerPassManagerCLOptions)}) {
      if (id.empty())
        return {};
      text += " " + id;
    }
    return text;
  }();
  return identity;
}
