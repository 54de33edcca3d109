//===- CacheTest.cpp - compiled code on disk ------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Cache.h"
#include "attn/attn.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace attn;
using runtime::Cache;
namespace fs = std::filesystem;

namespace {

/// A folder for one test, and an environment that does not turn the cache off.
class CacheTest : public ::testing::Test {
protected:
  void SetUp() override {
    unsetenv("ATTN_CACHE");
    std::string name =
        (fs::temp_directory_path() / "attn-cache.XXXXXX").string();
    root = mkdtemp(name.data());
    folder = root + "/cache";
  }
  void TearDown() override {
    fs::remove_all(root);
    setenv("ATTN_CACHE", "off", 1);
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    if (fs::is_directory(folder))
      for (const auto &entry : fs::directory_iterator(folder))
        found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
  }
  std::string root, folder;
};

std::string contentOf(const fs::path &file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Replaces a file's bytes and keeps its permissions.
void overwrite(const fs::path &file, const std::string &content) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
}

/// Moves the last use of a file back.
void age(const fs::path &file, int seconds) {
  struct timespec times[2] = {{std::time(nullptr) - seconds, 0},
                              {std::time(nullptr) - seconds, 0}};
  utimensat(AT_FDCWD, file.c_str(), times, 0);
}

TEST_F(CacheTest, FolderFor) {
  setenv("HOME", "/h", 1);
  unsetenv("XDG_CACHE_HOME");
  unsetenv("ATTN_CACHE_DIR");
  EXPECT_EQ(Cache::folderFor(""), "/h/.cache/attnc");
  setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(Cache::folderFor(""), "/x/attnc");
  setenv("ATTN_CACHE_DIR", "/d", 1);
  EXPECT_EQ(Cache::folderFor(""), "/d");
  EXPECT_EQ(Cache::folderFor("/given"), "/given");
  EXPECT_EQ(Cache::folderFor("off"), "");
  setenv("ATTN_CACHE", "off", 1);
  EXPECT_EQ(Cache::folderFor("/given"), "");
  unsetenv("ATTN_CACHE_DIR");
  unsetenv("XDG_CACHE_HOME");
}

TEST_F(CacheTest, StoresAndLoads) {
  Cache cache(folder);
  EXPECT_EQ(cache.load("key"), std::nullopt);
  std::string content("a\0b\n\nc", 6);
  cache.store("key", "a title\nof two lines", content);
  cache.store("key 2", "empty", "");
  EXPECT_EQ(cache.load("key"), content);
  EXPECT_EQ(cache.load("key 2"), "");
  EXPECT_EQ(cache.load("key 3"), std::nullopt);
  cache.store("key", "again", "new");
  EXPECT_EQ(Cache(folder).load("key"), "new");
  std::vector<Cache::Entry> entries = cache.list();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].title, "again");
  struct stat status;
  ASSERT_EQ(stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u); // code that will run
  EXPECT_EQ(cache.clear(), 2u);
  EXPECT_TRUE(files().empty());
  Cache none("");
  none.store("key", "t", "c");
  EXPECT_EQ(none.load("key"), std::nullopt);
}

