//===- Words.cpp - the reserved words of the language ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/Words.h"

#include <algorithm>

using namespace attn;

namespace {

struct Word {
  std::string_view text;
  const char *meaning;
};

constexpr const char *kFunction = "a built-in function";
constexpr const char *kMask = "a mask";
constexpr const char *kStatement = "the word of a statement";
constexpr const char *kOperator = "an operator";

constexpr Word kWords[] = {
    {"i", "the position of the query"},
    {"j", "the position of the key"},
    {"head", "the query head"},
    {"kv_head", "the key/value head"},
    {"batch", "the batch"},
    {"nq", "the number of queries"},
    {"nk", "the number of keys"},
    {"dim", "the length of a row"},
    {"pi", "a constant"},
    {"inf", "a constant"},
    {"exp", kFunction},
    {"log", kFunction},
    {"sqrt", kFunction},
    {"abs", kFunction},
    {"min", kFunction},
    {"max", kFunction},
    {"tanh", kFunction},
    {"sigmoid", kFunction},
    {"softplus", kFunction},
    {"relu", kFunction},
    {"elu", kFunction},
    {"cos", kFunction},
    {"sin", kFunction},
    {"floor", kFunction},
    {"where", kFunction},
    {"dot", kFunction},
    {"sqdist", kFunction},
    {"unit", kFunction},
    {"rope", kFunction},
    {"concat", kFunction},
    {"outer", kFunction},
    {"power", kFunction},
    {"none", kMask},
    {"causal", kMask},
    {"strict_causal", kMask},
    {"window", kMask},
    {"prefix", kMask},
    {"document", kMask},
    {"attention", kStatement},
    {"kappa", kStatement},
    {"mask", kStatement},
    {"normalize", kStatement},
    {"features", kStatement},
    {"allow", kStatement},
    {"signed", kStatement},
    {"return", kStatement},
    {"and", kOperator},
    {"or", kOperator},
    {"not", kOperator},
};

} // namespace

const char *attn::reservedMeaning(std::string_view word) {
  for (const Word &entry : kWords)
    if (entry.text == word)
      return entry.meaning;
  return nullptr;
}

bool attn::isBuiltinFunction(std::string_view word) {
  return reservedMeaning(word) == kFunction || word == "window" ||
         word == "prefix" || word == "document";
}

const std::vector<std::string_view> &attn::valueWords() {
  static const std::vector<std::string_view> words = [] {
    std::vector<std::string_view> list;
    for (const Word &entry : kWords)
      if (entry.meaning != kStatement && entry.meaning != kOperator)
        list.push_back(entry.text);
    return list;
  }();
  return words;
}

/// Edit distance, given up above `limit`.
static size_t distance(std::string_view a, std::string_view b, size_t limit) {
  if (a.size() > b.size() + limit || b.size() > a.size() + limit)
    return limit + 1;
  std::vector<size_t> row(b.size() + 1);
  for (size_t n = 0; n <= b.size(); ++n)
    row[n] = n;
  for (size_t m = 1; m <= a.size(); ++m) {
    size_t diagonal = row[0];
    row[0] = m;
    for (size_t n = 1; n <= b.size(); ++n) {
      size_t change = diagonal + (a[m - 1] != b[n - 1]);
      diagonal = row[n];
      row[n] = std::min({change, row[n] + 1, row[n - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string attn::suggestion(std::string_view word,
                             const std::vector<std::string_view> &candidates) {
  // Names of one or two letters are all alike: guess nothing for them.
  if (word.size() < 3 || word.size() > 40)
    return {};
  size_t best = 1 + word.size() / 4;
  std::string_view found;
  for (std::string_view candidate : candidates) {
    size_t d = distance(word, candidate, best);
    if (d <= best && (found.empty() || d < best)) {
      best = d;
      found = candidate;
    }
  }
  return found.empty() ? std::string()
                       : "; did you mean '" + std::string(found) + "'?";
}
