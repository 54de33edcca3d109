//===- DecodeTest.cpp - few queries against parts of the keys -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Split keys = float64, for kernels, masks, lengths and groups of heads; bits
// that depend on nothing but the sequence (S8); no key is read that is masked
// (S2).
//
//===----------------------------------------------------------------------===//

#include "../linear/LinearFixture.h"

#include <cstring>

using namespace attn;
using namespace attn::test;

namespace {

struct Kernels {
  const char *name, *parameters, *body;
};

const Kernels kernels[] = {
    {"softmax", "", "kappa = exp(dot(q, k)/sqrt(dim)); return o, mass, lse"},
    {"yat", "b[head] >= 0, eps[head] > 0",
     "kappa = (dot(q, k) + b)^2/(sqdist(q, k) + eps); return o, mass"},
    {"gaussian", "", "kappa = exp(-sqdist(q, k)/4); return o, mass, lse"},
    {"sigmoid", "",
     "kappa = sigmoid(dot(q, k)/sqrt(dim) - log(nk)); normalize = none"},
    {"fast_decay", "b[head] >= 0",
     "kappa = exp(dot(q, k) - b*abs(i - j)); return o, lse"},
    {"causal", "", "kappa = exp(dot(q, k)); mask = causal; return o, mass"},
    {"window", "", "kappa = exp(dot(q, k)); mask = window(100, 0)"},
    {"holes", "",
     "kappa = exp(dot(q, k)); mask = (i + j) % 3 == 0; return o, lse"},
    {"by_head", "b[head] >= 0",
     "kappa = exp(dot(q, k)); mask = (j + head) % 3 != 0; return o, lse"},
    {"sink", "b[head] >= 0",
     "kappa = exp(dot(q, k)); normalize = mass(sink = b); return o, lse"},
    {"delta", "", "kappa = dot(q, k)^2; normalize = mass(delta = 0.5)"},
    {"maps", "",
     "q = rope(q, i); k = rope(k, j); v = 2*v; kappa = exp(dot(q, k)); mask = "
     "causal"},
    {"inside", "a[head, D]",
     "kappa = exp(dot(unit(q), unit(k)) + dot(a, q)); return o, mass"},
    {"key_scalar", "a[head, D]",
     "kappa = exp(dot(q, k)/4 + dot(a, k)/4); return o, mass"},
    {"linear_too", "",
     "phi(x) = elu(x) + 1; kappa = dot(phi(q), phi(k)); return o, mass"},
    {"more_results", "", "kappa = exp(dot(q, k)); return o, max, entropy"},
    {"mass_only", "", "kappa = exp(dot(q, k)/sqrt(dim)); return mass"},
};

const Shape shapes[] = {
    {1, 1, 1, 1, 1, 16, 8},      {2, 4, 2, 1, 33, 16, 8},
    {1, 8, 1, 1, 2500, 16, 8},   {1, 2, 2, 3, 1024, 16, 8},
    {2, 6, 2, 8, 1100, 16, 8},   {1, 5, 5, 2, 4097, 6, 3},
    {1, 40, 2, 1, 300, 6, 3},    {1, 2, 1, 8, 5, 6, 3},
    {1, 2, 1, 1, 20000, 40, 24},
};

struct Problem {
  Inputs inputs;
  Data b, eps, a;
  Problem(const Shape &s)
      : inputs(s), b({s.Hq}, 7), eps({s.Hq}, 8), a({s.Hq, s.D}, 9) {
    for (Data *positive : {&b, &eps})
      for (float &x : positive->values)
        x = std::fabs(x) + 0.1f;
  }
  Call call(const Kernels &kernel) {
    Call call;
    std::string parameters = kernel.parameters;
    call.text = std::string("attention t(q, k, v") +
                (parameters.empty() ? "" : "; " + parameters) + ") { " +
                kernel.body + " }";
    call.arguments = inputs.arguments();
    const std::pair<const char *, Data *> all[] = {
        {"b[", &b}, {"eps[", &eps}, {"a[", &a}};
    for (const auto &[name, data] : all)
      if (parameters.find(name) != std::string::npos)
        call.arguments.push_back(
            {std::string(name).substr(0, std::strlen(name) - 1), data->view()});
    return call;
  }
};

void expectRight(Call call, const std::string &what) {
  SCOPED_TRACE(what);
  call.target = "cpu";
  auto found = call.results();
  call.target = "reference";
  call.level.clear();
  for (const auto &[name, expected] : call.results())
    if (name == "lse") {
      ASSERT_EQ(found[name].size(), expected.size());
      for (size_t n = 0; n < expected.size(); ++n)
        if (found[name][n] != expected[n]) {
          EXPECT_LE(std::fabs(found[name][n] - expected[n]),
                    1e-5f * std::max(1.0f, std::fabs(expected[n])))
              << name << " " << n;
        }
    } else {
      EXPECT_LE(errorOf(found[name], expected), 1e-5) << name;
    }
}

class Decode : public ::testing::TestWithParam<Kernels> {};

TEST_P(Decode, IsFloat64) {
  for (const Shape &s : shapes)
    for (const char *level : {"", "x86-64-v3@native", "x86-64-v2@native"}) {
      Problem problem(s);
      Call call = problem.call(GetParam());
      call.level = level;
      expectRight(call, std::to_string(s.Hq) + "/" + std::to_string(s.Hk) +
                            " heads, " + std::to_string(s.Nq) + " x " +
                            std::to_string(s.Nk) + " " + level);
    }
}

/// Lengths of both sides, so that sequences of few and of many queries meet.
TEST_P(Decode, LengthsAreFloat64) {
  Shape s{4, 4, 2, 20, 1500, 16, 8};
  Problem problem(s);
  Call call = problem.call(GetParam());
  std::vector<int64_t> keys{1500, 0, 1037, 300}, queries{20, 3, 8, 0};
  call.arguments.push_back(
      {"key_lengths", Tensor(keys.data(), Type::i64, {4})});
  expectRight(call, "key lengths");
  call.arguments.push_back(
      {"query_lengths", Tensor(queries.data(), Type::i64, {4})});
  expectRight(call, "both lengths");
}

INSTANTIATE_TEST_SUITE_P(Kernels, Decode, ::testing::ValuesIn(kernels),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

/// The first `count` floats.
void expectSameBits(const float *a, const float *b, size_t count,
                    const char *what) {
  EXPECT_EQ(std::memcmp(a, b, count * sizeof(float)), 0) << what;
}

TEST(Decode, BitsAreTheSequencesOwn) {
  Shape s{3, 4, 2, 2, 5000, 16, 8};
  Problem problem(s);
  Call call = problem.call(kernels[0]);
  auto one = call.results();
  call.threads = 2;
  auto two = call.results();
  for (const auto &[name, values] : one)
    expectSameBits(values.data(), two[name].data(), values.size(), "threads");
  // The last sequence alone; padded; with its queries in a larger array.
  call.threads = 1;
  auto last = [&](Data &data) {
    Data part({1, data.shape[1], data.shape[2], data.shape[3]}, 0);
    std::copy(data.values.end() - part.values.size(), data.values.end(),
              part.values.begin());
    return part;
  };
  Data q = last(problem.inputs.q), k = last(problem.inputs.k),
       v = last(problem.inputs.v);
  call.arguments = {{"q", q.view()}, {"k", k.view()}, {"v", v.view()}};
  auto alone = call.results();
  size_t count = alone["o"].size();
  expectSameBits(alone["o"].data(), &one["o"][one["o"].size() - count], count,
                 "batch");
  Data wide({1, 4, 30, 16}, 3);
  for (size_t h = 0; h < 4; ++h)
    std::copy_n(&q.values[h * 32], 32, &wide.values[h * 30 * 16]);
  std::vector<int64_t> queries{2}, offset{4998};
  call.arguments = {{"q", wide.view()},
                    {"k", k.view()},
                    {"v", v.view()},
                    {"query_lengths", Tensor(queries.data(), Type::i64, {1})},
                    {"offset", Tensor(offset.data(), Type::i64, {1})}};
  auto padded = call.results();
  for (size_t h = 0; h < 4; ++h)
    expectSameBits(&padded["o"][h * 30 * 8], &alone["o"][h * 16], 16,
                   "padding");
}

TEST(Decode, MaskedKeysAreNotSeen) {
  Shape s{1, 4, 2, 2, 3000, 16, 8};
  for (const char *body : {"mask = causal", "mask = j % 7 != 3 and causal"}) {
    Problem problem(s);
    Call call =
        problem.call({"", "", "kappa = exp(dot(q, k)); return o, mass"});
    call.text.insert(call.text.find("kappa"), std::string(body) + "; ");
    std::vector<int64_t> offset{2000};
    call.arguments.push_back({"offset", Tensor(offset.data(), Type::i64, {1})});
    auto clean = call.results();
    for (Data *data : {&problem.inputs.k, &problem.inputs.v})
      for (size_t row = 0; row < data->values.size() / data->shape[3]; ++row) {
        size_t j = row % s.Nk;
        if (j <= 2001 && (std::strlen(body) < 15 || j % 7 != 3))
          continue;
        for (int64_t d = 0; d < data->shape[3]; ++d)
          data->values[row * data->shape[3] + d] = d % 2 ? NAN : INFINITY;
      }
    auto dirty = call.results();
    // Row 0 does not see key 2001, which row 1 sees.
    for (const auto &[name, values] : clean)
      expectSameBits(values.data(), dirty[name].data(), values.size(), body);
  }
}

} // namespace
