//===- SplitKeysTest.cpp - few queries, many keys, emulated ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decoding: keys are summed in parts, and the parts merged, against the float64
// interpreter.
//
//===----------------------------------------------------------------------===//

#include "lowering/SplitKeys.h"
#include "EmulatedCall.h"

#include "gtest/gtest.h"

using namespace attn;
using namespace attn::runtime;

namespace {

double boundOf(Type type) {
  return type == Type::bf16 ? 4e-3 : type == Type::f16 ? 1e-3 : 2e-5;
}

CallShape shapeOf(int64_t nq, int64_t nk, Type type, int64_t row = 32) {
  CallShape shape;
  shape.Nq = nq;
  shape.Nk = nk;
  shape.D = shape.Dv = row;
  shape.type = type;
  return shape;
}

/// Runs one call; its program has a kernel for the parts and one that merges.
void check(const std::string &body, const CallShape &shape) {
  EmulatedCall call("attention s(q, k, v) { " + body + "; return o, mass }",
                    shape);
  CudaProgram program = call.program();
  ASSERT_EQ(program.stages.size(), 3u);
  call.run(program);
  EXPECT_LE(call.error(), boundOf(shape.type))
      << body << ", " << shape.Nq << " x " << shape.Nk;
}

const char *softmax = "kappa = exp(dot(q, k))";
const char *imq = "kappa = 1 / (1 + sqdist(q, k))";

} // namespace

TEST(SplitKeys, Softmax) {
  for (int64_t nk : {1024, 1500, 9000}) // 4 parts, 6 of which one is short, 32
    check(softmax, shapeOf(1, nk, Type::f32));
  check(softmax, shapeOf(1, 1500, Type::bf16));
  check(softmax, shapeOf(16, 1100, Type::f16));
}

TEST(SplitKeys, WithoutGauge) {
  check(imq, shapeOf(7, 1500, Type::f32));
  check(imq, shapeOf(7, 1500, Type::bf16));
}

// Values of less than 16 channels, and of an odd number.
TEST(SplitKeys, ShortRows) {
  for (int64_t row : {3, 20}) {
    CallShape shape = shapeOf(5, 1030, Type::f32, 16);
    shape.Dv = row;
    check(softmax, shape);
  }
}

// Queries stand at the end of the keys; a window leaves most parts empty.
TEST(SplitKeys, Masks) {
  check("kappa = exp(dot(q, k)); mask = causal", shapeOf(5, 1500, Type::f32));
  check("kappa = exp(dot(q, k)); mask = window(300, 0)",
        shapeOf(5, 1500, Type::bf16));
  check("kappa = exp(dot(q, k)); mask = j < 0", shapeOf(2, 1024, Type::f32));
}

TEST(SplitKeys, Sink) {
  check("kappa = exp(dot(q, k)); normalize = mass(sink = 3)",
        shapeOf(3, 1500, Type::f32));
}

// Every sequence by its own lengths: two in one call, one of them split.
TEST(SplitKeys, KeyLengths) {
  CallShape shape = shapeOf(4, 1500, Type::f32);
  shape.B = 2;
  shape.keyLengths = {1300, 37};
  check(softmax, shape);
}

TEST(SplitKeys, ManyQueriesAreNotSplit) {
  check(softmax, shapeOf(17, 1100, Type::f32));
}

TEST(SplitKeys, LaunchSaysWhatTheWorkspaceIs) {
  EmulatedCall call("attention s(q, k, v) { kappa = exp(dot(q, k)) }",
                    shapeOf(1, 2000, Type::f32));
  std::string json = launchJson(call.program());
  EXPECT_NE(json.find("B Hq 32 * (min(Nq, 16) + 2)"), std::string::npos)
      << json;
}

// Other results than sums over keys are not split.
TEST(SplitKeys, OnlySums) {
  EmulatedCall call("attention s(q, k, v) { kappa = exp(dot(q, k)); return o, "
                    "entropy }",
                    shapeOf(1, 64, Type::f32));
  EXPECT_EQ(call.program().stages.size(), 1u);
}

struct Fault {
  const char *name, *before, *after;
};
class SplitFault : public ::testing::TestWithParam<Fault> {};
TEST_P(SplitFault, IsCaught) {
  CallShape shape = shapeOf(5, 1100, Type::f32);
  EmulatedCall call("attention s(q, k, v) { kappa = exp(dot(q, k)) }", shape);
  CudaProgram program = call.program();
  size_t at = program.source.rfind(GetParam().before);
  ASSERT_NE(at, std::string::npos);
  program.source.replace(at, std::string(GetParam().before).size(),
                         GetParam().after);
  call.run(program);
  EXPECT_GT(call.error(), 2e-2);
}
INSTANTIATE_TEST_SUITE_P(
    All, SplitFault,
    ::testing::Values(Fault{"FirstPartMissing", "j0 = 0;", "j0 = 1;"},
                      Fault{"GaugeOfAnotherQuery",
                            "at < limit ? from[at * stride]",
                            "at < limit ? from[0]"},
                      Fault{"ValuesOfAnotherQuery", "from[row * stride + c]",
                            "from[first * stride + c]"}),
    [](const auto &info) { return info.param.name; });
