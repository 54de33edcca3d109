//===- Cache.cpp - attnc cache --------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Cache.h"
#include "Verbs.h"

#include <fmt/format.h>

using namespace attn;
using runtime::Cache;

static std::string folderOf(const std::string &given) {
  std::string folder = Cache::folderFor(given);
  if (folder.empty())
    throw Error("the cache is off: ATTN_CACHE=off, or no folder for it is "
                "known; set ATTN_CACHE_DIR");
  return folder;
}

static std::string ago(std::time_t then) {
  std::time_t seconds = std::max<std::time_t>(std::time(nullptr) - then, 0);
  if (seconds < 120)
    return fmt::format("{} s", seconds);
  if (seconds < 2 * 3600)
    return fmt::format("{} min", seconds / 60);
  if (seconds < 2 * 86400)
    return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} d", seconds / 86400);
}

static int list(const std::string &folder) {
  Cache cache(folderOf(folder));
  std::vector<Cache::Entry> entries = cache.list();
  int64_t total = 0;
  if (!entries.empty())
    fmt::print("{:>9} {:>9}  {}\n", "bytes", "last use", "what");
  for (const Cache::Entry &entry : entries) {
    total += entry.bytes;
    fmt::print("{:>9} {:>9}  {}\n", entry.bytes, ago(entry.used), entry.title);
  }
  fmt::print("{}: {} entries, {:.1f} of {} MiB\n", cache.folder(),
             entries.size(), total / 1048576.0, Cache::kDefaultLimit >> 20);
  return 0;
}

static int clear(const std::string &folder) {
  Cache cache(folderOf(folder));
  size_t count = cache.clear();
  fmt::print("{}: {} entries removed\n", cache.folder(), count);
  return 0;
}

void attn::addCache(CLI::App &app, Action &action) {
  CLI::App *verb =
      app.add_subcommand("cache", "List or clear the kernels kept on disk");
  auto folder = std::make_shared<std::string>();
  verb->require_subcommand(1);
  auto add = [&](const char *name, const char *help,
                 int (*run)(const std::string &)) {
    CLI::App *part = verb->add_subcommand(name, help);
    part->add_option("--dir", *folder, "another folder");
    part->footer(fmt::format("Example:\n  attnc cache {}", name));
    part->callback([folder, run, &action] {
      action = [folder, run] { return run(*folder); };
    });
  };
  verb->footer(fmt::format(
      "Compiled kernels are kept in ATTN_CACHE_DIR; else in attnc below "
      "XDG_CACHE_HOME or ~/.cache.\nThose used last are kept, {} MiB of them. "
      "ATTN_CACHE=off keeps none.\n\nExample:\n  attnc cache list",
      Cache::kDefaultLimit >> 20));
  add("list", "Print what is kept, used last first", list);
  add("clear", "Remove it all", clear);
}
