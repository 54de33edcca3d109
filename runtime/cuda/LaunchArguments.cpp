//===- LaunchArguments.cpp - the values of kernel parameters --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/LaunchArguments.h"
#include "runtime/Arrays.h"

using namespace attn;
using namespace attn::runtime;

Type runtime::rowTypeOf(const Signature &signature, const Binding &binding) {
  std::optional<Type> type;
  for (size_t n = 0; n < signature.formals.size(); ++n) {
    if (signature.formals[n].kind > FormalKind::Value)
      continue;
    Type here = binding.arrays[n].type;
    if (type && *type != here)
      throw Error(std::string("inputs of ") + nameOf(*type) + " and " +
                  nameOf(here) + "; on a GPU all rows have one type");
    type = here;
  }
  return type.value_or(Type::f32);
}

bool runtime::isOutputRole(const std::string &role) {
  for (const char *other :
       {"query", "key", "value", "parameter", "workspace", "key_lengths",
        "query_lengths", "offset", kStateRole.data()})
    if (role == other)
      return false;
  return true;
}

std::vector<double> GpuKernel::time(const Binding &, int64_t) const {
  throw Error(
      "the emulator's time says nothing of a GPU's; take --target=cuda");
}

LaunchArguments::LaunchArguments(const CudaProgram &program,
                                 const Binding &binding)
    : tensors(binding.arrays), program(program) {
  for (size_t n = tensors.size(); n < program.arguments.size(); ++n) {
    const LaunchArgument &argument = program.arguments[n];
    int64_t heads =
        argument.perQueryHead ? binding.queryHeads : binding.keyHeads;
    Type type = argument.type == "Bf16"  ? Type::bf16
                : argument.type == "F16" ? Type::f16
                                         : Type::f32;
    Tensor tensor(nullptr, type,
                  {binding.batch, heads,
                   argument.rowsFor(binding.queries, binding.keys)});
    if (argument.row)
      tensor.shape.push_back(argument.row);
    tensor.strides = rowMajor(tensor.shape);
    tensors.push_back(std::move(tensor));
    workspaces.push_back(n);
  }
}

std::pair<int64_t, int64_t> LaunchArguments::span(size_t n) const {
  const Tensor &tensor = tensors[n];
  int64_t low = 0, high = 0, size = sizeOf(tensor.type);
  // Indices of an empty axis clamp to the one element that the binder puts
  // there.
  if (elementCount(tensor.shape) == 0)
    return {0, program.arguments[n].role == "parameter" ? size : 0};
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    int64_t reach = (tensor.shape[axis] - 1) * tensor.strides[axis];
    (reach < 0 ? low : high) += reach;
  }
  return {low * size, (high + 1) * size};
}

int64_t LaunchArguments::blocks(const LaunchStage &stage) const {
  return stage.grid.evaluate([&](unsigned argument, unsigned axis) {
    return tensors[argument].shape[axis];
  });
}

std::vector<int64_t> LaunchArguments::values(const LaunchStage &stage) const {
  std::vector<int64_t> values;
  for (const LaunchParameter &parameter : stage.parameters) {
    const Tensor &tensor = tensors[parameter.argument];
    switch (parameter.kind) {
    case LaunchParameter::Array:
      values.push_back(
          static_cast<int64_t>(reinterpret_cast<intptr_t>(tensor.data)));
      break;
    case LaunchParameter::Extent:
      values.push_back(tensor.shape[parameter.axis]);
      break;
    case LaunchParameter::Stride:
      values.push_back(tensor.strides[parameter.axis]);
      break;
    }
  }
  return values;
}
