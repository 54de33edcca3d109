//===- CloneSlice.cpp - a value with all that it needs --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/schedule/CloneSlice.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

Value attn::cloneSlice(OpBuilder &builder, Value v, Region &region,
                       IRMapping &map) {
  if (Value known = map.lookupOrNull(v))
    return known;
  Operation *op = v.getDefiningOp();
  if (!op || !region.isAncestor(op->getParentRegion()))
    return v;
  // Program order, so that a long chain does not become deep recursion.
  SetVector<Operation *> slice;
  SmallVector<Operation *> work{op};
  while (!work.empty()) {
    Operation *next = work.pop_back_val();
    if (!slice.insert(next))
      continue;
    next->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (Operation *def = operand.getDefiningOp())
          if (def->getParentRegion() == &region && !map.contains(operand))
            work.push_back(def);
    });
  }
  for (Operation &candidate : region.front())
    if (slice.contains(&candidate))
      builder.clone(candidate, map);
  return map.lookup(v);
}
