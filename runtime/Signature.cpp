//===- Signature.cpp - what a kernel is called with -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Signature.h"
#include "dialect/attn/FewQueries.h"
#include "runtime/Arrays.h"

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <map>

using namespace attn;
using namespace attn::runtime;

static std::string toString(const Edge &edge) {
  return (edge.negated ? "-" : "") +
         (edge.name.empty() ? std::to_string(edge.number) : edge.name);
}

std::string Axis::toString() const {
  switch (kind) {
  case Head:
    return "head";
  case KvHead:
    return "kv_head";
  case Batch:
    return "batch";
  case Named:
    return name;
  case Table:
    return ::toString(low) + ":" + ::toString(high);
  }
  return name;
}

static bool isName(const std::string &text) {
  if (text.empty() || !std::isalpha(static_cast<unsigned char>(text[0])))
    return false;
  for (unsigned char c : text)
    if (!std::isalnum(c) && c != '_')
      return false;
  return true;
}

static bool parseEdge(std::string text, Edge &edge) {
  edge = Edge();
  if (!text.empty() && text[0] == '-') {
    edge.negated = true;
    text.erase(0, 1);
  }
  if (isName(text)) {
    edge.name = text;
    return true;
  }
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos)
    return false;
  errno = 0;
  edge.number = std::strtoll(text.c_str(), nullptr, 10);
  return errno == 0;
}

bool runtime::parseAxis(const std::string &text, Axis &axis) {
  axis = Axis();
  size_t colon = text.find(':');
  if (colon != std::string::npos) {
    axis.kind = Axis::Table;
    return parseEdge(text.substr(0, colon), axis.low) &&
           parseEdge(text.substr(colon + 1), axis.high);
  }
  axis.kind = text == "head"      ? Axis::Head
              : text == "kv_head" ? Axis::KvHead
              : text == "batch"   ? Axis::Batch
                                  : Axis::Named;
  axis.name = text;
  return isName(text);
}

std::string runtime::toText(const StaticSizes &sizes) {
  std::string text;
  for (const auto *list : {&sizes.rows, &sizes.variables})
    for (const auto &[name, extent] : *list)
      text += (text.empty() ? "" : " ") + name + "=" + std::to_string(extent);
  for (const auto &[name, type] : sizes.types)
    text += " " + name + ":" + nameOf(type);
  StaticSizes open;
  if (sizes.fewestQueries != open.fewestQueries ||
      sizes.mostQueries != open.mostQueries)
    text += " queries " + std::to_string(sizes.fewestQueries) + ".." +
            (sizes.mostQueries == open.mostQueries
                 ? ""
                 : std::to_string(sizes.mostQueries));
  return text;
}

StaticSizes runtime::defaultSizes(const Signature &signature) {
  std::map<std::string, int64_t> rows, variables;
  auto see = [&](const std::string &name) {
    if (!name.empty() && name != "nq" && name != "nk")
      variables[name] = 64;
  };
  for (const Formal &formal : signature.formals) {
    if (formal.kind <= FormalKind::Value)
      rows[formal.name] = 64;
    for (const Axis &axis : formal.axes) {
      if (axis.kind == Axis::Named)
        see(axis.name);
      see(axis.low.name);
      see(axis.high.name);
    }
  }
  return {{rows.begin(), rows.end()},
          {variables.begin(), variables.end()},
          {},
          /*fewestQueries=*/kFewQueries + 1};
}
