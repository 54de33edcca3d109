//===- CHeaderWriter.h - a C header while it is written ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_CHEADERWRITER_H
#define ATTN_TOOLS_CHEADERWRITER_H

#include "CHeader.h"

#include <fmt/format.h>

#include <cctype>

namespace attn {

/// The text so far, and what it is about.
class CHeaderWriter {
public:
  CHeaderWriter(const runtime::AheadOfTime &kernel, const Facts &facts,
                const std::string &level, const std::string &file)
      : kernel(kernel), interface(kernel.interface), name(interface.name),
        facts(facts), level(level), file(file) {
    for (char c : name)
      upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  std::string write();

private:
  template <typename... Args>
  void line(fmt::format_string<Args...> text, Args &&...args) {
    out += fmt::format(text, std::forward<Args>(args)...) + "\n";
  }
  void comment(const std::string &text, const std::string &first = " * ",
               const std::string &rest = " * ", const std::string &last = "");
  /// A comment of its own before a declaration.
  void say(const std::string &text, const std::string &indent = "") {
    comment(text, indent + "/* ", indent + " * ", " */");
  }

  // The comment at the top.
  void introduction();
  void meaning();
  void example();
  void pool();

  // The declarations.
  void shared();
  void sizes();
  void member(const CField &f);
  void arguments();
  void functions();
  void choosing();
  /// Whether there is code for several levels.
  bool isFat() const { return kernel.levels.size() > 1; }

  const runtime::AheadOfTime &kernel;
  const CInterface &interface;
  const std::string &name;
  const Facts &facts;
  const std::string &level, &file;
  std::string upper, out;
};

} // namespace attn

#endif // ATTN_TOOLS_CHEADERWRITER_H
