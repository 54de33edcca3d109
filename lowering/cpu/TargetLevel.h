//===- TargetLevel.h - the feature level of a module ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_TARGETLEVEL_H
#define ATTN_LOWERING_CPU_TARGETLEVEL_H

#include "dialect/attn/Attn.h"
#include "lowering/Target.h"
#include "mlir/IR/BuiltinOps.h"

namespace attn {

/// The level that #attn.target of a module names, if it names one.
inline std::optional<CpuLevel> targetLevel(mlir::ModuleOp module) {
  auto target = module->getAttrOfType<TargetAttr>(kTargetAttrName);
  return target ? parseCpuLevel(target.getLevel().getValue()) : std::nullopt;
}

/// The same; a diagnostic where there is none.
inline mlir::FailureOr<CpuLevel> requireTargetLevel(mlir::ModuleOp module) {
  std::optional<CpuLevel> level = targetLevel(module);
  if (level)
    return *level;
  return module.emitError("the module names no known target; set ")
         << kTargetAttrName;
}

} // namespace attn

#endif // ATTN_LOWERING_CPU_TARGETLEVEL_H
