//===- NpyFileTest.cpp - .npy files that appear whole or not at all -------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Npy.h"
#include "PendingFile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace attn;
using testing::HasSubstr;

namespace {
/// A folder that is gone after the test.
class NpyFile : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/npyXXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override {
    std::string command = "rm -r '" + folder + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }
  std::string textOf(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  int count() {
    int number = 0;
    std::string command = "ls -A '" + folder + "' | wc -l";
    FILE *pipe = popen(command.c_str(), "r");
    EXPECT_EQ(fscanf(pipe, "%d", &number), 1);
    pclose(pipe);
    return number;
  }
  std::string folder;
};
} // namespace

TEST_F(NpyFile, AppearsWholeOrNotAtAll) {
  std::string path = folder + "/a.npy";
  {
    PendingFile file(path);
    file.write("half of it");
    EXPECT_NE(access(path.c_str(), F_OK), 0);
  } // not committed
  EXPECT_EQ(count(), 0);
  PendingFile file(path);
  file.write("all ");
  file.write("of it");
  file.commit();
  EXPECT_EQ(textOf(path), "all of it");
  EXPECT_EQ(count(), 1);
}

TEST_F(NpyFile, WhoDiesLeavesNothing) {
  int probe = open(folder.c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (probe < 0)
    GTEST_SKIP() << "this file system has no files without a name";
  close(probe);
  for (int signal : {SIGKILL, SIGINT, SIGPIPE}) {
    pid_t child = fork();
    if (child == 0) {
      PendingFile file(folder + "/a.npy");
      file.write("half of it");
      raise(signal);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(count(), 0) << signal;
  }
}

TEST_F(NpyFile, LongNames) {
  // The longest that there is: a temporary name is none of it and more.
  std::string name(255, 'n');
  PendingFile file(folder + "/" + name);
  file.write("all of it");
  file.commit();
  EXPECT_EQ(textOf(folder + "/" + name), "all of it");
  EXPECT_EQ(count(), 1);
  EXPECT_THROW(PendingFile(folder + "/" + name + "n"), Error);
}

TEST_F(NpyFile, KeepsTheOldFileUntilTheNewOneIsThere) {
  std::string path = folder + "/a.npy";
  std::ofstream(path) << "old";
  chmod(path.c_str(), 0640);
  {
    PendingFile file(path);
    file.write("new");
    EXPECT_EQ(textOf(path), "old");
  }
  EXPECT_EQ(textOf(path), "old");
  PendingFile file(path);
  file.write("new");
  file.commit();
  EXPECT_EQ(textOf(path), "new");
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST_F(NpyFile, SeveralAreAllReplacedOrNone) {
  std::string first = folder + "/a.npy", second = folder + "/b.npy",
              sub = folder + "/sub";
  std::ofstream(first) << "old";
  auto commit = [&](bool fails) {
    ASSERT_EQ(mkdir(sub.c_str(), 0755), 0);
    std::vector<PendingFile> files;
    for (const std::string &path : {first, second, sub + "/c.npy"}) {
      files.emplace_back(path);
      files.back().write("new");
    }
    if (fails) { // its folder is taken away
      ASSERT_EQ(rename(sub.c_str(), (folder + "/moved").c_str()), 0);
      EXPECT_THROW(commitAll(files), Error);
    } else {
      commitAll(files);
    }
  };
  commit(/*fails=*/true);
  EXPECT_EQ(textOf(first), "old");
  EXPECT_NE(access(second.c_str(), F_OK), 0);
  EXPECT_EQ(count(), 2); // a.npy and the folder
  commit(/*fails=*/false);
  EXPECT_EQ(textOf(first), "new");
  EXPECT_EQ(textOf(second), "new");
  EXPECT_EQ(textOf(sub + "/c.npy"), "new");
  EXPECT_EQ(count(), 4);
}

TEST_F(NpyFile, NamesWhatCannotBeRead) {
  auto message = [](const std::string &path) {
    try {
      readNpy(path);
    } catch (const Error &error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message(folder + "/none.npy"),
              HasSubstr("none.npy: error: cannot read: No such file"));
  EXPECT_THAT(message(folder), HasSubstr("error: cannot read: Is a directory"));
  std::ofstream(folder + "/a.npy") << "garbage";
  EXPECT_THAT(message(folder + "/a.npy"),
              HasSubstr("a.npy: error: not a readable .npy file"));
}

TEST_F(NpyFile, NamesWhatCannotBeWritten) {
  auto message = [](const std::string &path) {
    try {
      PendingFile file(path);
    } catch (const Error &error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message(folder + "/no/such/a.npy"),
              HasSubstr("a.npy: error: cannot write: No such file"));
  EXPECT_THAT(message(folder), HasSubstr("cannot write: Is a directory"));
  EXPECT_EQ(count(), 0);
}
