//===- ExplainProofs.cpp - proofs and costs of both orders ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExplainProofs.h"
#include "lowering/analysis/LinearLicence.h"

#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace attn;
using runtime::Explanation;

void attn::addLines(std::vector<std::string> &lines, const std::string &text,
                    const char *indent) {
  for (size_t start = 0; start < text.size();) {
    size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(indent + text.substr(start, end - start));
    start = end + 1;
  }
}

/// The text broken into lines at spaces.
static void addWrapped(std::vector<std::string> &lines, const std::string &text,
                       const std::string &first) {
  constexpr size_t width = 88;
  std::string line = first;
  size_t start = 0;
  while (start < text.size()) {
    size_t space = text.find(' ', start);
    std::string word = text.substr(start, space - start);
    if (line.size() + word.size() > width && line.size() > first.size()) {
      line.pop_back();
      lines.push_back(line);
      line = std::string(first.size(), ' ');
    }
    line += word + " ";
    start = space == std::string::npos ? text.size() : space + 1;
  }
  line.pop_back();
  lines.push_back(line);
}

/// One channel of the map in words: `2*b * q` for degree 1.
static std::string blockText(const KernelProofs &proofs, const BlockText &block,
                             bool query) {
  const std::string &scalar = query ? block.query : block.key;
  std::string rows;
  for (size_t t = 0; t < block.degrees.size(); ++t) {
    if (block.degrees[t] == 0)
      continue;
    const std::string &row =
        query ? proofs.rows[t].first : proofs.rows[t].second;
    std::string power =
        block.degrees[t] == 1
            ? row
            : fmt::format("power({}, {})", row, block.degrees[t]);
    rows = rows.empty() ? power : fmt::format("outer({}, {})", rows, power);
  }
  if (rows.empty())
    return scalar;
  if (scalar == "1")
    return rows;
  bool sum = scalar.find(' ') != std::string::npos;
  return (sum ? "(" + scalar + ")" : scalar) + "*" + rows;
}

/// Whether there is a map and its channels are known: none for kappa = 0.
static bool isCounted(const KernelProofs &proofs) {
  const auto &map = proofs.separable.map;
  return map && (map->rank > 0 || map->blocks.empty());
}

static void addFeatures(Facts &facts, const KernelProofs &proofs) {
  const FeatureMap &map = *proofs.separable.map;
  bool counted = isCounted(proofs);
  facts.add("rank",
            {fmt::format("{} channels: {}",
                         counted ? std::to_string(map.rank) : "unknown",
                         map.formula)},
            counted ? std::to_string(map.rank) : "null");
  facts.addJson("rank_formula", quoteJson(map.formula));
  std::vector<std::string> lines;
  constexpr size_t most = 12;
  for (const BlockText &block : proofs.blocks) {
    if (lines.size() == most) {
      lines.push_back(
          fmt::format("... and {} more", proofs.blocks.size() - most));
      break;
    }
    std::string query = blockText(proofs, block, true),
                key = blockText(proofs, block, false);
    lines.push_back(fmt::format(
        "{}{}", query == key ? query : query + "  against  " + key,
        block.channels > 0 ? fmt::format("   ({} channels)", block.channels)
                           : ""));
  }
  if (!lines.empty())
    lines.front() = "laid end to end: " + lines.front();
  if (!proofs.decay.empty())
    lines.push_back(
        fmt::format("times exp(e(i) - e(j)), e(i) = {}", proofs.decay));
  facts.addText("features", lines);
}

