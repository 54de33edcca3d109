//===- BenchTables.cpp - rows of problems, measured in turns --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BenchTables.h"
#include "Machine.h"
#include "TypeOption.h"

#include <fmt/format.h>

#include <algorithm>

using namespace attn;
using namespace attn::runtime;

namespace {

/// A row while it is measured.
struct Measured {
  const TableRow *row;
  BenchEntry entry;
  std::vector<double> units;      ///< GFLOP/s or GB/s that the machine reaches
  std::vector<double> unitsAlone; ///< of one thread
  std::vector<double> other;      ///< seconds of another program

  double seconds() const { return median(entry.seconds); }
};

} // namespace

/// Vectors of a level in f32, for the peak that it can reach.
static int64_t lanesOf(const std::string &level) {
  return level == "x86-64-v3" ? 8 : level == "x86-64-v2" ? 4 : 0;
}

static double bytesOfKeys(const BenchEntry &entry) {
  double bytes = 0;
  for (const NamedArray *array : entry.keysAndValues())
    bytes += static_cast<double>(array->array.bytes.size());
  return bytes;
}

/// GB/s at which the row's keys and values are read, where they lie.
static double readKeys(const BenchEntry &entry, int threads) {
  std::vector<Span> arrays;
  for (const NamedArray *array : entry.keysAndValues())
    arrays.push_back({array->array.bytes.data(),
                      static_cast<int64_t>(array->array.bytes.size())});
  return measureRead(arrays, threads);
}

static void measureOnce(Measured &m, int threads) {
  const TableRow &row = *m.row;
  switch (row.kind) {
  case TableRow::Peak:
    m.units.push_back(measurePeak(threads, 0.01, lanesOf(row.level)));
    break;
  case TableRow::Bf16Peak:
    m.units.push_back(measureBf16Peak());
    break;
  case TableRow::Bandwidth:
    m.units.push_back(readKeys(m.entry, threads));
    break;
  case TableRow::Gain:
    m.units.push_back(measurePeak(threads));
    break;
  case TableRow::Ratio:
  case TableRow::Time:
    break;
  }
  // Short calls are repeated, as the machine's peaks are.
  constexpr double least = 0.005;
  double seconds = 0;
  int64_t calls = 0;
  do {
    seconds += m.entry.run();
    ++calls;
  } while (seconds < least);
  m.entry.seconds.push_back(seconds / calls);
  if (row.kind == TableRow::Gain) {
    m.unitsAlone.push_back(measurePeak(1));
    m.entry.secondsAlone.push_back(m.entry.runAlone());
  }
}

/// The share of what the row is measured against.
static double shareOf(const std::vector<Measured> &set, size_t n) {
  const Measured &m = set[n];
  double seconds = m.seconds();
  switch (m.row->kind) {
  case TableRow::Peak:
  case TableRow::Bf16Peak:
    return m.entry.flops / seconds * 1e-9 / median(m.units);
  case TableRow::Bandwidth:
    return bytesOfKeys(m.entry) / seconds * 1e-9 / median(m.units);
  case TableRow::Ratio:
    return seconds / set[n - m.row->of].seconds();
  case TableRow::Gain:
    return median(m.entry.secondsAlone) / seconds * median(m.unitsAlone) /
           median(m.units);
  case TableRow::Time:
    break;
  }
  return 0;
}

static const char *wordOf(TableRow::Kind kind) {
  switch (kind) {
  case TableRow::Peak:
    return "FMA peak";
  case TableRow::Bf16Peak:
    return "bf16 peak";
  case TableRow::Bandwidth:
    return "read rate";
  case TableRow::Ratio:
    return "softmax time";
  case TableRow::Gain:
    return "FMA gain";
  case TableRow::Time:
    break;
  }
  return "-";
}

