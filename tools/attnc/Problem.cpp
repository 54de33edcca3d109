//===- Problem.cpp - arguments made for any kernel ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

using namespace attn;
using namespace attn::runtime;

Tensor NamedArray::view() const {
  Tensor tensor = array.view();
  tensor.data =
      static_cast<std::byte *>(tensor.data) + origin * sizeOf(array.type);
  return tensor;
}

std::vector<Argument> Problem::arguments() const {
  std::vector<Argument> list;
  for (const NamedArray &named : arrays)
    list.emplace_back(named.name, named.view());
  for (const auto &[name, number] : numbers)
    list.emplace_back(name, number);
  return list;
}

NamedArray *Problem::find(const std::string &name) {
  for (NamedArray &named : arrays)
    if (named.name == name)
      return &named;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// What the signature says
//===----------------------------------------------------------------------===//

InputRoles attn::rolesOf(const Signature &signature) {
  InputRoles roles;
  for (const Formal &formal : signature.formals) {
    if (formal.kind == FormalKind::Query)
      roles.query = formal.name;
    if (formal.kind == FormalKind::Key)
      roles.key = formal.name;
    if (formal.kind == FormalKind::Value)
      roles.value = formal.name;
  }
  return roles;
}

bool attn::isExtentName(const std::string &name) {
  return name.empty() || name == "nq" || name == "nk";
}

std::vector<std::string> attn::sizeVariables(const Signature &signature) {
  std::set<std::string> names;
  for (const Formal &formal : signature.formals)
    for (const Axis &axis : formal.axes) {
      if (axis.kind == Axis::Named)
        names.insert(axis.name);
      if (axis.kind == Axis::Table)
        names.insert({axis.low.name, axis.high.name});
    }
  std::vector<std::string> list;
  for (const std::string &name : names)
    if (!isExtentName(name))
      list.push_back(name);
  return list;
}

static bool hasAxis(const Signature &signature, Axis::Kind kind) {
  for (const Formal &formal : signature.formals)
    for (const Axis &axis : formal.axes)
      if (axis.kind == kind)
        return true;
  return false;
}

ProblemShape attn::fitShape(ProblemShape shape, const Signature &signature) {
  InputRoles roles = rolesOf(signature);
  if (roles.queryIsKey() || roles.queryIsValue()) {
    shape.Nk = shape.Nq;
    // One array has one number of heads, unless parameters give both.
    if (!hasAxis(signature, Axis::Head) || !hasAxis(signature, Axis::KvHead))
      shape.Hk = shape.Hq;
  }
  if (roles.queryIsValue() || roles.keyIsValue())
    shape.Dv = shape.D;
  return shape;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Fills a packed array [B, H, N, n] with rows. Arrays of one row length share
/// `centres`: queries and keys of one cluster are near each other.
static void fillRows(Array &array, RowData data, Random &random,
                     std::vector<float> &centres) {
  float *out = array.data<float>();
  int64_t n = array.shape[3], rows = n ? array.size() / n : 0;
  if ((data == RowData::Cluster || data == RowData::Shifted) &&
      centres.size() != static_cast<size_t>(16 * n)) {
    centres.resize(16 * n);
    for (float &x : centres)
      x = random.normal();
  }
  for (int64_t row = 0; row < rows; ++row, out += n) {
    float scale = 1, shift = 0;
    const float *centre = centres.data();
    switch (data) {
    case RowData::Normal:
    case RowData::Equal:
      break;
    case RowData::Cluster:
      centre += random.integer(0, 15) * n;
      scale = 0.01f;
      shift = 1;
      break;
    case RowData::Shifted:
      scale = 0.1f;
      shift = 3;
      break;
    case RowData::Huge:
      scale = 100;
      break;
    case RowData::Tiny:
      scale = 1e-3f;
      break;
    case RowData::Mixed:
      scale = std::exp(random.uniform(std::log(0.01), std::log(30.0)));
      break;
    case RowData::Zero:
      scale = random.integer(0, 2) ? 1 : 0;
      break;
    }
    for (int64_t d = 0; d < n; ++d)
      out[d] = scale * random.normal() + (shift ? shift * centre[d] : 0);
  }
}

/// Makes keys out of queries: key j of head h is some query of a head that it
/// serves, most often the one at the same place.
static void copyRows(Array &keys, const Array &queries, Random &random) {
  const std::vector<int64_t> &to = keys.shape, &from = queries.shape;
  if (queries.size() == 0 || to[3] != from[3])
    return;
  float *out = keys.data<float>();
  for (int64_t b = 0; b < to[0]; ++b)
    for (int64_t h = 0; h < to[1]; ++h)
      for (int64_t j = 0; j < to[2]; ++j, out += to[3]) {
        int64_t head = h * from[1] / to[1];
        int64_t i =
            random.integer(0, 3) ? j % from[2] : random.integer(0, from[2] - 1);
        const float *row =
            queries.data<float>() +
            (((b % from[0]) * from[1] + head) * from[2] + i) * from[3];
        std::copy(row, row + to[3], out);
      }
}

/// The array `packed` of shape [B, H, N, n] in another layout.
static NamedArray layOut(const std::string &name, const Array &packed,
                         Layout layout) {
  NamedArray named{name, packed};
  const std::vector<int64_t> &s = packed.shape;
  int64_t B = s[0], H = s[1], N = s[2], n = s[3];
  Array &array = named.array;
  std::vector<int64_t> strides;
  switch (layout) {
  case Layout::Packed:
    return named;
  case Layout::Padded:
    strides = {H * N * (n + 3), N * (n + 3), n + 3, 1};
    break;
  case Layout::Transposed:
    strides = {N * H * n, n, H * n, 1};
    break;
  case Layout::Reversed:
    strides = {-H * N * n, -N * n, -n, 1};
    break;
  case Layout::Columns:
    strides = {H * N * n, N * n, 1, N};
    break;
  case Layout::Broadcast:
    strides = {0, 0, n, 1};
    break;
  }
  int64_t low = 0, high = 0;
  for (size_t axis = 0; axis < 4; ++axis) {
    int64_t reach = (std::max<int64_t>(s[axis], 1) - 1) * strides[axis];
    (reach < 0 ? low : high) += reach;
  }
  array = Array(Type::f32, {high - low + 1});
  // What is between the rows must not matter.
  std::fill_n(array.data<float>(), array.size(), std::nanf(""));
  named.origin = -low;
  const float *from = packed.data<float>();
  float *to = array.data<float>() + named.origin;
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t t = 0; t < N; ++t)
        for (int64_t d = 0; d < n; ++d)
          to[b * strides[0] + h * strides[1] + t * strides[2] +
             d * strides[3]] = *from++;
  array.shape = s;
  array.strides = strides;
  return named;
}

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

static void addIntegers(Problem &problem, const std::string &name,
                        const std::vector<int64_t> &values) {
  if (values.empty())
    return;
  Array array(Type::i64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), array.data<int64_t>());
  problem.arrays.push_back({name, std::move(array)});
}

