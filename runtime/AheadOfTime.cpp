//===- AheadOfTime.cpp - kernels for programs without a compiler ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/AheadOfTime.h"
#include "runtime/CodeGen.h"
#include "runtime/Compile.h"

#include "lowering/Pipelines.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"

using namespace attn;
using namespace attn::runtime;
using namespace mlir;

/// The most that one function's tiles take.
static int64_t stackBytesOf(ModuleOp module) {
  DataLayout layout(module);
  int64_t most = 0;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    int64_t bytes = 0;
    function.walk([&](LLVM::AllocaOp op) {
      APInt count;
      if (matchPattern(op.getArraySize(), m_ConstantInt(&count)))
        bytes += count.getSExtValue() *
                 static_cast<int64_t>(layout.getTypeSize(op.getElemType()));
    });
    most = std::max(most, bytes);
  }
  return most;
}

/// Whether a struct of arguments for one interface is one for the other, with
/// the same meaning.
static bool haveSameArguments(const CInterface &a, const CInterface &b) {
  return a.fields.size() == b.fields.size() &&
         llvm::all_of(llvm::zip(a.fields, b.fields), [](auto pair) {
           const auto &[x, y] = pair;
           return x.name == y.name && x.element == y.element &&
                  x.rank == y.rank && x.extents == y.extents &&
                  x.offset == y.offset;
         });
}

OwningOpRef<ModuleOp> Compilation::lowerAhead(const StaticSizes &sizes,
                                              const CpuLevel &level,
                                              llvm::StringRef name,
                                              AheadOfTime &made) {
  OwningOpRef<ModuleOp> lowered = schedule(sizes, level);
  // Before the function becomes stages, and after it got its workspaces.
  func::FuncOp function = attentionFunction(*lowered);
  setCInterface(*lowered, function, name.empty() ? function.getName() : name,
                sizes.variables, made.levels.size());
  CInterface interface;
  check([&]() -> LogicalResult {
    // The name and the ranks are refused before the work.
    if (failed(readCInterface(*lowered)))
      return failure();
    for (auto build : {buildLoopsPipeline, buildCpuPipeline})
      if (failed(runPipeline(*lowered, build)))
        return failure();
    FailureOr<CInterface> read = readCInterface(*lowered);
    if (failed(read))
      return failure();
    interface = std::move(*read);
    made.stackBytes = std::max(made.stackBytes, stackBytesOf(*lowered));
    return runPipeline(*lowered, buildCInterfacePipeline);
  });
  made.callWords = std::max(made.callWords, interface.callWords());
  if (!llvm::is_contained(made.workspaces, interface.workspaceText()))
    made.workspaces.push_back(interface.workspaceText());
  if (made.levels.empty())
    made.interface = std::move(interface);
  else if (!haveSameArguments(made.interface, interface))
    throw Error("the arguments of this kernel differ between " +
                made.levels.front() + " and " + level.codeName().str() +
                ": compile it for one level at a time");
  made.levels.push_back(level.codeName().str());
  return lowered;
}

AheadOfTime Compilation::compileAhead(const StaticSizes &sizes,
                                      llvm::ArrayRef<CpuLevel> levels,
                                      llvm::StringRef name) {
  auto guard = lock();
  AheadOfTime result;
  if (levels.size() == 1) {
    OwningOpRef<ModuleOp> lowered =
        lowerAhead(sizes, levels.front(), name, result);
    result.object = emitObject(*lowered, levels.front());
    return result;
  }
  OwningOpRef<ModuleOp> all;
  for (const CpuLevel &level : levels) {
    OwningOpRef<ModuleOp> lowered = lowerAhead(sizes, level, name, result);
    if (!all) {
      all = ModuleOp::create(lowered->getLoc());
      (*all)->setAttr(
          kDispatchAttrName,
          StringAttr::get(all->getContext(), result.interface.name));
    }
    all->push_back(lowered.release());
  }
  check([&] { return runPipeline(*all, buildDispatchPipeline); });
  // What picks the level runs on every machine of the architecture.
  CpuLevel any = levels.front();
  any.cpu = "x86-64";
  any.features = "";
  result.object = emitObject(*all, any);
  return result;
}
