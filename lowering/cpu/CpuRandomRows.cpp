//===- CpuRandomRows.cpp - random rows as constants of the code -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuRandomRows.h"

#include "dialect/attn/RandomRows.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace attn;

Value attn::randomMatrix(OpBuilder &builder, Block *entry, RandomFeaturesOp op,
                         int64_t length) {
  auto count = static_cast<int64_t>(op.getCount());
  auto type = MemRefType::get({length, count}, builder.getF32Type());
  bool anchors = op.getKind() == RandomKind::Anchors;
  std::string name =
      ("attn.random." + Twine(length) + "x" + Twine(count) + ".seed" +
       Twine(op.getSeed()) + ".stream" + Twine(op.getStream()) +
       (op.getOrthogonal() ? ".orthogonal" : "") + (anchors ? ".anchors" : ""))
          .str();
  auto module = entry->getParentOp()->getParentOfType<ModuleOp>();
  OpBuilder::InsertionGuard guard(builder);
  if (!module.lookupSymbol(name)) {
    auto rows = randomRowsOf(op, length);
    std::vector<float> columns(rows->size());
    for (int64_t r = 0; r < count; ++r)
      for (int64_t d = 0; d < length; ++d)
        columns[d * count + r] = (*rows)[r * length + d];
    builder.setInsertionPointToStart(module.getBody());
    memref::GlobalOp::create(
        builder, op.getLoc(), name, builder.getStringAttr("private"), type,
        DenseElementsAttr::get(
            RankedTensorType::get(type.getShape(), type.getElementType()),
            llvm::ArrayRef<float>(columns)),
        /*constant=*/true, builder.getI64IntegerAttr(64));
  }
  builder.setInsertionPointToStart(entry);
  return memref::GetGlobalOp::create(builder, op.getLoc(), type, name);
}
