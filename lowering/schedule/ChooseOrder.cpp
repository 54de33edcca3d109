//===- ChooseOrder.cpp - which sum is done first --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Quadratic: weights first, one a pair. Linear: sums over keys first, of rank
// times value length. Which is less work depends on nq and nk, which are not
// known here: where both may be used the operation is doubled, and each of the
// two looks at the lengths of a sequence, and at nothing else (S8), to see
// whether the sequence is its to compute. Recurrent: the linear order with a
// state of the caller's, only where it is asked for.
//
//===----------------------------------------------------------------------===//

#include "dialect/attn/Documents.h"
#include "dialect/attn/FewQueries.h"
#include "lowering/CudaAttrs.h"
#include "lowering/CudaTarget.h"
#include "lowering/Passes.h"
#include "lowering/analysis/LinearLicence.h"

namespace attn {
#define GEN_PASS_DEF_CHOOSEORDERPASS
#include "lowering/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// The work of a pair of the quadratic order, and of a row of the linear one,
/// in twentieths of a multiply-add of the former.
std::pair<int64_t, int64_t> costsOf(AttentionOp op) {
  int64_t length = op.getMappedRow(0).getLength();
  int64_t value = op.getMappedRow(2).getLength();
  int64_t rank = op.getLicence()->getRank();
  bool ordered = op.getLicence()->getLinear() == LinearScan::Ordered;
  // Measured with 16 lanes on elu(x) + 1 and (1 + s)^2, D of 16 and 64.
  // Features that are rows as they stand cost little, and spare the quadratic
  // order's pairs nothing; tensor powers are written and read once more. Of a
  // causal mask's pairs the quadratic order computes half, and the linear order
  // has pairs inside its tiles.
  // A row also costs what does not depend on its length, the rest of a tile.
  bool plain = rank <= length;
  int64_t each = plain ? 12 : ordered ? 50 : 25;
  int64_t fixed = plain ? (ordered ? 500 : 5500) : (ordered ? 10000 : 17000);
  return {20 * (length + value), each * rank * (value + 1) + fixed};
}

/// What the linear order of `op` would keep in a GPU's shared memory.
CudaLinear shapeOnGpu(AttentionOp op) {
  auto rowOf = [](Value memory) {
    return cast<MemRefType>(memory.getType()).getDimSize(3);
  };
  CudaLinear shape{};
  int64_t length = op.getMappedRow(0).getLength();
  shape.queryRow = std::max(rowOf(op.getQuery()), length);
  shape.keyRow = std::max(rowOf(op.getKey()), op.getMappedRow(1).getLength());
  shape.valueRow =
      std::max(rowOf(op.getValue()), op.getMappedRow(2).getLength());
  shape.rank = op.getLicence()->getRank();
  shape.ordered = op.getLicence()->getLinear() == LinearScan::Ordered;
  shape.apart = shape.rank > length;
  shape.queryMapped = !op.getQueryMap().empty();
  shape.keyMapped = !op.getKeyMap().empty();
  int64_t multiplied = 0; // rows that random features are made of
  op.getKappa().walk([&](RandomFeaturesOp random) {
    auto made = cast<RowType>(random.getResult().getType());
    if (made.getLength() == shape.rank)
      shape.apart = false;
    multiplied = cast<RowType>(random.getRow().getType()).getLength();
  });
  shape.perThread = !shape.apart && !multiplied &&
                    shape.rank == rowOf(op.getQuery()) && shape.rank % 16 == 0;
  for (Region *map : {&op.getQueryMap(), &op.getKeyMap()}) {
    int64_t kept = (shape.apart ? shape.rank : 0) + multiplied;
    map->walk([&](Operation *nested) {
      if (isa<IndexOp>(nested) ||
          (nested->getNumResults() &&
           isa<RowType>(nested->getResult(0).getType()) && !isa<MapOp>(nested)))
        shape.perThread = false;
      if (isa<ProjectOp, RopeOp, PowerOp>(nested))
        kept += cast<RowType>(nested->getResult(0).getType()).getLength();
    });
    shape.kept = std::max(shape.kept, kept);
  }
  return shape;
}

struct ChooseOrder : attn::impl::ChooseOrderPassBase<ChooseOrder> {
  void runOnOperation() override {
    auto wanted =
        getOperation()->getParentOfType<ModuleOp>()->getAttrOfType<StringAttr>(
            kOrderAttrName);
    std::optional<Order> order;
    if (wanted && !(order = symbolizeOrder(wanted.getValue()))) {
      getOperation().emitError("there is no order '")
          << wanted.getValue() << "'";
      return signalPassFailure();
    }
    SmallVector<AttentionOp> ops;
    getOperation().walk([&](AttentionOp op) { ops.push_back(op); });
    for (AttentionOp op : ops)
      if (failed(choose(op, order)))
        return signalPassFailure();
  }

