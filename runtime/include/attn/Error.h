//===- Error.h - what went wrong --------------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ERROR_H
#define ATTN_ERROR_H

#include <stdexcept>
#include <string>
#include <utility>

namespace attn {

/// What went wrong, and what to write instead. `what()` is the text that attnc
/// prints: `file:line:column: error: ...`, the source line and a caret where
/// there is a place, else the message alone.
///
///     try {
///       compiler.compileFile("yat.attn");
///     } catch (const attn::Error &error) {
///       std::cerr << error.what() << '\n';
///       if (error.line() > 0)
///         editor.open(error.file(), error.line(), error.column());
///     }
class Error : public std::runtime_error {
public:
  explicit Error(const std::string &text) : std::runtime_error(text) {}
  Error(const std::string &text, std::string file, int line, int column)
      : std::runtime_error(text), fileName(std::move(file)), lineNumber(line),
        columnNumber(column) {}

  /// The file, or what the caller called the text; empty without a place.
  const std::string &file() const noexcept { return fileName; }
  /// Line and column count from 1, columns in bytes; 0 without a place.
  int line() const noexcept { return lineNumber; }
  int column() const noexcept { return columnNumber; }

private:
  std::string fileName;
  int lineNumber = 0, columnNumber = 0;
};

} // namespace attn

#endif // ATTN_ERROR_H
