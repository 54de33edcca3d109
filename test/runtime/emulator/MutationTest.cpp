//===- MutationTest.cpp - faults that the emulator must see ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each fault is put into the emitted text: the emulator must fail, or the
// results must leave their bounds by far.
//
//===----------------------------------------------------------------------===//

#include "EmulatedCall.h"

#include "gtest/gtest.h"

using namespace attn;
using namespace attn::runtime;

namespace {

struct Fault {
  const char *name, *before, *after;
  int which; ///< occurrence in the whole text, counted from 0, or below
};
constexpr int kLast = -1;
/// The last one of the first kernel: those behind it may be for other
/// sequences.
constexpr int kLastOfFirst = -2;

/// Replaces one occurrence; fails the test where there is none.
bool inject(std::string &text, const Fault &fault) {
  size_t at = std::string::npos;
  if (fault.which == kLastOfFirst) {
    const std::string kernel = "\nATTN_KERNEL(";
    at = text.rfind(fault.before, text.find(kernel, text.find(kernel) + 1));
  } else if (fault.which == kLast) {
    at = text.rfind(fault.before);
  } else {
    at = text.find(fault.before);
    for (int n = 0; n < fault.which && at != std::string::npos; ++n)
      at = text.find(fault.before, at + 1);
  }
  if (at == std::string::npos)
    return false;
  text.replace(at, std::string(fault.before).size(), fault.after);
  return true;
}

class Mutation : public ::testing::TestWithParam<Fault> {};

void expectCaught(EmulatedCall &call, const Fault &fault,
                  const char *architecture = "sm_80") {
  CudaProgram program = call.program(architecture);
  ASSERT_TRUE(inject(program.source, fault)) << "nothing to change";
  try {
    call.run(program);
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("in the emulator"),
              std::string::npos)
        << error.what(); // it must have been compiled
    return;
  }
  EXPECT_GT(call.error(), 2e-2);
}

} // namespace

class CausalSoftmaxBf16 : public Mutation {};
TEST_P(CausalSoftmaxBf16, IsCaught) {
  CallShape shape;
  shape.Nq = shape.Nk = 200;
  shape.type = Type::bf16;
  EmulatedCall call("attention s(q, k, v) { kappa = exp(dot(q, k))\n mask = "
                    "causal }",
                    shape);
  expectCaught(call, GetParam());
}
INSTANTIATE_TEST_SUITE_P(
    All, CausalSoftmaxBf16,
    ::testing::Values(
        Fault{"NoBarrierBeforeCopies", "barrier();", "", kLastOfFirst},
        Fault{"NoWaitForQueries", "arrive<0>();", "barrier();", kLastOfFirst},
        Fault{"NoBarrierAfterWait", "arrive<0>();", "waitForCopies<0>();",
              kLastOfFirst},
        Fault{"NoWaitForKeys", "arrive<1>();", "barrier();", 0},
        Fault{"NoWaitForValues", "arrive<1>();", "barrier();", kLastOfFirst},
        Fault{"WaitsForTooFew", "arrive<1>();", "arrive<2>();", kLastOfFirst},
        Fault{"KeysOfAnotherTile", "turn = 1 - turn;", "", kLastOfFirst},
        Fault{"NotTransposed", "loadTransposed(b,", "loadMatrices(b,", 0},
        Fault{"FragmentsSwapped", "mma(acc.x[n], q.x[s], b[0], b[1]",
              "mma(acc.x[n], q.x[s], b[1], b[0]", 0},
        Fault{"WrongRowsOfOperand", "laneOf() % 16) + laneOf() / 16 * 8;",
              "laneOf() % 8) + laneOf() / 16 * 8;", 0},
        Fault{"WrongColumns", "8 * n + 2 * (laneOf() % 4)",
              "8 * n + (laneOf() % 4)", 0},
        Fault{"StrictMask", "j <= i", "j < i", kLastOfFirst},
        Fault{"NoEdge", ", edge, keep, -infinity())",
              ", false, keep, -infinity())", kLastOfFirst},
        Fault{"HalfOfARow", "sum = f(sum, shuffleXor(sum, 2));", "", 0},
        Fault{"DivergentBarrier", "arrive<0>();",
              "if (laneOf() < 16) arrive<0>();", kLastOfFirst},
        Fault{"DivergentMatrices", "arrive<0>();",
              "arrive<0>(); if (laneOf() < 16) shuffle(1, 0);", kLastOfFirst}),
    [](const auto &info) { return info.param.name; });

