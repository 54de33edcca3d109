//===- Meaning.cpp - what a spec says, and what was made of it ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Meaning.h"
#include "Formula.h"
#include "Problem.h"

#include <fmt/format.h>

using namespace attn;
using namespace attn::runtime;

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

void attn::addPlan(Facts &facts, mlir::ModuleOp module) {
  module.walk([&](mlir::Operation *op) {
    auto schedule = op->getAttrOfType<ScheduleAttr>("schedule");
    if (!schedule)
      return;
    std::string prefix =
        schedule.getOrder() == Order::Quadratic ? "" : "linear_";
    facts.addNumber(prefix + "tile_q", schedule.getTileQ(),
                    fmt::format("{} queries", schedule.getTileQ()));
    facts.addNumber(prefix + "tile_k", schedule.getTileK(),
                    fmt::format("{} keys", schedule.getTileK()));
  });
  if (auto target = module->getAttrOfType<TargetAttr>(kTargetAttrName))
    facts.add("target",
              fmt::format("{} {}, {} lanes", target.getKind().str(),
                          target.getLevel().str(), target.getLanes()));
}

OrderPlan attn::planOf(mlir::ModuleOp module) {
  OrderPlan plan;
  module.walk([&](mlir::Operation *op) {
    auto schedule = op->getAttrOfType<ScheduleAttr>("schedule");
    if (!schedule)
      return;
    (schedule.getOrder() == Order::Quadratic ? plan.quadratic : plan.linear) =
        true;
    plan.recurrent |= schedule.getOrder() == Order::Recurrent;
    if (auto linear = llvm::dyn_cast<LinearOp>(op))
      plan.linearRow = linear.getLicence()->getRank() *
                       (linear.getMappedRow(2).getLength() + 1);
    plan.pairCost = schedule.getPairCost();
    plan.rowCost = schedule.getRowCost();
    if (auto licence = op->getAttrOfType<LicenceAttr>("licence"))
      if (mlir::StringAttr reason = licence.getLinearReason())
        plan.refusal = reason.str();
  });
  return plan;
}

void attn::addLicence(Facts &facts, LicenceAttr licence) {
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
