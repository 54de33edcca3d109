//===- CHeaderIntroduction.cpp - the comment at the top of a C header -----===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the kernel computes, what is proven of it, and how it is called.
//
//===----------------------------------------------------------------------===//

#include "CHeaderWriter.h"

using namespace attn;

/// What is computed, as the compiler understood it, and what it proved.
void CHeaderWriter::meaning() {
  const std::string indent = " *     ", hanging = indent + std::string(12, ' ');
  auto fact = [&](const char *label, const std::string &text) {
    if (!text.empty())
      comment(text, indent + fmt::format("{:<9} = ", label), hanging);
  };
  std::string normalize = facts.find("normalize");
  line(" *");
  comment("For each query i, over the keys j that the mask lets it see:");
  line(" *");
  for (const char *role : {"q", "k", "v", "kappa", "mask", "normalize"})
    fact(role, facts.find(role));
  fact("o", normalize == "none"   ? "sum_j kappa v"
            : normalize == "mass" ? "(sum_j kappa v) / (sum_j kappa)"
                                  : "(sum_j kappa v) / (sum_j kappa, changed "
                                    "as normalize says)");
  line(" *");
  comment("What attnc proved of it, for all rows and for all parameters inside "
          "of their bounds:");
  line(" *");
  comment(fmt::format("{}; {}", facts.find("nonnegative"),
                      facts.find("sign_reason")),
          indent + "kappa >= 0: ", hanging);
  comment(
      fmt::format("{}; {}", facts.find("gauge"), facts.find("gauge_reason")),
      indent + "gauge:      ", hanging);
}

/// `{.data = q, .shape = {B, Hq, Nq, 64}}`.
static std::string initialiser(const CField &f) {
  if (f.scalar)
    return f.field;
  std::string shape = f.shapeText();
  return fmt::format("{{.data = {}, .shape = {{{}}}}}", f.field,
                     shape.substr(1, shape.size() - 2));
}

void CHeaderWriter::example() {
  line(" *");
  comment("On one thread (members that are not named are 0, which is \"not "
          "given\"; strides of 0 are those of a row-major array):");
  line(" *");
  line(" *     {}_args args = {{", name);
  for (const CField &f : interface.fields)
    if (!f.isOptional())
      line(" *       .{} = {},", f.field, initialiser(f));
  line(" *     }};");
  if (!interface.workspaces.empty()) {
    line(" *     int64_t bytes = {}_workspace(&args); // negative: -status",
         name);
    line(" *     args.workspace = bytes > 0 ? malloc((size_t)bytes) : NULL;");
    line(" *     args.workspace_size = bytes;");
  }
  line(" *     int status = {}(&args);", name);
  line(" *     if (status)");
  line(" *       fprintf(stderr, \"%s\\n\", {}_error(status));", name);
}

void CHeaderWriter::pool() {
  line(" *");
  comment("On threads of yours: stages one after the other, and the items of a "
          "stage by any ranges, in any order, on any threads:");
  line(" *");
  line(" *     {}_call call;", name);
  line(" *     int status = {}_prepare(&args, &call);", name);
  line(" *     for (int64_t s = 0; !status && s < {}_stages(&call); ++s) {{",
       name);
  line(" *       int64_t items = {}_items(&call, s);", name);
  line(" *       ... {}_range(&call, s, begin, end) for a partition of [0, "
       "items);",
       name);
  line(" *       wait for all of them;");
  line(" *     }}");
  line(" *");
  comment("A range that is begun before all items of the stages before it are "
          "done computes nothing and returns ATTN_ORDER.");
}

void CHeaderWriter::introduction() {
  line("/* {}: the attention kernel `{}`", file, interface.kernel);
  line(" *");
  std::string machine =
      isFat()
          ? fmt::format("There is code for each of the levels {}: the first "
                        "call asks the processor for the most capable one "
                        "that it and the system run, and calls stay with "
                        "it.",
                        level)
          : fmt::format("The code needs a machine of level {}, and does not "
                        "check that.",
                        level);
  comment(fmt::format("Written by attnc {}; do not edit. {} What attnc adds to "
                      "your spec is under the Apache License v2.0 with LLVM "
                      "Exceptions.",
                      ATTN_VERSION, machine));
  line(" * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception");
  meaning();
  line(" *");
  comment("B is the batch, Hq and Hk the query and the key/value heads (Hq a "
          "multiple of Hk: head h of the queries sees head h / (Hq / Hk) of "
          "the keys), Nq and Nk the numbers of queries and keys; all may be 0. "
          "An extent B, Hq or Hk of an input or a parameter may also be 1: the "
          "same for all. The lengths of rows are those that the kernel was "
          "compiled for. Strides count elements and may be 0 or negative; all "
          "0 stands for row-major, and the elements of a row are adjacent.");
  if (interface.isRecurrent) {
    line(" *");
    comment("Calls go on where the last one ended: q, k and v are the next N "
            "tokens of sequences whose tokens before are in `state`, one at a "
            "time or many, and the results are those of one call for all. In a "
            "state the last row begins with the number of tokens, modulo 2^20 "
            "and divided by it.");
  }
  example();
  pool();
  line(" *");
  comment(fmt::format("Every function may be called from many threads at once. "
                      "A thread needs about {} KiB of stack. The "
                      "floating-point mode is set for the computation and "
                      "restored; memory is neither allocated nor kept.",
                      (kernel.stackBytes + 1023) / 1024 + 8));
  line(" */");
}