TEST_F(CacheTest, DamagedAndForeignEntriesAreNotThere) {
  Cache cache(folder);
  const std::string content(300, 'x');
  cache.store("key", "title", content);
  ASSERT_EQ(files().size(), 1u);
  const fs::path file = files()[0];
  const std::string good = contentOf(file);
  for (size_t length = 0; length < good.size(); length += 7) {
    overwrite(file, good.substr(0, length));
    EXPECT_EQ(cache.load("key"), std::nullopt) << length;
  }
  size_t title = good.find("title");
  for (size_t at = 0; at < good.size(); at += 3) {
    if (at >= title && at < title + 5)
      continue; // for people only
    std::string damaged = good;
    damaged[at] ^= 4;
    overwrite(file, damaged);
    EXPECT_EQ(cache.load("key"), std::nullopt) << at;
  }
  overwrite(file, good + "more");
  EXPECT_EQ(cache.load("key"), std::nullopt);
  overwrite(file, good);
  EXPECT_EQ(cache.load("key"), content);
  // Another key's entry under this name, and files that others may write.
  cache.store("other", "title", content);
  for (const fs::path &other : files())
    if (other != file)
      fs::copy_file(other, file, fs::copy_options::overwrite_existing);
  EXPECT_EQ(cache.load("key"), std::nullopt);
  cache.store("key", "title", content);
  fs::permissions(file, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(cache.load("key"), std::nullopt);
  cache.store("key", "title", content); // rewritten
  EXPECT_EQ(cache.load("key"), content);
  fs::rename(file, root + "/elsewhere");
  fs::create_symlink(root + "/elsewhere", file);
  EXPECT_EQ(cache.load("key"), std::nullopt);
  fs::remove(file);
  fs::create_directory(file);
  EXPECT_EQ(cache.load("key"), std::nullopt);
  cache.store("key", "title", content); // cannot be renamed over a folder
  EXPECT_EQ(cache.load("key"), std::nullopt);
  EXPECT_EQ(files().size(), 2u) << "a temporary file was left";
}

TEST_F(CacheTest, TheLeastRecentlyUsedGoFirst) {
  const std::string content(1000, 'c');
  for (int n = 0; n < 10; ++n)
    Cache(folder).store("key " + std::to_string(n), "t", content);
  std::vector<fs::path> all = files();
  ASSERT_EQ(all.size(), 10u);
  for (const fs::path &file : all)
    age(file, 1000);
  overwrite(folder + "/somebody's.txt", std::string(100000, 'x'));
  overwrite(folder + "/new.abcdef", "left by a writer that died");
  age(folder + "/new.abcdef", 100000);
  EXPECT_NE(Cache(folder).load("key 3"), std::nullopt); // used now
  // Ten entries of some 1150 bytes; the limit takes five, and room is made.
  Cache small(folder, 6000);
  small.store("key 10", "t", content);
  EXPECT_NE(small.load("key 3"), std::nullopt);
  EXPECT_NE(small.load("key 10"), std::nullopt);
  size_t count = small.list().size();
  EXPECT_GE(count, 4u);
  EXPECT_LE(count, 6u);
  EXPECT_TRUE(fs::exists(folder + "/somebody's.txt"));
  EXPECT_FALSE(fs::exists(folder + "/new.abcdef"));
}

TEST_F(CacheTest, FullAndReadOnlyDisks) {
  overwrite(root + "/file", "");
  for (const std::string &place :
       {root + "/file/below", std::string("/proc/x")}) {
    Cache cache(place);
    cache.store("key", "t", "c");
    EXPECT_EQ(cache.load("key"), std::nullopt);
    EXPECT_TRUE(cache.list().empty());
    EXPECT_EQ(cache.clear(), 0u);
  }
  // Files cannot grow past a kilobyte; whoever tries ends by SIGXFSZ.
  Cache cache(folder);
  cache.store("small", "t", "c");
  struct rlimit before, tight;
  getrlimit(RLIMIT_FSIZE, &before);
  tight = before;
  tight.rlim_cur = 1024;
  auto handler = std::signal(SIGXFSZ, SIG_DFL);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  cache.store("large", "t", std::string(5000, 'c'));
  sigset_t signals;
  EXPECT_EQ(sigpending(&signals), 0);
  EXPECT_FALSE(sigismember(&signals, SIGXFSZ)) << "it waits for us";
  pthread_sigmask(SIG_BLOCK, nullptr, &signals);
  EXPECT_FALSE(sigismember(&signals, SIGXFSZ));
  struct sigaction action;
  EXPECT_EQ(sigaction(SIGXFSZ, nullptr, &action), 0);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(cache.load("large"), std::nullopt);
  EXPECT_EQ(cache.load("small"), "c");
  EXPECT_EQ(files().size(), 1u) << "half an entry was left";
}

TEST_F(CacheTest, ManyProcesses) {
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    pid_t id = fork();
    if (id == 0) {
      Cache cache(folder, 20000); // so that entries come and go
      int wrong = 0, seen = 0;
      for (int n = 0; n < 400; ++n) {
        std::string key = std::to_string((n * 7 + child) % 20);
        std::string content(1500, 'a' + std::stoi(key));
        if (std::optional<std::string> found = cache.load(key)) {
          ++seen;
          wrong += *found != content;
        } else {
          cache.store(key, "t", content);
        }
      }
      _exit(wrong ? 1 : seen ? 0 : 2);
    }
    children.push_back(id);
  }
  for (pid_t id : children) {
    int status = 0;
    ASSERT_EQ(waitpid(id, &status, 0), id);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// What a kernel computes, compiled by a Compiler of its own.
std::vector<float> compute(const std::string &text, const std::string &folder,
                           int64_t d = 8) {
  Options options;
  options.cache = folder;
  options.threads = 1;
  Kernel kernel = Compiler(options).compile(text);
  const int64_t n = 20;
  std::vector<float> x(n * d), o(n * d);
  for (size_t t = 0; t < x.size(); ++t)
    x[t] = 0.01f * static_cast<float>(t * 37 % 101) - 0.5f;
  kernel({{"q", {x.data(), {n, d}}},
          {"k", {x.data(), {n, d}}},
          {"v", {x.data(), {n, d}}}},
         {{"o", {o.data(), {n, d}}}});
  return o;
}

const char *const kSoftmax = "attention f(q, k, v) { kappa = exp(dot(q, k)) }";
// With a workspace, which an entry must bring back.
const char *const kMapped =
    "attention f(q, k, v) { k = relu(k); kappa = exp(dot(q, k)) }";

TEST_F(CacheTest, KernelsComeBack) {
  for (const char *text : {kSoftmax, kMapped}) {
    SCOPED_TRACE(text);
    std::vector<float> expected = compute(text, "off");
    EXPECT_EQ(compute(text, folder), expected);
    std::vector<fs::path> entries = files();
    ASSERT_EQ(entries.size(), 2u) << "one of the licence, one of the code";
    std::vector<std::string> contents;
    for (const fs::path &file : entries) {
      age(file, 1000);
      contents.push_back(contentOf(file));
    }
    EXPECT_EQ(compute(text, folder), expected);
    EXPECT_EQ(files(), entries);
    for (size_t n = 0; n < entries.size(); ++n) {
      struct stat status;
      ASSERT_EQ(stat(entries[n].c_str(), &status), 0);
      EXPECT_GT(status.st_mtime, std::time(nullptr) - 500) << "not used";
      EXPECT_EQ(contentOf(entries[n]), contents[n]);
    }
    EXPECT_NE(compute(text, folder, 5), expected); // other sizes: other code
    EXPECT_EQ(files().size(), 3u);
    Cache(folder).clear();
  }
}

TEST_F(CacheTest, KernelsOfDifferentTextsDiffer) {
  std::vector<float> first = compute(kSoftmax, folder);
  EXPECT_NE(
      compute("attention f(q, k, v) { kappa = exp(2 * dot(q, k)) }", folder),
      first);
  EXPECT_EQ(
      compute("attention f(q, k, v) {\n  kappa = exp(dot(q, k))\n}", folder),
      first);
  EXPECT_EQ(files().size(), 4u) << "the same IR is the same entry";
}

TEST_F(CacheTest, DamagedCodeIsMadeAgain) {
  std::vector<float> expected = compute(kMapped, folder);
  for (const fs::path &file : files()) {
    std::string good = contentOf(file);
    for (size_t at : {size_t(3), good.size() / 2, good.size() - 1}) {
      std::string damaged = good;
      damaged[at] ^= 1;
      overwrite(file, damaged);
      EXPECT_EQ(compute(kMapped, folder), expected);
      EXPECT_EQ(contentOf(file), good);
    }
  }
}

TEST_F(CacheTest, RefusalsAreNotKept) {
  for (int twice = 0; twice < 2; ++twice)
    EXPECT_THROW(compute("attention f(q, k, v) { kappa = dot(q, k) }", folder),
                 Error);
  EXPECT_TRUE(files().empty());
}

} // namespace
