//===- LaunchTest.cpp - formulas of grids ---------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cuda/Launch.h"
#include "lowering/CudaTarget.h"

#include "gtest/gtest.h"

using namespace attn;

static Formula constant(int64_t v) {
  Formula f;
  f.value = v;
  return f;
}
static Formula extentOf(unsigned argument, unsigned axis, const char *name) {
  Formula f;
  f.kind = Formula::Extent;
  f.argument = argument;
  f.axis = axis;
  f.name = name;
  return f;
}
static Formula make(Formula::Kind kind, Formula x, Formula y) {
  Formula f;
  f.kind = kind;
  f.operands = {std::move(x), std::move(y)};
  return f;
}

TEST(LaunchTest, Formula) {
  Formula group = make(Formula::Divide, extentOf(0, 1, "Hq"),
                       make(Formula::Most, extentOf(1, 1, "Hk"), constant(1)));
  Formula grid =
      make(Formula::Multiply, group,
           make(Formula::CeilDivide, extentOf(0, 2, "Nq"), constant(64)));
  EXPECT_EQ(grid.toString(), "floordiv(Hq, max(Hk, 1)) * ceildiv(Nq, 64)");
  int64_t extents[2][3] = {{1, 8, 129}, {1, 2, 50}};
  auto extent = [&](unsigned argument, unsigned axis) {
    return extents[argument][axis];
  };
  EXPECT_EQ(grid.evaluate(extent), 4 * 3);
  extents[0][2] = 0;
  EXPECT_EQ(grid.evaluate(extent), 0);
  extents[0][1] = extents[1][1] = 0; // no heads: nothing is divided by 0
  EXPECT_EQ(grid.evaluate(extent), 0);
}

TEST(CudaTargetTest, TilesFitIntoSharedMemory) {
  for (const CudaLevel &level : cudaLevels())
    for (int64_t bytes : {2, 4})
      for (int64_t row : {1, 16, 31, 64, 80, 128, 192, 256}) {
        CudaQuadratic shape;
        shape.addRow(shape.perQuery, row, bytes);
        shape.addRow(shape.perKey, row, bytes);
        shape.addRow(shape.perKey, row, bytes);
        CudaTiles tiles = chooseCudaTiles(level, shape);
        EXPECT_EQ(tiles.tileQ % 16, 0);
        EXPECT_EQ(tiles.tileK % 16, 0);
        EXPECT_LE((tiles.tileQ + 2 * tiles.tileK) * cudaRowBytes(row, bytes),
                  level.sharedBytes)
            << level.name.str() << " " << row;
        if (row <= 128 && bytes == 2) {
          EXPECT_EQ(tiles.tileK, 64);
        }
      }
}

TEST(CudaTargetTest, RowsOfAKernelAheadFitToo) {
  const CudaLevel &level = *findCudaLevel("sm_80"); // 163 KiB
  CudaQuadratic shape;
  shape.addRow(shape.perQuery, 64, 2);
  shape.addRow(shape.perKey, 64, 2);
  EXPECT_EQ(chooseCudaTiles(level, shape).tileQ, 64);
  shape.perMapped = 163 * 1024 / 64;
  EXPECT_EQ(chooseCudaTiles(level, shape).tileQ, 64);
  ++shape.perMapped;
  EXPECT_EQ(chooseCudaTiles(level, shape).tileQ, 32);
  EXPECT_EQ(chooseCudaTiles(level, shape).tileK, 64);
}

TEST(CudaTargetTest, RowsBeginInDifferentBanks) {
  // An odd number of 16-byte chunks: eight rows lie in eight groups of banks.
  for (int64_t bytes : {2, 4})
    for (int64_t row = 1; row <= 300; ++row)
      EXPECT_EQ(cudaRowBytes(row, bytes) / 16 % 2, 1) << row;
}
