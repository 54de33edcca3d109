//===- FeatureRewriter.h - what all feature maps need -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One rewrite of one kernel. Each map looks for its kernel in the normal form
// and emits another kappa, in front of the terminator of the region.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_SCHEDULE_FEATUREREWRITER_H
#define ATTN_LOWERING_SCHEDULE_FEATUREREWRITER_H

#include "lowering/analysis/FormEmitter.h"
#include "lowering/schedule/ApplyFeatures.h"

namespace attn {

class FeatureRewriter {
public:
  FeatureRewriter(AttentionOp op, bool toExplain);
  mlir::FailureOr<FeatureReport> run();

private:
  // FeatureSeries.cpp.
  mlir::Value taylor();
  mlir::Value maclaurin();
  mlir::Value horner(llvm::ArrayRef<mlir::Value> coefficients, mlir::Value s);
  // RandomKernels.cpp.
  mlir::Value favor();
  mlir::Value rff();
  mlir::Value slay();

  /// One product of everything that is no exponential and of one exponential.
  struct Exponential {
    Polynomial rest;
    Polynomial exponent; ///< of all exponentials together
    Polynomial pair;     ///< the part of it that is of both sides
  };
  std::optional<Exponential> asExponential();
  /// numerator(s) / (constant + slope s), s the dot of rows of norm at most 1.
  struct Spherical {
    AtomId dot;
    Polynomial numerator, constant, slope;
  };
  std::optional<Spherical> asSpherical();
  /// kappa with the norms of unit rows put to 1.
  Polynomial onSphere(const Polynomial &p);
  bool isUnit(RowId row);
  /// c and the dot if p is c dot(x, y) with x of the query, y of the key, and c
  /// of neither.
  std::optional<std::pair<Polynomial, AtomId>> asScaledDot(const Polynomial &p);
  bool isPairDot(AtomId id);

  /// Reports that the features do not fit; always null.
  mlir::Value refuse(const llvm::Twine &message, mlir::Value culprit = {});
  /// The same where the estimate is signed, and a mass must not be.
  bool mayBeSigned() {
    return toExplain || op.getNormalize() == Normalize::None ||
           op.getAllowSigned();
  }
  /// Whether a factor that is of the query alone shows in no result.
  bool factorsCancel();
  mlir::Value real(double x);
  mlir::Value times(mlir::Value a, mlir::Value b); ///< null: 1
  mlir::Value plus(mlir::Value a, mlir::Value b);  ///< null: 0
  mlir::Value scaled(mlir::Value row, const Polynomial &by);
  mlir::Value random(RandomKind kind, mlir::Value row, int64_t stream);
  /// The number that a polynomial is, or NaN.
  static double numberOf(const Polynomial &p);
  /// The length of the rows of a dot; 0: unknown.
  int64_t lengthOf(AtomId dot) const;
  /// Fails where there are more channels than a state can have.
  bool countChannels(double channels, int64_t length, unsigned order);

  AttentionOp op;
  FeaturesAttr features;
  bool toExplain;
  ValueRangeAnalysis ranges;
  NormalForm form;
  mlir::OpBuilder builder;
  FormEmitter emit;
  FeatureReport report;
  std::string signReason;
};

} // namespace attn

#endif // ATTN_LOWERING_SCHEDULE_FEATUREREWRITER_H
