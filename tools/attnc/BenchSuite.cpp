//===- BenchSuite.cpp - the problems of the project's figures -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BenchTables.h"
#include "Machine.h"
#include "Random.h"
#include "lowering/Target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace attn;

/// The text of a kernel of queries and keys.
static std::string spec(const std::string &name, const std::string &kappa,
                        const std::string &more = {}) {
  return "attention " + name + "(q, k, v) {\n  kappa = " + kappa + "\n" + more +
         "}\n";
}

static const std::string kSoftmax = "exp(dot(q, k)/sqrt(dim))";

static std::string softmax(bool isCausal) {
  return spec("softmax", kSoftmax, isCausal ? "  mask = causal\n" : "");
}

/// The sets with a row whose name has `only` in it. They stay whole: a ratio
/// needs the row that it is to.
static void choose(std::vector<std::vector<TableRow>> &sets,
                   const std::string &only) {
  auto isOther = [&](const std::vector<TableRow> &rows) {
    return std::none_of(rows.begin(), rows.end(), [&](const TableRow &row) {
      return row.name.find(only) != std::string::npos;
    });
  };
  sets.erase(std::remove_if(sets.begin(), sets.end(), isOther), sets.end());
  if (sets.empty())
    throw UsageError("--only " + only + ": no row has this in its name");
}

/// What share of the machine's peak is hoped for: of bf16 products where it has
/// them, else of f32's, to which rows are widened. Vectors have twice the
/// products of bf16: half the share is as fast as widened rows.
static std::pair<TableRow::Kind, double> hopedFor(Type type, double widened,
                                                  double onMatrixUnit) {
  const CpuLevel &level = hostCpuLevel();
  if (type != Type::bf16 || !level.hasPairProducts)
    return {TableRow::Peak, widened};
  return {TableRow::Bf16Peak, level.hasMatrixUnit ? onMatrixUnit : widened / 2};
}

//===----------------------------------------------------------------------===//
// The suite
//===----------------------------------------------------------------------===//

int attn::runSuite(const TableOptions &given) {
  using Row = TableRow;
  std::vector<std::vector<Row>> sets;
  // Softmax at the sizes that matter most.
  for (int64_t d : {64, 128})
    for (int64_t n : {2048, 8192}) {
      std::vector<Row> set;
      for (bool isCausal : {false, true})
        set.push_back({isCausal ? "softmax causal" : "softmax",
                       softmax(isCausal),
                       {1, n > 4096 ? 1 : 8, n > 4096 ? 1 : 8, n, n, d, d},
                       Type::f32,
                       Row::Peak,
                       d == 64 ? 0.86 : 0.80});
      sets.push_back(set);
    }
  // Other kernels beside it.
  const ProblemShape plain = {1, 8, 8, 2048, 2048, 64, 64};
  std::vector<Row> beside = {
      {"softmax", softmax(false), plain, Type::f32, Row::Peak, 0.86}};
  const std::pair<const char *, const char *> others[] = {
      {"yat", "(dot(q, k) + 0.5)^2/(sqdist(q, k) + 0.1)"},
      {"gaussian", "exp(-sqdist(q, k)/dim)"},
      {"polynomial", "(1 + dot(q, k)/dim)^2"},
      {"sigmoid", "sigmoid(dot(q, k)/sqrt(dim) - log(nk))"}};
  for (const auto &[name, kappa] : others) {
    Row row = {name, spec(name, kappa), plain, Type::f32, Row::Ratio, 1.10};
    row.of = static_cast<int>(beside.size());
    beside.push_back(row);
  }
  sets.push_back(beside);
  // Rows of other types.
  sets.push_back({});
  for (Type type : {Type::bf16, Type::f16})
    for (int64_t d : {64, 128}) {
      auto [kind, bound] = hopedFor(type, 0.55, d == 64 ? 0.25 : 0.32);
      sets.back().push_back({"softmax",
                             softmax(false),
                             {1, 2, 2, 4096, 4096, d, d},
                             type,
                             kind,
                             bound});
    }
  // A lower feature level, where this machine has it.
  if (peakInstructions() == "AVX-512" || peakInstructions() == "AVX2") {
    sets.push_back({});
    for (int64_t d : {64, 128})
      sets.back().push_back({"softmax AVX2",
                             softmax(false),
                             {1, 8, 8, 2048, 2048, d, d},
                             Type::f32,
                             Row::Peak,
                             0.75,
                             "x86-64-v3"});
  }
  // Decoding: one query, keys and values in memory, and in the last cache.
  for (Type type : {Type::f32, Type::bf16}) {
    int64_t keys = type == Type::f32 ? 131072 : 262144;
    for (int64_t group : {8, 1})
      sets.push_back({{"decode",
                       softmax(false),
                       {1, 8 * group, 8, 1, keys, 64, 64},
                       type,
                       Row::Bandwidth,
                       0.80}});
    sets.push_back({{"decode",
                     softmax(false),
                     {1, 8, 8, 1, keys / 64, 64, 64},
                     type,
                     Row::Bandwidth,
                     0.80}});
  }
  // Many small problems.
  sets.push_back({{"4096 problems",
                   softmax(false),
                   {512, 8, 8, 32, 32, 64, 64},
                   Type::f32,
                   Row::Peak,
                   0.40},
                  {"4096 problems",
                   softmax(false),
                   {512, 8, 8, 1, 1, 64, 64},
                   Type::f32,
                   Row::Time}});
  if (!given.oneThread)
    sets.push_back(
        {{"two threads", softmax(false), plain, Type::f32, Row::Gain, 0.95}});
  choose(sets, given.only);
  measureTable(sets, given);
  return 0;
}

//===----------------------------------------------------------------------===//
// The grid
//===----------------------------------------------------------------------===//

int attn::runGrid(const TableOptions &given, uint64_t seed) {
  constexpr int problems = 40;
  Random random(seed);
  std::vector<std::vector<TableRow>> sets;
  for (int n = 0; n < problems; ++n) {
    auto length = [&] { return 8 * random.integer(6, 32); };
    TableRow row;
    bool isCausal = random.integer(0, 1);
    int64_t group = random.integer(1, 8);
    // Short and long sequences are equally likely.
    auto rows = static_cast<int64_t>(256 * std::exp2(random.uniform(0, 5)));
    row.name = isCausal ? "softmax causal" : "softmax";
    row.spec = softmax(isCausal);
    row.shape = {1, group, 1, rows, rows, length(), length()};
    const Type types[] = {Type::f32, Type::bf16, Type::f16};
    row.type = types[random.integer(0, 2)];
    std::tie(row.kind, row.bound) = hopedFor(row.type, 0.55, 0.15);
    sets.push_back({row});
  }
  choose(sets, given.only);
  std::vector<double> shares = measureTable(sets, given);
  if (shares.empty())
    return 0;
  size_t worst =
      std::min_element(shares.begin(), shares.end()) - shares.begin();
  // In JSON the objects have fixed keys: this line goes beside them.
  fmt::print(given.json ? stderr : stdout,
             "worst of {} problems of seed {}: {:.3f}, {} {}\n", shares.size(),
             seed, shares[worst], sets[worst][0].name,
             sets[worst][0].shape.toString());
  return 0;
}
