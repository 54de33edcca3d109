//===- PrintCudaTest.cpp - what the CUDA printer refuses ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What it prints is compiled and executed elsewhere; an operation that it
// cannot print is a diagnostic at its place, and the IR is as before.
//
//===----------------------------------------------------------------------===//

#include "lowering/Passes.h"
#include "lowering/cuda/Cuda.h"

#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace attn;

namespace {

/// Prints a stage whose grid has this body; the first diagnostic, or the text.
std::string print(const std::string &body) {
  std::string text = R"(
module attributes {attn.target = #attn.target<kind = "cuda", level = "sm_80", lanes = 32>} {
  func.func @k.stage0(%q: memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>> {attn.arg = #attn.arg<kind = query, name = "q">},
                      %o: memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>> {attn.arg = #attn.arg<kind = output, name = "o">}) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant 0.0 : f32
    %n = memref.dim %q, %c2 : memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
    scf.forall (%b, %h, %g, %t) in (1, 1, 1, %n) {
)" + body + "\n    }\n    return\n  }\n}\n";
  MLIRContext context;
  context.loadDialect<AttnDialect, tile::TileDialect, arith::ArithDialect,
                      math::MathDialect, scf::SCFDialect, memref::MemRefDialect,
                      func::FuncDialect>();
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (message.empty())
      message = diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return "does not parse: " + message;
  std::string before, after;
  llvm::raw_string_ostream(before) << *module;
  FailureOr<CudaProgram> program = printCuda(*module, {});
  llvm::raw_string_ostream(after) << *module;
  EXPECT_EQ(before, after); // the printer never mutates
  return failed(program) ? message : program->source;
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

const std::string query = R"(
      %x = tile.load %q[%b, %h, %t] to %n : memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>> -> !tile.tile<q64, d64, f32>
)";

} // namespace

TEST(PrintCudaTest, CopiesRows) {
  std::string text = print(query + R"(
      tile.store %x, %o[%b, %h, %t] to %n : !tile.tile<q64, d64, f32>, memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>)");
  EXPECT_TRUE(contains(text, "rowsAt<Rows<64, 64, float>>(shared, 0)")) << text;
  EXPECT_TRUE(contains(text, "stage(qRows, q + ")) << text;
  EXPECT_TRUE(contains(text, "arrive<0>();\n  storeRows(qRows, o + ")) << text;
}

TEST(PrintCudaTest, RefusesAtThePlace) {
  EXPECT_EQ(
      print(query + "      %y = tile.map %x : (!tile.tile<q64, d64, f32>) "
                    "-> !tile.tile<q64, d64, f32> {\n      ^bb0(%a: f32):\n"
                    "        tile.yield %a : f32\n      }"),
      "'tile.map' op maps something else than pairs, results, or one value "
      "a query or key");
  EXPECT_EQ(print("      %p = tile.splat %zero : f32 -> !tile.tile<q64, f32>\n"
                  "      %y = tile.map %p : (!tile.tile<q64, f32>) -> "
                  "!tile.tile<q64, f32> {\n      ^bb0(%a: f32):\n        %e = "
                  "math.erf %a : f32\n        tile.yield %e : f32\n      }"),
            "'math.erf' op has no form in CUDA");
  EXPECT_EQ(
      print("      %p = tile.splat %zero : f32 -> !tile.tile<q64, d64, f32>"),
      "'tile.splat' op fills rows");
  EXPECT_EQ(print(query +
                  "      %s = tile.splat %zero : f32 -> "
                  "!tile.tile<q64, f32>\n      %r = tile.reduce add %x "
                  "into %s : !tile.tile<q64, d64, f32>, !tile.tile<q64, "
                  "f32> -> !tile.tile<q64, f32>"),
            "'tile.reduce' op folds something else than the keys of pairs");
}

// The state is one place: what was there before is gone.
TEST(PrintCudaTest, AddsToAStateInPlace) {
  const std::string memory =
      "memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>";
  const std::string types = "(!tile.tile<k64, r64, f32>, !tile.tile<k64, e64, "
                            "f32>, !tile.tile<e64, r64, f32>) -> "
                            "!tile.tile<e64, r64, f32>";
  const std::string start =
      "      %f = tile.load %q[%b, %h, %t] to %n : " + memory +
      " -> !tile.tile<k64, r64, f32>\n      %v = tile.load %q[%b, %h, %c2] to "
      "%n : " +
      memory +
      " -> !tile.tile<k64, e64, f32>\n      %x = tile.load %q[%b, %h, %t] to "
      "%n : " +
      memory +
      " -> !tile.tile<q64, d64, f32>\n      %s = tile.splat %zero : f32 -> "
      "!tile.tile<e64, r64, f32>\n";
  std::string once =
      start + "      %s1 = tile.contract %f, %v into %s : " + types + "\n";
  std::string text = print(once +
                           "      tile.store %s1, %o[%b, %h, %t] to %n : "
                           "!tile.tile<e64, r64, f32>, " +
                           memory);
  EXPECT_TRUE(contains(text, "fill(state, 0.f);")) << text;
  EXPECT_TRUE(contains(text, "absorb(state, qRows, qRows1);\n  barrier();\n  "
                             "storeState(state, "))
      << text;
  EXPECT_EQ(print(once + "      %s2 = tile.contract %f, %v into %s : " + types),
            "'tile.contract' op adds to a state that is still read");
}

TEST(PrintCudaTest, WantsTilesOfWholeWarps) {
  EXPECT_EQ(print("      %p = tile.splat %zero : f32 -> !tile.tile<q60, f32>"),
            "'func.func' op needs tiles of a multiple of 16 queries");
}
