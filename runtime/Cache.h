//===- Cache.h - compiled code on disk --------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of files, one an entry, that any number of processes share: an entry
// is written under another name and then renamed, so that a reader sees all of
// it or nothing. Whatever does not check out (another version, damage, somebody
// else's file) is not there. Nothing here throws or prints: without its cache a
// compiler is slower, not wrong.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CACHE_H
#define ATTN_RUNTIME_CACHE_H

#include <atomic>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn::runtime {

class Cache {
public:
  static constexpr int64_t kDefaultLimit = int64_t(256) << 20;

  /// The cache in `folder`, of at most `limit` bytes; with an empty folder,
  /// none. The folder is made when something is stored.
  explicit Cache(std::string folder = {}, int64_t limit = kDefaultLimit)
      : path(std::move(folder)), limit(limit) {}

  /// The folder to use: none where ATTN_CACHE=off or `given` is "off"; else
  /// `given`, else ATTN_CACHE_DIR, else attnc in XDG_CACHE_HOME or ~/.cache.
  static std::string folderFor(const std::string &given);

  const std::string &folder() const { return path; }
  explicit operator bool() const { return !path.empty(); }

  /// What was stored under a key, which is any text that says what it is.
  std::optional<std::string> load(std::string_view key) const;
  /// Stores it, or does not: a full or read-only disk is no error. `title` is
  /// one line for people. Entries used last go last where the limit is reached.
  void store(std::string_view key, std::string_view title,
             std::string_view content) const;

  struct Entry {
    std::string file, title;
    int64_t bytes = 0;
    std::time_t used = 0;
  };
  /// All entries, those used last first.
  std::vector<Entry> list() const;
  /// Removes all entries, and says how many.
  size_t clear() const;

private:
  std::string fileOf(std::string_view key) const;
  void evict() const;

  std::string path;
  int64_t limit;
  mutable std::atomic<unsigned> stored{0};
};

/// What must be equal for code to be: the builds of this library, of LLVM and
/// of MLIR, by the identifiers that the linker gave them. Empty where one has
/// none: then nothing may be cached.
const std::string &compilerIdentity();

} // namespace attn::runtime

#endif // ATTN_RUNTIME_CACHE_H
