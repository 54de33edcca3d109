//===- Conditions.cpp - what parameters must be for a property ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Conditions.h"

#include "lowering/analysis/Declarations.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace attn;

using Assumptions = ValueRangeAnalysis::Assumptions;

/// Signs that a declaration leaves open, weakest first.
static std::vector<std::pair<const char *, Interval>>
openSigns(const Interval &declared) {
  std::pair<const char *, Interval> all[] = {{">= 0", Interval::atLeast(0)},
                                             {"> 0", Interval::above(0)},
                                             {"<= 0", Interval::atMost(0)},
                                             {"< 0", Interval::below(0)}};
  std::vector<std::pair<const char *, Interval>> open;
  for (const auto &sign : all) {
    bool implied = sign.second.lo >= 0
                       ? (sign.second.loOpen ? declared.isPositive()
                                             : declared.isNonNegative())
                       : (sign.second.hiOpen ? declared.isNegative()
                                             : declared.isNonPositive());
    bool possible =
        sign.second.lo >= 0
            ? declared.hi > 0 ||
                  (declared.hi == 0 && !declared.hiOpen && !sign.second.loOpen)
            : declared.lo < 0 ||
                  (declared.lo == 0 && !declared.loOpen && !sign.second.hiOpen);
    if (!implied && possible)
      open.push_back(sign);
  }
  return open;
}

std::string
attn::findCondition(AttentionOp op,
                    llvm::function_ref<bool(const Assumptions &)> holds) {
  constexpr size_t most = 8;
  llvm::SetVector<Value> parameters;
  op.getKappa().walk(
      [&](memref::LoadOp load) { parameters.insert(load.getMemRef()); });
  auto nameOf = [](Value memory) {
    ArgAttr declaration = declarationOf(memory);
    return declaration ? declaration.getName().str() : std::string("?");
  };
  if (parameters.size() > most)
    return "";
  for (Value memory : parameters)
    for (auto &[text, range] :
         openSigns(declaredRange(declarationOf(memory)))) {
      Assumptions assumed;
      assumed.parameters[memory] = range;
      if (holds(assumed))
        return "yes if " + nameOf(memory) + " " + text;
    }
  if (parameters.size() < 2)
    return "";
  for (bool strict : {false, true}) {
    Assumptions assumed;
    std::string text;
    for (Value memory : parameters) {
      Interval declared = declaredRange(declarationOf(memory));
      if (strict ? declared.isPositive() : declared.isNonNegative())
        continue;
      if (declared.hi <= 0)
        continue;
      assumed.parameters[memory] =
          strict ? Interval::above(0) : Interval::atLeast(0);
      text += (text.empty() ? "yes if " : " and ") + nameOf(memory) +
              (strict ? " > 0" : " >= 0");
    }
    if (!text.empty() && holds(assumed))
      return text;
  }
  return "";
}
