//===- Merge.cpp - attnc merge --------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Merge.h"
#include "CommandLine.h"
#include "PendingFile.h"

#include <fmt/format.h>

using namespace attn;

namespace {
struct MergeOptions {
  std::vector<std::string> parts, out;
};

/// The files of `--part o=FILE,lse=FILE`, and of all `--out`.
using Files = std::map<std::string, std::string>;
} // namespace

static void addFile(Files &files, const std::string &text,
                    const std::string &option) {
  auto [name, file] = splitAssignment(text, option);
  if (name != "o" && name != "lse" && name != "mass")
    throw UsageError(fmt::format("{} {}: there is no '{}' to merge; there is o "
                                 "and lse or mass",
                                 option, text, name));
  if (!files.emplace(name, file).second)
    throw UsageError(
        fmt::format("{} {}: '{}' is given twice", option, text, name));
}

static Files filesOf(const std::string &part) {
  Files files;
  for (size_t begin = 0; begin <= part.size();) {
    size_t end = std::min(part.find(',', begin), part.size());
    addFile(files, part.substr(begin, end - begin), "--part");
    begin = end + 1;
  }
  return files;
}

static int run(const MergeOptions &given) {
  std::vector<Files> parts;
  for (const std::string &part : given.parts)
    parts.push_back(filesOf(part));
  Files out;
  for (const std::string &text : given.out)
    addFile(out, text, "--out");
  std::vector<GivenOutput> places;
  for (const auto &[name, file] : out)
    places.push_back({"--out " + name, file});
  checkOutputs(places);
  // The first part says what the others are merged by.
  const Files &first = parts.front();
  if (first.count("lse") && first.count("mass"))
    throw UsageError("--part: lse and mass; one of them says enough");
  MergeBy by = first.count("lse")    ? MergeBy::lse
               : first.count("mass") ? MergeBy::mass
                                     : MergeBy::none;
  const std::string weight = by == MergeBy::lse ? "lse" : "mass";
  std::vector<std::string> names = {"o"};
  if (by != MergeBy::none)
    names.push_back(weight);
  for (size_t p = 0; p < parts.size(); ++p) {
    for (const std::string &name : names)
      if (!parts[p].count(name))
        throw UsageError(
            fmt::format("--part {}: '{}' is missing", given.parts[p], name));
    if (parts[p].size() != names.size())
      throw UsageError(
          fmt::format("--part {}: the first part has {}", given.parts[p],
                      by == MergeBy::none ? "o alone" : "o and " + weight));
  }
  for (const auto &[name, file] : out)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw UsageError(
          fmt::format("--out {}: the parts have no {}", name, name));

  std::vector<std::map<std::string, Array>> arrays;
  for (const Files &files : parts) {
    arrays.emplace_back();
    for (const auto &[name, file] : files)
      arrays.back()[name] = readNpy(file);
  }
  auto partial = [&](std::map<std::string, Array> &from) {
    Partial made{from.at("o").view(), {}};
    if (by != MergeBy::none)
      made.weight = from.at(weight).view();
    return made;
  };
  std::vector<Partial> views;
  for (auto &part : arrays)
    views.push_back(partial(part));
  std::map<std::string, Array> whole;
  for (const std::string &name : names)
    whole[name] =
        Array(arrays.front().at(name).type, arrays.front().at(name).shape);
  // Opened before the work, so that a wrong place is known at once.
  std::vector<PendingFile> pending;
  for (const auto &[name, file] : out)
    pending.emplace_back(file);
  merge(views, partial(whole), by);
  size_t next = 0;
  for (const auto &[name, file] : out)
    pending[next++].write(formatNpy(whole.at(name)));
  commitAll(pending);
  return 0;
}

void attn::addMerge(CLI::App &app, Action &action) {
  CLI::App *verb = app.add_subcommand(
      "merge", "Join results over parts of the keys into those of all");
  auto given = std::make_shared<MergeOptions>();
  verb->add_option("--part", given->parts,
                   "o=FILE.npy,lse=FILE.npy, or mass instead of lse, of one "
                   "part of the keys; o=FILE.npy alone under normalize = none; "
                   "a name has no comma here")
      ->required()
      ->allow_extra_args(false);
  verb->add_option("--out", given->out,
                   "o=FILE.npy, lse=FILE.npy or "
                   "mass=FILE.npy: where a result goes")
      ->required()
      ->allow_extra_args(false);
  verb->footer(
      "Keys may be split over calls or machines, and parts come in any order. "
      "Positions count from the\nfirst key of a part: give `attnc run` on keys "
      "from a on the offset of the whole less a.\n\nExample:\n"
      "  attnc merge --part o=o1.npy,lse=lse1.npy --part o=o2.npy,lse=lse2.npy "
      "\\\n      --out o=o.npy --out lse=lse.npy");
  verb->callback(
      [given, &action] { action = [given] { return run(*given); }; });
}
