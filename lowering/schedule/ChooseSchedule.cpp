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

/// Whether kappa and the sums take bf16 rows as they are stored. What a map
/// makes of them has more digits.
bool takesBf16Rows(QuadraticOp op) {
  auto isBf16 = [](Value memory) {
    return cast<MemRefType>(memory.getType()).getElementType().isBF16();
  };
  return op.getQueryMap().empty() && isBf16(op.getQuery()) &&
         isBf16(op.getKey()) && isBf16(op.getValue());
}

/// Tiles of bf16 rows: whole panels of a matrix unit, whole vectors without
/// one, and keys as the table has them.
std::pair<int64_t, int64_t> chooseMatrixTiles(const CpuLevel &level,
                                              ModuleOp module) {
  int64_t panel = level.lanes * level.matrixVectors;
  int64_t queries = queriesOfSequences(module).second;
  for (int64_t tileQ = level.hasMatrixUnit ? panel : level.lanes;
       tileQ <= panel; tileQ *= 2)
    if (queries <= tileQ)
      return {tileQ, level.tileK};
  return {level.onMatrixUnit().tileQ(), level.tileK};
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

/// Bytes of an element of a row in shared memory: the storage type's of rows as
/// they were given, and of all rows of values.
int64_t bytesOfRow(Value memory, bool areValues, int64_t storageBytes) {
  auto argument = cast<BlockArgument>(memory);
  auto arg =
      cast<func::FuncOp>(argument.getOwner()->getParentOp())
          .getArgAttrOfType<ArgAttr>(argument.getArgNumber(), kArgAttrName);
  bool isRole =
      arg && (arg.getKind() == ArgKind::Query ||
              arg.getKind() == ArgKind::Key || arg.getKind() == ArgKind::Value);
  return isRole || areValues ? storageBytes : 4;
}

using IsPair = llvm::function_ref<bool(Operation *)>;

/// Whether a row is read element by element, on the way to rows that lie in
/// shared memory for pairs.
bool isReadByElement(Value row, IsPair isPair) {
  return llvm::all_of(row.getUsers(), [&](Operation *user) {
    return isa<YieldOp>(user) || isPair(user) ||
           (isa<MapOp>(user) && isReadByElement(user->getResult(0), isPair));
  });
}

/// What a row map keeps of an operation on the way, in f32: rows that are dear
/// and read more than once; a bound.
int64_t keptBytes(
    Operation &op, IsPair isPair = [](Operation *) { return false; }) {
  auto bytesOf = [](Value row) {
    return cudaRowBytes(cast<RowType>(row.getType()).getLength(), 4);
  };
  if (auto random = dyn_cast<RandomFeaturesOp>(op)) {
    // Whole fragments are made where they are to lie.
    int64_t length = cast<RowType>(random.getResult().getType()).getLength();
    bool inPlace =
        length % 16 == 0 && isReadByElement(random.getResult(), isPair);
    return bytesOf(random.getRow()) +
           (inPlace ? 0 : bytesOf(random.getResult()));
  }
  return isa<ProjectOp, RopeOp, PowerOp>(op) ? bytesOf(op.getResult(0)) : 0;
}

/// What a block keeps in shared memory. Rows that a map made of q or k, and
/// rows of parameters, take 4 bytes an element, whatever q, k and v have.
CudaQuadratic quadraticOnGpu(QuadraticOp op, int64_t bytes) {
  CudaQuadratic shape;
  auto lengthOf = [](Value v) {
    return cast<RowType>(v.getType()).getLength();
  };
  auto addLoaded = [&](int64_t &per, Value memory, bool areValues) {
    shape.addRow(per, cast<MemRefType>(memory.getType()).getDimSize(3),
                 bytesOfRow(memory, areValues, bytes));
  };
  Region &kappa = op.getKappa(), &map = op.getQueryMap();
  AxesOf axes(kappa, {QueryAxis, KeyAxis});
  auto isPair = [&](Operation *user) {
    return user->getNumResults() == 1 && axes(user->getResult(0)) == PairAxes;
  };
  auto isPaired = [&](Value row) {
    return llvm::any_of(row.getUsers(), isPair);
  };
  addLoaded(shape.perQuery, op.getQuery(), false);
  if (isPaired(kappa.getArgument(1)))
    addLoaded(shape.perKey, op.getKey(), false);
  addLoaded(shape.perKey, op.getValue(), true);
  if (!map.empty()) {
    shape.addRow(shape.perQuery, lengthOf(kappa.getArgument(0)), 4);
    for (Operation &nested : map.front())
      shape.perQuery += keptBytes(nested);
  }
  for (Operation &nested : kappa.front()) {
    if (nested.getNumResults() != 1)
      continue;
    Value result = nested.getResult(0);
    Axes side = axes(result);
    if (isa<RowType>(result.getType()) && isPaired(result))
      shape.addRow(side == QueryAxis ? shape.perQuery : shape.perKey,
                   lengthOf(result), 4);
    if (side == QueryAxis)
      shape.perQuery +=
          isa<RowType>(result.getType()) ? keptBytes(nested, isPair) : 4;
  }
  for (RowsOp rows : op->getParentOfType<func::FuncOp>().getOps<RowsOp>()) {
    Block &block = rows.getBody().front();
    int64_t each = cudaRowBytes(lengthOf(block.getArgument(0)), bytes);
    for (Operation &nested : block)
      each += keptBytes(nested);
    for (Value v : block.getTerminator()->getOperands())
      each += isa<RowType>(v.getType()) ? cudaRowBytes(lengthOf(v), 4) : 4;
    shape.perMapped = std::max(shape.perMapped, each);
  }
  return shape;
}

/// Tiles of a GPU: what a block keeps in shared memory must fit.
std::pair<int64_t, int64_t> chooseTiles(const CudaLevel &level, QuadraticOp op,
                                        ModuleOp module) {
  if (auto given = module->getAttrOfType<DenseI64ArrayAttr>(kTilesAttrName))
    return {given[0], given[1]};
  int64_t bytes = storageType(module).getIntOrFloatBitWidth() / 8;
  CudaQuadratic shape = quadraticOnGpu(op, bytes);
  CudaTiles tiles = chooseCudaTiles(level, shape);
  // Long rows leave few registers for what a mask computes once a key, and for
  // functions that take many.
  if (cast<MemRefType>(op.getValue().getType()).getDimSize(3) > 64 &&
      (hoistedKeyValues(op.getMask()) > 1 || hasLongFunctions(op.getKappa())))
    tiles.tileK = std::min<int64_t>(tiles.tileK, 32);
  // Two blocks a multiprocessor hide more than a copy ahead does.
  CudaQuadratic ahead = shape;
  ahead.addRow(ahead.perKey,
               cast<MemRefType>(op.getKey().getType()).getDimSize(3),
               bytesOfRow(op.getKey(), false, bytes));
  CudaTiles twice{2 * tiles.tileQ, 2 * tiles.tileK};
  if (bytes == 2 && ahead.fits(level, twice))
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
    return chosen.withTiles(tileQ, ordered ? tileQ : std::min(tileK, tileQ));
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
          ScheduleAttr::get(op.getContext(), Order::Quadratic));
      bool bf16Rows = level && takesBf16Rows(quadratic);
      bool matrixUnit = bf16Rows && level->matrixVectors;
      auto [tileQ, tileK] =
          gpu          ? chooseTiles(*gpu, quadratic, module)
          : matrixUnit ? chooseMatrixTiles(*level, module)
                       : std::pair(chooseTileQ(*level, module),
                                   chooseTileK(*level, value.getDimSize(3)));
      // On vectors a short tile of keys costs less than a whole one.
      bool shortFirst = level && !matrixUnit && !quadratic.getMask().empty() &&
                        tileQ % tileK == 0;
      quadratic.setScheduleAttr(
          order.withTiles(tileQ, tileK)
              .withProducts(matrixUnit ? Products::Tiles : Products::Numbers)
              .withShortFirst(shortFirst));
      op.erase();
      if (gpu)
        splitKeysOfHeads(quadratic);
      else
        splitKeys(quadratic, bf16Rows && level->hasPairProducts
                                 ? Products::Pairs
                                 : Products::Numbers);
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
      op.setScheduleAttr(op.getSchedule()->withTiles(
          tileQ, featureRows(kLinearTileK, rank, level->lanes)));
      if (op.isRecurrent())
        splitTokens(op);
    }
  }
};

} // namespace
