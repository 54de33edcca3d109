//===- SplitKeys.cpp - an operation for few queries -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decoding has a query or a few a sequence, and keys from far away. A tile of
// queries would be nearly empty, and a head one work item; so there is a second
// operation whose tiles have a row a query of a whole group of heads, and whose
// work items are parts of the keys. Which of the two works on a sequence
// depends on its nq alone (S8).
//
//===----------------------------------------------------------------------===//

#include "lowering/schedule/SplitKeys.h"
#include "dialect/attn/Axes.h"
#include "dialect/attn/FewQueries.h"
#include "lowering/SplitKeys.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace attn;

namespace {

/// Parts of a sequence's keys: enough for the threads of a machine when heads
/// are few, and little to merge.
constexpr int64_t kParts = 16;
/// Rows of a tile; queries of a larger group take several.
constexpr int64_t kTileRows = 16;

int64_t rowLength(Value memory) {
  return cast<MemRefType>(memory.getType()).getDimSize(3);
}

/// Keys in a tile, whose rows the queries pass by before those of values: few
/// enough for memory to see two streams at once, and enough to hide what is
/// done once a tile.
int64_t chooseTileK(QuadraticOp op) {
  constexpr int64_t bytes = int64_t(8) << 10;
  auto rowBytes = [](Value memory) {
    auto type = cast<MemRefType>(memory.getType());
    return rowLength(memory) * type.getElementTypeBitWidth() / 8;
  };
  int64_t longest = std::max(rowBytes(op.getKey()), rowBytes(op.getValue()));
  int64_t tileK = 128;
  while (tileK > 32 && tileK * longest > bytes)
    tileK /= 2;
  return tileK;
}

bool usesHead(Region &region) {
  bool found = false;
  region.walk(
      [&](IndexOp index) { found |= index.getPosition() == Position::Head; });
  return found;
}

/// Whether the queries of several heads can be rows of one tile, and their sums
/// be merged.
bool canSplit(QuadraticOp op) {
  for (Result kind :
       {Result::Max, Result::Argmax, Result::Entropy, Result::Weights})
    if (op.wants(kind))
      return false;
  for (Value input : {op.getQuery(), op.getKey(), op.getValue()})
    if (ShapedType::isDynamic(rowLength(input)))
      return false;
  // Which order a sequence has may depend on a mask; on one, for all its heads.
  if (op.getSchedule()->getPairCost() && usesHead(op.getMask()))
    return false;
  // A key's row is one for all heads of the group.
  AxesOf axes(op.getKappa(), {QueryAxis, KeyAxis});
  DenseSet<Value> ofHead;
  for (Operation &nested : op.getKappa().front().without_terminator()) {
    auto index = dyn_cast<IndexOp>(nested);
    bool found = index && index.getPosition() == Position::Head;
    nested.walk([&](Operation *inner) {
      found |= llvm::any_of(inner->getOperands(),
                            [&](Value v) { return ofHead.contains(v); });
    });
    if (!found)
      continue;
    ofHead.insert(nested.result_begin(), nested.result_end());
    if (isa<RowType>(nested.getResult(0).getType()) &&
        (axes(nested.getResult(0)) & KeyAxis))
      return false;
  }
  return true;
}

/// The schedule with keys in so many parts, for few queries or for others.
template <typename Op>
ScheduleAttr withSplit(Op op, int64_t parts, int64_t fewQueries) {
  return op.getSchedule()->withSplit(
      KeySplitAttr::get(op.getContext(), parts, fewQueries, /*least_keys=*/0,
                        /*per_head=*/false));
}

/// A workspace for the mapped queries and the sums of the parts (see
/// attn.quadratic).
Value addState(func::FuncOp function, QuadraticOp op) {
  MLIRContext *context = function.getContext();
  Builder b(context);
  int64_t length = llvm::alignTo(std::max(op.getMappedRow(0).getLength(),
                                          op.getMappedRow(2).getLength() + 2),
                                 16); // whole cache lines
  int64_t rows = (kParts + 1) * kFewQueries, open = ShapedType::kDynamic;
  auto memory = MemRefType::get(
      {open, open, rows, length}, b.getF32Type(),
      StridedLayoutAttr::get(context, open, {open, open, length, 1}));
  unsigned position = function.getNumArguments();
  auto arg =
      ArgAttr::get(context, ArgKind::Workspace,
                   b.getStringAttr("w" + std::to_string(position)),
                   b.getStrArrayAttr({"batch", "head", std::to_string(rows)}),
                   /*integer=*/false, StringAttr(), FloatAttr());
  (void)function.insertArgument(
      position, memory, b.getDictionaryAttr(b.getNamedAttr(kArgAttrName, arg)),
      function.getLoc());
  return function.getArgument(position);
}

} // namespace

