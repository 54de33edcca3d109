//===- GoldenStorage.cpp - golden cases on rounded inputs -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GoldenCases.h"
#include "runtime/Arrays.h"

#include <cmath>

using namespace attn;

double golden::errorStoredAs(const Suite &suite, const Case &c, Type type,
                             const std::string &level) {
  auto wanted = c.expected.find("o");
  if (wanted == c.expected.end())
    return 0;
  std::vector<std::vector<char>> memory;
  std::vector<Argument> arguments;
  for (const auto &[name, array] : c.arrays) {
    memory.push_back(suite.read(array));
    Type stored = array.type;
    if (array.type == Type::f32) {
      stored = type;
      std::vector<char> rounded(2 * array.size());
      for (int64_t n = 0; n < array.size(); ++n)
        runtime::storeReal(type, &rounded[2 * n],
                           runtime::loadReal(Type::f32, &memory.back()[4 * n]));
      memory.back() = std::move(rounded);
    }
    arguments.emplace_back(name,
                           Tensor(memory.back().data(), stored, array.shape));
  }
  for (const auto &[name, number] : c.numbers)
    arguments.emplace_back(name, number);

  // Every output that the spec has must be given a place.
  auto compute = [&](const char *target, Type typeOfO) {
    Options options;
    options.target = target;
    if (options.target == "cpu")
      options.level = level;
    Kernel kernel =
        Compiler(options).compile(suite.spec(c.spec), c.spec, c.spec);
    std::vector<std::vector<char>> results;
    std::vector<Output> outputs;
    std::vector<double> o;
    for (const std::string &name : kernel.results()) {
      Type t = name == "o" ? typeOfO : name == "argmax" ? Type::i32 : Type::f32;
      std::vector<int64_t> shape = kernel.shapeOf(name, arguments);
      results.emplace_back(std::max<int64_t>(
          runtime::elementCount(shape) * runtime::sizeOf(t), 8));
      outputs.push_back({name, Tensor(results.back().data(), t, shape)});
    }
    kernel(arguments, outputs);
    for (const Output &output : outputs)
      if (output.name == "o")
        for (int64_t n = 0; n < wanted->second.array.size(); ++n)
          o.push_back(runtime::loadReal(
              typeOfO, static_cast<char *>(output.tensor.data) +
                           n * runtime::sizeOf(typeOfO)));
    return o;
  };
  std::vector<double> exact = compute("reference", Type::f64),
                      got = compute("cpu", type);
  double error = 0, size = 0;
  for (size_t n = 0; n < exact.size(); ++n) {
    if (std::isnan(exact[n]))
      continue;
    double difference = got[n] - exact[n];
    // Beyond the range of f16, and among its denormal numbers, digits are lost
    // that the rule is not about; what is left must be right all the same.
    bool inRange = type != Type::f16 || (std::fabs(exact[n]) <= 65504 &&
                                         std::fabs(exact[n]) >= 0x1p-14);
    uint16_t nearest;
    runtime::storeReal(type, &nearest, exact[n]);
    if (!inRange && (got[n] == runtime::loadReal(type, &nearest) ||
                     std::fabs(difference) <= 0x1p-24))
      continue;
    error += difference * difference;
    size += exact[n] * exact[n];
  }
  return std::sqrt(error) / std::max(std::sqrt(size), 1e-30);
}
