//===- Facts.h - what a verb says, as text or as JSON -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_FACTS_H
#define ATTN_TOOLS_FACTS_H

#include <optional>
#include <string>
#include <vector>

namespace attn {

/// A string as JSON has it.
std::string quoteJson(const std::string &text);
std::string quoteJson(const std::vector<std::string> &items);

/// What is said, in order: a name, its value as lines of text, and as JSON.
class Facts {
public:
  void add(const std::string &name, const std::string &text) {
    facts.push_back({name, {text}, quoteJson(text)});
  }
  void addNumber(const std::string &name, double value,
                 const std::string &text);
  void addList(const std::string &name, const std::vector<std::string> &items);
  /// Lines for people only, or JSON for programs only.
  void addText(const std::string &name, std::vector<std::string> lines) {
    facts.push_back({name, std::move(lines), ""});
  }
  void addJson(const std::string &name, const std::string &json) {
    facts.push_back({name, {}, json});
  }
  /// Both, where they differ.
  void add(const std::string &name, std::vector<std::string> lines,
           const std::string &json) {
    facts.push_back({name, std::move(lines), json});
  }
  void printText() const;
  void printJson() const;
  /// The first line of a fact, or nothing.
  std::string find(const std::string &name) const;

private:
  struct Fact {
    std::string name;
    std::vector<std::string> lines;
    std::string json;
  };
  std::vector<Fact> facts;
};

} // namespace attn

#endif // ATTN_TOOLS_FACTS_H
