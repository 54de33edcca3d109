//===- CpuCEntry.cpp - what a C program calls -----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Around the stages' entries: a function that checks a struct of arguments and
// makes descriptors of it, functions that run a prepared call in one piece or
// by ranges, and one that says what a status means. Written in func, scf and
// arith, which the passes behind lower. What is the same for all kernels is
// MLIR text in CEntryLibrary.inc.
//
//===----------------------------------------------------------------------===//

#include "lowering/Passes.h"
#include "lowering/cpu/CEntryBuilder.h"

#include "mlir/Parser/Parser.h"

namespace attn {
#define GEN_PASS_DEF_CPUCENTRYPASS
#include "lowering/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

static constexpr StringLiteral kLibrary =
#include "lowering/cpu/CEntryLibrary.inc"
    ;

//===----------------------------------------------------------------------===//
// Shorthands
//===----------------------------------------------------------------------===//

Value CEntryBuilder::choose(Value condition, Type type,
                            const std::function<Value()> &then,
                            const std::function<Value()> &otherwise) {
  auto choice = make<scf::IfOp>(TypeRange{type}, condition, true, true);
  InsertionGuard guard(*this);
  setInsertionPointToStart(&choice.getThenRegion().front());
  make<scf::YieldOp>(ValueRange{then()});
  setInsertionPointToStart(&choice.getElseRegion().front());
  make<scf::YieldOp>(ValueRange{otherwise()});
  return choice.getResult(0);
}

void CEntryBuilder::when(Value condition, const std::function<void()> &then) {
  auto choice = make<scf::IfOp>(condition, /*withElseRegion=*/false);
  InsertionGuard guard(*this);
  setInsertionPointToStart(&choice.getThenRegion().front());
  then();
}

func::FuncOp CEntryBuilder::function(StringRef name, ArrayRef<Type> inputs,
                                     ArrayRef<Type> results, bool exported) {
  setInsertionPointToEnd(module.getBody());
  auto made = make<func::FuncOp>(name, getFunctionType(inputs, results));
  if (!exported)
    made->setAttr(kLinkage, LLVM::LinkageAttr::get(getContext(),
                                                   LLVM::Linkage::Internal));
  setInsertionPointToStart(made.addEntryBlock());
  return made;
}

void CEntryBuilder::build() {
  // What was there is not for the linker's eyes any more.
  auto internal = LLVM::LinkageAttr::get(getContext(), LLVM::Linkage::Internal);
  for (auto stage : module.getOps<LLVM::LLVMFuncOp>())
    if (!stage.isExternal())
      stage.setLinkageAttr(internal);
  buildStatusText();
  buildPrepare();
  buildRange();
  buildWhole();
  buildForwarders();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct CpuCEntry : attn::impl::CpuCEntryPassBase<CpuCEntry> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<CInterface> interface = readCInterface(module);
    if (failed(interface))
      return signalPassFailure();
    if (interface->stages == 0) {
      module.emitError("the module has no entries ")
          << interface->kernel << ".stage0.run; run attn-cpu-entry first";
      return signalPassFailure();
    }
    ParserConfig config(&getContext());
    OwningOpRef<ModuleOp> library =
        parseSourceString<ModuleOp>(kLibrary, config);
    if (!library) {
      module.emitError("internal: the library of the C entries does not parse");
      return signalPassFailure();
    }
    auto linkage =
        LLVM::LinkageAttr::get(&getContext(), LLVM::Linkage::Internal);
    for (auto function :
         llvm::make_early_inc_range(library->getOps<func::FuncOp>())) {
      function->setAttr(kLinkage, linkage);
      function->moveBefore(module.getBody(), module.getBody()->end());
    }
    CEntryBuilder(module, *interface).build();
    module->removeAttr(kCInterfaceAttrName); // all that it said is code now
  }
};
} // namespace