void attn::addApproximation(Facts &facts, const Explanation &explanation) {
  if (!explanation.features) {
    facts.addJson("approximation", "null");
    return;
  }
  const FeatureReport &report = *explanation.features;
  std::vector<std::string> lines = {report.asked};
  addWrapped(lines, report.formula, "kappa becomes ");
  addWrapped(lines, report.source, "- ");
  if (report.channels > 0)
    lines.push_back(fmt::format("- {:.0f} channels", report.channels));
  addWrapped(lines,
             (std::isnan(report.error)
                  ? std::string("expected relative error of kappa: ")
                  : fmt::format("expected relative error of kappa {:.3g}: ",
                                report.error)) +
                 report.condition,
             "- ");
  if (!report.warning.empty())
    addWrapped(lines, report.warning, "- warning: ");
  lines.push_back("- what follows is proven of the approximation");
  auto number = [](double x, bool known) {
    return known && std::isfinite(x) ? fmt::format("{:.15g}", x)
                                     : std::string("null");
  };
  facts.add(
      "approximation", lines,
      fmt::format("{{\"features\": {}, \"formula\": {}, \"source\": {}, "
                  "\"channels\": {}, \"expected_relative_error\": {}, "
                  "\"condition\": {}, \"warning\": {}}}",
                  quoteJson(report.asked), quoteJson(report.formula),
                  quoteJson(report.source),
                  number(report.channels, report.channels > 0),
                  number(report.error, true), quoteJson(report.condition),
                  report.warning.empty() ? "null" : quoteJson(report.warning)));
}

void attn::addProofs(Facts &facts, const Explanation &explanation) {
  const KernelProofs &proofs = explanation.proofs;
  std::string conditions, reasons;
  for (size_t n = 0; n < proofs.proofs.size(); ++n) {
    const Proof &proof = proofs.proofs[n];
    std::string name = stringifyProperty(proof.property).str();
    std::string verdict = stringifyVerdict(proof.verdict).str();
    std::vector<std::string> lines = {
        verdict + (proof.condition.empty() ? "" : "; " + proof.condition)};
    for (const std::string &reason : proof.reasons)
      addWrapped(lines, reason, "- ");
    // The culprit, underlined.
    const std::string &excerpt = explanation.excerpts[n];
    addLines(lines, excerpt, "    ");
    facts.add(name, lines, quoteJson(verdict));
    auto append = [&](std::string &list, const std::string &json) {
      list += (list.empty() ? "" : ", ") + quoteJson(name) + ": " + json;
    };
    if (!proof.condition.empty())
      append(conditions, quoteJson(proof.condition));
    append(reasons, quoteJson(proof.reasons));
  }
  facts.addJson("conditions", "{" + conditions + "}");
  facts.addJson("reasons", "{" + reasons + "}");
  if (!proofs.undefined.empty())
    facts.add("defined",
              {"unproven: the proofs hold where it is; " +
               fmt::format("{}", fmt::join(proofs.undefined, "; "))},
              quoteJson(std::string("unproven")));
  if (proofs.separable.map)
    addFeatures(facts, proofs);
  else
    facts.addJson("rank", "null");
  std::vector<std::string> lines = {
      proofs.masks.legal.empty()
          ? "none is legal for the linear order"
          : fmt::format("{}", fmt::join(proofs.masks.legal, ", "))};
  if (!proofs.masks.refusal.empty())
    addWrapped(lines, proofs.masks.refusal, "- ");
  if (proofs.mask.legal && !proofs.mask.reason.empty())
    addWrapped(lines, proofs.mask.reason, "- ");
  facts.add("linear_masks", lines, quoteJson(proofs.masks.legal));
}

static std::string amount(double bytes) {
  return bytes < 1 << 20 ? fmt::format("{:.4g} KiB", bytes / (1 << 10))
                         : fmt::format("{:.4g} MiB", bytes / (1 << 20));
}

/// Whether calls may go on from a state, and what that is.
static void addRecurrent(Facts &facts, const Explanation &explanation,
                         int64_t width) {
  AttentionOp op;
  explanation.module.get().walk([&](AttentionOp found) { op = found; });
  LinearLicence licence = licenseLinear(op);
  if (licence.scan != LinearScan::Refused)
    licence.reason = refuseRecurrent(op, licence.scan).reason;
  bool may = licence.reason.empty();
  std::vector<std::string> lines = {may ? "yes" : "no"};
  addWrapped(lines,
             may ? fmt::format("--schedule=recurrent: a call goes on from a "
                               "state of f32 [{}, {} or more] a head",
                               stateRows(width), licence.rank)
                 : licence.reason,
             "- ");
  facts.add("recurrent", lines, quoteJson(lines[0]));
}

