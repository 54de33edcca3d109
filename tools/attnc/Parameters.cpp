//===- Parameters.cpp - values for the parameters of any kernel -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Problem.h"

#include <algorithm>
#include <cmath>

using namespace attn;
using namespace attn::runtime;

static int64_t valueOf(const std::string &name, const Recipe &recipe) {
  if (name == "nq")
    return recipe.shape.Nq;
  if (name == "nk")
    return recipe.shape.Nk;
  auto it = recipe.sizes.find(name);
  return it == recipe.sizes.end() ? recipe.shape.D : it->second;
}

static int64_t valueOf(const Edge &edge, const Recipe &recipe) {
  int64_t value = edge.name.empty() ? edge.number : valueOf(edge.name, recipe);
  return edge.negated ? -value : value;
}

static int64_t extentOf(const Axis &axis, const Recipe &recipe) {
  switch (axis.kind) {
  case Axis::Head:
    return recipe.shape.Hq;
  case Axis::KvHead:
    return recipe.shape.Hk;
  case Axis::Batch:
    return recipe.shape.B;
  case Axis::Named:
    return valueOf(axis.name, recipe);
  case Axis::Table:
    return std::max<int64_t>(
        valueOf(axis.high, recipe) - valueOf(axis.low, recipe) + 1, 0);
  }
  return 0;
}

/// A real number inside the declared bound, of moderate size.
static double drawReal(const Formal &formal, const Recipe &recipe, double scale,
                       Random &random) {
  double step = recipe.plainParameters  ? 0.5
                : recipe.tinyParameters ? 1e-6 * random.uniform(1, 2)
                                        : random.uniform(0.05, 0.95);
  double bound = formal.bound;
  if (formal.relop == ">" || formal.relop == "!=")
    return bound + step;
  if (formal.relop == ">=")
    return !recipe.plainParameters && random.integer(0, 7) == 0 ? bound
                                                                : bound + step;
  if (formal.relop == "<")
    return bound - step;
  if (formal.relop == "<=")
    return !recipe.plainParameters && random.integer(0, 7) == 0 ? bound
                                                                : bound - step;
  if (formal.relop == "==")
    return bound;
  // A raw parameter that softplus or exp makes positive: tiny means far below
  // 0.
  if (recipe.tinyParameters && formal.axes.size() <= 1 &&
      formal.name.find("eps") != std::string::npos)
    return -12;
  if (recipe.plainParameters && scale == 1)
    return 0.5;
  return scale * (scale == 1 ? 0.5 : 1) * random.normal();
}

static int64_t drawInteger(const Formal &formal, const Recipe &recipe,
                           Random &random) {
  int64_t step = recipe.plainParameters ? 5 : random.integer(0, 9);
  if (formal.relop == ">=")
    return static_cast<int64_t>(std::ceil(formal.bound)) + step;
  if (formal.relop == ">" || formal.relop == "!=")
    return static_cast<int64_t>(std::floor(formal.bound)) + 1 + step;
  if (formal.relop == "<=")
    return static_cast<int64_t>(std::floor(formal.bound)) - step;
  if (formal.relop == "<")
    return static_cast<int64_t>(std::ceil(formal.bound)) - 1 - step;
  if (formal.relop == "==")
    return static_cast<int64_t>(formal.bound);
  return recipe.plainParameters ? 1 : step / 2;
}

/// Ids that rise along the last axis, as of documents in a packed sequence.
static bool isIds(const Formal &formal) {
  return formal.integer && !formal.axes.empty() &&
         formal.axes.back().kind == Axis::Named &&
         isExtentName(formal.axes.back().name) && formal.relop.empty();
}

void attn::addParameter(Problem &problem, const Formal &formal,
                        const Recipe &recipe, Random &random) {
  auto set = recipe.settings.find(formal.name);
  std::vector<int64_t> extents;
  bool named = false;
  double scale = 1;
  for (const Axis &axis : formal.axes) {
    extents.push_back(extentOf(axis, recipe));
    if (axis.kind == Axis::Named && !isExtentName(axis.name)) {
      // Rows and matrices keep the size of what they multiply.
      scale = named
                  ? scale
                  : 1 / std::sqrt(double(std::max<int64_t>(extents.back(), 1)));
      named = true;
    }
    if (axis.kind == Axis::Table)
      named = true; // a number could not say how large the table is
  }
  if (set != recipe.settings.end() && !named) {
    problem.numbers.emplace_back(formal.name, set->second);
    return;
  }
  Array array(formal.integer ? Type::i64 : Type::f32, extents);
  int64_t count = array.size(), last = extents.empty() ? 1 : extents.back();
  for (int64_t n = 0; n < count; ++n) {
    if (set != recipe.settings.end()) {
      if (formal.integer)
        array.data<int64_t>()[n] = static_cast<int64_t>(set->second);
      else
        array.data<float>()[n] = set->second;
    } else if (isIds(formal)) {
      array.data<int64_t>()[n] = (n % last) * 4 / last;
    } else if (formal.integer) {
      array.data<int64_t>()[n] = drawInteger(formal, recipe, random);
    } else {
      array.data<float>()[n] = drawReal(formal, recipe, scale, random);
    }
  }
  problem.arrays.push_back({formal.name, std::move(array)});
}
