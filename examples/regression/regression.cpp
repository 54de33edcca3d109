//===- regression.cpp - predictions from a table --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nadaraya-Watson regression: the prediction at x is the mean of the table's
// values, weighted by how near their points are. That is attention with points
// as keys. The bandwidth is the one that predicts each row of the table best
// from the others, which is the same kernel under another mask.
//
//===----------------------------------------------------------------------===//

#include <attn/attn.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

static const char *const nadarayaWatson = R"(
  attention nadaraya_watson(x, X, Y; h > 0, leave_out: int >= 0) {
    q = x
    k = X
    v = Y
    kappa = exp(-sqdist(q, k) / (2 * h^2))
    mask  = leave_out == 0 or i != j
  })";

namespace {
/// Numbers in rows of one length.
struct Table {
  int64_t rows = 0, columns = 0;
  std::vector<float> values;
};
} // namespace

/// Reads comma-separated numbers; a first line without any is a heading.
static Table readTable(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    throw std::runtime_error(path + ": cannot read the table");
  Table table;
  std::string line;
  for (int64_t number = 1; std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos)
      continue;
    std::vector<float> row;
    std::string cell;
    bool areNumbers = true;
    for (std::istringstream cells(line); std::getline(cells, cell, ',');) {
      char *end;
      row.push_back(std::strtof(cell.c_str(), &end));
      areNumbers &=
          end != cell.c_str() && std::isfinite(row.back()) &&
          std::string(end).find_first_not_of(" \t\r") == std::string::npos;
    }
    const std::string place = path + ":" + std::to_string(number) + ": ";
    if (!areNumbers && number == 1)
      continue;
    if (!areNumbers)
      throw std::runtime_error(place + "not a row of finite numbers");
    if (table.rows > 0 && int64_t(row.size()) != table.columns)
      throw std::runtime_error(place + std::to_string(row.size()) +
                               " columns, but " +
                               std::to_string(table.columns) + " above");
    table.columns = int64_t(row.size());
    table.values.insert(table.values.end(), row.begin(), row.end());
    ++table.rows;
  }
  if (table.rows == 0)
    throw std::runtime_error(path + ": the table is empty");
  return table;
}

namespace {
/// A table as points and their values, with the kernel that predicts from it.
/// Nothing is copied: both are views of the table with its stride.
class Regression {
public:
  Regression(const Table &table, const attn::Options &options)
      : table(table), kernel(attn::Compiler(options).compile(nadarayaWatson)) {}

  /// Predictions at `rows` points, `stride` numbers apart.
  std::vector<float> at(const float *points, int64_t rows, int64_t stride,
                        double bandwidth, bool leaveOut) const {
    std::vector<float> predictions(rows);
    const int64_t dims = table.columns - 1;
    const float *values = table.values.data();
    kernel({{"x", {points, {rows, dims}, {stride, 1}}},
            {"X", {values, {table.rows, dims}, {table.columns, 1}}},
            {"Y", {values + dims, {table.rows, 1}, {table.columns, 1}}},
            {"h", bandwidth},
            {"leave_out", leaveOut ? 1.0 : 0.0}},
           {{"o", {predictions.data(), {rows, 1}}}});
    return predictions;
  }

  /// The root of the mean squared error at each row, predicted from the others.
  double error(double bandwidth) const {
    const std::vector<float> predictions =
        at(table.values.data(), table.rows, table.columns, bandwidth, true);
    double sum = 0;
    for (int64_t row = 0; row < table.rows; ++row) {
      const double difference =
          predictions[row] - table.values[(row + 1) * table.columns - 1];
      sum += difference * difference;
    }
    return std::sqrt(sum / double(table.rows));
  }

  /// The best of the bandwidths from the spread of the points down to a
  /// thousandth of it.
  double bestBandwidth() const {
    double spread = 0;
    for (int64_t column = 0; column + 1 < table.columns; ++column) {
      float least = std::numeric_limits<float>::infinity(), most = -least;
      for (int64_t row = 0; row < table.rows; ++row) {
        least = std::min(least, table.values[row * table.columns + column]);
        most = std::max(most, table.values[row * table.columns + column]);
      }
      spread = std::hypot(spread, double(most) - least);
    }
    double best = spread, bestError = std::numeric_limits<double>::infinity();
    for (double bandwidth = spread; bandwidth > spread / 1000;
         bandwidth *= 0.8) {
      const double found = error(bandwidth);
      if (found < bestError) {
        best = bandwidth;
        bestError = found;
      }
    }
    if (!(best > 0))
      throw std::runtime_error("the table's points are all the same");
    return best;
  }

private:
  const Table &table;
  attn::Kernel kernel;
};
} // namespace

static const char *const usage =
    R"(Usage: regression TABLE [POINTS] [--target cpu|reference]

TABLE is a file of comma-separated numbers, in each row a point and last its value;
the predictions at the points in the file POINTS are printed, one a line. Without
POINTS the program only says which bandwidth suits the table and how well it predicts.

Example: regression examples/regression/table.csv examples/regression/points.csv
)";

int main(int argc, char **argv) {
  std::vector<std::string> files;
  attn::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      std::fputs(usage, stdout);
      return 0;
    }
    if (argument == "--target" && i + 1 < argc)
      options.target = argv[++i];
    else
      files.push_back(argument);
  }
  if (files.empty() || files.size() > 2 || files[0][0] == '-' ||
      files.back()[0] == '-') {
    std::fputs(usage, stderr);
    return 2;
  }
  try {
    const Table table = readTable(files[0]);
    if (table.columns < 2)
      throw std::runtime_error(files[0] + ": a row needs a point and a value");
    const Regression regression(table, options);
    const double bandwidth = regression.bestBandwidth();
    std::fprintf(
        stderr, "%s: %lld rows, bandwidth %.4g, error %.4g at a row left out\n",
        files[0].c_str(), (long long)table.rows, bandwidth,
        regression.error(bandwidth));
    if (files.size() == 2) {
      const Table points = readTable(files[1]);
      if (points.columns != table.columns - 1)
        throw std::runtime_error(files[1] + ": " +
                                 std::to_string(points.columns) +
                                 " columns, but points of the table have " +
                                 std::to_string(table.columns - 1));
      for (float prediction : regression.at(points.values.data(), points.rows,
                                            points.columns, bandwidth, false))
        std::printf("%.6g\n", double(prediction));
    }
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
