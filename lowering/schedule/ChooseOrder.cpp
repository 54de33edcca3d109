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
#include "lowering/CudaAttrs.h"
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
  bool plain = rank <= length;
  int64_t each = plain ? (ordered ? 30 : 12) : (ordered ? 50 : 26);
  return {20 * (length + value), each * rank * (value + 1)};
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
    if (target && target.getKind().getValue() == kCudaKind) {
      if (wanted && wanted != Order::Quadratic)
        return op.emitError("the ")
               << stringifyOrder(*wanted) << " order is not built for "
               << target.getKind().getValue()
               << "; leave --schedule out, or ask for quadratic";
      legal = false;
    }
    auto decide = [](AttentionOp decided, Order order, int64_t pair,
                     int64_t row) {
      decided.setScheduleAttr(ScheduleAttr::get(decided.getContext(), order,
                                                /*tile_q=*/0, /*tile_k=*/0,
                                                pair, row));
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
