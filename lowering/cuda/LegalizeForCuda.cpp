//===- LegalizeForCuda.cpp - tile loops that CUDA can print ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that changes the program for CUDA's sake, so that the printer
// changes nothing.
//
//===----------------------------------------------------------------------===//

#include "lowering/CudaAttrs.h"
#include "lowering/Passes.h"
#include "lowering/loops/ScaleProducts.h"

#include "llvm/ADT/StringSet.h"

namespace attn {
#define GEN_PASS_DEF_LEGALIZEFORCUDAPASS
#include "lowering/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using tile::TileType;

namespace {

struct LegalizeForCuda : attn::impl::LegalizeForCudaPassBase<LegalizeForCuda> {
  void runOnOperation() override {
    Type storage = storageType(getOperation());
    llvm::StringSet<> values = valueWorkspaces(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.getOps<scf::ForallOp>().empty())
        continue;
      scaleProducts(function);
      mapElementwise(function);
      if (!storage.isF32())
        storeAs(function, storage, values);
      loadEarly(function);
    }
  }

  /// Features that are functions of one element each: every thread makes some,
  /// instead of a thread a row.
  static void mapElementwise(func::FuncOp function) {
    function.walk([](tile::MapOp op) { // rows as they stand
      if (op.getInputs().size() != 1 ||
          op.getInputs()[0].getType() != op.getResult().getType() ||
          op.getBody().front().getTerminator()->getOperand(0) !=
              op.getBody().getArgument(0))
        return;
      op.getResult().replaceAllUsesWith(op.getInputs()[0]);
      op.erase();
    });
    SmallVector<tile::RowsOp> maps;
    function.walk([&](tile::RowsOp op) { maps.push_back(op); });
    for (tile::RowsOp op : maps) {
      if (op.getNumResults() != 1)
        continue;
      auto load = op.getTile().getDefiningOp<tile::LoadOp>();
      auto type = cast<TileType>(op.getResult(0).getType());
      if (!load || !load->hasOneUse() || type.rank() != 2 || !type.has('r') ||
          cast<TileType>(load.getType()).getShape() != type.getShape() ||
          type.getShape()[1] % 16 != 0)
        continue;
      Block &block = op.getBody().front();
      // A chain of maps of the row; scalars know no position.
      Value row = block.getArgument(0);
      SmallVector<MapOp> chain;
      SmallVector<Operation *> scalars;
      bool isChain = true;
      for (Operation &nested : block.without_terminator()) {
        if (auto map = dyn_cast<MapOp>(nested)) {
          isChain &= map.getRows().size() == 1 && map.getRows()[0] == row;
          chain.push_back(map);
          row = map.getResult();
          continue;
        }
        isChain &= llvm::none_of(nested.getOperands(),
                                 [&](Value v) {
                                   return isa<RowType>(v.getType()) ||
                                          v == block.getArgument(1);
                                 }) &&
                   !isa<RowType>(nested.getResult(0).getType());
        scalars.push_back(&nested);
      }
      if (!isChain || block.getTerminator()->getOperand(0) != row)
        continue;
      for (Operation *scalar : scalars)
        scalar->moveBefore(op);
      OpBuilder b(op);
      load.getResult().setType(type);
      if (chain.empty()) {
        op.getResult(0).replaceAllUsesWith(load.getResult());
        op.erase();
        continue;
      }
      auto map = tile::MapOp::create(b, op.getLoc(), type, load.getResult());
      Block *body =
          b.createBlock(&map.getBody(), {}, b.getF32Type(), op.getLoc());
      Value x = body->getArgument(0);
      for (MapOp link : chain) {
        IRMapping inside;
        Block &from = link.getBody().front();
        inside.map(from.getArgument(0), x);
        for (Operation &scalar : from.without_terminator())
          b.clone(scalar, inside);
        x = inside.lookupOrDefault(from.getTerminator()->getOperand(0));
      }
      tile::YieldOp::create(b, op.getLoc(), x);
      op.getResult(0).replaceAllUsesWith(map.getResult());
      op.erase();
    }
  }

  static TileType withElement(TileType t, Type element) {
    return TileType::get(t.getContext(), t.getAxes(), t.getShape(), element);
  }

  /// Sums over keys, which stay f32: the state of the linear order, and the
  /// parts of a split one. Other workspaces hold rows, one a key.
  static bool isState(ArgAttr arg) {
    return arg.getKind() == ArgKind::State ||
           (arg.getKind() == ArgKind::Workspace &&
            cast<StringAttr>(arg.getAxes()[2]).getValue() != "nk");
  }

