//===- Pipelines.cpp - the order of the passes ----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/Pipelines.h"
#include "lowering/Passes.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace attn;

void attn::setTarget(ModuleOp module, const CpuLevel &level) {
  MLIRContext *context = module.getContext();
  module->setAttr(kTargetAttrName,
                  TargetAttr::get(context, StringAttr::get(context, "cpu"),
                                  StringAttr::get(context, level.name),
                                  level.lanes));
}

void attn::buildSchedulePipeline(OpPassManager &pm) {}
void attn::buildLoopsPipeline(OpPassManager &pm) {}
void attn::buildCpuPipeline(OpPassManager &pm) {}
