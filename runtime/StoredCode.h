//===- StoredCode.h - compiled code as bytes --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that a call needs of a compilation: what the cache keeps.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_STOREDCODE_H
#define ATTN_RUNTIME_STOREDCODE_H

#include "runtime/Execute.h"

#include <optional>
#include <string>
#include <vector>

namespace attn::runtime {

struct StoredCode {
  /// The length of the rows of o.
  int64_t outputRow = 0;
  std::vector<Workspace> workspaces;
  /// The state that a call takes and gives, in the recurrent order.
  StateShape state;
  /// Symbols: NAME.run and NAME.items.run of each are functions of the object.
  std::vector<std::string> stages;
  std::string object;

  std::string encode() const;
  /// Nothing where the bytes are not `encode`'s.
  static std::optional<StoredCode> decode(const std::string &bytes);
};

} // namespace attn::runtime

#endif // ATTN_RUNTIME_STOREDCODE_H
