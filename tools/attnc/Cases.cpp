//===- Cases.cpp - the problems of attnc check ----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

using namespace attn;
using namespace attn::runtime;

static const char *nameOf(RowData data) {
  switch (data) {
  case RowData::Normal:
    return "normal";
  case RowData::Cluster:
    return "cluster";
  case RowData::Equal:
    return "equal";
  case RowData::Huge:
    return "huge";
  case RowData::Tiny:
    return "tiny";
  case RowData::Mixed:
    return "mixed";
  case RowData::Shifted:
    return "shifted";
  case RowData::Zero:
    return "zero";
  }
  return "";
}

static const char *nameOf(Layout layout) {
  switch (layout) {
  case Layout::Packed:
    return "packed";
  case Layout::Padded:
    return "padded";
  case Layout::Transposed:
    return "transposed";
  case Layout::Reversed:
    return "reversed";
  case Layout::Columns:
    return "columns";
  case Layout::Broadcast:
    return "broadcast";
  }
  return "";
}

std::string CheckCase::describe() const {
  std::string text =
      fmt::format("{}: {} rows, {}, shape {}", group, ::nameOf(recipe.data),
                  ::nameOf(recipe.layout), recipe.shape.toString());
  for (const auto &[name, size] : recipe.sizes)
    text += fmt::format(", {} = {}", name, size);
  auto list = [&](const char *name, const std::vector<int64_t> &values) {
    if (!values.empty())
      text += fmt::format(", {} = [{}]", name, fmt::join(values, ", "));
  };
  list("key_lengths", recipe.keyLengths);
  list("query_lengths", recipe.queryLengths);
  list("offset", recipe.offsets);
  return text;
}

std::vector<RowLengths> attn::candidateLengths(const Signature &signature) {
  // Powers of two, odd, below a vector, unequal either way, beyond one register
  // block. Every pair costs a compilation.
  static const std::pair<int64_t, int64_t> pairs[] = {
      {64, 64}, {7, 3}, {1, 1}, {33, 80}, {96, 17}, {2, 2}, {128, 128}};
  std::vector<RowLengths> list;
  for (auto [D, Dv] : pairs) {
    ProblemShape shape;
    shape.D = D;
    shape.Dv = Dv;
    shape = fitShape(shape, signature);
    std::vector<std::string> names = sizeVariables(signature);
    std::map<std::string, int64_t> all;
    for (const std::string &name : names)
      all[name] = D;
    list.push_back({D, shape.Dv, all});
    if (names.empty())
      continue;
    // Where a size belongs to the values, and where it is free.
    list.push_back({D, D, all});
    for (const std::string &name : names) {
      std::map<std::string, int64_t> one = all;
      one[name] = shape.Dv == D ? D + 4 : shape.Dv;
      list.push_back({D, shape.Dv, one});
    }
  }
  return list;
}

