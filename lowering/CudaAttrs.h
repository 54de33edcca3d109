//===- CudaAttrs.h - what a module says of its GPU --------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Beside #attn.target<kind = "cuda">: attributes of the module that passes of
// several folders read.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CUDAATTRS_H
#define ATTN_LOWERING_CUDAATTRS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

namespace attn {

inline constexpr llvm::StringLiteral kCudaKind = "cuda";
/// The type of the elements of q, k, v and o: f32, bf16 or f16.
inline constexpr llvm::StringLiteral kStorageAttrName = "attn.storage";
/// Two integers that overrule the table: queries and keys in a tile.
inline constexpr llvm::StringLiteral kTilesAttrName = "attn.tiles";

/// An integer on a function: how many tiles of keys are in shared memory at a
/// time; 2: the next is copied while one is used.
inline constexpr llvm::StringLiteral kStagesAttrName = "attn.stages";

/// A unit on the module: products of f32 rows may go through the matrix unit,
/// with the 10 bits of tf32.
inline constexpr llvm::StringLiteral kTf32AttrName = "attn.tf32";

inline mlir::Type storageType(mlir::ModuleOp module) {
  auto attr = module->getAttrOfType<mlir::TypeAttr>(kStorageAttrName);
  return attr ? attr.getValue() : mlir::Float32Type::get(module.getContext());
}

} // namespace attn

#endif // ATTN_LOWERING_CUDAATTRS_H
