//===- VectorMath.h - math functions without a math library -----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_VECTORMATH_H
#define ATTN_LOWERING_CPU_VECTORMATH_H

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace attn {

/// What expansions may use.
struct VectorMathOptions {
  bool fast = false;     ///< fewer digits, as the pass says of fast math
  bool hasScale = false; ///< the level multiplies by 2^floor(x)
};

/// Adds the patterns of ExpandVectorMathPass: math operations on f32 and on
/// fixed vectors of f32 to polynomials in `arith` and `vector`. Every pattern
/// replaces one operation and leaves nothing for another one to match, so a
/// single walk is enough.
void populateVectorMathPatterns(mlir::RewritePatternSet &patterns,
                                VectorMathOptions options);

} // namespace attn

#endif // ATTN_LOWERING_CPU_VECTORMATH_H
