//===- DLPack.h - tensors of other libraries --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// DLPack is the form in which array libraries lend each other memory. Its own
// header is not needed here; to look inside, include <dlpack/dlpack.h>.
//
//     DLManagedTensor *o = newDLPack(Type::f32, kernel.shapeOf("o", inputs));
//     kernel({{"q", fromDLPack(*q)}, ...}, {{"o", fromDLPack(*o)}});
//     return o; // whoever takes it calls o->deleter(o)
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DLPACK_H
#define ATTN_DLPACK_H

#include <cstdint>
#include <memory>
#include <vector>

struct DLManagedTensor;

namespace attn {

enum class Type;
struct Tensor;

/// A view of a tensor's memory, with its byte offset; without strides it is
/// row-major. Neither owns nor deletes: `managed` must outlive the view. Throws
/// Error unless the memory is the host's (pinned by CUDA or not) or a CUDA
/// device's, and the elements those of a Type. Who lends memory of a device has
/// work on it enqueued, perhaps: pass a call the same stream.
Tensor fromDLPack(const DLManagedTensor &managed);

/// Lends a tensor, where it lies: `owner`, which may be null, is kept until the
/// consumer calls the deleter. The caller owns the result.
DLManagedTensor *toDLPack(const Tensor &tensor, std::shared_ptr<void> owner);

/// A row-major tensor with host memory of its own, zeroed and aligned as DLPack
/// asks (256 bytes): an output to hand on. The caller owns the result; its
/// deleter frees all. Throws Error where the memory cannot be had.
DLManagedTensor *newDLPack(Type type, const std::vector<int64_t> &shape);

} // namespace attn

#endif // ATTN_DLPACK_H
