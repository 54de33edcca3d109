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

AheadOfTime Compilation::compileAhead(const StaticSizes &sizes,
                                      const CpuLevel &level,
                                      llvm::StringRef name) {
  auto guard = lock();
  OwningOpRef<ModuleOp> lowered = schedule(sizes, level);
  // Before the function becomes stages, and after it got its workspaces.
  func::FuncOp function = attentionFunction(*lowered);
  setCInterface(*lowered, function, name.empty() ? function.getName() : name,
                sizes.variables);
  AheadOfTime result;
  check([&]() -> LogicalResult {
    // The name and the ranks are refused before the work.
    if (failed(readCInterface(*lowered)))
      return failure();
    for (auto build : {buildLoopsPipeline, buildCpuPipeline})
      if (failed(runPipeline(*lowered, build)))
        return failure();
    FailureOr<CInterface> interface = readCInterface(*lowered);
    if (failed(interface))
      return failure();
    result.interface = std::move(*interface);
    result.stackBytes = stackBytesOf(*lowered);
    return runPipeline(*lowered, buildCInterfacePipeline);
  });
  result.object = emitObject(*lowered, level);
  return result;
}
