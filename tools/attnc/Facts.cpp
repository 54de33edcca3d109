//===- Facts.cpp - what the compiler says of a kernel ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Facts.h"
#include "Formula.h"
#include "Problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

using namespace attn;
using namespace attn::runtime;

//===----------------------------------------------------------------------===//
// Lists of facts
//===----------------------------------------------------------------------===//

static std::string quote(const std::string &text) {
  std::string quoted = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    if (c < ' ')
      quoted += fmt::format("\\u{:04x}", c);
    else
      quoted += c;
  }
  return quoted + "\"";
}

void Facts::add(const std::string &name, const std::string &text) {
  facts.push_back({name, text, quote(text)});
}

void Facts::addNumber(const std::string &name, double value,
                      const std::string &text) {
  facts.push_back({name, text, fmt::format("{:.15g}", value)});
}

void Facts::addList(const std::string &name,
                    const std::vector<std::string> &items) {
  std::string json;
  for (const std::string &item : items)
    json += (json.empty() ? "" : ", ") + quote(item);
  facts.push_back(
      {name, fmt::format("{}", fmt::join(items, ", ")), "[" + json + "]"});
}

void Facts::printText() const {
  for (const Fact &fact : facts) {
    std::string label = fact.name;
    std::replace(label.begin(), label.end(), '_', ' ');
    fmt::print("{:<14} {}\n", label, fact.text);
  }
}

void Facts::printJson() const {
  std::string text;
  for (const Fact &fact : facts)
    text += fmt::format("{}\"{}\": {}", text.empty() ? "" : ", ", fact.name,
                        fact.json);
  fmt::print("{{{}}}\n", text);
}

std::string Facts::find(const std::string &name) const {
  for (const Fact &fact : facts)
    if (fact.name == name)
      return fact.text;
  return {};
}

//===----------------------------------------------------------------------===//
// Of a kernel
//===----------------------------------------------------------------------===//

/// A parameter as it was declared.
static std::string declarationOf(const Formal &formal) {
  std::string axes;
  for (const Axis &axis : formal.axes)
    axes += (axes.empty() ? "[" : ", ") + axis.toString();
  return formal.name + axes + (axes.empty() ? "" : "]") +
         (formal.integer ? ": int" : "") +
         (formal.relop.empty()
              ? ""
              : fmt::format(" {} {:g}", formal.relop, formal.bound));
}

void attn::addMeaning(Facts &facts, const Signature &signature,
                      AttentionOp op) {
  InputRoles roles = rolesOf(signature);
  facts.add("kernel", signature.name);
  std::vector<std::string> inputs = {roles.query}, parameters, results;
  if (roles.key != roles.query)
    inputs.push_back(roles.key);
  if (roles.value != roles.query && roles.value != roles.key)
    inputs.push_back(roles.value);
  for (const Formal &formal : signature.formals)
    if (formal.kind == FormalKind::Param)
      parameters.push_back(declarationOf(formal));
  facts.addList("inputs", inputs);
  if (!parameters.empty())
    facts.addList("parameters", parameters);
  mlir::Region *maps[] = {&op.getQueryMap(), &op.getKeyMap(),
                          &op.getValueMap()};
  const std::string *names[] = {&roles.query, &roles.key, &roles.value};
  const char *letters[] = {"q", "k", "v"};
  for (int role = 0; role < 3; ++role)
    if (!maps[role]->empty())
      facts.add(letters[role], formulaOf(*maps[role], 0, {*names[role]}));
    else if (*names[role] != letters[role])
      facts.add(letters[role], *names[role]);
  facts.add("kappa", formulaOf(op.getKappa(), 0, {"q", "k"}));
  facts.add("mask",
            op.getMask().empty() ? "none" : formulaOf(op.getMask(), 0, {}));
  std::string normalize = stringifyNormalize(op.getNormalize()).str(), terms;
  if (op.getTerms())
    for (auto [n, term] : llvm::enumerate(*op.getTerms()))
      terms += fmt::format("{}{} = {}", terms.empty() ? "" : ", ",
                           stringifyNormalizerTerm(
                               llvm::cast<NormalizerTermAttr>(term).getValue())
                               .str(),
                           formulaOf(op.getNormalizer(), n, {}));
  facts.add("normalize",
            terms.empty() ? normalize : normalize + "(" + terms + ")");
  facts.addList("returns", signature.results);
}

void attn::addPlan(Facts &facts, QuadraticOp op, mlir::ModuleOp module) {
  if (LicenceAttr licence = *op.getLicence()) {
    auto reason = [](mlir::StringAttr text) {
      return text ? text.str() : std::string();
    };
    facts.add("nonnegative", stringifyVerdict(licence.getNonnegative()).str());
    facts.add("sign_reason", reason(licence.getSignReason()));
    facts.add("gauge", stringifyGauge(licence.getGauge()) == "max"
                           ? "running maximum of the exponent"
                           : "none");
    facts.add("gauge_reason", reason(licence.getGaugeReason()));
  }
  if (ScheduleAttr schedule = *op.getSchedule()) {
    facts.add("schedule", stringifyOrder(schedule.getOrder()).str());
    facts.addNumber("tile_q", schedule.getTileQ(),
                    fmt::format("{} queries", schedule.getTileQ()));
    facts.addNumber("tile_k", schedule.getTileK(),
                    fmt::format("{} keys", schedule.getTileK()));
  }
  if (auto target = module->getAttrOfType<TargetAttr>(kTargetAttrName))
    facts.add("target",
              fmt::format("{} {}, {} lanes", target.getKind().str(),
                          target.getLevel().str(), target.getLanes()));
}
