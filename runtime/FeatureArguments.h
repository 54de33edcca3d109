//===- FeatureArguments.h - what a C++ program asks of features -*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_FEATUREARGUMENTS_H
#define ATTN_RUNTIME_FEATUREARGUMENTS_H

#include "attn/Builder.h"

namespace attn {

/// The call after `features =`.
struct Features::Arguments {
  std::string name;
  std::vector<std::pair<std::string, int64_t>> numbers;
  std::vector<std::pair<std::string, std::string>> words;
};

} // namespace attn

#endif // ATTN_RUNTIME_FEATUREARGUMENTS_H
