//===- Facts.cpp - what a verb says, as text or as JSON -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Facts.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace attn;

std::string attn::quoteJson(const std::string &text) {
  std::string quoted = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    if (c < ' ')
      quoted += fmt::format("\\u{:04x}", c);
    else
      quoted += static_cast<char>(c);
  }
  return quoted + "\"";
}

std::string attn::quoteJson(const std::vector<std::string> &items) {
  std::string json;
  for (const std::string &item : items)
    json += (json.empty() ? "" : ", ") + quoteJson(item);
  return "[" + json + "]";
}

void Facts::addNumber(const std::string &name, double value,
                      const std::string &text) {
  facts.push_back({name, {text}, fmt::format("{:.15g}", value)});
}

void Facts::addList(const std::string &name,
                    const std::vector<std::string> &items) {
  facts.push_back(
      {name, {fmt::format("{}", fmt::join(items, ", "))}, quoteJson(items)});
}

void Facts::printText() const {
  for (const Fact &fact : facts) {
    std::string label = fact.name;
    std::replace(label.begin(), label.end(), '_', ' ');
    for (const std::string &line : fact.lines) {
      fmt::print("{:<14} {}\n", label, line);
      label.clear();
    }
  }
}

void Facts::printJson() const {
  std::string text;
  for (const Fact &fact : facts)
    if (!fact.json.empty())
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ",
                          quoteJson(fact.name), fact.json);
  fmt::print("{{{}}}\n", text);
}

std::string Facts::find(const std::string &name) const {
  for (const Fact &fact : facts)
    if (fact.name == name && !fact.lines.empty())
      return fact.lines.front();
  return {};
}