Problem attn::makeProblem(const Signature &signature, const Recipe &recipe) {
  Problem problem;
  problem.shape = recipe.shape;
  const ProblemShape &s = recipe.shape;
  InputRoles roles = rolesOf(signature);
  Random random(recipe.seed);
  // Broadcast data are one row block, repeated here and strided by 0 there.
  bool broadcast = recipe.layout == Layout::Broadcast;
  std::map<std::string, Array> made;
  std::vector<float> centres;
  auto addInput = [&](const std::string &name, int64_t heads, int64_t n,
                      int64_t length) {
    if (made.count(name))
      return;
    Array array(Type::f32,
                {broadcast ? 1 : s.B, broadcast ? 1 : heads, n, length});
    bool isValue =
        name == roles.value && name != roles.query && name != roles.key;
    fillRows(array, isValue ? RowData::Normal : recipe.data, random, centres);
    if (recipe.data == RowData::Equal && name == roles.key &&
        name != roles.query)
      copyRows(array, made.at(roles.query), random);
    made.emplace(name, array);
    if (broadcast) {
      Array repeated(Type::f32, {s.B, heads, n, length});
      int64_t block = array.bytes.size();
      for (int64_t t = 0; t < s.B * heads && block; ++t)
        std::memcpy(repeated.bytes.data() + t * block, array.bytes.data(),
                    block);
      array = std::move(repeated);
    }
    NamedArray laidOut = layOut(name, array, recipe.layout);
    laidOut.array = storedAs(laidOut.array, recipe.type);
    problem.arrays.push_back(std::move(laidOut));
  };
  bool shared = (roles.queryIsKey() || roles.queryIsValue()) && s.Hq != s.Hk;
  addInput(roles.query, shared ? 1 : s.Hq, s.Nq, s.D);
  addInput(roles.key, s.Hk, s.Nk, s.D);
  addInput(roles.value, s.Hk, s.Nk, s.Dv);

  std::set<std::string> seen;
  for (const Formal &formal : signature.formals)
    if (formal.kind == FormalKind::Param && seen.insert(formal.name).second)
      addParameter(problem, formal, recipe, random);
  for (const auto &[name, value] : recipe.settings)
    if (!seen.count(name))
      throw UsageError(fmt::format("--set {}: {} has no such parameter", name,
                                   signature.name));

  addIntegers(problem, "key_lengths", recipe.keyLengths);
  addIntegers(problem, "query_lengths", recipe.queryLengths);
  addIntegers(problem, "offset", recipe.offsets);
  return problem;
}
