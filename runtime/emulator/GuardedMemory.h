//===- GuardedMemory.h - arrays whose ends are watched ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An emulated kernel works on copies that end, to the alignment of their
// elements, at a page that nobody may touch: reading or writing past an array
// is an error, not luck.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_GUARDEDMEMORY_H
#define ATTN_RUNTIME_EMULATOR_GUARDEDMEMORY_H

#include <cstddef>
#include <functional>

namespace attn::runtime {

/// A copy of some bytes, before a page that is out of bounds.
class GuardedMemory {
public:
  /// `source` null: filled with 0xff. The copy is aligned like `source`, to 16
  /// bytes at most.
  GuardedMemory(const void *source, size_t bytes);
  ~GuardedMemory();
  GuardedMemory(GuardedMemory &&other) noexcept;
  GuardedMemory(const GuardedMemory &) = delete;

  char *get() const { return begin; }
  /// Copies the bytes to where they came from, or elsewhere.
  void copyTo(void *destination) const;

private:
  char *pages = nullptr, *begin = nullptr;
  size_t mapped = 0, bytes = 0;
};

/// Runs `work`, which may be left in the middle; false where it touched what
/// nobody may. One at a time in a process.
bool runGuarded(const std::function<void()> &work);

} // namespace attn::runtime

#endif // ATTN_RUNTIME_EMULATOR_GUARDEDMEMORY_H