// Products of four warps.
class CausalSoftmaxF16Groups : public Mutation {};
TEST_P(CausalSoftmaxF16Groups, IsCaught) {
  CallShape shape;
  shape.Nq = shape.Nk = 200;
  shape.D = 48;
  shape.type = Type::f16;
  EmulatedCall call("attention s(q, k, v) { kappa = exp(dot(q, k))\n mask = "
                    "causal }",
                    shape);
  expectCaught(call, GetParam(), "sm_90a");
}
INSTANTIATE_TEST_SUITE_P(
    All, CausalSoftmaxF16Groups,
    ::testing::Values(
        Fault{"NoWaitForProducts", "waitForProducts<0>();", "", 0},
        Fault{"WaitsForAllButOne", "waitForProducts<0>();",
              "waitForProducts<1>();", 0},
        Fault{"NoCommit", "commitProducts();", "", 0},
        Fault{"CommitAfterTheWait",
              "commitProducts();\n  waitForProducts<0>();",
              "waitForProducts<0>();\n  commitProducts();", 0},
        Fault{"NoFenceForPairs", "beginProducts();", "", 0},
        Fault{"NoFenceForResults", "beginProducts();", "", 1},
        Fault{"NotShown", "showMatrixUnit();", "", 0},
        Fault{"NoBarrier", "showMatrixUnit();\n    barrier();",
              "showMatrixUnit();", 0},
        Fault{"NoWaitForKeys", "arrive<1, Cores>();", "Cores::publish();", 0},
        Fault{"NoWaitForValues", "arrive<1, Cores>();", "Cores::publish();",
              kLastOfFirst},
        Fault{"NoBarrierBeforeKeys", "arrive<1, Cores>();",
              "waitForCopies<1>(); showMatrixUnit();", 0},
        Fault{"NoBarrierBeforeCopies", "barrier();", "", kLastOfFirst},
        Fault{"WrongOffsetOfKeys", "x.place(r, 0), R * 16, Cores::kBytes",
              "x.place(r, 0), R * 16, 2 * Cores::kBytes", 0},
        Fault{"WrongLeadingOffsetOfKeys", "x.place(r, 0), R * 16,",
              "x.place(r, 0), R * 16 + 16,", 0},
        Fault{"OffsetsOfValuesSwapped", "x.data, Cores::kBytes, R * 16",
              "x.data, R * 16, Cores::kBytes", 0},
        Fault{"WrongStepOfQueries", "a + 2 * R * s", "a + R * s", 0},
        Fault{"WrongStepOfValues", "2 * Cores::kBytes / 16 * s",
              "Cores::kBytes / 16 * s", 0},
        Fault{"HalvesSwapped", "p.x[2 * s + i / 2]", "p.x[2 * s + i % 2]", 0},
        Fault{"OneWarpElsewhere", "b = byColumns(k, 0);",
              "b = byColumns(k, threadOf() / 96 * 8);", 0}),
    [](const auto &info) { return info.param.name; });

TEST(MutationTest, RowsOfAnotherGroupAreCaught) {
  CallShape shape;
  shape.Nq = shape.Nk = 100;
  shape.type = Type::bf16;
  shape.tiles = {128, 32};
  EmulatedCall call("attention s(q, k, v) { kappa = exp(dot(q, k)) }", shape);
  expectCaught(call, {"", "R == 64 ? 0 : threadOf() / 128 * 64", "0", 0},
               "sm_90a");
}

