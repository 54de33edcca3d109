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

#include "lowering/loops/LinearLoops.h"
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
      if (isa<RowsOp, QuadraticOp, LinearOp, AttentionOp>(op))
        stages.push_back(&op);
    return stages;
  }

  LogicalResult lower(func::FuncOp function) {
    if (function.isExternal())
      return success();
    SmallVector<Operation *> sources = stagesOf(function);
    if (sources.empty())
      return success();
    // Where both orders are there, rows are made for the quadratic one.
    int64_t tileQ = 0;
    std::optional<size_t> quadratic;
    for (auto [k, op] : llvm::enumerate(sources)) {
      if (auto schedule = op->getAttrOfType<ScheduleAttr>("schedule"))
        tileQ = std::max(tileQ, schedule.getTileQ());
      if (isa<QuadraticOp>(op))
        quadratic = k;
    }
    OpBuilder builder(function);
    size_t number = 0;
    for (size_t k = 0; k < sources.size(); ++k) {
      unsigned parts =
          llvm::TypeSwitch<Operation *, unsigned>(sources[k])
              .Case([](LinearOp op) { return linearStages(op); })
              .Case([](QuadraticOp op) { return quadraticStages(op); })
              .Default([](Operation *) { return 1; });
      for (unsigned part = 0; part < parts; ++part) {
        auto stage = cast<func::FuncOp>(builder.clone(*function));
        stage.setName((function.getName() + ".stage" + Twine(number++)).str());
        SmallVector<Operation *> ops = stagesOf(stage);
        auto reader =
            quadratic ? cast<QuadraticOp>(ops[*quadratic]) : QuadraticOp();
        LogicalResult lowered =
            llvm::TypeSwitch<Operation *, LogicalResult>(ops[k])
                .Case([&](RowsOp op) { return lowerRows(op, tileQ, reader); })
                .Case([&](QuadraticOp op) { return lowerQuadratic(op, part); })
                .Case([&](LinearOp op) { return lowerLinear(op, part); })
                .Default([](Operation *op) {
                  return op->emitOpError("has no schedule; run "
                                         "attn-choose-schedule first");
                });
        if (failed(lowered))
          return failure();
        for (size_t other = 0; other < ops.size(); ++other)
          if (other != k)
            ops[other]->erase();
      }
    }
    function.erase();
    return success();
  }
};

} // namespace
