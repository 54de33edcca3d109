//===- RecurrentFixture.h - a sequence in several calls ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_RUN_LINEAR_RECURRENTFIXTURE_H
#define ATTN_TEST_RUN_LINEAR_RECURRENTFIXTURE_H

#include "LinearFixture.h"

namespace attn::test {

inline const char *const elu1 =
    "attention t(q, k, v) { phi(x) = elu(x) + 1; kappa = "
    "dot(phi(q), phi(k)); mask = causal; return o, mass }";

using Results = std::map<std::string, std::vector<float>>;

/// Tokens [begin, end) of an array [B, H, N, n].
inline Tensor tokensOf(Data &data, int64_t begin, int64_t end) {
  int64_t heads = data.shape[1], count = data.shape[2], row = data.shape[3];
  return Tensor(data.values.data() + begin * row,
                {data.shape[0], heads, end - begin, row},
                {heads * count * row, count * row, row, 1});
}

/// A sequence that is computed piece by piece.
class Sequence {
public:
  Sequence(const Kernel &kernel, Inputs &inputs,
           std::vector<Argument> parameters)
      : kernel(kernel), inputs(inputs), parameters(std::move(parameters)) {}

  /// Computes the next tokens, into `o` and `mass` of the whole.
  void go(int64_t count, std::vector<float> &o, std::vector<float> &mass) {
    int64_t end = at + count;
    std::vector<Argument> arguments = parameters;
    arguments.push_back({"q", tokensOf(inputs.q, at, end)});
    arguments.push_back({"k", tokensOf(inputs.k, at, end)});
    arguments.push_back({"v", tokensOf(inputs.v, at, end)});
    if (stateShape.empty()) {
      stateShape = kernel.shapeOf("state", arguments);
      int64_t size = 1;
      for (int64_t extent : stateShape)
        size *= extent;
      state.assign(static_cast<size_t>(size), NAN);
    } else {
      arguments.push_back({"state", {state.data(), stateShape}});
    }
    const auto &q = inputs.q.shape;
    int64_t width = inputs.v.shape[3], total = q[2];
    kernel(arguments,
           {{"o",
             {o.data() + at * width,
              {q[0], q[1], count, width},
              {q[1] * total * width, total * width, width, 1}}},
            {"mass",
             {mass.data() + at, {q[0], q[1], count}, {q[1] * total, total, 1}}},
            {"state", {state.data(), stateShape}}});
    at = end;
  }

  std::vector<float> state;
  std::vector<int64_t> stateShape;

private:
  Kernel kernel;
  Inputs &inputs;
  std::vector<Argument> parameters;
  int64_t at = 0;
};

inline Kernel compile(const std::string &text, int threads = 1,
                      const char *level = "") {
  Call call;
  call.text = text;
  call.schedule = "recurrent";
  call.threads = threads;
  call.level = level;
  return call.compile();
}

/// All tokens of a sequence, `pieces` of them a call.
inline Results inPieces(const Kernel &kernel, Inputs &inputs,
                        const std::vector<Argument> &parameters,
                        const std::vector<int64_t> &pieces) {
  const auto &q = inputs.q.shape;
  size_t rows = static_cast<size_t>(q[0] * q[1] * q[2]);
  Results results;
  results["o"].assign(rows * static_cast<size_t>(inputs.v.shape[3]), 12345);
  results["mass"].assign(rows, 12345);
  Sequence sequence(kernel, inputs, parameters);
  for (int64_t count : pieces)
    sequence.go(count, results["o"], results["mass"]);
  return results;
}

/// 45 tokens: a prefill of whole tiles and a rest, steps, a call without
/// tokens.
inline const std::vector<int64_t> pieces = {37, 1, 1, 0, 1, 5};

} // namespace attn::test

#endif // ATTN_TEST_RUN_LINEAR_RECURRENTFIXTURE_H