  static ArgAttr argOf(Value memory) {
    auto argument = dyn_cast<BlockArgument>(memory);
    auto function =
        argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
                 : func::FuncOp();
    return function ? function.getArgAttrOfType<ArgAttr>(
                          argument.getArgNumber(), kArgAttrName)
                    : ArgAttr();
  }

  /// Names of the workspaces that hold rows of values, whichever stage makes
  /// them.
  static llvm::StringSet<> valueWorkspaces(ModuleOp module) {
    llvm::StringSet<> names;
    module.walk([&](tile::LoadOp load) {
      TileType t = load.getResult().getType();
      ArgAttr arg = argOf(load.getMemory());
      if (arg && arg.getKind() == ArgKind::Workspace && t.has('k') &&
          t.has('e'))
        names.insert(arg.getName().getValue());
    });
    return names;
  }

  /// Rows of q, k, v and o are of the storage type, and so are rows that a map
  /// makes of v: they are rounded as o is. Rows that a map makes of q and k,
  /// and features, are tf32: the matrix unit takes it with 10 bits after the
  /// point and the exponents of f32, and other bits than those of the inputs
  /// are all in a weight. Rows of parameters have them, too. What is one number
  /// a row stays f32.
  static void storeAs(func::FuncOp function, Type storage,
                      const llvm::StringSet<> &valueWorkspaces) {
    Type tf32 = FloatTF32Type::get(function.getContext());
    for (BlockArgument argument : function.getArguments()) {
      ArgAttr arg = argOf(argument);
      auto type = cast<MemRefType>(argument.getType());
      if (!arg || type.getRank() != 4 || !type.getElementType().isF32())
        continue;
      bool isRole = arg.getKind() == ArgKind::Query ||
                    arg.getKind() == ArgKind::Key ||
                    arg.getKind() == ArgKind::Value ||
                    (arg.getKind() == ArgKind::Output &&
                     arg.getName().getValue() == stringifyResult(Result::O));
      bool isWorkspace = arg.getKind() == ArgKind::Workspace && !isState(arg);
      if (!isRole && !isWorkspace)
        continue;
      Type element =
          isRole || valueWorkspaces.contains(arg.getName().getValue()) ? storage
                                                                       : tf32;
      argument.setType(MemRefType::get(
          type.getShape(), element, type.getLayout(), type.getMemorySpace()));
    }
    function.setType(FunctionType::get(
        function.getContext(), function.front().getArgumentTypes(), {}));
    // What is stored has the type of the memory.
    auto elementOfMade = [&](Value rows) {
      for (Operation *user : rows.getUsers())
        if (auto store = dyn_cast<tile::StoreOp>(user))
          return cast<MemRefType>(store.getMemory().getType()).getElementType();
      return tf32;
    };
    function.walk([&](Operation *op) {
      if (!isa<tile::LoadOp, tile::RowsOp, tile::MapOp, tile::MaskOp>(op))
        return;
      for (Value result : op->getResults()) {
        auto t = cast<TileType>(result.getType());
        bool areFeatures = t.has('r') && !t.has('e');
        if (t.rank() != 2)
          continue;
        if (auto load = dyn_cast<tile::LoadOp>(op)) {
          if (ArgAttr arg = argOf(load.getMemory()); arg && isState(arg))
            continue;
          Type element =
              cast<MemRefType>(load.getMemory().getType()).getElementType();
          result.setType(withElement(t, element.isF32() ? tf32 : element));
        } else if (isa<tile::RowsOp>(op))
          result.setType(withElement(t, elementOfMade(result)));
        else if (isa<tile::MapOp>(op) && areFeatures)
          result.setType(withElement(t, tf32));
        else if (auto mask = dyn_cast<tile::MaskOp>(op); mask && areFeatures)
          result.setType(mask.getTile().getType());
      }
    });
  }

  /// Copies begin as early as their addresses are known.
  static void loadEarly(func::FuncOp function) {
    SmallVector<tile::LoadOp> loads;
    function.walk([&](tile::LoadOp op) {
      if (op.getResult().getType().rank() == 2)
        loads.push_back(op);
    });
    llvm::DenseMap<Block *, Operation *> lastOf;
    llvm::DenseSet<std::pair<Block *, Value>> loaded;
    for (tile::LoadOp load : loads) {
      Block *block = load->getBlock();
      // Rows that come a second time take the place of the first.
      if (!loaded.insert({block, load.getMemory()}).second)
        continue;
      Operation *after = lastOf.lookup(block);
      for (Value operand : load->getOperands())
        if (Operation *def = operand.getDefiningOp();
            def && def->getBlock() == block &&
            (!after || after->isBeforeInBlock(def)))
          after = def;
      if (after)
        load->moveAfter(after);
      else
        load->moveBefore(&block->front());
      lastOf[block] = load;
    }
  }
};

} // namespace
