//===- LinearEdgesTest.cpp - lengths, borders, NaN, threads ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearFixture.h"

#include <sys/resource.h>

using namespace attn;
using namespace attn::test;

namespace {

const char *elu1(const char *mask) {
  static std::string text;
  text = std::string("attention t(q, k, v) { phi(x) = elu(x) + 1; "
                     "kappa = dot(phi(q), phi(k)); mask = ") +
         mask + "; return o, mass, lse }";
  return text.c_str();
}

std::map<std::string, std::vector<float>>
linearResults(const std::string &text, std::vector<Argument> arguments,
              int threads = 1) {
  Call call;
  call.text = text;
  call.schedule = "linear";
  call.threads = threads;
  call.arguments = std::move(arguments);
  return call.results();
}

void expectExact(const std::string &text, const std::vector<Argument> &given) {
  Call call;
  call.text = text;
  call.arguments = given;
  call.target = "reference";
  auto exact = call.results();
  auto linear = linearResults(text, given);
  for (const auto &[name, expected] : exact)
    EXPECT_LE(errorOf(linear[name], expected), 1e-5) << name;
}

TEST(LinearEdges, LengthsAndOffsets) {
  Shape s{3, 2, 1, 37, 50, 8, 8};
  Inputs inputs(s);
  int64_t keys[] = {50, 17, 0}, queries[] = {37, 20, 5};
  int64_t offsets[] = {-5, 20, 60};
  Tensor keyLengths(keys, Type::i64, {3}),
      queryLengths(queries, Type::i64, {3});
  for (const char *mask : {"none", "causal", "strict_causal"})
    for (int given = 0; given < 8; ++given) {
      SCOPED_TRACE(std::string(mask) + " " + std::to_string(given));
      std::vector<Argument> arguments = inputs.arguments();
      if (given & 1)
        arguments.push_back({"key_lengths", keyLengths});
      if (given & 2)
        arguments.push_back({"query_lengths", queryLengths});
      if (given & 4)
        arguments.push_back({"offset", Tensor(offsets, Type::i64, {3})});
      expectExact(elu1(mask), arguments);
    }
}

TEST(LinearEdges, EveryLengthAroundATile) {
  for (int64_t n : {0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129})
    for (const char *mask : {"none", "causal", "strict_causal"}) {
      SCOPED_TRACE(std::string(mask) + " " + std::to_string(n));
      Inputs inputs({1, 1, 1, n, n, 8, 4});
      expectExact(elu1(mask), inputs.arguments());
    }
}

/// Documents in one run each, borders anywhere; others are computed too.
TEST(LinearEdges, Documents) {
  constexpr int64_t n = 100;
  const char *text =
      "attention t(q, k, v; doc[batch, nk]: int) { phi(x) = elu(x) + 1; "
      "kappa = dot(phi(q), phi(k)); "
      "mask = causal and doc[i] == doc[j]; return o, mass }";
  const char *decaying =
      "attention t(q, k, v; doc[batch, nk]: int) { phi(x) = relu(x) + 0.5; "
      "kappa = dot(phi(q), phi(k)) * exp((j - i) / 9); "
      "mask = doc[i] == doc[j] and strict_causal; return o, mass }";
  Inputs inputs({5, 2, 1, n, n, 8, 8});
  std::vector<int64_t> ids;
  for (int64_t t = 0; t < n; ++t)
    ids.push_back(t / 16); // on borders of tiles
  for (int64_t t = 0; t < n; ++t)
    ids.push_back(t / 7);
  for (int64_t t = 0; t < n; ++t)
    ids.push_back(t < 95 ? -3 : t);
  for (int64_t t = 0; t < n; ++t)
    ids.push_back(t / 30 % 2); // not in runs
  for (int64_t t = 0; t < n; ++t)
    ids.push_back(4);
  std::vector<Argument> arguments = inputs.arguments();
  arguments.push_back({"doc", Tensor(ids.data(), Type::i64, {5, n})});
  for (const char *spec : {text, decaying}) {
    expectExact(spec, arguments);
    for (int64_t offset : {-9, 0, 40}) {
      arguments.push_back({"offset", static_cast<double>(offset)});
      expectExact(spec, arguments);
      arguments.pop_back();
    }
  }
  // Of a document before it a query knows nothing.
  Inputs dirty({5, 2, 1, n, n, 8, 8});
  for (size_t d = 0; d < 8; ++d)
    dirty.k.at(20 * 8 + d) = dirty.v.at(20 * 8 + d) = NAN;
  std::vector<Argument> other = dirty.arguments();
  other.push_back(arguments.back());
  auto clean = linearResults(text, arguments),
       soiled = linearResults(text, other);
  for (size_t t = 0; t < static_cast<size_t>(n); ++t)
    for (size_t c = 0; c < 8; ++c) {
      float x = clean["o"][t * 8 + c], y = soiled["o"][t * 8 + c];
      EXPECT_EQ(t >= 20 && t < 32, std::isnan(y)) << t;
      if (!std::isnan(y)) {
        EXPECT_EQ(x, y) << t;
      }
    }
}

TEST(LinearEdges, EmptyExtents) {
  for (Shape s : {Shape{0, 1, 1, 5, 5, 8, 8}, Shape{1, 0, 0, 5, 5, 8, 8},
                  Shape{1, 1, 1, 0, 5, 8, 8}, Shape{1, 2, 2, 5, 0, 8, 8}})
    for (const char *mask : {"none", "causal"}) {
      Inputs inputs(s);
      expectExact(elu1(mask), inputs.arguments());
    }
}

/// What a query cannot see never reaches it, be it NaN, and not a bit of it.
TEST(LinearEdges, HiddenKeysLeaveNoTrace) {
  Shape s{1, 1, 1, 50, 50, 16, 16};
  for (const char *mask : {"causal", "strict_causal"})
    for (int64_t at : {0, 5, 15, 16, 17, 40, 49}) {
      SCOPED_TRACE(std::string(mask) + " " + std::to_string(at));
      Inputs clean(s), dirty(s);
      auto before = linearResults(elu1(mask), clean.arguments());
      for (int64_t d = 0; d < 16; ++d) {
        dirty.k.at(static_cast<size_t>(at * 16 + d)) = NAN;
        dirty.v.at(static_cast<size_t>(at * 16 + d)) = d % 2 ? NAN : INFINITY;
      }
      auto after = linearResults(elu1(mask), dirty.arguments());
      int64_t blind = mask[0] == 's' ? at + 1 : at;
      for (int64_t n = 0; n < blind * 16; ++n)
        ASSERT_EQ(before["o"][n], after["o"][n]) << n;
      for (int64_t n = 0; n < blind; ++n)
        ASSERT_EQ(before["mass"][n], after["mass"][n]) << n;
      if (blind < 50) { // and whoever sees it knows
        EXPECT_TRUE(std::isnan(after["o"][blind * 16]));
      }
    }
}

TEST(LinearEdges, KeysPastALengthAreNotRead) {
  Shape s{1, 1, 1, 30, 80, 16, 16};
  int64_t length[] = {41};
  for (const char *mask : {"none", "causal"}) {
    Inputs clean(s), dirty(s);
    for (size_t n = 41 * 16; n < 80 * 16; ++n)
      dirty.k.at(n) = dirty.v.at(n) = NAN;
    auto with = [&](Inputs &inputs) {
      std::vector<Argument> arguments = inputs.arguments();
      arguments.push_back({"key_lengths", Tensor(length, Type::i64, {1})});
      return linearResults(elu1(mask), arguments);
    };
    EXPECT_EQ(with(clean), with(dirty)) << mask;
  }
}

/// S8: not a bit depends on threads, batch or strides.
TEST(LinearEdges, BitsAreTheSequencesOwn) {
  Shape s{2, 2, 2, 1500, 1500, 16, 8};
  for (const char *mask : {"none", "causal"}) {
    Inputs inputs(s);
    auto all = linearResults(elu1(mask), inputs.arguments(), 2);
    EXPECT_EQ(all, linearResults(elu1(mask), inputs.arguments(), 1)) << mask;
    // The last head of the last sequence, alone, its rows far apart.
    size_t rows = 3 * 1500;
    std::vector<float> wide(1500 * 40);
    for (size_t n = 0; n < 1500; ++n)
      std::copy_n(&inputs.q.at((rows + n) * 16), 16, &wide[n * 40]);
    std::vector<Argument> one = {
        {"q", Tensor(wide.data(), {1, 1, 1500, 16}, {0, 0, 40, 1})},
        {"k", Tensor(&inputs.k.at(rows * 16), {1, 1, 1500, 16})},
        {"v", Tensor(&inputs.v.at(rows * 8), {1, 1, 1500, 8})}};
    auto alone = linearResults(elu1(mask), one);
    for (size_t n = 0; n < alone["o"].size(); ++n)
      ASSERT_EQ(alone["o"][n], all["o"][rows * 8 + n]) << mask << " " << n;
  }
}

/// Features are made a tile at a time: a million tokens take no memory.
TEST(LinearEdges, MemoryDoesNotGrowWithLength) {
  constexpr int64_t n = 1000000;
  Call call;
  call.text = elu1("causal");
  call.schedule = "linear";
  Kernel kernel = call.compile();
  auto run = [&](int64_t rows, Inputs &inputs, std::vector<float> &o) {
    std::vector<float> mass(rows), lse(rows);
    auto peak = [] {
      rusage usage;
      getrusage(RUSAGE_SELF, &usage);
      return usage.ru_maxrss; // KiB
    };
    long before = peak();
    kernel(inputs.arguments(), {{"o", {o.data(), {1, 1, rows, 16}}},
                                {"mass", {mass.data(), {1, 1, rows}}},
                                {"lse", {lse.data(), {1, 1, rows}}}});
    return peak() - before;
  };
  Inputs few({1, 1, 1, 64, 64, 16, 16});
  std::vector<float> o(64 * 16);
  run(64, few, o); // compiles
  Inputs many({1, 1, 1, n, n, 16, 16});
  std::vector<float> all(n * 16, 1.0f);
  EXPECT_LE(run(n, many, all), 16 * 1024);
  EXPECT_TRUE(std::isfinite(all.back()));
}

std::string refusalOf(const std::string &text) {
  Inputs inputs({1, 1, 1, 20, 20, 64, 8});
  try {
    linearResults(text, inputs.arguments());
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(LinearRefusal, SaysWhy) {
  auto refuses = [](const std::string &text, const std::string &why) {
    std::string error = refusalOf("attention t(q, k, v) { " + text + " }");
    EXPECT_NE(error.find("the linear order is not licensed"), std::string::npos)
        << error;
    EXPECT_NE(error.find(why), std::string::npos) << error;
  };
  refuses("kappa = dot(q, k)^2; mask = i // 8 == j // 8", "document");
  refuses("kappa = exp(dot(q, k))", "not separable");
  refuses("kappa = (1 + dot(q, k))^2; mask = window(8, 0)", "window");
  refuses("kappa = (1 + dot(q, k))^2; mask = (i + j) % 2 == 0", "arbitrary");
  refuses("kappa = (1 + dot(q, k))^4", "rank too large: phi has 814385");
  refuses("kappa = dot(q, k)^8", "degree above 4");
  refuses("kappa = dot(q, k)^2; return o, max", "max");
  refuses("kappa = dot(q, k)^2; normalize = mass(sink = 1)", "sink");
  refuses("kappa = dot(q, k)^2 * exp(j - i)", "ratios");
  refuses("phi(x) = exp(x); kappa = dot(phi(q), phi(k))", "running maximum");
}

TEST(LinearRefusal, UnknownSchedule) {
  Options options;
  options.schedule = "cubic";
  EXPECT_THROW(Compiler{options}, Error);
}

} // namespace