// Rows that a map makes: a kernel ahead makes the keys'.
class RopeBf16 : public Mutation {};
TEST_P(RopeBf16, IsCaught) {
  CallShape shape;
  shape.Nq = shape.Nk = 100;
  shape.type = Type::bf16;
  EmulatedCall call("attention r(q, k, v) { q = rope(q, i); k = rope(k, j); "
                    "kappa = exp(dot(q, k)) }",
                    shape);
  expectCaught(call, GetParam());
}
INSTANTIATE_TEST_SUITE_P(
    All, RopeBf16,
    ::testing::Values(Fault{"ColumnsOfKeysSwapped",
                            "tf32Bits(pair[0]), tf32Bits(pair[1])",
                            "tf32Bits(pair[1]), tf32Bits(pair[0])", 0},
                      Fault{"WrongKeys", "k.place(8 * n + g, column(s, 0))",
                            "k.place(8 * n + g / 2, column(s, 0))", 0},
                      Fault{"NoBarrierBeforeTheStore",
                            "barrier();\n  storeRows(", "storeRows(", 0},
                      Fault{"NoWaitForKeys", "arrive<1>();", "barrier();", 0}),
    [](const auto &info) { return info.param.name; });

class YatF32 : public Mutation {};
TEST_P(YatF32, IsCaught) {
  CallShape shape;
  shape.Nq = shape.Nk = 100;
  shape.numbers = {{"b", 0.5}, {"eps", 1e-3}};
  shape.nearKeys = true;
  shape.Hq = 1;
  EmulatedCall call(
      "attention y(q, k, v; b >= 0, eps > 0) { kappa = (dot(q, k) "
      "+ b)^2 / (sqdist(q, k) + eps) }",
      shape);
  expectCaught(call, GetParam());
}
INSTANTIATE_TEST_SUITE_P(
    All, YatF32,
    ::testing::Values(
        Fault{"NoBarrierAfterNorms", "rowNorm(k, r);\n  barrier();",
              "rowNorm(k, r);", 0},
        Fault{"WrongOwner", "int owner = laneOf() / 4 * 4 + t;",
              "int owner = laneOf() / 4 * 4;", 0},
        Fault{"NoWait", "arrive<1>();", "barrier();", kLastOfFirst},
        Fault{"WrongNorm", "norms - 2 * dot", "norms - dot", 0}),
    [](const auto &info) { return info.param.name; });

class LinearRetnetBf16 : public Mutation {};
TEST_P(LinearRetnetBf16, IsCaught) {
  CallShape shape;
  shape.Nq = shape.Nk = 200;
  shape.type = Type::bf16;
  shape.numbers = {{"g", 0.95}};
  shape.schedule = "linear";
  EmulatedCall call("attention r(q, k, v; g > 0) { kappa = dot(q, k) * g^(i - "
                    "j); mask = causal; normalize = none }",
                    shape);
  expectCaught(call, GetParam());
}
INSTANTIATE_TEST_SUITE_P(
    All, LinearRetnetBf16,
    ::testing::Values(
        Fault{"NoBarrierAfterRatios", "(in, key, 0)...);\n  barrier();",
              "(in, key, 0)...);", 0},
        Fault{"NoDecayOfTheState", "before(s.row(", "(s.row(", 0},
        Fault{"WrongUnit", "unit / across * 16 + g", "unit % across * 16 + g",
              0},
        Fault{"RowsAndColumnsSwapped", "queryRow(i % 2), column(s, i / 2)",
              "queryRow(i / 2), column(s, i % 2)", 0},
        Fault{"KeysAndValuesSwapped", "key + i / 2 * 4, e0 + i % 2 * 8",
              "key + i % 2 * 4, e0 + i / 2 * 8", 0}),
    [](const auto &info) { return info.param.name; });

