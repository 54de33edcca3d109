//===- Progress.h - a line that says how far --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_PROGRESS_H
#define ATTN_TOOLS_PROGRESS_H

#include <string>

namespace attn {

/// One line on the terminal, rewritten in place at most ten times a second;
/// nothing where standard error is no terminal.
class Progress {
public:
  Progress();
  ~Progress() { clear(); }
  void show(const std::string &text);
  void clear();

private:
  bool enabled, shown = false;
  double last = 0;
};

} // namespace attn

#endif // ATTN_TOOLS_PROGRESS_H