std::vector<CheckCase> attn::makeCases(const Signature &signature,
                                       const std::vector<RowLengths> &lengths,
                                       uint64_t seed) {
  Random random(seed);
  std::vector<CheckCase> cases;
  size_t turn = 0;
  auto add = [&](const char *group, int64_t B, int64_t Hq, int64_t Hk,
                 int64_t Nq, int64_t Nk) -> CheckCase & {
    CheckCase made;
    made.group = group;
    const RowLengths &rows = lengths[turn++ % lengths.size()];
    ProblemShape shape{B, Hq, Hk, Nq, Nk, rows.D, rows.Dv};
    made.recipe.shape = fitShape(shape, signature);
    made.recipe.sizes = rows.sizes;
    made.recipe.seed = random.bits();
    cases.push_back(std::move(made));
    return cases.back();
  };
  auto pickLengths = [&](int64_t count, int64_t most, bool withEmpty) {
    std::vector<int64_t> values;
    for (int64_t b = 0; b < count; ++b)
      values.push_back(random.integer(0, most));
    if (withEmpty && count)
      values[random.integer(0, count - 1)] = 0;
    return values;
  };

  for (int64_t n : {0, 1, 2, 7, 16, 63, 64, 65, 96, 97, 129, 193})
    add("shapes", 1, 2, 2, n, n);
  const int64_t unequal[][5] = {
      {2, 4, 2, 1, 130},  {1, 3, 1, 65, 7}, {2, 2, 1, 97, 64},
      {1, 4, 4, 16, 193}, {3, 6, 2, 5, 33}, {1, 1, 1, 129, 1},
      {2, 2, 2, 0, 9},    {2, 2, 2, 9, 0},  {0, 2, 2, 9, 9},
      {1, 2, 2, 64, 65},  {1, 8, 1, 31, 66}};
  for (const auto &s : unequal)
    add("shapes", s[0], s[1], s[2], s[3], s[4]);

  for (int round = 0; round < 3; ++round) {
    int64_t n = round == 2 ? 130 : 65;
    CheckCase *made = &add("lengths", 3, 2, 1, n, n);
    made->recipe.keyLengths = pickLengths(3, made->recipe.shape.Nk, true);
    made = &add("lengths", 2, 2, 2, 33, 97);
    made->recipe.keyLengths = pickLengths(2, made->recipe.shape.Nk, false);
    made->recipe.queryLengths =
        pickLengths(2, made->recipe.shape.Nq, round == 1);
    made = &add("lengths", 2, 2, 1, 66, 66);
    made->recipe.offsets = {random.integer(-80, 80)};
    made = &add("lengths", 2, 2, 2, 20, 70);
    made->recipe.offsets = {random.integer(-30, 90), random.integer(-30, 90)};
    made->recipe.keyLengths = pickLengths(2, made->recipe.shape.Nk, false);
  }

  for (RowData data :
       {RowData::Huge, RowData::Tiny, RowData::Mixed, RowData::Zero})
    for (int64_t n : {33, 97})
      add("norms", 1, 2, 2, n, n).recipe.data = data;

  for (RowData data : {RowData::Equal, RowData::Cluster, RowData::Shifted})
    for (bool tiny : {false, true}) {
      CheckCase &made =
          add("near rows", 1, 2, 1, tiny ? 97 : 64, tiny ? 97 : 64);
      made.recipe.data = data;
      made.recipe.tinyParameters = tiny;
    }

  for (int round = 0; round < 6; ++round) {
    CheckCase &made =
        add("hidden keys", 2, 2, 2, round % 2 ? 70 : 97, round % 2 ? 129 : 97);
    made.hidden = true;
    if (round >= 2)
      made.recipe.keyLengths = pickLengths(2, made.recipe.shape.Nk, false);
  }

  for (Layout layout : {Layout::Padded, Layout::Transposed, Layout::Reversed,
                        Layout::Columns, Layout::Broadcast}) {
    CheckCase &made = add("layouts", 2, 4, 2, 65, 97);
    made.recipe.layout = layout;
    made.bits = true;
  }

  for (int64_t n : {1, 64, 193}) {
    CheckCase &made = add("bits", 3, 4, 2, n, n);
    made.bits = true;
    if (n == 193)
      made.recipe.keyLengths = pickLengths(3, made.recipe.shape.Nk, false);
  }
  return cases;
}

std::vector<std::vector<char>>
attn::spoilKeys(const Signature &signature, Problem &problem, Random &random) {
  InputRoles roles = rolesOf(signature);
  const ProblemShape &s = problem.shape;
  std::vector<std::vector<char>> spoiled(s.B, std::vector<char>(s.Nk, 0));
  const float values[] = {std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(), -1e30f, 5};
  auto fill = [](Array &array, int64_t at, int64_t count, float value) {
    for (int64_t n = at; n < at + count; ++n)
      array.setReal(n, value);
  };
  for (int64_t b = 0; b < s.B; ++b)
    for (int64_t j = 0; j < s.Nk; ++j)
      // Late keys, which a causal row does not see, and those past a length.
      if (random.integer(0, s.Nk) < (j > s.Nk / 2 ? s.Nk / 8 + 1 : 1))
        spoiled[b][j] = 1;
  for (const std::string &name :
       std::set<std::string>{roles.key, roles.value}) {
    Array &array = problem.find(name)->array; // packed
    int64_t heads = array.shape[1], n = array.shape[3];
    for (int64_t b = 0; b < s.B; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t j = 0; j < s.Nk; ++j)
          if (spoiled[b][j])
            fill(array, ((b * heads + h) * s.Nk + j) * n, n,
                 values[random.integer(0, 3)]);
  }
  return spoiled;
}
