//===- Kernels.cpp - sizes that code is specialised on --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "Problem.h"
#include "TypeOption.h"
#include "dialect/attn/FewQueries.h"

#include <fmt/format.h>

#include <algorithm>

using namespace attn;
using namespace attn::runtime;

void attn::addSizeOptions(CLI::App &verb, SizeOptions &options) {
  verb.add_option("--D,--dim", options.D, "length of the rows of q and k");
  verb.add_option("--Dv", options.Dv, "length of the rows of v; default: D");
  verb.add_option("--shape", options.shape, "B,Hq,Hk,Nq,Nk,D,Dv");
  verb.add_option("--set", options.set,
                  "NAME=NUMBER: a size variable; default: D")
      ->allow_extra_args(false);
  addTypeOption(verb, options.type);
  verb.add_flag("--few-queries", options.fewQueries,
                fmt::format("code for decoding too: sequences of at most {} "
                            "queries have their keys split over work items",
                            kFewQueries));
}

std::optional<StaticSizes> attn::staticSizes(const Signature &signature,
                                             const SizeOptions &options) {
  if (!options.D && !options.Dv && !options.shape && options.set.empty() &&
      options.type == Type::f32 && !options.fewQueries)
    return std::nullopt;
  if (options.shape && (options.D || options.Dv))
    throw UsageError("--shape has D and Dv already");
  ProblemShape shape;
  if (options.shape)
    shape = parseShape(*options.shape);
  shape.D = options.D.value_or(shape.D);
  shape.Dv = options.Dv.value_or(options.shape ? shape.Dv : shape.D);
  if (shape.D < 1 || shape.Dv < 1 || shape.D > (1 << 20) ||
      shape.Dv > (1 << 20))
    throw UsageError("--D and --Dv lie between 1 and 1048576");

  InputRoles roles = rolesOf(signature);
  std::map<std::string, int64_t> rows = {{roles.query, shape.D}};
  rows.emplace(roles.key, shape.D);
  rows.emplace(roles.value, shape.Dv);
  StaticSizes sizes;
  sizes.fewestQueries = options.fewQueries ? 0 : kFewQueries + 1;
  sizes.rows.assign(rows.begin(), rows.end());
  if (options.type != Type::f32)
    for (const auto &[name, length] : rows)
      sizes.types.emplace_back(name, options.type);

  std::map<std::string, double> settings = parseSettings(options.set);
  std::vector<std::string> variables = sizeVariables(signature);
  for (const std::string &name : variables) {
    auto set = settings.find(name);
    double value = set == settings.end() ? shape.D : set->second;
    if (value < 0 || value > (1 << 30) || value != static_cast<int64_t>(value))
      throw UsageError(fmt::format("--set {}: a size is a whole number", name));
    sizes.variables.emplace_back(name, static_cast<int64_t>(value));
  }
  for (const auto &[name, value] : settings)
    if (std::find(variables.begin(), variables.end(), name) == variables.end())
      throw UsageError(fmt::format("--set {}: {} has no such size variable",
                                   name, signature.name));
  return sizes;
}
