//===- sentence.cpp - who attends to whom in a sentence -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a kernel that the user typed and lets the characters of a sentence
// attend to each other. A value is the position it stands at, one-hot, so that
// a row of the result is the weights of its character.
//
//===----------------------------------------------------------------------===//

#include <attn/attn.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

static const char *const usage =
    R"(Usage: sentence KERNEL SENTENCE [NAME=NUMBER...]

Prints for each character of the SENTENCE the three that it attends to most. KERNEL is a
formula of the rows q and k and the positions i and j, as in a .attn file, or a whole spec,
'attention name(q, k, v; ...) { ... }'; its parameters are given as NAME=NUMBER. Rows are 16
numbers: equal letters have equal rows, but for their case.

Example: sentence 'exp(8 * dot(q, k) - abs(i - j) / 4); mask = i != j' 'she sells sea shells'
)";

/// The UTF-8 characters of a text.
static std::vector<std::string> charactersOf(const std::string &text) {
  std::vector<std::string> characters;
  for (char byte : text)
    if ((byte & 0xC0) != 0x80 || characters.empty())
      characters.emplace_back(1, byte);
    else
      characters.back() += byte;
  return characters;
}

/// A row of length 1 that depends on the letter, and a little on its case.
static void embed(std::string letter, float *row, int64_t length) {
  const bool isUpper = letter[0] >= 'A' && letter[0] <= 'Z';
  if (isUpper)
    letter[0] = static_cast<char>(letter[0] - 'A' + 'a');
  uint32_t state = 2166136261u; // FNV-1a, then a linear congruence
  for (unsigned char byte : letter)
    state = (state ^ byte) * 16777619u;
  double norm = 0;
  for (int64_t n = 0; n < length; ++n) {
    state = state * 1664525u + 1013904223u;
    row[n] = static_cast<float>(state >> 8) / (1 << 23) - 1;
    norm += row[n] * row[n];
  }
  for (int64_t n = 0; n < length; ++n)
    row[n] /= static_cast<float>(std::sqrt(norm));
  if (isUpper)
    row[0] += 0.1f;
}

/// A formula becomes a spec; a spec is one already.
static std::string specOf(const std::string &kernel) {
  const size_t begin = kernel.find_first_not_of(" \t\n");
  if (begin != std::string::npos &&
      kernel.compare(begin, 10, "attention ") == 0)
    return kernel;
  return "attention sentence(q, k, v) { kappa = " + kernel + " }";
}

static attn::Argument argumentOf(const std::string &text) {
  const size_t equals = text.find('=');
  char *end = nullptr;
  const double number = equals == std::string::npos
                            ? 0
                            : std::strtod(text.c_str() + equals + 1, &end);
  if (!end || *end || end == text.c_str() + equals + 1)
    throw std::runtime_error(text + ": NAME=NUMBER is expected");
  return {text.substr(0, equals), number};
}

static void print(const std::vector<std::string> &characters,
                  const std::vector<float> &weights) {
  const size_t count = characters.size();
  for (size_t i = 0; i < count; ++i) {
    const float *row = weights.data() + i * count;
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::fabs(row[a]) > std::fabs(row[b]);
    });
    order.resize(std::min<size_t>(count, 3));
    std::printf("%3zu '%s' <-", i, characters[i].c_str());
    for (size_t j : order)
      std::printf("  %3zu '%s' %.3f", j, characters[j].c_str(), row[j]);
    std::printf("\n");
  }
}

int main(int argc, char **argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (std::find(words.begin(), words.end(), "--help") != words.end()) {
    std::fputs(usage, stdout);
    return 0;
  }
  if (words.size() < 2) {
    std::fputs(usage, stderr);
    return 2;
  }
  try {
    const std::vector<std::string> characters = charactersOf(words[1]);
    const int64_t count = static_cast<int64_t>(characters.size()), length = 16;
    if (count == 0 || count > 256)
      throw std::runtime_error("a sentence has 1 to 256 characters");
    std::vector<float> rows(count * length), positions(count * count, 0.0f),
        weights(count * count);
    for (int64_t n = 0; n < count; ++n) {
      embed(characters[n], rows.data() + n * length, length);
      positions[n * count + n] = 1;
    }
    std::vector<attn::Argument> arguments = {
        {"q", {rows.data(), {count, length}}},
        {"k", {rows.data(), {count, length}}},
        {"v", {positions.data(), {count, count}}}};
    for (size_t n = 2; n < words.size(); ++n)
      arguments.push_back(argumentOf(words[n]));

    const attn::Kernel kernel =
        attn::Compiler().compile(specOf(words[0]), {}, "<kernel>");
    std::vector<attn::Output> outputs;
    std::vector<std::vector<float>> others; // mass, lse: not printed
    for (const std::string &result : kernel.results())
      if (result == "o") {
        outputs.push_back({result, {weights.data(), {count, count}}});
      } else {
        others.emplace_back(count);
        outputs.push_back({result, {others.back().data(), {count}}});
      }
    kernel(arguments, outputs);
    print(characters, weights);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
