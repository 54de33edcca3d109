//===- CpuEntry.cpp - what a caller calls ---------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One signature for every kernel: an array of addresses of memref descriptors,
// and a range of work items. The floating-point mode is the generated code's
// own (S4): denormals made peaky rows tens of times slower.
//
//===----------------------------------------------------------------------===//

#include "lowering/Passes.h"

namespace attn {
#define GEN_PASS_DEF_CPUENTRYPASS
#include "lowering/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

constexpr llvm::StringLiteral kInterface = "_mlir_ciface_";
/// Flush-to-zero and denormals-are-zero, all exceptions masked, rounding to
/// nearest: the whole mode, since a row's bits do not depend on the caller's
/// (S8) and an exception unmasked by the caller is no reason to stop.
constexpr int64_t kMode = 0x9fc0;

struct CpuEntry : attn::impl::CpuEntryPassBase<CpuEntry> {
  void runOnOperation() override {
    SmallVector<LLVM::LLVMFuncOp> functions(
        getOperation().getOps<LLVM::LLVMFuncOp>());
    for (LLVM::LLVMFuncOp function : functions) {
      StringRef name = function.getName();
      if (name.consume_front(kInterface) && name.contains(".stage"))
        addEntry(function, name);
    }
  }

  void addEntry(LLVM::LLVMFuncOp callee, StringRef name) {
    Location loc = callee.getLoc();
    OpBuilder b(callee);
    b.setInsertionPointAfter(callee);
    Type pointer = LLVM::LLVMPointerType::get(b.getContext());
    Type i32 = b.getI32Type(), i64 = b.getI64Type();
    bool items = name.ends_with(".items");
    LLVM::LLVMFunctionType type = callee.getFunctionType();
    size_t arguments = type.getNumParams() - (items ? 0 : 2);

    SmallVector<Type> inputs{pointer};
    if (!items)
      inputs.append({i64, i64});
    auto entry = LLVM::LLVMFuncOp::create(
        b, loc, (name + ".run").str(),
        LLVM::LLVMFunctionType::get(type.getReturnType(), inputs));
    Block *block = entry.addEntryBlock(b);
    b.setInsertionPointToStart(block);

    auto constant = [&](Type t, int64_t v) -> Value {
      return LLVM::ConstantOp::create(b, loc, t, b.getIntegerAttr(t, v));
    };
    auto control = [&](StringRef intrinsic, Value slot) {
      LLVM::CallIntrinsicOp::create(b, loc, b.getStringAttr(intrinsic),
                                    ValueRange{slot});
    };
    Value saved, set;
    if (!items) {
      Value one = constant(i64, 1);
      saved = LLVM::AllocaOp::create(b, loc, pointer, i32, one);
      set = LLVM::AllocaOp::create(b, loc, pointer, i32, one);
      control("llvm.x86.sse.stmxcsr", saved);
      LLVM::StoreOp::create(b, loc, constant(i32, kMode), set);
      control("llvm.x86.sse.ldmxcsr", set);
    }
    SmallVector<Value> operands;
    for (size_t t = 0; t < arguments; ++t) {
      Value slot =
          LLVM::GEPOp::create(b, loc, pointer, pointer, block->getArgument(0),
                              ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(t)});
      operands.push_back(LLVM::LoadOp::create(b, loc, pointer, slot));
    }
    if (!items)
      operands.append({block->getArgument(1), block->getArgument(2)});
    auto call = LLVM::CallOp::create(b, loc, callee, operands);
    if (!items)
      control("llvm.x86.sse.ldmxcsr", saved);
    LLVM::ReturnOp::create(b, loc, call.getResults());
  }
};

} // namespace
