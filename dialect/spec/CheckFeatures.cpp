//===- CheckFeatures.cpp - the arguments of a feature map -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/CheckFeatures.h"
#include "dialect/spec/Words.h"

#include <algorithm>

using namespace attn;
using Features = CheckedSpec::Features;

namespace {

/// One argument: where it goes, and what it may be.
struct Argument {
  std::string_view name;
  const char *meaning; ///< "the number of random features"
  int64_t fallback, least, most;
  int64_t Features::*number; ///< or:
  bool Features::*flag;
};

struct Map {
  std::string_view name;
  std::vector<Argument> arguments;
};

constexpr int64_t kMostFeatures = 1 << 16, kMostOrder = 16, kMostNodes = 32;

} // namespace

/// In the order of attn::FeatureKind.
static const std::vector<Map> &featureMaps() {
  const Argument seed = {"seed",    "the seed of the random rows",
                         0,         INT64_MIN,
                         INT64_MAX, &Features::seed,
                         nullptr};
  const Argument count = {"m",           "the number of random rows",
                          256,           1,
                          kMostFeatures, &Features::count,
                          nullptr};
  auto order = [](int64_t fallback) {
    return Argument{"order",    "the degree of the polynomial",
                    fallback,   1,
                    kMostOrder, &Features::order,
                    nullptr};
  };
  auto flag = [](std::string_view name, int64_t fallback,
                 bool Features::*flag) {
    return Argument{name, "a flag", fallback, 0, 1, nullptr, flag};
  };
  static const std::vector<Map> maps = {
      {"taylor", {order(2)}},
      {"favor",
       {count, flag("orthogonal", 1, &Features::orthogonal), seed,
        flag("hyperbolic", 0, &Features::hyperbolic)}},
      {"rff", {count, seed}},
      {"slay",
       {{"nodes", "the number of quadrature nodes", 2, 1, kMostNodes,
         &Features::nodes, nullptr},
        {"features", "the number of random rows of a node", 16, 1,
         kMostFeatures, &Features::count, nullptr},
        flag("poly", 0, &Features::anchors),
        seed}},
      {"maclaurin", {order(4)}}};
  return maps;
}

/// "m, orthogonal, seed and hyperbolic"
static std::string namesOf(const Map &map) {
  std::string text;
  for (size_t n = 0; n < map.arguments.size(); ++n)
    text += (n == 0                          ? ""
             : n + 1 == map.arguments.size() ? " and "
                                             : ", ") +
            std::string(map.arguments[n].name);
  return text;
}

static void set(Features &features, const Argument &argument, int64_t value) {
  if (argument.flag)
    features.*argument.flag = value != 0;
  else
    features.*argument.number = value;
}

/// `poly = exact` or `poly = anchors`: words, not values.
static int64_t readPoly(const Spec::Expression &e) {
  if (e.kind == Spec::Expression::Variable)
    for (int64_t n : {0, 1})
      if (e.name == (n ? "anchors" : "exact"))
        return n;
  throw SpecError{"'poly' is 'exact', all products of two coordinates, or "
                  "'anchors', as many random estimates as there are features",
                  e.place};
}

static int64_t readNumber(const Argument &argument, const Node &node,
                          Spec::Place place) {
  std::string name = "'" + std::string(argument.name) + "'";
  if (node.op != NodeOp::IntConstant && node.op != NodeOp::BoolConstant)
    throw SpecError{name + " is " + argument.meaning +
                        ", an integer that is known when the kernel is "
                        "compiled; write a number",
                    place};
  if (argument.flag && (node.integer < 0 || node.integer > 1))
    throw SpecError{name + " is a flag; write 0 or 1", place};
  if (node.integer < argument.least || node.integer > argument.most)
    throw SpecError{name + " is " + argument.meaning + ", from " +
                        std::to_string(argument.least) + " to " +
                        std::to_string(argument.most) + "; write " +
                        std::to_string(argument.fallback) + ", say",
                    place};
  return node.integer;
}

Features attn::checkFeatures(const Spec &spec, const Spec::Statement &statement,
                             const std::function<NodeId(Spec::Id)> &evaluate,
                             const Graph &graph) {
  const std::vector<Map> &maps = featureMaps();
  auto map = std::find_if(maps.begin(), maps.end(), [&](const Map &known) {
    return known.name == statement.name.text;
  });
  if (map == maps.end()) {
    std::vector<std::string_view> names;
    for (const Map &known : maps)
      names.push_back(known.name);
    throw SpecError{"unknown feature map '" + statement.name.text + "'" +
                        suggestion(statement.name.text, names) +
                        "; there are taylor, favor, rff, slay and maclaurin",
                    statement.name.place};
  }
  Features features;
  features.kind = static_cast<unsigned>(map - maps.begin());
  features.place = statement.name.place;
  for (const Argument &argument : map->arguments)
    set(features, argument, argument.fallback);

  const Spec::Expression &call = spec.expressions[statement.value];
  size_t positional = call.operands.size() - call.argumentNames.size();
  std::string title = "'" + std::string(map->name) + "'";
  std::vector<bool> given(map->arguments.size());
  for (size_t n = 0; n < call.operands.size(); ++n) {
    const Spec::Expression &value = spec.expressions[call.operands[n]];
    size_t at = n;
    Spec::Place place = value.place;
    if (n < positional) {
      if (at >= map->arguments.size())
        throw SpecError{title + " takes " + namesOf(*map) + ", and no more",
                        place};
    } else {
      const Spec::Name &name = call.argumentNames[n - positional];
      place = name.place;
      for (at = 0; at < map->arguments.size(); ++at)
        if (map->arguments[at].name == name.text)
          break;
      if (at == map->arguments.size())
        throw SpecError{title + " has no argument '" + name.text +
                            "'; it takes " + namesOf(*map),
                        place};
    }
    const Argument &argument = map->arguments[at];
    if (given[at])
      throw SpecError{"'" + std::string(argument.name) +
                          "' is given twice; keep one",
                      place};
    given[at] = true;
    int64_t number =
        argument.name == "poly"
            ? readPoly(value)
            : readNumber(argument, graph[evaluate(call.operands[n])],
                         value.place);
    set(features, argument, number);
  }
  return features;
}
