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
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.getOps<scf::ForallOp>().empty())
        continue;
      scaleProducts(function);
      if (!storage.isF32())
        storeAs(function, storage);
      loadEarly(function);
    }
  }

  /// (c q).k is c (q.k): a query's rows are staged as they are, and rounded
  /// once.
  static void scaleProducts(func::FuncOp function) {
    SmallVector<tile::ContractOp> contractions;
    function.walk([&](tile::ContractOp op) { contractions.push_back(op); });
    for (tile::ContractOp op : contractions) {
      auto map = op.getA().getDefiningOp<tile::MapOp>();
      if (!map || !map.getResult().getType().has('d') ||
          map.getInputs().size() != 1)
        continue;
      Block &block = map.getBody().front();
      auto product =
          block.getTerminator()->getOperand(0).getDefiningOp<arith::MulFOp>();
      if (!product || product->getPrevNode())
        continue;
      Value x = block.getArgument(0);
      Value factor =
          product.getLhs() == x ? product.getRhs() : product.getLhs();
      if (factor == x || (product.getLhs() != x && product.getRhs() != x))
        continue;
      OpBuilder b(op);
      b.setInsertionPointAfter(op);
      auto scaled = tile::MapOp::create(
          b, op.getLoc(), op.getResult().getType(), op.getResult());
      Block *body =
          b.createBlock(&scaled.getBody(), {}, b.getF32Type(), op.getLoc());
      Value y =
          arith::MulFOp::create(b, op.getLoc(), body->getArgument(0), factor);
      tile::YieldOp::create(b, op.getLoc(), y);
      op.getResult().replaceAllUsesExcept(scaled.getResult(), scaled);
      op.getAMutable().assign(map.getInputs()[0]);
      if (map.use_empty())
        map.erase();
    }
  }

  static TileType withElement(TileType t, Type element) {
    return TileType::get(t.getContext(), t.getAxes(), t.getShape(), element);
  }

  /// The rows of q, k, v, o and of workspaces are of the storage type; rows in
  /// shared memory are of it, too. What is one number a row stays f32.
  static void storeAs(func::FuncOp function, Type storage) {
    for (BlockArgument argument : function.getArguments()) {
      auto arg = function.getArgAttrOfType<ArgAttr>(argument.getArgNumber(),
                                                    kArgAttrName);
      auto type = cast<MemRefType>(argument.getType());
      if (!arg || type.getRank() != 4 || !type.getElementType().isF32())
        continue;
      bool isRole = arg.getKind() == ArgKind::Query ||
                    arg.getKind() == ArgKind::Key ||
                    arg.getKind() == ArgKind::Value ||
                    arg.getKind() == ArgKind::Workspace ||
                    (arg.getKind() == ArgKind::Output &&
                     arg.getName().getValue() == stringifyResult(Result::O));
      if (isRole)
        argument.setType(MemRefType::get(
            type.getShape(), storage, type.getLayout(), type.getMemorySpace()));
    }
    function.setType(FunctionType::get(
        function.getContext(), function.front().getArgumentTypes(), {}));
    function.walk([&](Operation *op) {
      if (!isa<tile::LoadOp, tile::RowsOp>(op))
        return;
      for (Value result : op->getResults())
        if (auto t = cast<TileType>(result.getType()); t.rank() == 2)
          result.setType(withElement(t, storage));
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
    for (tile::LoadOp load : loads) {
      Block *block = load->getBlock();
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
