//===- Explain.cpp - attnc explain ----------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExplainProofs.h"
#include "Facts.h"
#include "Kernels.h"
#include "LevelOption.h"
#include "Meaning.h"
#include "Problem.h"
#include "Progress.h"
#include "ScheduleOption.h"
#include "Visibility.h"
#include "runtime/Compile.h"
#include "runtime/Import.h"
#include "runtime/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <fmt/format.h>
#include <fstream>
#include <sstream>

using namespace attn;
using namespace attn::runtime;

namespace {
struct ExplainOptions {
  std::string spec, specName, format = "text";
  SizeOptions sizes;
  Options options;
};

} // namespace

/// Work and memory of one call.
static void addCosts(Facts &facts, const Kernel &kernel,
                     const ProblemShape &shape,
                     const std::map<std::string, int64_t> &sizes,
                     double workspaceRow) {
  const Signature &signature = kernel.getImpl().signature;
  Recipe recipe;
  recipe.shape = fitShape(shape, signature);
  recipe.sizes = sizes;
  recipe.plainParameters = true;
  Problem problem = makeProblem(signature, recipe);
  std::vector<Argument> arguments = problem.arguments();
  Progress progress;
  double pairs = Visibility(kernel, arguments).count([&](double fraction) {
    progress.show(
        fmt::format("counting visible pairs, {:.0f}%", 100 * fraction));
  });
  progress.clear();
  const ProblemShape &s = recipe.shape;
  double bytes = 0;
  for (const NamedArray &named : problem.arrays)
    bytes += named.array.bytes.size();
  for (const auto &extents : kernel.getImpl().shapesOf(arguments)) {
    double count = 4;
    for (int64_t extent : extents)
      count *= extent;
    bytes += count;
  }
  facts.add("shape", s.toString());
  facts.addNumber("pairs", pairs,
                  fmt::format("{:.0f} visible of {:.0f}", pairs,
                              double(s.B) * s.Hq * s.Nq * s.Nk));
  facts.addNumber("flops", 2 * pairs * (s.D + s.Dv),
                  fmt::format("{:.4g} GFLOP: 2 (D + Dv) a visible pair",
                              2e-9 * pairs * (s.D + s.Dv)));
  facts.addNumber(
      "bytes", bytes,
      fmt::format("{:.4g} MiB read and written", bytes / (1 << 20)));
  double pair = 4.0 * s.Nk * workspaceRow, all = pair * s.B * s.Hk;
  double workspace = all <= kWorkspaceLimit ? all : pair;
  facts.addNumber(
      "workspace", workspace,
      workspace == 0
          ? "none but the tiles"
          : fmt::format("{:.4g} MiB of mapped rows, beside the tiles",
                        workspace / (1 << 20)));
}

/// The kernel, and why it is refused, if it is: a kernel that may be negative
/// is explained all the same.
static Kernel open(const ExplainOptions &given, std::string &refusal) {
  try {
    return Compiler(given.options).compileFile(given.spec, given.specName);
  } catch (const Error &error) {
    refusal = error.what();
  }
  std::ifstream stream(given.spec, std::ios::binary);
  std::ostringstream text;
  if (stream)
    text << stream.rdbuf();
  if (text.str().empty())
    throw Error(refusal);
  return Kernel(std::make_shared<Kernel::Impl>(
      Compilation::parse(text.str(), given.specName, given.spec, nullptr,
                         /*acceptSigned=*/true),
      given.options));
}

/// A plan is not all: a kernel whose integers no lane holds is refused on the
/// way to machine code. Others are spared the time.
static void addCompiles(Facts &facts, Compilation &compilation,
                        mlir::ModuleOp plain, mlir::ModuleOp scheduled) {
  bool integers = false;
  plain->walk([&](mlir::Operation *op) {
    integers |= mlir::isa<mlir::arith::AddIOp, mlir::arith::SubIOp,
                          mlir::arith::MulIOp, mlir::arith::FPToSIOp>(op);
  });
  if (!integers)
    return;
  try {
    compilation.lower(scheduled);
    facts.addJson("compiles", "true");
  } catch (const Error &error) {
    std::vector<std::string> lines = {
        "no: this kernel does not run on the CPU"};
    addLines(lines, error.what());
    facts.add("compiles", lines, "false");
  }
}

