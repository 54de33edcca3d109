//===- ArithmeticAttributes.h - what arithmetic may rely on -----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_LOOPS_ARITHMETICATTRIBUTES_H
#define ATTN_LOWERING_LOOPS_ARITHMETICATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace attn {

/// A unit attribute on `math.exp` and `math.exp2`: the operand is not above 0
/// (-inf and NaN are allowed), as after the subtraction of a running maximum. A
/// target may then use a cheaper sequence.
inline constexpr llvm::StringLiteral kNonPositiveAttrName = "attn.nonpositive";

/// A unit attribute on `arith.mulf`: the product is rounded before anything is
/// added to it, so that it is the number whose maximum was taken.
inline constexpr llvm::StringLiteral kRoundedAttrName = "attn.rounded";

} // namespace attn

#endif // ATTN_LOWERING_LOOPS_ARITHMETICATTRIBUTES_H
