//===- CommandLine.cpp - what several verbs parse -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "PendingFile.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

using namespace attn;

std::optional<double> attn::parseNumber(std::string_view text) {
  if (!text.empty() && text.front() == '+')
    text.remove_prefix(1);
  double value;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range &&
      end == text.data() + text.size())
    throw UsageError(
        fmt::format("'{}' is a number that 64 bits do not hold", text));
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<int64_t> attn::parseInteger(std::string_view text) {
  int64_t value;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::pair<std::string, std::string>
attn::splitAssignment(const std::string &text, const std::string &option) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw UsageError(
        fmt::format("{} {}: NAME=VALUE is expected", option, text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

GivenInputs::GivenInputs(const std::vector<std::string> &assignments) {
  for (const std::string &text : assignments) {
    auto [name, value] = splitAssignment(text, "--in");
    for (const Given &other : given)
      if (other.name == name)
        throw UsageError(fmt::format("--in {}: given twice", name));
    Given entry;
    entry.name = name;
    if (std::optional<double> number = parseNumber(value)) {
      entry.number = *number;
      entry.isNumber = true;
    } else if (std::filesystem::path path = value;
               path.extension() != ".npy" && !std::filesystem::exists(path)) {
      throw UsageError(fmt::format("--in {}: '{}' is no number, and there is "
                                   "no file of that name",
                                   name, value));
    } else {
      entry.array = readNpy(value);
    }
    given.push_back(std::move(entry));
  }
}

const Array *GivenInputs::find(const std::string &name) const {
  for (const Given &entry : given)
    if (entry.name == name && !entry.isNumber)
      return &entry.array;
  return nullptr;
}

std::vector<Argument> GivenInputs::arguments() const {
  std::vector<Argument> arguments;
  for (const Given &entry : given) {
    if (entry.isNumber)
      arguments.emplace_back(entry.name, entry.number);
    else
      arguments.emplace_back(entry.name, entry.array.view());
  }
  return arguments;
}

std::map<std::string, double>
attn::parseSettings(const std::vector<std::string> &assignments) {
  std::map<std::string, double> settings;
  for (const std::string &text : assignments) {
    auto [name, value] = splitAssignment(text, "--set");
    std::optional<double> number = parseNumber(value);
    if (!number)
      throw UsageError(
          fmt::format("--set {}: '{}' is not a number", name, value));
    if (!settings.emplace(name, *number).second)
      throw UsageError(fmt::format("--set {}: given twice", name));
  }
  return settings;
}

std::string ProblemShape::toString() const {
  return fmt::format("{},{},{},{},{},{},{}", B, Hq, Hk, Nq, Nk, D, Dv);
}

ProblemShape attn::parseShape(const std::string &text) {
  ProblemShape shape;
  int64_t *fields[] = {&shape.B,  &shape.Hq, &shape.Hk, &shape.Nq,
                       &shape.Nk, &shape.D,  &shape.Dv};
  constexpr int64_t limit = int64_t(1) << 31;
  constexpr int64_t rowLimit = int64_t(1) << 20;
  size_t begin = 0;
  for (size_t n = 0; n < std::size(fields); ++n) {
    size_t end =
        n + 1 < std::size(fields) ? text.find(',', begin) : text.size();
    std::optional<int64_t> value;
    if (end != std::string::npos && begin <= end)
      value = parseInteger(std::string_view(text).substr(begin, end - begin));
    bool isRow = n >= 5;
    if (!value || *value < isRow || *value > (isRow ? rowLimit : limit))
      throw UsageError(
          fmt::format("--shape {}: seven counts B,Hq,Hk,Nq,Nk,D,Dv are "
                      "expected, D and Dv from 1 to {}",
                      text, rowLimit));
    *fields[n] = *value;
    begin = end + 1;
  }
  if (shape.Hk == 0 ? shape.Hq != 0 : shape.Hq % shape.Hk != 0)
    throw UsageError(fmt::format(
        "--shape {}: {} query heads are no multiple of {} key heads", text,
        shape.Hq, shape.Hk));
  return shape;
}

void attn::checkOutputs(const std::vector<GivenOutput> &outputs,
                        const std::string &spec) {
  for (size_t n = 0; n < outputs.size(); ++n) {
    const auto &[option, file] = outputs[n];
    if (file == "-")
      throw UsageError(fmt::format("{}: '-' is no file here; /dev/stdout is "
                                   "where output goes",
                                   option));
    if (!spec.empty() && isSameFile(file, spec))
      throw UsageError(fmt::format(
          "{}: {} is the spec, which would be overwritten", option, file));
    for (size_t other = 0; other < n; ++other)
      if (isSameFile(file, outputs[other].file))
        throw UsageError(fmt::format("{}: {} is written twice", option, file));
  }
}

void attn::checkThreads(int threads) {
  if (threads < 0 || threads > 4096)
    throw UsageError(fmt::format(
        "--threads {}: a count is expected, or 0 for all cores", threads));
}

void attn::checkTarget(const std::string &target) {
  if (target != "cpu" && target != "reference" && target != "cuda" &&
      target != "cuda-emulator")
    throw UsageError(fmt::format("--target {}: 'cpu', 'cuda', 'cuda-emulator' "
                                 "or 'reference' is expected",
                                 target));
}
