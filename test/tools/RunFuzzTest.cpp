//===- RunFuzzTest.cpp - attnc run on damaged input -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever the files hold, `run` ends with a status, a message, and no half of
// an output. Under the sanitizers it also ends without a report.
//
//===----------------------------------------------------------------------===//

#include "Npy.h"
#include "Random.h"
#include "Verbs.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace attn;

static const char *specs[] = {
    "attention yat(q, k, v; b[head] >= 0, eps > 0) {\n"
    "  kappa = (dot(q, k) + b)^2 / (sqdist(q, k) + eps)\n  mask = causal\n  "
    "return o, mass\n}\n",
    "attention t5(q, k, v; b[-2:nk], eps) { kappa = exp(dot(q, k)/sqrt(dim) + "
    "b[i - j]); "
    "return o, lse }\n",
    "attention lin(q, k, v; b[head, D, d], eps: int >= 0) {\n  q = elu(q * b) "
    "+ 1\n"
    "  k = elu(k * b) + 1\n  kappa = dot(q, k)\n  mask = window(eps, 0)\n}\n",
};

static std::string arrayText(Random &random) {
  static const std::vector<int64_t> shapes[] = {
      {2, 3}, {1, 2, 3}, {1, 1, 2, 3}, {2},      {1, 2, 2, 3},
      {},     {0, 3},    {5},          {1, 3, 3}};
  static const Type types[] = {Type::f32, Type::f32, Type::f32,
                               Type::f64, Type::i64, Type::f16};
  Array array(types[random.integer(0, 5)], shapes[random.integer(0, 8)]);
  for (std::byte &byte : array.bytes)
    byte = std::byte(random.integer(0, 3) ? 0 : random.bits());
  return formatNpy(array);
}

/// A few bytes changed, removed, repeated or added.
static void damage(std::string &text, Random &random) {
  for (int64_t times = random.integer(0, 4); times > 0 && !text.empty();
       --times) {
    size_t at = random.bits() % text.size(), length = random.integer(1, 9);
    switch (random.integer(0, 5)) {
    case 0:
      text[at] = static_cast<char>(random.bits());
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(at, text.substr(random.bits() % text.size(), length));
      break;
    case 3:
      text.resize(at);
      break;
    case 4:
      text.insert(at, std::string(length, "0(9/,\x00 n"[random.integer(0, 7)]));
      break;
    case 5:
      text[at] ^= 1 << random.integer(0, 7);
      break;
    }
  }
}

static void store(const std::string &path, const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// Runs a command line as main() does; returns its exit status.
static int run(const std::vector<std::string> &words) {
  CLI::App app("attnc");
  Action action;
  addRun(app, action);
  try {
    // CLI11 takes them from the back.
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    return action();
  } catch (const CLI::ParseError &) {
    return 2;
  } catch (const UsageError &) {
    return 2;
  } catch (const Error &error) {
    EXPECT_STRNE(error.what(), "");
    return 1;
  }
}

TEST(RunFuzz, EndsWithAStatus) {
  std::string folder = testing::TempDir() + "/fuzzXXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const char *count = std::getenv("ATTN_FUZZ_RUNS");
  int64_t runs = count ? std::atoll(count) : 2000, statuses[3] = {};
  std::string spec = folder + "/s.attn", out = folder + "/o.npy";
  // What is printed is not looked at.
  testing::internal::CaptureStdout();
  for (int64_t n = 0; n < runs; ++n) {
    Random random(n);
    std::string text = specs[random.integer(0, 2)];
    if (random.integer(0, 2) == 0)
      damage(text, random);
    store(spec, text);
    std::vector<std::string> words = {"run", spec, "--target", "reference"};
    for (const char *name : {"q", "k", "v", "b", "eps", "key_lengths"}) {
      std::string path = folder + "/" + name + ".npy", value = path;
      std::string array = arrayText(random);
      bool rows = name[1] == 0 && name[0] != 'b';
      if (rows && random.integer(0, 2)) {
        Array good(Type::f32, {1, 1, 2, 3});
        for (int64_t t = 0; t < 6; ++t)
          good.data<float>()[t] = random.normal();
        array = formatNpy(good);
      }
      if (random.integer(0, 7) == 0)
        damage(array, random);
      store(path, array);
      static const char *numbers[] = {"1",   "0.5", "-1", "nan", "1e999",
                                      "inf", "2x",  "",   "0"};
      if (!rows && random.integer(0, 2))
        value = numbers[random.integer(0, 8)];
      if (std::string(name) == "key_lengths" && random.integer(0, 3))
        continue;
      words.insert(words.end(), {"--in", std::string(name) + "=" + value});
    }
    unlink(out.c_str());
    words.insert(words.end(), {"--out", "o=" + out});
    int status = run(words);
    ASSERT_TRUE(status >= 0 && status <= 2) << "run " << n;
    ++statuses[status];
    if (status == 0)
      EXPECT_NO_THROW(readNpy(out)) << "run " << n;
    else
      EXPECT_NE(access(out.c_str(), F_OK), 0) << "run " << n;
  }
  testing::internal::GetCapturedStdout();
  // The mutations reach both sides of the checks.
  if (runs >= 500) {
    EXPECT_GT(statuses[0], runs / 50);
    EXPECT_GT(statuses[1], runs / 4);
  }
  std::string command = "rm -r '" + folder + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
}
