//===- JitTest.cpp - the LLVM dialect made callable -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Jit.h"
#include "attn/attn.h"
#include "runtime/CodeGen.h"
#include "runtime/Execute.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>
#include <mutex>

using namespace attn;
using namespace attn::runtime;

// Stage entries with the calling convention of attn-cpu-entry: items are the
// rows of args[0], whose elements [i] become i + 1 (run) after being cleared by
// memset.
static const char *text = R"mlir(
llvm.func @memset(!llvm.ptr, i32, i64) -> !llvm.ptr
llvm.func @f.stage0.items.run(%args: !llvm.ptr) -> i64 {
  %d = llvm.load %args : !llvm.ptr -> !llvm.ptr
  %p = llvm.getelementptr %d[3] : (!llvm.ptr) -> !llvm.ptr, i64
  %n = llvm.load %p : !llvm.ptr -> i64
  llvm.return %n : i64
}
llvm.func @f.stage0.run(%args: !llvm.ptr, %begin: i64, %end: i64) {
  %one = llvm.mlir.constant(1 : i64) : i64
  %zero = llvm.mlir.constant(0 : i32) : i32
  %four = llvm.mlir.constant(4 : i64) : i64
  %d = llvm.load %args : !llvm.ptr -> !llvm.ptr
  %ap = llvm.getelementptr %d[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %a = llvm.load %ap : !llvm.ptr -> !llvm.ptr
  llvm.br ^loop(%begin : i64)
^loop(%i: i64):
  %c = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %c, ^body, ^done
^body:
  %p = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %m = llvm.call @memset(%p, %zero, %four) : (!llvm.ptr, i32, i64) -> !llvm.ptr
  %x = llvm.load %p : !llvm.ptr -> f32
  %next = llvm.add %i, %one : i64
  %y = llvm.sitofp %next : i64 to f32
  %z = llvm.fadd %x, %y : f32
  llvm.store %z, %p : f32, !llvm.ptr
  llvm.br ^loop(%next : i64)
^done:
  llvm.return
}
)mlir";

namespace {
struct Parsed {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  explicit Parsed(const char *source) {
    context.loadDialect<mlir::LLVM::LLVMDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  }
};
} // namespace

static StageEntry entryOf(const Code &code) {
  StageEntry entry;
  entry.run = reinterpret_cast<decltype(entry.run)>(code.find("f.stage0.run"));
  entry.items =
      reinterpret_cast<decltype(entry.items)>(code.find("f.stage0.items.run"));
  return entry;
}

TEST(JitTest, RunsAllItemsOnAnyNumberOfThreads) {
  Parsed parsed(text);
  ASSERT_TRUE(parsed.module);
  Code code(emitObject(*parsed.module, hostCpuLevel()));
  for (int count : {1, 2, 3}) {
    std::vector<float> values(1000, -7);
    Binding binding;
    binding.arrays.push_back(Tensor(values.data(), {1000}, {1}));
    execute({entryOf(code)}, {}, binding, Threads(count));
    for (int i = 0; i < 1000; ++i)
      ASSERT_EQ(values[i], i + 1) << count << " threads";
  }
}

TEST(JitTest, AllLevelsEmitAssembly) {
  Parsed parsed(text);
  for (const CpuLevel &level : cpuLevels())
    EXPECT_NE(emitAssembly(*parsed.module, level).find("f.stage0.run"),
              std::string::npos);
}

TEST(JitTest, LibraryCallsAreRefused) {
  // Code that calls libm would need it wherever it is linked ahead of time.
  Parsed parsed("llvm.func @expf(f32) -> f32\n"
                "llvm.func @g(%x: f32) -> f32 {\n"
                "  %y = llvm.call @expf(%x) : (f32) -> f32\n"
                "  llvm.return %y : f32\n}\n");
  ASSERT_TRUE(parsed.module);
  Code code(emitObject(*parsed.module, hostCpuLevel()));
  try {
    code.find("g");
    FAIL() << "expf was found";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("expf"), std::string::npos)
        << error.what();
  }
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

// Two stages that agree through a workspace: stage 0 writes each key's number
// times ten, stage 1 adds it to the output of its (batch, head). Descriptors
// are {base, aligned, offset, sizes[r], strides[r]}.
static int64_t *descriptor(void **args, int t) {
  return static_cast<int64_t *>(args[t]);
}
static int64_t itemsOfPairs(void **args) {
  return descriptor(args, 0)[3] * descriptor(args, 0)[4];
}
static void fillWorkspace(void **args, int64_t begin, int64_t end) {
  int64_t *w = descriptor(args, 1); // [B, H, N, row]
  for (int64_t item = begin; item < end; ++item) {
    int64_t b = item / w[4], h = item % w[4];
    for (int64_t n = 0; n < w[5]; ++n)
      reinterpret_cast<float *>(w[1])[b * w[7] + h * w[8] + n * w[9]] =
          item * 10 + n;
  }
}
static void readWorkspace(void **args, int64_t begin, int64_t end) {
  int64_t *o = descriptor(args, 0), *w = descriptor(args, 1);
  for (int64_t item = begin; item < end; ++item) {
    int64_t b = item / o[4], h = item % o[4];
    float sum = 0;
    for (int64_t n = 0; n < w[5]; ++n)
      sum += reinterpret_cast<float *>(w[1])[b * w[7] + h * w[8] + n * w[9]];
    reinterpret_cast<float *>(o[1])[b * o[5] + h * o[6]] += sum;
  }
}

TEST(ExecuteTest, WorkspacesAreWholeOrOneSlot) {
  std::vector<StageEntry> stages = {{fillWorkspace, itemsOfPairs},
                                    {readWorkspace, itemsOfPairs}};
  for (int64_t row :
       {int64_t(1), kWorkspaceLimit / 16}) { // small, then over the limit
    std::vector<float> output(6, 0);
    Binding binding;
    binding.batch = 2;
    binding.keyHeads = 3;
    binding.keys = 2;
    binding.arrays.push_back(Tensor(output.data(), {2, 3}, {3, 1}));
    execute(stages, {{row, true}}, binding, Threads(2));
    for (int item = 0; item < 6; ++item)
      EXPECT_EQ(output[item], 20 * item + 1) << row;
  }
}

TEST(ExecuteTest, WorkspacesOfQueryHeadsHaveOneSlotEach) {
  std::vector<StageEntry> stages = {{fillWorkspace, itemsOfPairs},
                                    {readWorkspace, itemsOfPairs}};
  for (int64_t row :
       {int64_t(1), kWorkspaceLimit / 16}) { // small, then over the limit
    std::vector<float> output(12, 0);
    Binding binding;
    binding.batch = 2;
    binding.queryHeads = 6;
    binding.keyHeads = 3;
    binding.keys = 2;
    binding.arrays.push_back(Tensor(output.data(), {2, 6}, {6, 1}));
    execute(stages, {{row, true, true}}, binding, Threads(2));
    for (int item = 0; item < 12; ++item)
      EXPECT_EQ(output[item], 20 * item + 1) << row;
  }
}
