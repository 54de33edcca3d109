//===- Gauge.h - kappa as 2^e times a moderate factor (S6) ------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// exp(-|q - k|^2) underflows on most rows at D = 128, and s^8 overflows, long
// before their ratio to the row's mass does. Both are kept in range by carrying
// the exponent beside the value: kappa = 2^e * r, with a running maximum of e.
// The exponent is in base 2 because that is what the machine scales by; log2(e)
// is folded into a constant factor of the exponent where there is one.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_GAUGE_H
#define ATTN_LOWERING_ANALYSIS_GAUGE_H

#include "dialect/attn/Attn.h"
#include <string>

namespace attn {

/// kappa = 2^exponent * factor, both f32 in the region of kappa.
struct GaugeSplit {
  mlir::Value exponent; ///< in base 2; null: 0. -inf where kappa is 0
  mlir::Value factor;   ///< null: 1
};

/// Emits the split of `kappa`, the f32 that a kappa region yields, before the
/// terminator of its block; moves the builder there. Operations that the split
/// makes useless are left behind. The rules: exp(x) has exponent x; products
/// add, quotients subtract, powers multiply, sqrt halves; a sum takes the
/// largest exponent of its terms, 0 for an algebraic one; a product or power of
/// degree > 4 in the rows has its base divided by a power of two. Bounded
/// functions (sigmoid, tanh, ...) are algebraic. Fails, without a diagnostic,
/// only if `kappa` is not an f32.
mlir::FailureOr<GaugeSplit> splitGauge(mlir::Value kappa,
                                       mlir::OpBuilder &builder);

/// Whether a running maximum of the exponent is needed, and why.
struct GaugeVerdict {
  Gauge gauge;
  std::string reason;
};

/// `Gauge::None` iff |e| <= 60 (natural units) is proven for the split of
/// `kappa`. The region is left as it was.
GaugeVerdict decideGauge(mlir::Value kappa);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_GAUGE_H
