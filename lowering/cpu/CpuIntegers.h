//===- CpuIntegers.h - how wide integers in lanes must be -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_CPUINTEGERS_H
#define ATTN_LOWERING_CPU_CPUINTEGERS_H

#include "mlir/IR/Operation.h"

namespace attn {

/// 32 or 64: the bits that hold every integer of a grid exactly. Integers that
/// come from outside (positions, extents, parameters) have at most 31; what is
/// computed from them may need more: i * i does. Emits an error where 64 do not
/// suffice.
llvm::FailureOr<unsigned> integerLaneBits(mlir::Operation *grid);

} // namespace attn

#endif // ATTN_LOWERING_CPU_CPUINTEGERS_H
