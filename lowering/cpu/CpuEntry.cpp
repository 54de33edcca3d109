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
#include "lowering/cpu/TargetLevel.h"

namespace attn {
#define GEN_PASS_DEF_CPUENTRYPASS
#include "lowering/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

constexpr llvm::StringLiteral kInterface = "_mlir_ciface_";

/// The floating-point mode of the thread: flush-to-zero, of inputs too, all
/// traps masked, rounding to nearest. The whole mode is set, since a row's bits
/// do not depend on the caller's (S8) and an exception unmasked by the caller
/// is no reason to stop.
class FloatMode {
public:
  FloatMode(OpBuilder &b, Location loc, FloatControl control)
      : b(b), loc(loc), control(control) {}

  /// Saves the caller's mode and sets that of kernels.
  void enter() {
    switch (control) {
    case FloatControl::MXCSR: // read and written through memory
      saved = slot();
      call("llvm.x86.sse.stmxcsr", saved);
      // FTZ, DAZ, the masks of all exceptions.
      return call("llvm.x86.sse.ldmxcsr", slot(0x9fc0));
    case FloatControl::FPCR:
      saved = LLVM::CallIntrinsicOp::create(
                  b, loc, b.getI64Type(),
                  b.getStringAttr("llvm.aarch64.get.fpcr"), ValueRange{})
                  .getResult(0);
      // FZ. Conversions of f16 do not heed it.
      return call("llvm.aarch64.set.fpcr", constant(b.getI64Type(), 1 << 24));
    }
  }
  /// Restores the caller's mode.
  void leave() {
    call(control == FloatControl::MXCSR ? "llvm.x86.sse.ldmxcsr"
                                        : "llvm.aarch64.set.fpcr",
         saved);
  }

private:
  Value constant(Type type, int64_t value) {
    return LLVM::ConstantOp::create(b, loc, type,
                                    b.getIntegerAttr(type, value));
  }
  Value slot(std::optional<int64_t> value = std::nullopt) {
    Value one = constant(b.getI64Type(), 1);
    Value made = LLVM::AllocaOp::create(
        b, loc, LLVM::LLVMPointerType::get(b.getContext()), b.getI32Type(),
        one);
    if (value)
      LLVM::StoreOp::create(b, loc, constant(b.getI32Type(), *value), made);
    return made;
  }
  void call(StringRef intrinsic, Value operand) {
    LLVM::CallIntrinsicOp::create(b, loc, b.getStringAttr(intrinsic),
                                  ValueRange{operand});
  }

  OpBuilder &b;
  Location loc;
  FloatControl control;
  Value saved;
};

struct CpuEntry : attn::impl::CpuEntryPassBase<CpuEntry> {
  void runOnOperation() override {
    FailureOr<CpuLevel> level = requireTargetLevel(getOperation());
    if (failed(level))
      return signalPassFailure();
    control = level->control;
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
    Type i64 = b.getI64Type();
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

    FloatMode mode(b, loc, control);
    if (!items)
      mode.enter();
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
      mode.leave();
    LLVM::ReturnOp::create(b, loc, call.getResults());
  }

  FloatControl control = FloatControl::MXCSR;
};

} // namespace
