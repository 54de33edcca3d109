//===- Progress.cpp - a line that says how far ----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Progress.h"
#include "Machine.h"

#include <fmt/format.h>

#include <cstdio>
#include <unistd.h>

using namespace attn;

Progress::Progress() : enabled(::isatty(STDERR_FILENO)) {}

void Progress::show(const std::string &text) {
  if (!enabled || now() - last < 0.1)
    return;
  last = now();
  shown = true;
  fmt::print(stderr, "\r\033[K{:.78}", text);
  std::fflush(stderr);
}

void Progress::clear() {
  if (!shown)
    return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown = false;
}