/// The length of a row that o_i is made from; D where it is not known.
static int64_t lengthOr(RowType row, int64_t otherwise) {
  return row && row.hasStaticLength() ? row.getLength() : otherwise;
}

static int run(const ExplainOptions &given) {
  if (given.format != "text" && given.format != "json")
    throw UsageError(
        fmt::format("--format {}: 'text' or 'json' is expected", given.format));
  std::string refusal;
  Kernel kernel = open(given, refusal);
  Kernel::Impl &impl = kernel.getImpl();
  StaticSizes sizes = staticSizes(impl.signature, given.sizes)
                          .value_or(defaultSizes(impl.signature));
  Facts facts;
  double workspaceRow = 0;
  {
    Compilation &compilation = *impl.compilation;
    auto guard = compilation.lock();
    mlir::OwningOpRef<mlir::ModuleOp> plain =
        compilation.specialisedModule(sizes);
    ProblemShape shape =
        given.sizes.shape ? parseShape(*given.sizes.shape) : ProblemShape();
    shape = fitShape(shape, impl.signature);
    plain->walk([&](AttentionOp op) {
      addMeaning(facts, impl.signature, op);
      shape.D = lengthOr(op.getMappedRow(0), shape.D);
      shape.Dv = lengthOr(op.getMappedRow(2), shape.Dv);
    });
    Explanation explanation = compilation.explain(sizes);
    addApproximation(facts, explanation);
    addProofs(facts, explanation);
    bool max =
        explanation.proofs.of(Property::NeedsMax).verdict == Verdict::Yes;
    facts.add("gauge", max ? "running maximum of the exponent" : "none");
    mlir::OwningOpRef<mlir::ModuleOp> scheduled;
    OrderPlan plan;
    if (refusal.empty()) {
      scheduled = compilation.schedule(sizes, impl.getLevel());
      plan = planOf(*scheduled);
    }
    addOrders(facts, explanation, shape, refusal, plan);
    if (scheduled)
      addPlan(facts, *scheduled);
    mlir::func::FuncOp function =
        attentionFunction(scheduled ? *scheduled : *plain);
    for (unsigned n = 0; n < function.getNumArguments(); ++n) {
      auto argument = function.getArgAttrOfType<ArgAttr>(n, kArgAttrName);
      if (!argument || argument.getKind() != ArgKind::Workspace)
        continue;
      auto type = llvm::cast<mlir::MemRefType>(function.getArgumentTypes()[n]);
      workspaceRow += type.getRank() == 4 ? type.getDimSize(3) : 1;
    }
    if (scheduled)
      addCompiles(facts, compilation, *plain, *scheduled);
  }
  std::vector<std::string> specialised;
  for (const auto *list : {&sizes.rows, &sizes.variables})
    for (const auto &[name, size] : *list)
      specialised.push_back(list == &sizes.rows
                                ? fmt::format("rows of {}: {}", name, size)
                                : fmt::format("{} = {}", name, size));
  facts.addList("sizes", specialised);
  if (given.sizes.shape)
    addCosts(facts, kernel, parseShape(*given.sizes.shape),
             std::map<std::string, int64_t>(sizes.variables.begin(),
                                            sizes.variables.end()),
             workspaceRow);
  given.format == "json" ? facts.printJson() : facts.printText();
  return 0;
}

void attn::addExplain(CLI::App &app, Action &action) {
  CLI::App *verb = app.add_subcommand(
      "explain", "Say what a kernel is, with proofs, and what it costs");
  auto given = std::make_shared<ExplainOptions>();
  verb->add_option("SPEC", given->spec, "a .attn or .mlir file")->required();
  addSizeOptions(*verb, given->sizes);
  verb->add_option("--format", given->format, "text or json")
      ->capture_default_str();
  addLevelOption(*verb, given->options.level);
  addScheduleOption(*verb, given->options.schedule);
  verb->add_option("--spec-name", given->specName,
                   "the spec, where the file holds several");
  verb->footer(
      "Properties are yes, no or unproven, with the proof, the counterexample "
      "or the obstacle; a\n"
      "condition says for which parameters the answer would be yes. With "
      "--shape also what a call\n"
      "costs: visible pairs, operations, bytes, workspace.\n\nExample:\n"
      "  attnc explain examples/yat.attn --shape 1,8,8,2048,2048,64,64");
  verb->callback(
      [given, &action] { action = [given] { return run(*given); }; });
}
