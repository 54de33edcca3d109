//===- CudaWarpGroups.cpp - products of four warps in CUDA C++ ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the architecture has wgmma, products of 16-bit rows go that way if they
// are of its shape, and what they read lies in core matrices. All others, and
// f32, are products of a warp (mma.sync) of rows that lie apart. The text of
// both calls is the same: the type of the rows decides.
//
//===----------------------------------------------------------------------===//

#include "lowering/cuda/CudaPrinter.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

static TileType typeOf(Value v) { return cast<TileType>(v.getType()); }

/// Of wgmma: m64nNk16, N a multiple of 8 up to 256 (PTX ISA, "Matrix Shape").
static constexpr int64_t kRows = 64, kMostColumns = 256;

bool CudaPrinter::isGroupProduct(tile::ContractOp op) {
  TileType a = typeOf(op.getA()), b = typeOf(op.getB()),
           r = op.getResult().getType();
  if (!file.level.warpGroups || tileQ % kRows != 0 || !is16Bit(b))
    return false;
  if (isRows(a) && a.has('q') && isRows(b) && r.has('q') && r.has('k'))
    return a.getElementType() == b.getElementType() &&
           r.size('k') <= kMostColumns;
  return a.has('q') && a.has('k') && b.has('e') && r.has('e') &&
         isRounded(op) && 8 * columnGroups(b.size('e')) <= kMostColumns;
}

bool CudaPrinter::liesInCores(Value rows) {
  return llvm::any_of(rows.getUsers(), [&](Operation *user) {
    if (auto mask = dyn_cast<tile::MaskOp>(user)) // rows are masked in place
      return mask.getTile() == rows && isRows(typeOf(rows)) &&
             liesInCores(mask.getResult());
    auto contract = dyn_cast<tile::ContractOp>(user);
    return contract && isRows(typeOf(rows)) && isGroupProduct(contract);
  });
}

void CudaPrinter::findCores() {
  stage.walk([&](Operation *op) {
    for (Value result : op->getResults()) {
      if (!isa<TileType>(result.getType()) || !liesInCores(result))
        continue;
      hasCores = true;
      storesCores |= !isa<tile::LoadOp>(op);
    }
    auto contract = dyn_cast<tile::ContractOp>(op);
    if (!contract || !isGroupProduct(contract))
      return;
    TileType b = typeOf(contract.getB()), r = contract.getResult().getType();
    bool pairs = r.has('k');
    file.products.insert({pairs ? r.size('k') / 8 : columnGroups(r.size('e')),
                          /*fromRegisters=*/!pairs,
                          /*half=*/b.getElementType().isF16()});
  });
}

std::string attn::groupProductText(const GroupProduct &product) {
  int64_t groups = product.columnGroups, sums = 4 * groups;
  // Items in lines; `open` and `close` stand around a line.
  auto list = [](int64_t count, StringRef open, StringRef close, auto item) {
    std::string text, line;
    for (int64_t n = 0; n < count; ++n) {
      std::string next = item(n) + (n + 1 < count ? "," : "");
      if (line.size() + next.size() > 66) {
        text += (open + line + close + "\n      ").str();
        line.clear();
      }
      line += (line.empty() ? "" : " ") + next;
    }
    return text + (open + line + close).str();
  };
  std::string type = product.half ? "F16" : "Bf16",
              ptx = product.half ? "f16" : "bf16",
              columns = std::to_string(8 * groups);
  auto operand = [](int64_t n) { return "%" + std::to_string(n); };
  // The left factor, the right one, and whether sums run over its rows.
  std::string factors =
      product.fromRegisters
          ? "{" + operand(sums) + ", " + operand(sums + 1) + ", " +
                operand(sums + 2) + ", " + operand(sums + 3) + "}, " +
                operand(sums + 4) + ", p, 1, 1, 1;"
          : operand(sums) + ", " + operand(sums + 1) + ", p, 1, 1, 0, 0;";
  std::string given =
      product.fromRegisters
          ? "\"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"l\"(b)"
          : "\"l\"(a), \"l\"(b)";
  std::string left = product.fromRegisters ? "const u32 (&a)[4]" : "u64 a";
  return "// c (64 x " + columns + ") += a (64 x 16) b (16 x " + columns +
         "), over four warps.\nATTN_FN void wgmma(float (&c)[" +
         std::to_string(groups) + "][4], " + left + ", u64 b, " + type +
         ") {\n  asm volatile(\n      \"{ .reg .pred p; setp.eq.u32 p, 0, 0; "
         "\"\n      \"wgmma.mma_async.sync.aligned.m64n" +
         columns + "k16.f32." + ptx + "." + ptx + " {\"\n      " +
         list(sums, "\"", "\"", operand) + "\n      \"}, " + factors +
         " }\"\n      : " +
         list(sums, "", "",
              [](int64_t n) {
                return "\"+f\"(c[" + std::to_string(n / 4) + "][" +
                       std::to_string(n % 4) + "])";
              }) +
         "\n      : " + given + ");\n}\n";
}
