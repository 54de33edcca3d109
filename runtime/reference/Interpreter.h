//===- Interpreter.h - what attention means, in float64 ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_REFERENCE_INTERPRETER_H
#define ATTN_RUNTIME_REFERENCE_INTERPRETER_H

#include "attn/attn.h"
#include "dialect/attn/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/reference/Noise.h"

namespace attn {

/// An array as the interpreter takes it: data points at element [0, ..., 0];
/// strides are in elements and may be 0 or negative; none means row-major.
using ReferenceArray = Tensor;

/// Computes one attention function in float64, pair by pair, by the text of
/// S1-S9: the meaning that everything compiled is compared with.
///
/// `arrays` has one array a function argument, in order, outputs included, with
/// the ranks of the function's types (heads already broadcast; a key_lengths,
/// query_lengths or offset of extent 0 is "not given"). Real arrays may be f32,
/// f64, f16 or bf16, integer ones of any integer type; outputs are rounded once
/// to their own type. Row lengths in the function may still be `?`.
///
/// What cannot be interpreted, or does not fit, is a diagnostic on the
/// function's context and a failure; then nothing has been written, but for an
/// index outside of a parameter, which is only found on the way.
///
/// With `noise`, the results of all operations in f_Q, f_K, f_V and kappa are
/// moved at random as if they were rounded: how much the answer changes is how
/// much of it a target that rounds them can promise.
mlir::LogicalResult interpret(mlir::func::FuncOp function,
                              llvm::ArrayRef<ReferenceArray> arrays,
                              const Noise &noise = {});

} // namespace attn

#endif // ATTN_RUNTIME_REFERENCE_INTERPRETER_H
