//===- Error.h - an error in a specification --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SPEC_ERROR_H
#define ATTN_DIALECT_SPEC_ERROR_H

#include "dialect/spec/Spec.h"

#include <string>
#include <string_view>

namespace attn {

/// The first error of a text: one is enough. Thrown inside this library, caught
/// at its entry points.
struct SpecError {
  std::string message;
  Spec::Place place;
};

/// `file:line:column: error: message`, the source line and a caret below it.
/// Long lines are cut around the place. Without a place: `file: error:
/// message`.
std::string renderError(std::string_view file, std::string_view text,
                        const SpecError &error);

/// The text after a UTF-8 byte order mark, if there is one.
std::string_view withoutByteOrderMark(std::string_view text);

} // namespace attn

#endif // ATTN_DIALECT_SPEC_ERROR_H
