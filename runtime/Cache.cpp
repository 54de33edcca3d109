//===- Cache.cpp - compiled code on disk ----------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Cache.h"
#include "runtime/FileLimitErrors.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace attn::runtime;

// An entry is five lines, the fourth the digest and the fifth the length of
// what follows them:
//     attnc cache 1 / title / digest of the key / digest of the content / bytes
static constexpr std::string_view kMagic = "attnc cache 1";
static constexpr std::string_view kSuffix = ".attn-code";
/// Longer files are none of ours.
static constexpr int64_t kMaxEntry = int64_t(64) << 20;
/// The folder is looked through at a process's first store, and then at one in
/// so many.
static constexpr unsigned kStoresBetweenEvictions = 32;
/// A writer takes milliseconds: what a dead one left is older.
static constexpr std::time_t kStaleSeconds = 3600;

static std::string digest(std::string_view text) {
  auto hash = llvm::BLAKE3::hash<32>(
      llvm::arrayRefFromStringRef(llvm::StringRef(text.data(), text.size())));
  return llvm::toHex(llvm::ArrayRef<uint8_t>(hash.data(), hash.size()),
                     /*LowerCase=*/true);
}

//===----------------------------------------------------------------------===//
// Where
//===----------------------------------------------------------------------===//

std::string Cache::folderFor(const std::string &given) {
  auto variable = [](const char *name) -> std::string {
    const char *value = std::getenv(name);
    return value ? value : "";
  };
  if (given == "off" || variable("ATTN_CACHE") == "off")
    return {};
  if (!given.empty())
    return given;
  if (std::string folder = variable("ATTN_CACHE_DIR"); !folder.empty())
    return folder;
  // The XDG convention ignores relative paths.
  if (std::string home = variable("XDG_CACHE_HOME");
      !home.empty() && home[0] == '/')
    return home + "/attnc";
  if (std::string home = variable("HOME"); !home.empty() && home[0] == '/')
    return home + "/.cache/attnc";
  return {};
}

std::string Cache::fileOf(std::string_view key) const {
  return path + "/" + digest(key) + std::string(kSuffix);
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

/// All of a file, if it is a plain one of this user that nobody else may write:
/// its machine code is going to run.
static std::optional<std::string> readOwnFile(const std::string &file) {
  int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0)
    return std::nullopt;
  llvm::scope_exit closer([&] { ::close(descriptor); });
  struct stat status;
  if (::fstat(descriptor, &status) || !S_ISREG(status.st_mode) ||
      status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) ||
      status.st_size > kMaxEntry)
    return std::nullopt;
  std::string content(status.st_size, '\0');
  size_t done = 0;
  while (done < content.size()) {
    ssize_t got =
        ::read(descriptor, content.data() + done, content.size() - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return std::nullopt;
    done += got;
  }
  return content;
}

static bool writeAll(int descriptor, std::string_view content) {
  while (!content.empty()) {
    ssize_t put = ::write(descriptor, content.data(), content.size());
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    content.remove_prefix(put);
  }
  return true;
}

std::optional<std::string> Cache::load(std::string_view key) const {
  if (path.empty())
    return std::nullopt;
  std::string file = fileOf(key);
  std::optional<std::string> whole = readOwnFile(file);
  if (!whole)
    return std::nullopt;
  llvm::StringRef rest(*whole), lines[5];
  for (llvm::StringRef &line : lines)
    std::tie(line, rest) = rest.split('\n');
  size_t bytes;
  if (lines[0] != llvm::StringRef(kMagic.data(), kMagic.size()) ||
      lines[2] != digest(key) || lines[4].getAsInteger(10, bytes) ||
      bytes != rest.size() || lines[3] != digest({rest.data(), rest.size()}))
    return std::nullopt;
  // Its time says when it was used last; reading alone may not change it.
  ::utimensat(AT_FDCWD, file.c_str(), nullptr, 0);
  return rest.str();
}

void Cache::store(std::string_view key, std::string_view title,
                  std::string_view content) const {
  if (path.empty() || static_cast<int64_t>(content.size()) > kMaxEntry / 2)
    return;
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    std::filesystem::create_directories(path, error);
    ::chmod(path.c_str(), S_IRWXU);
  }
  if (stored++ % kStoresBetweenEvictions == 0)
    evict();
  std::string line(title.substr(0, 200));
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::string whole = std::string(kMagic) + "\n" + line + "\n" + digest(key) +
                      "\n" + digest(content) + "\n" +
                      std::to_string(content.size()) + "\n";
  whole += content;
  FileLimitErrors errors;
  std::string temporary = path + "/new.XXXXXX"; // mode 0600
  int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0)
    return;
  bool written = writeAll(descriptor, whole);
  written &= ::close(descriptor) == 0;
  if (!written || ::rename(temporary.c_str(), fileOf(key).c_str()))
    ::unlink(temporary.c_str());
}

//===----------------------------------------------------------------------===//
// The folder as a whole
//===----------------------------------------------------------------------===//

namespace {
struct Found {
  std::string file;
  int64_t bytes;
  struct timespec used;
};
} // namespace

/// The files that this class makes, used last first; others are left alone.
static std::vector<Found> filesOf(const std::string &path, bool temporary) {
  std::vector<Found> files;
  DIR *folder = path.empty() ? nullptr : ::opendir(path.c_str());
  if (!folder)
    return files;
  llvm::scope_exit closer([&] { ::closedir(folder); });
  while (struct dirent *entry = ::readdir(folder)) {
    llvm::StringRef name(entry->d_name);
    struct stat status;
    bool ours =
        temporary
            ? name.starts_with("new.") && name.size() == 10
            : name.ends_with(llvm::StringRef(kSuffix.data(), kSuffix.size()));
    if (ours &&
        !::fstatat(::dirfd(folder), entry->d_name, &status,
                   AT_SYMLINK_NOFOLLOW) &&
        S_ISREG(status.st_mode))
      files.push_back(
          {path + "/" + entry->d_name, status.st_size, status.st_mtim});
  }
  std::sort(files.begin(), files.end(), [](const Found &a, const Found &b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) >
           std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  return files;
}

void Cache::evict() const {
  int64_t total = 0, aim = limit;
  for (const Found &found : filesOf(path, /*temporary=*/false)) {
    total += found.bytes;
    if (total > aim) {
      ::unlink(found.file.c_str());
      aim = limit / 4 * 3; // once it is full, make room for a while
    }
  }
  for (const Found &found : filesOf(path, /*temporary=*/true))
    if (found.used.tv_sec + kStaleSeconds < std::time(nullptr))
      ::unlink(found.file.c_str());
}

std::vector<Cache::Entry> Cache::list() const {
  std::vector<Entry> entries;
  for (const Found &found : filesOf(path, /*temporary=*/false)) {
    Entry entry;
    entry.file = found.file;
    entry.bytes = found.bytes;
    entry.used = found.used.tv_sec;
    std::optional<std::string> whole = readOwnFile(found.file);
    llvm::StringRef text(whole ? *whole : std::string_view());
    auto [magic, rest] = text.split('\n');
    if (magic == llvm::StringRef(kMagic.data(), kMagic.size()))
      entry.title = rest.split('\n').first.str();
    else
      entry.title = "(not readable by this version)";
    entries.push_back(std::move(entry));
  }
  return entries;
}

size_t Cache::clear() const {
  size_t count = 0;
  for (const Found &found : filesOf(path, /*temporary=*/false))
    count += ::unlink(found.file.c_str()) == 0;
  for (const Found &found : filesOf(path, /*temporary=*/true))
    ::unlink(found.file.c_str());
  return count;
}
