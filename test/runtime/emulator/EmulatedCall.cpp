//===- EmulatedCall.cpp - one call, emulated and in float64 ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedCall.h"
#include "runtime/Arrays.h"

#include <cmath>
#include <limits>
#include <map>
#include <random>

using namespace attn;
using namespace attn::runtime;

static Kernel compileFor(const std::string &spec, const char *target,
                         const std::string &schedule = "") {
  Options options;
  options.target = target;
  options.schedule = schedule;
  return Compiler(options).compile(spec);
}

EmulatedCall::EmulatedCall(const std::string &spec, const CallShape &given)
    : shape(given), kernel(compileFor(spec, "cuda-emulator", given.schedule)) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal(0, 0.7);
  int64_t size = sizeOf(shape.type);
  std::vector<std::vector<double>> exact;
  auto make = [&](int64_t heads, int64_t count, int64_t row) {
    std::vector<double> numbers(shape.B * heads * count * row);
    for (double &x : numbers)
      x = normal(random);
    exact.push_back(std::move(numbers));
  };
  make(shape.Hq, shape.Nq, shape.D);
  make(shape.Hk, shape.Nk, shape.D);
  make(shape.Hk, shape.Nk, shape.Dv);
  if (shape.nearKeys)
    for (size_t n = 0; n < exact[1].size(); ++n)
      exact[1][n] = exact[0][n % exact[0].size()] + 1e-3 * normal(random);
  if (shape.oddValuesFrom >= 0)
    for (size_t n = 0; n < exact[2].size(); ++n)
      if (static_cast<int64_t>(n) / shape.Dv % shape.Nk >= shape.oddValuesFrom)
        exact[2][n] = std::numeric_limits<double>::quiet_NaN();
  for (const std::vector<double> &numbers : exact) {
    std::vector<char> bytes(numbers.size() * size);
    for (size_t n = 0; n < numbers.size(); ++n)
      storeReal(shape.type, bytes.data() + n * size, numbers[n]);
    rows.push_back(std::move(bytes));
  }

  Kernel reference = compileFor(spec, "reference");
  auto outputsOf = [&](const Kernel &made, void *first, Type type) {
    std::vector<Output> outputs;
    for (const std::string &name : made.results()) {
      std::vector<int64_t> extents = made.shapeOf(name, arguments());
      if (name == "o") {
        outputs.push_back({name, Tensor(first, type, extents)});
        continue;
      }
      int64_t count = elementCount(extents);
      others.emplace_back(std::max<int64_t>(count, 1) * 4);
      outputs.push_back(
          {name, Tensor(others.back().data(),
                        name == "argmax" ? Type::i32 : Type::f32, extents)});
    }
    return outputs;
  };
  int64_t count = shape.B * shape.Hq * shape.Nq * shape.Dv;
  expected.resize(count);
  reference(arguments(), outputsOf(reference, expected.data(), Type::f64));
  o.resize(count * size);
  prepared = {};
  Kernel::Impl &impl = kernel.getImpl();
  prepared.binding = bindInputs(impl.signature, arguments(), impl.rules);
  bindOutputs(prepared.binding, impl.signature,
              outputsOf(kernel, o.data(), shape.type), shape.Dv, impl.rules);
}

std::vector<Argument> EmulatedCall::arguments() const {
  const CallShape &s = shape;
  auto view = [&](int which, int64_t heads, int64_t count, int64_t row) {
    return Tensor(const_cast<char *>(rows[which].data()), s.type,
                  {s.B, heads, count, row});
  };
  std::vector<Argument> all{{"q", view(0, s.Hq, s.Nq, s.D)},
                            {"k", view(1, s.Hk, s.Nk, s.D)},
                            {"v", view(2, s.Hk, s.Nk, s.Dv)}};
  for (const auto &[name, number] : s.numbers)
    all.push_back({name, number});
  for (const auto &[name, ids] : s.ids)
    all.push_back({name, Tensor(const_cast<int64_t *>(ids.data()), Type::i64,
                                {static_cast<int64_t>(ids.size())})});
  if (!s.keyLengths.empty())
    all.push_back(
        {"key_lengths",
         Tensor(const_cast<int64_t *>(s.keyLengths.data()), Type::i64, {s.B})});
  return all;
}

CudaProgram EmulatedCall::program(const char *architecture) const {
  CudaOptions options;
  options.level = &cudaLevel(architecture);
  options.storage = shape.type;
  options.tf32 = shape.tf32;
  options.tiles = shape.tiles;
  return kernel.getImpl().compilation->emitCuda(prepared.binding.sizes,
                                                options);
}

void EmulatedCall::run(const CudaProgram &program) {
  std::fill(o.begin(), o.end(), '\xff');
  // Other lengths are the same text, which takes seconds to compile.
  static std::map<std::string, std::shared_ptr<const GpuKernel>> known;
  std::shared_ptr<const GpuKernel> &made = known[program.source];
  if (!made)
    made = emulate(program);
  made->run(prepared.binding);
}

double EmulatedCall::error() const {
  double difference = 0, norm = 0;
  int64_t size = sizeOf(shape.type);
  for (size_t n = 0; n < expected.size(); ++n) {
    double got = loadReal(shape.type, o.data() + n * size);
    if (!std::isfinite(expected[n]))
      continue;
    if (!std::isfinite(got))
      return std::numeric_limits<double>::infinity();
    difference += (got - expected[n]) * (got - expected[n]);
    norm += expected[n] * expected[n];
  }
  return std::sqrt(difference / std::max(norm, 1e-300));
}
