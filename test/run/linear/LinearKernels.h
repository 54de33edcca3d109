//===- LinearKernels.h - kernels with feature maps --------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One for every way in which a feature map is made.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_RUN_LINEAR_LINEARKERNELS_H
#define ATTN_TEST_RUN_LINEAR_LINEARKERNELS_H

#include "LinearFixture.h"

namespace attn::test {

struct KernelText {
  const char *name, *parameters, *body;
};

/// What a kernel is called with beside q, k and v.
inline void addParameters(std::vector<Argument> &arguments,
                          const KernelText &kappa, std::vector<Data> &storage,
                          const Shape &s) {
  std::string text = kappa.parameters;
  if (text.find("g[head]") != std::string::npos) {
    storage.emplace_back(std::vector<int64_t>{s.Hq}, 5);
    for (size_t h = 0; h < storage.back().values.size(); ++h)
      storage.back().at(h) = 0.9f - 0.07f * static_cast<float>(h);
    arguments.push_back({"g", storage.back().view()});
  }
  if (text.find("c[head]") != std::string::npos) {
    storage.emplace_back(std::vector<int64_t>{s.Hq}, 6);
    for (float &x : storage.back().values)
      x = std::fabs(x) + 0.1f;
    arguments.push_back({"c", storage.back().view()});
  }
  if (text.find("W[kv_head") != std::string::npos) {
    storage.emplace_back(std::vector<int64_t>{s.Hk, s.D, 6}, 7);
    arguments.push_back({"W", storage.back().view()});
  }
  if (text.find("M > 0") != std::string::npos)
    arguments.push_back({"M", 2.0 * static_cast<double>(s.Nk + s.Nq + 1)});
}

// Sums of features cancel where kappa is far below the sum of what they are
// sums of, as (s + c)^4 is near s = -c: a row that sees few such keys, and all
// of them through a state, is ill-conditioned in the linear order. These stay
// away from there.
inline const KernelText kappas[] = {
    {"elu1", "", "phi(x) = elu(x) + 1; kappa = dot(phi(q), phi(k))"},
    {"square", "", "kappa = (1 + dot(q, k))^2"},
    {"fourth", "c[head] >= 0", "kappa = (dot(q, k) / (2 * dim) + 1 + c)^4"},
    {"even", "", "kappa = 1 + dot(q, k)^2"},
    {"constant", "c[head] >= 0", "kappa = 1 + c"},
    {"sum", "",
     "phi(x) = relu(x) + 1; kappa = dot(q, k)^2 + 3 * dot(phi(q), phi(k))"},
    {"product", "",
     "phi(x) = relu(x) + 1; kappa = dot(phi(q), phi(k)) * (1 + dot(q, k)^2)"},
    {"per_head", "c[head] >= 0",
     "phi(x) = relu(c * x) + 0.5; kappa = dot(phi(q), phi(k))"},
    {"norms", "",
     "kappa = dot(q, k)^2 * (1 / (1 + dot(q, q))) * (1 / (1 + dot(k, k)))"},
    {"rope", "", "q = rope(q, i); k = rope(k, j); kappa = (1 + dot(q, k))^2"},
    {"unit", "", "q = unit(q); k = unit(k); kappa = 1.5 + dot(q, k)"},
    {"project", "W[kv_head, D, d]",
     "q = q * W; k = k * W; kappa = (1 + dot(q, k))^2"},
    {"cosformer", "M > 0",
     "a = pi / 2 / M; q = concat(relu(q) * cos(a * i), relu(q) * sin(a * i)); "
     "k = concat(relu(k) * cos(a * j), relu(k) * sin(a * j)); "
     "kappa = dot(q, k); allow signed; normalize = mass(floor = 1e-6)"},
    {"raw", "", "kappa = dot(q, k); normalize = none"},
};
inline const KernelText decaying[] = {
    {"retnet", "g[head] > 0",
     "kappa = dot(q, k) * g^(i - j); normalize = none"},
    {"slope", "c[head] >= 0",
     "kappa = (1 + dot(q, k))^2 * exp(-c * abs(i - j))"},
    {"growth", "",
     "phi(x) = elu(x) + 1; kappa = dot(phi(q), phi(k)) * exp(0.01 * (i - j))"},
};

inline std::string textOf(const KernelText &kappa, const char *mask) {
  std::string parameters = kappa.parameters;
  return "attention t(q, k, v" + (parameters.empty() ? "" : "; " + parameters) +
         ") { " + kappa.body + "; mask = " + mask + "; return o, mass }";
}

} // namespace attn::test

#endif // ATTN_TEST_RUN_LINEAR_LINEARKERNELS_H
