//===- ChooseSchedule.cpp - tile sizes ------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides and writes; the loops read and act. Where the licence asks for a
// gauge, kappa is split here, so that attn.quadratic says what is computed, and
// attn.linear computes pairs as that does.
//
//===----------------------------------------------------------------------===//

#include "dialect/attn/Axes.h"
#include "dialect/tile/MatrixUnit.h"
#include "lowering/CudaAttrs.h"
#include "lowering/CudaTarget.h"
#include "lowering/Passes.h"
#include "lowering/Target.h"
#include "lowering/analysis/Gauge.h"
#include "lowering/schedule/SplitKeys.h"

#include <numeric>

namespace attn {
#define GEN_PASS_DEF_CHOOSESCHEDULEPASS
#include "lowering/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// kappa yields (exponent, factor) instead of one value: kappa = 2^exponent
/// factor.
template <typename Op> LogicalResult splitKappa(Op op) {
  auto yield = cast<YieldOp>(op.getKappa().front().getTerminator());
  OpBuilder builder(yield);
  FailureOr<GaugeSplit> split = splitGauge(yield.getValues()[0], builder);
  if (failed(split))
    return op.emitOpError(
        "cannot split kappa into an exponential and a factor");
  builder.setInsertionPoint(yield);
  auto constant = [&](double v) -> Value {
    return arith::ConstantOp::create(builder, op.getLoc(),
                                     builder.getF32FloatAttr(v));
  };
  Value exponent = split->exponent ? split->exponent : constant(0);
  Value factor = split->factor ? split->factor : constant(1);
  yield.getValuesMutable().assign({exponent, factor});
  return success();
}

/// Queries in a tile: no more than there are. Nothing that a query sums depends
/// on it.
int64_t chooseTileQ(const CpuLevel &level, ModuleOp module) {
  int64_t most = queriesOfSequences(module).second;
  for (int64_t tileQ : {16, 32})
    if (most <= tileQ && tileQ % level.lanes == 0)
      return std::min(tileQ, level.tileQ());
  return level.tileQ();
}

/// Whether products of pairs go through the level's matrix unit: of bf16 rows
/// that kappa takes as they are stored. What a map makes of them has more
/// digits.
bool usesMatrixUnit(const CpuLevel &level, QuadraticOp op) {
  auto isBf16 = [](Value memory) {
    return cast<MemRefType>(memory.getType()).getElementType().isBF16();
  };
  return level.matrixVectors && op.getQueryMap().empty() &&
         isBf16(op.getQuery()) && isBf16(op.getKey()) && isBf16(op.getValue());
}

/// Tiles for the matrix unit: whole panels, and keys as the table has them.
std::pair<int64_t, int64_t> chooseMatrixTiles(const CpuLevel &level,
                                              ModuleOp module) {
  int64_t panel = level.lanes * level.matrixVectors;
  int64_t most = level.onMatrixUnit().tileQ(),
          queries = queriesOfSequences(module).second;
  return {queries <= panel ? panel : most, level.tileK};
}

/// Keys in a tile. A product with V reads a few columns of many rows; rows
/// whose distance is a large power of two share cache sets, and what the tile
/// touches must stay within half of their ways (64 sets of 8 lines of 64
/// bytes).
int64_t chooseTileK(const CpuLevel &level, int64_t valueLength) {
  int64_t bytes = valueLength * 4, tileK = level.tileK;
  if (bytes <= 0 || bytes % 64 != 0)
    return tileK;
  int64_t sets = 64 / std::gcd(bytes / 64, int64_t(64));
  while (tileK > 16 && tileK > 4 * sets) // in whole register blocks
    tileK = tileK / 2 / level.rowBlock * level.rowBlock;
  return tileK;
}

/// Rows of a tile of features, at most `most`, a power of two of vectors: as
/// many as leave room for what they are made from beside them.
int64_t featureRows(int64_t most, int64_t rank, int64_t lanes) {
  constexpr int64_t bytes = int64_t(768) << 10;
  while (most > lanes && most % (2 * lanes) == 0 && most * rank * 4 > bytes)
    most /= 2;
  return most;
}

/// Keys in a tile that is summed into a state: whole vectors at every level.
constexpr int64_t kLinearTileK = 64;

ScheduleAttr withTiles(ScheduleAttr order, int64_t tileQ, int64_t tileK) {
  return ScheduleAttr::get(order.getContext(), order.getOrder(), tileQ, tileK,
                           order.getPairCost(), order.getRowCost());
}

/// The values of a region that depend on the key alone and that pairs use.
int64_t hoistedKeyValues(Region &region) {
  if (region.empty())
    return 0;
  AxesOf axes(region, {QueryAxis, KeyAxis});
  return llvm::count_if(region.front(), [&](Operation &op) {
    return op.getNumResults() == 1 && !isa<IndexOp>(op) &&
           axes(op.getResult(0)) == KeyAxis &&
           llvm::any_of(op.getUsers(), [&](Operation *user) {
             return user->getNumResults() != 1 ||
                    axes(user->getResult(0)) == PairAxes;
           });
  });
}

/// Whether a function of pairs, or a table of them, takes many registers.
bool hasLongFunctions(Region &region) {
  AxesOf axes(region, {QueryAxis, KeyAxis});
  return llvm::any_of(region.front(), [&](Operation &op) {
    return isa<math::TanhOp, math::PowFOp, math::SinOp, math::CosOp,
               math::ExpM1Op, memref::LoadOp>(op) &&
           axes(op.getResult(0)) == PairAxes;
  });
}

/// Tiles of a GPU: what a block keeps in shared memory must fit.
std::pair<int64_t, int64_t> chooseTiles(const CudaLevel &level, QuadraticOp op,
                                        ModuleOp module) {
  if (auto given = module->getAttrOfType<DenseI64ArrayAttr>(kTilesAttrName))
    return {given[0], given[1]};
  int64_t bytes = storageType(module).getIntOrFloatBitWidth() / 8;
  auto rowOf = [](Value memory) {
    return cast<MemRefType>(memory.getType()).getDimSize(3);
  };
  SmallVector<int64_t> queryRows{rowOf(op.getQuery())};
  auto addRows = [&](Operation *nested) {
    for (Type type : nested->getResultTypes())
      if (auto row = dyn_cast<RowType>(type); row && !isa<ParamRowOp>(nested))
        queryRows.push_back(row.getLength() *
                            (isa<MapOp, UnitOp>(nested) ? 1 : 4 / bytes + 1));
  };
  op.getQueryMap().walk(addRows);
  op.getKappa().walk(addRows);
  CudaTiles tiles = chooseCudaTiles(
      level, queryRows, {rowOf(op.getKey()), rowOf(op.getValue())}, bytes);
  // Long rows leave few registers for what a mask computes once a key, and for
  // functions that take many.
  if (rowOf(op.getValue()) > 64 &&
      (hoistedKeyValues(op.getMask()) > 1 || hasLongFunctions(op.getKappa())))
    tiles.tileK = std::min<int64_t>(tiles.tileK, 32);
  // Two blocks a multiprocessor hide more than a copy ahead does.
  int64_t keyBytes = tiles.tileK * cudaRowBytes(rowOf(op.getKey()), bytes);
  int64_t all = tiles.tileQ * cudaRowBytes(rowOf(op.getQuery()), bytes) +
                2 * keyBytes +
                tiles.tileK * cudaRowBytes(rowOf(op.getValue()), bytes);
  if (bytes == 2 && 2 * all <= level.sharedBytes)
    op->getParentOfType<func::FuncOp>()->setAttr(
        kStagesAttrName,
        IntegerAttr::get(IntegerType::get(op.getContext(), 64), 2));
  return {tiles.tileQ, tiles.tileK};
}

struct ChooseSchedule : attn::impl::ChooseSchedulePassBase<ChooseSchedule> {
  /// The tiles that the order was chosen with, but no more queries than the
  /// quadratic order takes: all kernels of a program have as many threads.
  ScheduleAttr tilesOnGpu(ScheduleAttr chosen, bool ordered) {
    int64_t tileQ = chosen.getTileQ() ? chosen.getTileQ() : 64;
    getOperation().walk([&](QuadraticOp op) {
      tileQ = std::min(tileQ, op.getSchedule()->getTileQ());
    });
    int64_t tileK = chosen.getTileK() ? chosen.getTileK() : 64;
    return withTiles(chosen, tileQ, ordered ? tileQ : std::min(tileK, tileQ));
  }