void attn::addOrders(Facts &facts, const Explanation &explanation,
                     const ProblemShape &s, const std::string &refusal,
                     const OrderPlan &plan) {
  const KernelProofs &proofs = explanation.proofs;
  double heads = static_cast<double>(s.B) * static_cast<double>(s.Hq);
  double keyHeads = static_cast<double>(s.B) * static_cast<double>(s.Hk);
  auto Nq = static_cast<double>(s.Nq), Nk = static_cast<double>(s.Nk),
       D = static_cast<double>(s.D), Dv = static_cast<double>(s.Dv);
  double bytes = 4 * (heads * Nq * (D + Dv) + keyHeads * Nk * (D + Dv));
  bool gauge = proofs.of(Property::NeedsMax).verdict == Verdict::Yes;
  auto add = [&](const char *name, double flops, double state,
                 const char *stateOf) {
    facts.add(
        name,
        {fmt::format("{:.4g} GFLOP, {} of q, k, v and o, state {} {}",
                     1e-9 * flops, amount(bytes), amount(state), stateOf)},
        fmt::format("{{\"flops\": {:.15g}, \"bytes\": {:.15g}, "
                    "\"state_bytes\": {:.15g}}}",
                    flops, bytes, state));
  };
  facts.addText("costs at", {s.toString() +
                             ", B,Hq,Hk,Nq,Nk,D,Dv with D and Dv as they stand "
                             "in kappa"});
  double quadratic = 2 * heads * Nq * Nk * (D + Dv);
  add("quadratic", quadratic, 4 * (Dv + 1 + (gauge ? 1 : 0)), "a query");
  bool counted = isCounted(proofs);
  double linear = 0, cross = 0;
  if (counted) {
    auto rank = static_cast<double>(proofs.separable.map->rank);
    linear = 2 * heads * (Nq + Nk) * rank * (Dv + 1);
    add("linear", linear, 4 * rank * (Dv + 1), "a head");
    // 2 N^2 (D + Dv) = 4 N R (Dv + 1)
    cross = std::ceil(2 * rank * (Dv + 1) / (D + Dv));
    facts.addNumber(
        "crossover", cross,
        fmt::format("N = {:.0f}: from there on the linear order takes fewer "
                    "operations",
                    cross));
  } else {
    facts.add("linear",
              {proofs.separable.map ? "of unknown rank" : "not separable"},
              "null");
    facts.addJson("crossover", "null");
  }
  if (!refusal.empty()) {
    std::vector<std::string> lines = {"none: this kernel is refused"};
    addLines(lines, refusal);
    facts.add("schedule", lines, quoteJson(std::string("none")));
    return;
  }
  auto pair = static_cast<double>(plan.pairCost),
       row = static_cast<double>(plan.rowCost);
  bool chosen =
      plan.linear && (!plan.quadratic || pair * Nq * Nk > row * (Nq + Nk));
  std::string order = plan.recurrent ? "recurrent"
                      : chosen       ? "linear"
                                     : "quadratic";
  std::vector<std::string> lines = {order};
  if (plan.linear && plan.quadratic)
    addWrapped(lines,
               fmt::format("both are built, and a sequence takes the linear "
                           "order where {:.0f} nq nk > {:.0f} (nq + nk): from "
                           "N = {:.0f} on where nq = nk = N",
                           pair, row, std::floor(2 * row / pair) + 1),
               "- ");
  else if (!plan.linear && !plan.refusal.empty())
    addWrapped(lines, "the linear order is not legal here: " + plan.refusal,
               "- ");
  else
    lines.push_back("- asked for");
  facts.add("schedule", lines, quoteJson(order));
  addRecurrent(facts, explanation, s.Dv);
}
