//===- RecurrentStateTest.cpp - what a state carries ----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From call to call, whatever the numbers of tokens, the threads and the type
// of the rows.
//
//===----------------------------------------------------------------------===//

#include "RecurrentFixture.h"

#include <cstring>

using namespace attn;
using namespace attn::test;

namespace {

const char *retnet =
    "attention t(q, k, v; g[head] > 0) { kappa = dot(q, k) * g^(i - j); "
    "mask = causal; normalize = none; return o, mass }";

/// The error of o under g^(i - j), of a sequence cut into pieces.
static double errorOfDecay(int64_t tokens, float g0, float g1,
                           const std::vector<int64_t> &pieces) {
  Inputs inputs({1, 2, 1, tokens, tokens, 8, 8});
  Data g({2}, 5);
  g.at(0) = g0, g.at(1) = g1;
  Call call;
  call.text = retnet;
  call.target = "reference";
  call.arguments = inputs.arguments();
  call.arguments.push_back({"g", g.view()});
  auto exact = call.results();
  Results got = inPieces(compile(retnet), inputs, {{"g", g.view()}}, pieces);
  return errorOf(got["o"], exact["o"]);
}

/// Over a long sequence it is neither 0 nor infinite, whatever the number of
/// tokens.
TEST(RecurrentState, DecayKeepsItsScale) {
  EXPECT_LE(errorOfDecay(3000, 0.6f, 1.0f, {1000, 1, 999, 1000}), 1e-5);
}

/// The last tile of a call has one token: ratios of places behind it would be
/// infinite.
TEST(RecurrentState, SteepDecay) {
  EXPECT_LE(errorOfDecay(19, 1e-8f, 1e-3f, {17, 1, 1}), 1e-5);
}

/// Batches of sequences with as many new tokens as each has; the rest of the
/// rows is not theirs.
TEST(RecurrentState, RaggedBatches) {
  for (const char *text : {elu1, retnet}) {
    SCOPED_TRACE(text);
    const Shape s{3, 2, 2, 20, 20, 8, 8};
    Inputs inputs(s);
    Data g({2}, 5);
    g.at(0) = 0.7f, g.at(1) = 0.9f;
    std::vector<Argument> parameters;
    if (text == retnet)
      parameters.push_back({"g", g.view()});
    // The tokens of each sequence, in calls of up to 9 rows.
    std::vector<std::vector<int64_t>> counts = {
        {9, 4, 0}, {9, 0, 1}, {2, 9, 9}};
    Kernel kernel = compile(text);
    std::vector<float> state;
    std::vector<int64_t> stateShape, begin(3, 0);
    std::vector<std::vector<float>> got(3);
    for (size_t turn = 0; turn < 3; ++turn) {
      std::vector<int64_t> lengths;
      Data q({3, 2, 9, 8}, 1), k = q, v = q; // what is past the end is not 0
      for (int64_t b = 0; b < 3; ++b) {
        lengths.push_back(counts[turn][static_cast<size_t>(b)]);
        for (int64_t h = 0; h < 2; ++h)
          for (int64_t n = 0; n < lengths.back(); ++n)
            for (int64_t d = 0; d < 8; ++d) {
              size_t to = static_cast<size_t>(((b * 2 + h) * 9 + n) * 8 + d);
              size_t from = static_cast<size_t>(
                  ((b * 2 + h) * 20 + begin[static_cast<size_t>(b)] + n) * 8 +
                  d);
              q.at(to) = inputs.q.at(from);
              k.at(to) = inputs.k.at(from);
              v.at(to) = inputs.v.at(from);
            }
        begin[static_cast<size_t>(b)] += lengths.back();
      }
      std::vector<Argument> arguments = parameters;
      arguments.insert(arguments.end(),
                       {{"q", q.view()},
                        {"k", k.view()},
                        {"v", v.view()},
                        {"key_lengths", {lengths.data(), Type::i64, {3}}}});
      if (turn) {
        arguments.push_back({"state", {state.data(), stateShape}});
      } else {
        stateShape = kernel.shapeOf("state", arguments);
        state.assign(static_cast<size_t>(3 * 2 * stateShape[2] * stateShape[3]),
                     NAN);
      }
      std::vector<float> o(3 * 2 * 9 * 8), mass(3 * 2 * 9);
      kernel(arguments, {{"o", {o.data(), {3, 2, 9, 8}}},
                         {"mass", {mass.data(), {3, 2, 9}}},
                         {"state", {state.data(), stateShape}}});
      for (size_t b = 0; b < 3; ++b)
        for (size_t n = 0; n < static_cast<size_t>(lengths[b]); ++n)
          for (size_t h = 0; h < 2; ++h)
            got[b].insert(got[b].end(), &o[((b * 2 + h) * 9 + n) * 8],
                          &o[((b * 2 + h) * 9 + n) * 8] + 8);
    }
    for (int64_t b = 0; b < 3; ++b) {
      int64_t count = begin[static_cast<size_t>(b)];
      Call call;
      call.text = text;
      call.target = "reference";
      call.arguments = parameters;
      for (auto [name, data] : {std::pair<const char *, Data *>{"q", &inputs.q},
                                {"k", &inputs.k},
                                {"v", &inputs.v}})
        call.arguments.push_back(
            {name,
             {&data->at(static_cast<size_t>(b * 2 * 20 * 8)),
              {1, 2, count, 8},
              {0, 20 * 8, 8, 1}}});
      std::vector<float> whole = call.results()["o"], inOrder;
      for (int64_t n = 0; n < count; ++n)
        for (int64_t h = 0; h < 2; ++h)
          inOrder.insert(inOrder.end(),
                         &whole[static_cast<size_t>((h * count + n) * 8)],
                         &whole[static_cast<size_t>((h * count + n) * 8)] + 8);
      EXPECT_LE(errorOf(got[static_cast<size_t>(b)], inOrder), 1e-5) << b;
    }
  }
}

/// The state says how many tokens are in it, for who looks.
TEST(RecurrentState, CountsItsTokens) {
  const Shape s{1, 2, 1, 40, 40, 16, 8};
  Inputs inputs(s);
  std::vector<float> o(2 * 40 * 8), mass(2 * 40);
  Sequence sequence(compile(elu1), inputs, {});
  sequence.go(33, o, mass);
  ASSERT_EQ(sequence.stateShape, (std::vector<int64_t>{1, 1, 10, 16}));
  EXPECT_EQ(sequence.state[9 * 16], 33);
  sequence.go(7, o, mass);
  EXPECT_EQ(sequence.state[9 * 16], 40);
  EXPECT_EQ(sequence.state[9 * 16 + 1], 0);
  // z, the sum of phi(k): worked out here.
  for (size_t r = 0; r < 16; ++r) {
    double z = 0;
    for (size_t n = 0; n < 40; ++n) {
      double x = inputs.k.at(n * 16 + r);
      z += x > 0 ? x + 1 : std::exp(x);
    }
    EXPECT_NEAR(sequence.state[8 * 16 + r], z, 1e-5 * z) << r;
  }
}

/// 3 * 2^20 + 5 tokens, of which this call gets the last: a position is the
/// number of tokens before it.
TEST(RecurrentState, FarIntoASequence) {
  const char *text = "attention t(q, k, v) { kappa = dot(q, k) * (j + 1); mask "
                     "= causal; normalize = none; return o, mass }";
  Kernel kernel = compile(text);
  float one[1] = {1};
  Tensor token(one, {1, 1});
  std::vector<Argument> arguments = {{"q", token}, {"k", token}, {"v", token}};
  std::vector<int64_t> shape = kernel.shapeOf("state", arguments);
  ASSERT_EQ(shape.size(), 2u);
  ASSERT_EQ(shape[0], 3);
  size_t row = static_cast<size_t>(shape[1]);
  std::vector<float> state(3 * row);
  state[2 * row] = 5, state[2 * row + 1] = 3;
  arguments.push_back({"state", {state.data(), shape}});
  float o[1], mass[1];
  kernel(arguments, {{"o", {o, {1, 1}}},
                     {"mass", {mass, {1}}},
                     {"state", {state.data(), shape}}});
  EXPECT_EQ(o[0], 3 * 1048576 + 6);
  EXPECT_EQ(state[2 * row], 6);
  EXPECT_EQ(state[2 * row + 1], 3);
}

/// A row's bits depend on its own sequence alone, and not on who computes it.
TEST(RecurrentState, SameBitsOnSeveralThreads) {
  const Shape s{3, 4, 2, 45, 45, 16, 8};
  Inputs inputs(s);
  Results one = inPieces(compile(elu1, 1), inputs, {}, pieces);
  Results several = inPieces(compile(elu1, 2), inputs, {}, pieces);
  EXPECT_EQ(one["o"], several["o"]);
  EXPECT_EQ(one["mass"], several["mass"]);
}

/// Changing a later token changes no bit of an earlier row (S9).
TEST(RecurrentState, LaterTokensAreNotSeen) {
  const Shape s{1, 1, 1, 45, 45, 16, 8};
  Inputs inputs(s), others(s);
  for (size_t n = 20 * 16; n < 45 * 16; ++n)
    others.k.at(n) = NAN;
  for (size_t n = 20 * 8; n < 45 * 8; ++n)
    others.v.at(n) = INFINITY;
  Results a = inPieces(compile(elu1), inputs, {}, pieces);
  Results b = inPieces(compile(elu1), others, {}, pieces);
  for (size_t n = 0; n < 20 * 8; ++n)
    ASSERT_EQ(a["o"][n], b["o"][n]) << n;
}

/// bf16 rows, as their upper halves; the state stays f32.
TEST(RecurrentState, SixteenBitRows) {
  const int64_t n = 21, d = 16, first = 19;
  std::vector<uint16_t> halves[3];
  std::vector<float> wide[3];
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  for (int role = 0; role < 3; ++role)
    for (int64_t e = 0; e < n * d; ++e) {
      float x = normal(random);
      uint32_t bits;
      std::memcpy(&bits, &x, 4);
      halves[role].push_back(static_cast<uint16_t>(bits >> 16));
      bits &= 0xffff0000u;
      std::memcpy(&x, &bits, 4);
      wide[role].push_back(x);
    }
  const char *names[3] = {"q", "k", "v"};
  Call call;
  call.text = elu1;
  call.target = "reference";
  for (int role = 0; role < 3; ++role)
    call.arguments.push_back({names[role], {wide[role].data(), {n, d}}});
  std::vector<float> exact = call.results()["o"];

  Kernel kernel = compile(elu1);
  std::vector<uint16_t> o(n * d);
  std::vector<float> mass(n), state;
  std::vector<int64_t> shape;
  for (int64_t begin = 0; begin < n;) {
    int64_t count = begin ? 1 : first;
    std::vector<Argument> arguments;
    for (int role = 0; role < 3; ++role)
      arguments.push_back({names[role], Tensor(halves[role].data() + begin * d,
                                               Type::bf16, {count, d})});
    if (begin) {
      arguments.push_back({"state", {state.data(), shape}});
    } else {
      shape = kernel.shapeOf("state", arguments);
      state.assign(static_cast<size_t>(shape[0] * shape[1]), NAN);
    }
    kernel(arguments,
           {{"o", Tensor(o.data() + begin * d, Type::bf16, {count, d})},
            {"mass", {mass.data() + begin, {count}}},
            {"state", {state.data(), shape}}});
    begin += count;
  }
  double error = 0, norm = 0;
  for (size_t e = 0; e < o.size(); ++e) {
    uint32_t bits = static_cast<uint32_t>(o[e]) << 16;
    float x;
    std::memcpy(&x, &bits, 4);
    error += (double(x) - exact[e]) * (double(x) - exact[e]);
    norm += double(exact[e]) * exact[e];
  }
  EXPECT_LE(std::sqrt(error / norm), 4e-3);
}

} // namespace