  void runOnOperation() override {
    auto module = getOperation()->getParentOfType<ModuleOp>();
    auto target = module->getAttrOfType<TargetAttr>(kTargetAttrName);
    bool isGpu = target && target.getKind().getValue() == kCudaKind;
    StringRef name = target ? target.getLevel().getValue() : StringRef();
    std::optional<CpuLevel> level =
        target && !isGpu ? parseCpuLevel(name) : std::nullopt;
    const CudaLevel *gpu = isGpu ? findCudaLevel(name) : nullptr;
    if (!level && !gpu) {
      getOperation().emitError("the module names no known target; set ")
          << kTargetAttrName;
      return signalPassFailure();
    }
    SmallVector<AttentionOp> ops;
    getOperation().walk([&](AttentionOp op) { ops.push_back(op); });
    for (AttentionOp op : ops) {
      if (!op.getLicence()) {
        op.emitOpError("has no licence; run attn-issue-licence first");
        return signalPassFailure();
      }
      // A sink competes with the keys and needs the same gauge.
      bool gauge = op.getLicence()->getGauge() == Gauge::Max ||
                   op.getTerm(NormalizerTerm::Sink);
      if (gauge && failed(splitKappa(op)))
        return signalPassFailure();
      OpBuilder builder(op);
      OperationState state(op.getLoc(), QuadraticOp::getOperationName());
      state.addOperands(op->getOperands());
      state.addAttributes(op->getAttrs());
      for (Region &region : op->getRegions())
        state.addRegion()->takeBody(region);
      auto quadratic = cast<QuadraticOp>(builder.create(state));
      auto value = cast<MemRefType>(quadratic.getValue().getType());
      ScheduleAttr order = op.getSchedule().value_or(
          ScheduleAttr::get(op.getContext(), Order::Quadratic, 0, 0, 0, 0));
      bool matrixUnit = level && usesMatrixUnit(*level, quadratic);
      if (matrixUnit)
        quadratic->setAttr(tile::kMatrixUnitAttrName, builder.getUnitAttr());
      auto [tileQ, tileK] =
          gpu          ? chooseTiles(*gpu, quadratic, module)
          : matrixUnit ? chooseMatrixTiles(*level, module)
                       : std::pair(chooseTileQ(*level, module),
                                   chooseTileK(*level, value.getDimSize(3)));
      quadratic.setScheduleAttr(withTiles(order, tileQ, tileK));
      op.erase();
      gpu ? splitKeysOfHeads(quadratic) : splitKeys(quadratic);
    }
    SmallVector<LinearOp> linear;
    getOperation().walk([&](LinearOp op) { linear.push_back(op); });
    for (LinearOp op : linear) {
      // Where features are apart, kappa is as it was written.
      if (op.getLicence()->getGauge() == Gauge::Max &&
          !op.getQueryFeatures().empty() && failed(splitKappa(op)))
        return signalPassFailure();
      bool ordered = op.getLicence()->getLinear() == LinearScan::Ordered;
      if (gpu) {
        op.setScheduleAttr(tilesOnGpu(*op.getSchedule(), ordered));
        continue;
      }
      int64_t rank = op.getRank();
      // Pairs inside a tile are work that grows with the tile.
      int64_t tileQ = ordered ? level->lanes
                              : featureRows(level->tileQ(), rank, level->lanes);
      op.setScheduleAttr(
          withTiles(*op.getSchedule(), tileQ,
                    featureRows(kLinearTileK, rank, level->lanes)));
      if (op.isRecurrent())
        splitTokens(op);
    }
  }
};

} // namespace
