//===- AssemblerLogTest.cpp - what the assembler says of a kernel ---------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Nvrtc.h"

#include "gtest/gtest.h"

using namespace attn::runtime;

// As NVRTC 13.0 wrote it of a kernel in which sums were read before their wait.
static const char *said =
    "ptxas info    : (C7517) warpgroup.wait is injected in around line 1999 by "
    "compiler to allow use of registers defined by GMMA in function "
    "'y_stage0'\n"
    "ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async "
    "instructions are serialized due to non wgmma instructions reading "
    "accumulator registers of  a wgmma between start and end of the pipeline "
    "stage in the function 'y_stage0'\n"
    "ptxas info    : 28 bytes gmem\n"
    "ptxas info    : Compiling entry function 'y_stage1' for 'sm_90a'\n"
    "ptxas info    : Function properties for y_stage1\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes "
    "spill loads\n"
    "ptxas info    : Used 127 registers, used 0 barriers\n"
    "ptxas info    : Compile time = 271.681 ms\n"
    "ptxas info    : Compiling entry function 'y_stage0' for 'sm_90a'\n"
    "ptxas info    : Function properties for y_stage0\n"
    "ptxas         .     128 bytes stack frame, 16 bytes spill stores, 24 "
    "bytes spill loads\n"
    "ptxas info    : Used 217 registers, used 1 barriers, 128 bytes cumulative "
    "stack size\n";

TEST(AssemblerLogTest, FiguresAndRemarks) {
  CudaCode code;
  readAssemblerLog(said, code);
  ASSERT_EQ(code.usage.size(), 2u);
  EXPECT_EQ(code.usage[0].entry, "y_stage1");
  EXPECT_EQ(code.usage[0].registers, 127);
  EXPECT_EQ(code.usage[1].entry, "y_stage0");
  EXPECT_EQ(code.usage[1].registers, 217);
  EXPECT_EQ(code.usage[1].stack, 128);
  EXPECT_EQ(code.usage[1].spillStores, 16);
  EXPECT_EQ(code.usage[1].spillLoads, 24);
  ASSERT_EQ(code.remarks.size(), 2u);
  EXPECT_EQ(code.remarks[0].rfind("(C7517) warpgroup.wait is injected", 0), 0u);
  EXPECT_EQ(code.remarks[1].rfind("(C7514) Potential Performance Loss", 0), 0u);
  EXPECT_NE(code.remarks[1].find("'y_stage0'"), std::string::npos);
}
