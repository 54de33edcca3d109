//===- ExplainProofs.h - proofs and costs of both orders, for people -*- C++
//-*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_EXPLAINPROOFS_H
#define ATTN_TOOLS_EXPLAINPROOFS_H

#include "CommandLine.h"
#include "Facts.h"
#include "runtime/Explanation.h"

namespace attn {

/// Appends the lines of a text.
void addLines(std::vector<std::string> &lines, const std::string &text,
              const char *indent = "");
/// What stands in for kappa where features were asked for, and how good that
/// is.
void addApproximation(Facts &facts, const runtime::Explanation &explanation);

/// Every property with its verdict, derivation and condition; the feature map;
/// the masks under which the linear order is legal.
void addProofs(Facts &facts, const runtime::Explanation &explanation);

/// The orders that a program has; where it has both, a sequence takes the
/// linear one if pairCost nq nk > rowCost (nq + nk).
struct OrderPlan {
  bool quadratic = false, linear = false, recurrent = false;
  int64_t pairCost = 0, rowCost = 0;
  int64_t linearRow = 0; ///< multiply-adds of a row of the linear order
  std::string refusal;   ///< why there is no linear order, or empty
};

/// Flops, bytes and state of the quadratic and the linear order at a shape
/// whose D and Dv are those of the rows as they stand in kappa; where they
/// cross; which is taken. `refusal`: why there is no program, or empty.
void addOrders(Facts &facts, const runtime::Explanation &explanation,
               const ProblemShape &shape, const std::string &refusal,
               const OrderPlan &plan);

} // namespace attn

#endif // ATTN_TOOLS_EXPLAINPROOFS_H
