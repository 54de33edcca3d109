//===- Merge.cpp - results over parts of the keys -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Merge.h"
#include "runtime/Arrays.h"

#include <cmath>
#include <limits>

using namespace attn;
using namespace attn::runtime;

static bool isReal(Type type) { return !isInteger(type); }

static bool isSameView(const Tensor &a, const Tensor &b) {
  return a.data == b.data && a.type == b.type && a.strides == b.strides;
}

/// Checks one of the tensors and fills in its strides.
static Tensor checked(const std::string &who, Tensor tensor,
                      const std::vector<int64_t> &shape, bool isWeight) {
  checkView(who, tensor);
  if (tensor.device.kind != Device::Host)
    throw Error(who + " lies on a CUDA device; parts are merged on the host: "
                      "copy it there");
  if (tensor.shape != shape)
    throw Error(who + " has shape " + toString(tensor.shape) + "; it must be " +
                toString(shape));
  bool fits = isWeight ? tensor.type == Type::f32 || tensor.type == Type::f64
                       : isReal(tensor.type);
  if (!fits)
    throw Error(who + " has type " + nameOf(tensor.type) + "; it must be " +
                (isWeight ? "f32 or f64" : "f32, f16, bf16 or f64"));
  return tensor;
}

namespace {
/// Where row `row` of a tensor [..., N] or [..., N, Dv] begins.
class Rows {
public:
  Rows(const Tensor &tensor, size_t axes) : tensor(tensor), axes(axes) {}
  char *operator[](int64_t row) const {
    int64_t offset = 0;
    for (size_t axis = axes; axis-- > 0;) {
      offset += row % tensor.shape[axis] * tensor.strides[axis];
      row /= tensor.shape[axis];
    }
    return static_cast<char *>(tensor.data) + offset * sizeOf(tensor.type);
  }

private:
  const Tensor &tensor;
  size_t axes;
};

/// What each part of a row counts, and what the whole does.
struct Shares {
  std::vector<double> factors;
  double weight = 0; ///< of the whole: lse or mass
  bool empty = false;
};
} // namespace

static void share(Shares &row, const std::vector<double> &weights, MergeBy by) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double sum = 0, most = -infinity;
  if (by == MergeBy::lse) {
    for (double w : weights)
      most = w > most || std::isnan(w) ? w : most;
    for (size_t p = 0; p < weights.size(); ++p) {
      bool none = weights[p] == -infinity;
      row.factors[p] = none                 ? 0
                       : weights[p] == most ? 1
                                            : std::exp(weights[p] - most);
      sum += row.factors[p];
    }
    row.empty = sum == 0;
    row.weight = row.empty ? -infinity : most + std::log(sum);
  } else {
    for (size_t p = 0; p < weights.size(); ++p)
      sum += row.factors[p] = weights[p];
    row.empty = std::fabs(sum) < 0x1p-126;
    row.weight = row.empty ? 0 : sum;
  }
  for (double &factor : row.factors)
    factor = row.empty ? 0 : factor / sum;
}

void attn::merge(const std::vector<Partial> &givenParts,
                 const Partial &givenWhole, MergeBy by) {
  if (givenParts.empty())
    throw Error("there are no parts to merge");
  std::vector<int64_t> shape = givenWhole.o.shape;
  if (shape.empty())
    throw Error("the whole's o has no rows; it must be [..., N, Dv]");
  std::vector<int64_t> rowShape(shape.begin(), shape.end() - 1);
  bool weighs = by != MergeBy::none || givenWhole.weight.data;
  const std::string weightName = by == MergeBy::lse ? "lse" : "mass";
  auto check = [&](const std::string &who, const Partial &given) {
    Partial made;
    made.o = checked(who + " o", given.o, shape, false);
    if (weighs)
      made.weight =
          checked(who + " " + weightName, given.weight, rowShape, true);
    return made;
  };
  std::vector<Partial> parts;
  for (size_t p = 0; p < givenParts.size(); ++p)
    parts.push_back(check("part " + std::to_string(p) + "'s", givenParts[p]));
  Partial whole = check("the whole's", givenWhole);
  std::vector<std::pair<std::string, const Tensor *>> results = {
      {"the whole's o", &whole.o}};
  if (weighs)
    results.push_back({"the whole's " + weightName, &whole.weight});
  for (const auto &[who, result] : results) {
    if (mayOverlapItself(*result))
      throw Error(who + " has strides that let its elements overlap");
    for (const Partial &part : parts)
      for (const Tensor *other : {&part.o, &part.weight})
        if (other->data && !isSameView(*result, *other) &&
            mayOverlap(*result, *other))
          throw Error(who + " shares memory with a part, and is not the same "
                            "array");
  }
  if (weighs && mayOverlap(whole.o, whole.weight))
    throw Error("the whole's o and " + weightName + " share memory");

  int64_t rows = 1, width = shape.back();
  for (int64_t extent : rowShape)
    rows *= extent;
  std::vector<double> weights(parts.size()), sums(static_cast<size_t>(width));
  Shares row;
  row.factors.assign(parts.size(), 1);
  for (int64_t n = 0; n < rows; ++n) {
    if (weighs)
      for (size_t p = 0; p < parts.size(); ++p)
        weights[p] = loadReal(parts[p].weight.type,
                              Rows(parts[p].weight, rowShape.size())[n]);
    if (by != MergeBy::none) {
      share(row, weights, by);
    } else {
      row.weight = 0;
      for (double w : weights)
        row.weight += w;
    }
    std::fill(sums.begin(), sums.end(), 0.0);
    for (size_t p = 0; p < parts.size(); ++p) {
      if (row.factors[p] == 0)
        continue; // an empty part's o is 0, but say so to nobody
      const Tensor &o = parts[p].o;
      const char *from = Rows(o, rowShape.size())[n];
      int64_t step = o.strides.back() * sizeOf(o.type);
      for (int64_t e = 0; e < width; ++e)
        sums[static_cast<size_t>(e)] +=
            row.factors[p] * loadReal(o.type, from + e * step);
    }
    char *to = Rows(whole.o, rowShape.size())[n];
    int64_t step = whole.o.strides.back() * sizeOf(whole.o.type);
    for (int64_t e = 0; e < width; ++e)
      storeReal(whole.o.type, to + e * step, sums[static_cast<size_t>(e)]);
    if (weighs)
      storeReal(whole.weight.type, Rows(whole.weight, rowShape.size())[n],
                row.weight);
  }
}