  LogicalResult choose(AttentionOp op, std::optional<Order> wanted) {
    if (!op.getLicence())
      return op.emitOpError("has no licence; run attn-issue-licence first");
    bool legal = op.getLicence()->getLinear() != LinearScan::Refused;
    if (wanted && wanted != Order::Quadratic && !legal)
      return refuse(op);
    if (wanted == Order::Recurrent)
      if (RecurrentRefusal refusal =
              refuseRecurrent(op, op.getLicence()->getLinear());
          !refusal.reason.empty())
        return emitError(refusal.at)
               << "the recurrent order is not licensed: " << refusal.reason;
    auto target = op->getParentOfType<ModuleOp>()->getAttrOfType<TargetAttr>(
        kTargetAttrName);
    bool isGpu = target && target.getKind().getValue() == kCudaKind;
    CudaTiles tiles{};
    if (legal && isGpu) {
      FailureOr<CudaTiles> found = tilesOnGpu(op, target, wanted);
      if (failed(found) && wanted && wanted != Order::Quadratic)
        return failure();
      legal = succeeded(found);
      tiles = found.value_or(tiles);
    }
    auto decide = [&](AttentionOp decided, Order order, int64_t pair,
                      int64_t row) {
      bool linear = order != Order::Quadratic;
      decided.setScheduleAttr(ScheduleAttr::get(
          decided.getContext(), order, linear ? tiles.tileQ : 0,
          linear ? tiles.tileK : 0, pair, row));
    };
    // Documents that do not stand in runs are for the quadratic order, whatever
    // was asked for; others then for the linear one.
    bool hasDocuments = !documentConditions(op.getMask()).empty();
    bool always = wanted == Order::Linear;
    if (!legal || (wanted && !(always && hasDocuments))) {
      decide(op, wanted.value_or(Order::Quadratic), 0, 0);
      return success();
    }
    auto [pair, row] = always ? std::pair<int64_t, int64_t>(1, 0) : costsOf(op);
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    auto linear = cast<AttentionOp>(builder.clone(*op));
    decide(op, Order::Quadratic, pair, row);
    decide(linear, Order::Linear, pair, row);
    return success();
  }

  /// On a GPU the state lies in shared memory; where it does not fit, the
  /// quadratic order does all. Where both are there, tiles of queries are those
  /// of the quadratic order.
  static FailureOr<CudaTiles> tilesOnGpu(AttentionOp op, TargetAttr target,
                                         std::optional<Order> wanted) {
    const CudaLevel *level = findCudaLevel(target.getLevel().getValue());
    auto module = op->getParentOfType<ModuleOp>();
    if (!level)
      return op.emitError("the module names no known GPU; set ")
             << kTargetAttrName;
    int64_t bytes = storageType(module).getIntOrFloatBitWidth() / 8, tileQ = 0;
    bool always = wanted && *wanted != Order::Quadratic;
    auto queries = module->getAttrOfType<DenseI64ArrayAttr>(kQueriesAttrName);
    if (auto given = module->getAttrOfType<DenseI64ArrayAttr>(kTilesAttrName))
      tileQ = given[0];
    else if (wanted == Order::Recurrent && queries && queries[1] <= kFewTokens)
      tileQ = kFewTokens; // a step is a tile of one warp
    else if (!always)
      tileQ = 16 * level->warps;
    CudaLinear shape = shapeOnGpu(op);
    if (shape.ordered && tileQ > 64) {
      if (always)
        op.emitError("the linear order of a causal mask takes tiles of at most "
                     "64 queries");
      return failure();
    }
    if (std::optional<CudaTiles> tiles =
            chooseCudaTiles(*level, shape, tileQ, bytes))
      return *tiles;
    if (always)
      op.emitError("a state of ")
          << shape.rank << " features by " << shape.valueRow
          << " values and the tiles that make it take at least "
          << llvm::divideCeil(shape.bytes(tileQ ? tileQ : 16, 16, bytes),
                              int64_t(1024))
          << " KiB of shared memory, " << level->name << " has "
          << level->sharedBytes / 1024
          << (wanted == Order::Recurrent ? "; take"
                                         : "; leave --schedule out, or take")
          << " shorter rows or fewer features";
    return failure();
  }

  static LogicalResult refuse(AttentionOp op) {
    StringAttr reason = op.getLicence()->getLinearReason();
    Value culprit = licenseLinear(op).culprit;
    Location at = culprit ? culprit.getLoc()
                          : op.getKappa().front().getTerminator()->getLoc();
    return emitError(at) << "the linear order is not licensed: "
                         << (reason ? reason.getValue()
                                    : StringRef("row lengths are not known"));
  }
};

} // namespace
