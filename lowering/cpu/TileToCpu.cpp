//===- TileToCpu.cpp - stages as functions of a range of work items -------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The grid becomes `NAME(args..., begin, end)`, which does the work items of a
// range, and `NAME.items(args...)`, their number. Threads are the caller's.
//
//===----------------------------------------------------------------------===//

#include "dialect/tile/MatrixUnit.h"
#include "dialect/tile/RowMajor.h"
#include "lowering/cpu/CpuEmitter.h"
#include "lowering/cpu/CpuIntegers.h"
#include "lowering/cpu/TargetLevel.h"
#include "lowering/loops/ScaleProducts.h"

namespace attn {
#define GEN_PASS_DEF_TILETOCPUPASS
#include "lowering/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// What a thread of a thread pool can be expected to have to spare.
constexpr int64_t kStackLimit = int64_t(4) << 20;

/// Bytes of the tiles that live on the stack.
int64_t stackBytes(Block &entry) {
  int64_t bytes = 0;
  for (auto buffer : entry.getOps<memref::AllocaOp>()) {
    MemRefType type = buffer.getType();
    bytes += type.getNumElements() * (type.getElementTypeBitWidth() / 8);
  }
  return bytes;
}

/// The extent of the axis `q`, if all tiles agree on it; `otherwise` if no tile
/// has it.
std::optional<int64_t> queriesInTile(scf::ForallOp grid, int64_t otherwise) {
  std::optional<int64_t> extent;
  bool agree = true;
  grid.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tile = dyn_cast<tile::TileType>(type); tile && tile.has('q')) {
        agree &= !extent || *extent == tile.size('q');
        extent = tile.size('q');
      }
  });
  if (!extent)
    return otherwise;
  return agree ? extent : std::nullopt;
}

/// The level with a register block for tiles of so many queries: fewer vectors
/// of them by more rows, where a whole panel is more.
CpuLevel fitLevel(const CpuLevel &level, int64_t tileQ) {
  CpuLevel fitted = level;
  while (fitted.panelVectors > 1 &&
         tileQ % (fitted.lanes * fitted.panelVectors))
    --fitted.panelVectors;
  fitted.rowBlock = level.panelVectors * level.rowBlock / fitted.panelVectors;
  return fitted;
}

struct TileToCpu : attn::impl::TileToCpuPassBase<TileToCpu> {
  void runOnOperation() override {
    FailureOr<CpuLevel> level = requireTargetLevel(getOperation());
    if (failed(level))
      return signalPassFailure();
    SmallVector<func::FuncOp> stages;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.getOps<scf::ForallOp>().empty())
        stages.push_back(function);
    for (func::FuncOp stage : stages)
      if (failed(lower(stage, *level)))
        return signalPassFailure();
  }

  LogicalResult lower(func::FuncOp stage, const CpuLevel &row) {
    auto grids = llvm::to_vector(stage.getOps<scf::ForallOp>());
    scf::ForallOp grid = grids.front();
    if (grids.size() != 1 || grid.getNumResults() != 0)
      return grid.emitOpError("is not the only grid of its stage");
    Location loc = stage.getLoc();
    bool isRowMajor = grid->hasAttr(tile::kRowMajorAttrName);
    bool matrixUnit = grid->hasAttr(tile::kMatrixUnitAttrName);
    if (matrixUnit && !row.matrixVectors)
      return grid.emitOpError("is for a matrix unit that ")
             << row.name << " lacks";
    const CpuLevel table = matrixUnit ? row.onMatrixUnit() : row;
    if (matrixUnit)
      scaleProducts(stage);
    std::optional<int64_t> tileQ =
        isRowMajor ? table.tileQ()
                   : queriesInTile(grid, table.lanes * table.panelVectors);
    const CpuLevel level = fitLevel(table, tileQ.value_or(table.tileQ()));
    int64_t panelLanes = level.lanes * level.panelVectors;
    if (!tileQ || *tileQ % panelLanes)
      return grid.emitOpError(
                 "needs tiles of one number of queries, a multiple "
                 "of the ")
             << panelLanes << " in a panel";
    FailureOr<unsigned> integerBits = integerLaneBits(grid);
    if (failed(integerBits))
      return failure();
    OpBuilder b(stage);
    Type index = b.getIndexType();
    SmallVector<Type> inputs(stage.getArgumentTypes());

    // How many items.
    auto items =
        func::FuncOp::create(b, loc, (stage.getName() + ".items").str(),
                             b.getFunctionType(inputs, {index}));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(items.addEntryBlock());
      IRMapping map;
      SmallVector<Value> extents = clonePrefix(b, stage, grid, items, map);
      Value total = arith::ConstantIndexOp::create(b, loc, 1);
      for (Value extent : extents)
        total = arith::MulIOp::create(b, loc, total, extent);
      func::ReturnOp::create(b, loc, total);
    }

    // A range of them.
    inputs.append({index, index});
    auto range = func::FuncOp::create(b, loc, stage.getName(),
                                      b.getFunctionType(inputs, {}));
    {
      OpBuilder::InsertionGuard guard(b);
      Block *entry = range.addEntryBlock();
      b.setInsertionPointToStart(entry);
      IRMapping map;
      SmallVector<Value> extents = clonePrefix(b, stage, grid, range, map);
      unsigned count = stage.getNumArguments();
      auto loop = scf::ForOp::create(b, loc, range.getArgument(count),
                                     range.getArgument(count + 1),
                                     arith::ConstantIndexOp::create(b, loc, 1));
      b.setInsertionPointToStart(loop.getBody());
      Value rest = loop.getInductionVar();
      for (size_t axis = extents.size(); axis-- > 0;) {
        map.map(grid.getInductionVar(axis),
                axis == 0 ? rest
                          : arith::RemUIOp::create(b, loc, rest, extents[axis])
                                .getResult());
        if (axis)
          rest = arith::DivUIOp::create(b, loc, rest, extents[axis]);
      }
      CpuEmitter emitter(b, loc, level, {table.panelVectors, table.rowBlock},
                         isRowMajor ? 0 : *tileQ / panelLanes, *integerBits,
                         matrixUnit, map, entry);
      if (failed(emitter.emitBlock(*grid.getBody())))
        return failure();
      emitter.finish();
      if (int64_t bytes = stackBytes(*entry); bytes > kStackLimit)
        return stage.emitError("rows are too long: their tiles take ")
               << bytes / 1024 << " KiB of stack, more than "
               << kStackLimit / 1024;
      b.setInsertionPointToEnd(entry);
      func::ReturnOp::create(b, loc);
    }
    // The entries call them with descriptors by address.
    for (func::FuncOp function : {items, range})
      function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                        b.getUnitAttr());
    stage.erase();
    return success();
  }

  /// What stands before the grid, and the extents of the grid.
  static SmallVector<Value> clonePrefix(OpBuilder &b, func::FuncOp stage,
                                        scf::ForallOp grid, func::FuncOp into,
                                        IRMapping &map) {
    for (auto [from, to] : llvm::zip(stage.getArguments(), into.getArguments()))
      map.map(from, to);
    for (Operation &op : stage.front()) {
      if (&op == grid.getOperation())
        break;
      b.clone(op, map);
    }
    SmallVector<Value> extents;
    for (OpFoldResult bound : grid.getMixedUpperBound())
      if (auto v = dyn_cast<Value>(bound))
        extents.push_back(map.lookupOrDefault(v));
      else
        extents.push_back(arith::ConstantIndexOp::create(
            b, stage.getLoc(),
            cast<IntegerAttr>(cast<Attribute>(bound)).getInt()));
    return extents;
  }
};

} // namespace
