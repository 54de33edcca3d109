//===- CHeader.h - the header of an ahead-of-time kernel --------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_CHEADER_H
#define ATTN_TOOLS_CHEADER_H

#include "Facts.h"
#include "runtime/AheadOfTime.h"

#include <string>

namespace attn {

/// The text of a header, C99 and C++11, that says what the kernel computes, how
/// it is called and what can be wrong. `facts` are those of addMeaning and
/// addPlan; `file` is the header's name.
std::string cHeader(const runtime::AheadOfTime &kernel, const Facts &facts,
                    const std::string &level, const std::string &file);

} // namespace attn

#endif // ATTN_TOOLS_CHEADER_H
