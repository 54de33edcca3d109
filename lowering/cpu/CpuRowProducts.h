//===- CpuRowProducts.h - products of f32, or of pairs of bf16 --*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A vector of sums takes products of f32 numbers, one a lane; or, of bf16 rows
// as they are stored, two products a lane at once (AVX512_BF16, vdpbf16ps): of
// coordinates side by side where rows meet rows, of two keys where weights meet
// values.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_CPUROWPRODUCTS_H
#define ATTN_LOWERING_CPU_CPUROWPRODUCTS_H

#include "lowering/cpu/CpuEmitter.h"

namespace attn {

class RowProducts {
public:
  using Values = CpuEmitter::Values;

  /// Of f32 numbers; or of pairs, by two multiply-adds where the level has no
  /// instruction for them.
  explicit RowProducts(CpuEmitter &e, bool isPairs = false);
  /// Of rows in two memories: pairs where both have bf16 and the level has an
  /// instruction for them.
  RowProducts(CpuEmitter &e, mlir::Value a, mlir::Value b);

  /// Whether rows in a memory are multiplied as they are stored.
  bool takes(mlir::Value memory) const;
  /// `count` elements of a row, at most a vector, and zeros behind them.
  mlir::Value load(mlir::Value memory, mlir::Value at, int64_t count) const;
  /// sum + x y, a lane.
  mlir::Value add(mlir::Value sum, mlir::Value x, mlir::Value y) const;
  /// A number in all lanes; where products are of pairs, with the next one
  /// beside it, or a zero where `count` is 1.
  mlir::Value broadcast(mlir::Value memory, mlir::ValueRange at,
                        int64_t count) const;
  /// What a vector of the rows of as many keys gives to sums.
  Values columns(mlir::ValueRange rows) const;
  /// Sums of such columns, as columns lie in memory.
  Values inOrder(mlir::ValueRange sums) const;

  bool isPairs;
  mlir::Type element; ///< of what `load` returns
  int64_t width;      ///< elements of a vector
  /// Keys that a sum of weighted values takes at once.
  int64_t keys() const { return isPairs ? 2 : 1; }

private:
  CpuEmitter &e;
};

} // namespace attn

#endif // ATTN_LOWERING_CPU_CPUROWPRODUCTS_H
