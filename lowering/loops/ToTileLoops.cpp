//===- ToTileLoops.cpp - attention functions to stages of tile loops ------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every attn operation of a function becomes a stage of its own: what a stage
// writes (rows, workspaces) the next reads, so a caller runs them in order and
// the iterations within one as it likes.
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/QuadraticLoops.h"

#include "llvm/ADT/TypeSwitch.h"

namespace attn {
#define GEN_PASS_DEF_TOTILELOOPSPASS
#include "lowering/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

struct ToTileLoops : attn::impl::ToTileLoopsPassBase<ToTileLoops> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions)
      if (failed(lower(function)))
        return signalPassFailure();
  }

  static SmallVector<Operation *> stagesOf(func::FuncOp function) {
    SmallVector<Operation *> stages;
    for (Operation &op : function.getOps())
      if (isa<RowsOp, QuadraticOp, AttentionOp>(op))
        stages.push_back(&op);
    return stages;
  }

  LogicalResult lower(func::FuncOp function) {
    if (function.isExternal())
      return success();
    size_t count = stagesOf(function).size();
    if (count == 0)
      return success();
    int64_t tileQ = 0;
    function.walk(
        [&](QuadraticOp op) { tileQ = op.getSchedule()->getTileQ(); });
    OpBuilder builder(function);
    for (size_t k = 0; k < count; ++k) {
      auto stage = cast<func::FuncOp>(builder.clone(*function));
      stage.setName((function.getName() + ".stage" + Twine(k)).str());
      SmallVector<Operation *> ops = stagesOf(stage);
      for (size_t other = 0; other < count; ++other)
        if (other != k)
          ops[other]->erase();
      LogicalResult lowered =
          llvm::TypeSwitch<Operation *, LogicalResult>(ops[k])
              .Case([&](RowsOp op) { return lowerRows(op, tileQ); })
              .Case([&](QuadraticOp op) { return lowerQuadratic(op); })
              .Default([](Operation *op) {
                return op->emitOpError("has no schedule; run "
                                       "attn-choose-schedule first");
              });
      if (failed(lowered))
        return failure();
    }
    function.erase();
    return success();
  }
};

} // namespace