class LinearElu1F32 : public Mutation {};
TEST_P(LinearElu1F32, IsCaught) {
  CallShape shape;
  shape.Nq = 70;
  shape.Nk = 600; // two parts, the last tile not whole
  shape.D = shape.Dv = 16;
  shape.schedule = "linear";
  EmulatedCall call("attention e(q, k, v) { phi(x) = elu(x) + 1; kappa = "
                    "dot(phi(q), phi(k)) }",
                    shape);
  expectCaught(call, GetParam());
}
INSTANTIATE_TEST_SUITE_P(
    All, LinearElu1F32,
    ::testing::Values(
        Fault{"FeaturesOfNoKey", "if (!ofRow(keep, i / C, 0))", "if (false)",
              0},
        Fault{"NoSumOfFeatures", "z.x[n] += sum;", "", 0},
        Fault{"NoBarrierAfterSums", "storeFeatures(z, kept);\n  barrier();",
              "storeFeatures(z, kept);", 0},
        Fault{"APartNotMerged", "j0_1 = 1; j0_1 < n", "j0_1 = 2; j0_1 < n", 0},
        Fault{"StateNotZero", "fill(state, 0.f);", "", kLast},
        Fault{"NoWaitForTheState", "arrive<0>();", "barrier();", kLast}),
    [](const auto &info) { return info.param.name; });

class PerformerBf16 : public Mutation {};
TEST_P(PerformerBf16, IsCaught) {
  CallShape shape;
  shape.Nq = shape.Nk = 70;
  shape.D = shape.Dv = 16;
  shape.type = Type::bf16;
  shape.schedule = "linear";
  EmulatedCall call("attention p(q, k, v) { kappa = exp(dot(q, k) / "
                    "sqrt(dim)); features = favor(m = 32, seed = 7) }",
                    shape);
  expectCaught(call, GetParam());
}
INSTANTIATE_TEST_SUITE_P(
    All, PerformerBf16,
    ::testing::Values(
        Fault{"AnotherRandomRow", "table[d * M + r]", "table[d * M]", 0},
        Fault{"NoNorm", "expf(minimum(u - half, largest))",
              "expf(minimum(u, largest))", 0},
        Fault{"NoBarrierBeforeTheLargest", "[r] = u;\n  });\n  barrier();",
              "[r] = u;\n  });", 0}),
    [](const auto &info) { return info.param.name; });

// The last block of queries, and of keys, is not whole.
TEST(MutationTest, OutOfBoundsIsCaught) {
  for (Fault fault : {Fault{"", "bool inside = first + r < limit && c < C;",
                            "bool inside = c < C;", 0},
                      Fault{"", "if (row >= limit)", "if (false)", 0}}) {
    CallShape shape;
    shape.Nq = shape.Nk = 70; // the last tile is nearly empty
    shape.Hq = 1;
    shape.D = shape.Dv = 16;
    EmulatedCall call("attention s(q, k, v) { kappa = exp(dot(q, k))\n mask = "
                      "window(8, 8) }",
                      shape);
    CudaProgram program = call.program();
    ASSERT_TRUE(inject(program.source, fault));
    std::string message;
    try {
      call.run(program);
    } catch (const Error &error) {
      message = error.what();
    }
    EXPECT_EQ(message, "s_stage0 in the emulator: memory outside of the arrays "
                       "is read or written");
  }
}

// Rows past the end are zero, and a zero row has a weight.
TEST(MutationTest, KeysPastTheEndAreCaught) {
  CallShape shape;
  shape.Nq = shape.Nk = 70;
  EmulatedCall call("attention c(q, k, v) { kappa = 1 / (1 + sqdist(q, k)) }",
                    shape);
  // The first kernel: the others are for few queries.
  expectCaught(call, {"", "j < int(nk)", "j >= 0", 0});
}

TEST(MutationTest, LeakOfHiddenValuesIsCaught) {
  for (auto [type, architecture] :
       {std::pair(Type::f32, "sm_80"), std::pair(Type::bf16, "sm_80"),
        std::pair(Type::bf16, "sm_90a")}) {
    CallShape shape;
    shape.type = type;
    shape.Nq = shape.Nk = 100;
    shape.oddValuesFrom = 70;
    EmulatedCall call("attention s(q, k, v) { kappa = exp(dot(q, k))\n mask = "
                      "causal }",
                      shape);
    CudaProgram program = call.program(architecture);
    int places = 0; // one for each kind of product
    while (inject(program.source, {"", "edge && anyOdd(v)", "false", 0}))
      ++places;
    ASSERT_GT(places, 0);
    call.run(program);
    EXPECT_GT(call.error(), 1);
  }
}
