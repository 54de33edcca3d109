//===- Attn.h - the attn dialect --------------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What attention means, what was decided about it, and the kernel language.
// The operations are documented in AttnOps.td and KappaOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_ATTN_H
#define ATTN_DIALECT_ATTN_ATTN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/attn/AttnDialect.h.inc"
#include "dialect/attn/AttnEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/attn/AttnAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialect/attn/AttnTypes.h.inc"
#define GET_OP_CLASSES
#include "dialect/attn/AttnOps.h.inc"

namespace attn {

/// The name under which ArgAttr stands on function arguments.
inline constexpr llvm::StringLiteral kArgAttrName = "attn.arg";
/// The name under which TargetAttr stands on a module.
inline constexpr llvm::StringLiteral kTargetAttrName = "attn.target";
/// The name under which a module says which order it must have, a string.
inline constexpr llvm::StringLiteral kOrderAttrName = "attn.order";
/// In how many parts the keys of a sequence may be summed for a state that all
/// its queries read (attn.linear).
inline constexpr int64_t kStateParts = 8;
/// The name of the state that a call in the recurrent order takes and gives.
inline constexpr llvm::StringLiteral kStateName = "state";
/// The rows of that state, for values of `width` elements: S, z, and the row
/// that begins with the number of tokens.
constexpr int64_t stateRows(int64_t width) { return width + 2; }

} // namespace attn

#endif // ATTN_DIALECT_ATTN_ATTN_H
