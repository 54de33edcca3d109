//===- Axes.cpp - which axes a value in a kernel region depends on --------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/attn/Axes.h"

using namespace mlir;
using namespace attn;

AxesOf::AxesOf(Region &region, ArrayRef<Axes> arguments) : region(region) {
  if (region.empty())
    return;
  for (auto [argument, axes] : llvm::zip(region.getArguments(), arguments))
    known[argument] = axes;
  // Program order: operands are known before their users, whatever the depth.
  for (Operation &op : region.front()) {
    unsigned axes = Uniform;
    if (auto index = dyn_cast<IndexOp>(op)) {
      if (index.getPosition() == Position::I)
        axes = QueryAxis;
      if (index.getPosition() == Position::J)
        axes = KeyAxis;
    }
    for (Value operand : op.getOperands())
      axes |= (*this)(operand);
    op.walk([&](Operation *nested) { // the scalars that an attn.map captures
      for (Value operand : nested->getOperands())
        axes |= (*this)(operand);
    });
    for (Value result : op.getResults())
      known[result] = static_cast<Axes>(axes);
  }
}

Axes AxesOf::operator()(Value v) {
  auto it = known.find(v);
  return it == known.end() ? Uniform : it->second;
}

bool AxesOf::isInside(Value v) const {
  return region.isAncestor(v.getParentRegion());
}