static void print(const TableOptions &given, const std::vector<Measured> &set,
                  size_t n, int threads) {
  const Measured &m = set[n];
  const TableRow &row = *m.row;
  double share = shareOf(set, n), bound = row.bound;
  bool isKept = row.kind == TableRow::Ratio ? share <= bound : share >= bound;
  double unit = row.kind == TableRow::Gain
                    ? median(m.units) / median(m.unitsAlone)
                    : median(m.units);
  double other = median(m.other);
  if (given.json) {
    std::string compared =
        given.compare.empty()
            ? std::string()
            : fmt::format(", \"other_ms\": {:.4f}", other * 1e3);
    fmt::print("{{\"name\": \"{}\", \"machine\": \"{}\", \"type\": \"{}\", "
               "\"shape\": [{}], \"level\": \"{}\", \"threads\": {}, "
               "\"ms\": {:.4f}, \"against\": \"{}\", \"unit\": {:.3f}, "
               "\"share\": {:.4f}, \"bound\": {:.2f}{}}}\n",
               row.name, machineName(), typeName(row.type),
               row.shape.toString(), row.level.empty() ? "native" : row.level,
               threads, m.seconds() * 1e3, wordOf(row.kind), unit, share, bound,
               compared);
    std::fflush(stdout);
    return;
  }
  std::string limit =
      bound == 0 ? "" : fmt::format("{:.2f}{}", bound, isKept ? "" : " missed");
  std::string compared = given.compare.empty()
                             ? std::string()
                             : fmt::format(" {:>10.3f} {:>6.2f}", other * 1e3,
                                           other / m.seconds());
  fmt::print("{:<22} {:<4} {:<30} {:>10.3f} {:>9} {:<12} {:>8}{} {}\n",
             row.name, typeName(row.type), row.shape.toString(),
             m.seconds() * 1e3,
             unit > 0 ? fmt::format("{:.1f}", unit) : std::string("-"),
             wordOf(row.kind),
             row.kind == TableRow::Time ? std::string("-")
                                        : fmt::format("{:.3f}", share),
             compared, limit);
  std::fflush(stdout);
}

static void printHead(const TableOptions &given) {
  fmt::print("{}, widest vectors {}; shape B,Hq,Hk,Nq,Nk,D,Dv; medians\n"
             "{:<22} {:<4} {:<30} {:>10} {:>9} {:<12} {:>8}{} {}\n",
             machineName(), peakInstructions(), "row", "type", "shape", "ms",
             "unit", "of", "share",
             given.compare.empty() ? "" : "   other ms  ratio", "bound");
}

std::vector<double>
attn::measureTable(const std::vector<std::vector<TableRow>> &sets,
                   const TableOptions &given) {
  Progress progress;
  std::vector<double> shares;
  if (!given.json)
    printHead(given);
  for (const std::vector<TableRow> &rows : sets) {
    std::vector<Measured> set;
    double round = 0;
    for (const TableRow &row : rows) {
      BenchSetting setting;
      setting.options = given.options;
      setting.options.level = row.level;
      setting.options.threads = row.kind == TableRow::Gain ? 2
                                : row.kind == TableRow::Bf16Peak
                                    ? 1
                                    : given.options.threads;
      setting.shape = row.shape;
      setting.type = row.type;
      Kernel kernel = Compiler(setting.options).compile(row.spec);
      set.push_back(
          {&row, prepareEntry(kernel, 0, setting, progress), {}, {}, {}});
      progress.show(fmt::format("bench {}: first run", row.name));
      round += set.back().entry.warmUp();
    }
    int64_t turns =
        given.repeat
            ? given.repeat
            : std::clamp<int64_t>(
                  given.seconds * rows.size() / std::max(round, 1e-6), 3, 1000);
    // Another program starts anew for every turn; it repeats by itself.
    int64_t others = given.compare.empty() ? 0 : std::min<int64_t>(turns, 3);
    for (int64_t turn = 0; turn < turns; ++turn)
      for (Measured &m : set) {
        progress.show(
            fmt::format("bench {}: {} of {}", m.row->name, turn + 1, turns));
        measureOnce(m, m.entry.kernel.getImpl().threads.count());
        if (turn < others)
          m.other.push_back(
              timeOther(given.compare, m.row->shape, m.row->type) * 1e-3);
      }
    progress.clear();
    for (size_t n = 0; n < set.size(); ++n) {
      print(given, set, n, set[n].entry.kernel.getImpl().threads.count());
      shares.push_back(shareOf(set, n));
    }
  }
  return shares;
}