std::pair<int64_t, int64_t> attn::queriesOfSequences(ModuleOp module) {
  auto given = module->getAttrOfType<DenseI64ArrayAttr>(kQueriesAttrName);
  return given ? std::pair(given[0], given[1])
               : std::pair<int64_t, int64_t>(0, INT64_MAX);
}

void attn::splitKeys(QuadraticOp op, Products products) {
  auto function = op->getParentOfType<func::FuncOp>();
  auto [fewest, most] =
      queriesOfSequences(function->getParentOfType<ModuleOp>());
  if (fewest > kFewQueries || !canSplit(op))
    return;
  bool both = most > kFewQueries;
  QuadraticOp few = op;
  if (both) {
    OpBuilder b(op);
    b.setInsertionPointAfter(op);
    few = cast<QuadraticOp>(b.clone(*op));
    op.setScheduleAttr(withSplit(op, 0, kFewQueries));
  }
  few.getStateMutable().assign(addState(function, op));
  few.setScheduleAttr(withSplit(op, kParts, both ? kFewQueries : 0)
                          .withTiles(kTileRows, chooseTileK(op))
                          .withProducts(products)
                          .withShortFirst(false));
}

void attn::splitKeysOfHeads(QuadraticOp op) {
  bool areSums = llvm::all_of(op.getResults(), [](Attribute attr) {
    Result kind = cast<ResultAttr>(attr).getValue();
    return kind == Result::O || kind == Result::Mass || kind == Result::Lse;
  });
  if (!areSums || !op.wants(Result::O))
    return;
  auto function = op->getParentOfType<func::FuncOp>();
  MLIRContext *context = op.getContext();
  Builder b(context);
  int64_t open = ShapedType::kDynamic;
  // A row holds values of a query, or one number of every query.
  int64_t row = std::max(op.getMappedRow(2).getLength(), kSplitQueries);
  auto memory = MemRefType::get(
      {open, open, open, row}, b.getF32Type(),
      StridedLayoutAttr::get(context, open, {open, open, row, 1}));
  unsigned position = function.getNumArguments();
  auto arg = ArgAttr::get(context, ArgKind::Workspace,
                          b.getStringAttr("w" + std::to_string(position)),
                          b.getStrArrayAttr({"batch", "head", kSplitAxisName}),
                          /*integer=*/false, StringAttr(), FloatAttr());
  (void)function.insertArgument(
      position, memory, b.getDictionaryAttr(b.getNamedAttr(kArgAttrName, arg)),
      function.getLoc());
  OpBuilder builder(context);
  builder.setInsertionPointAfter(op);
  auto parts = cast<QuadraticOp>(builder.clone(*op));
  parts.getStateMutable().assign(function.getArgument(position));
  for (auto [part, count] : {std::pair(op, int64_t(0)), {parts, kKeyParts}})
    part.setScheduleAttr(op.getSchedule()->withSplit(KeySplitAttr::get(
        context, count, kSplitQueries, kSplitKeys, /*per_head=*/true)));
}

void attn::splitTokens(LinearOp op) {
  auto [fewest, most] = queriesOfSequences(op->getParentOfType<ModuleOp>());
  if (fewest > kFewQueries)
    return;
  LinearOp few = op;
  if (most > kFewQueries) {
    op.setScheduleAttr(withSplit(op, 0, kFewQueries));
    OpBuilder b(op);
    b.setInsertionPointAfter(op);
    few = cast<LinearOp>(b.clone(*op));
  }
  few.setScheduleAttr(ScheduleAttr::get(op.getContext(),
                                        op.getSchedule()->getOrder(),
                                        /*tileQ=*/1, /*tileK=*/1)
                          .withSplit(few.getSchedule()->getSplit())
                          .withOneToken(most <= 1));
}
