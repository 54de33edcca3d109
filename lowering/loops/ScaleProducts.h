//===- ScaleProducts.h - scaling after a product ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_LOOPS_SCALEPRODUCTS_H
#define ATTN_LOWERING_LOOPS_SCALEPRODUCTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn {

/// (c q).k becomes c (q.k): a query's rows are multiplied as they are stored,
/// where what multiplies them has no more digits than that.
void scaleProducts(mlir::func::FuncOp stage);

} // namespace attn

#endif // ATTN_LOWERING_LOOPS_SCALEPRODUCTS_H
