//===- Explain.cpp - attnc explain ----------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Formula.h"
#include "Kernels.h"
#include "LevelOption.h"
#include "Problem.h"
#include "Progress.h"
#include "Visibility.h"
#include "runtime/Compile.h"
#include "runtime/Import.h"
#include "runtime/Kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace attn;
using namespace attn::runtime;

namespace {
struct ExplainOptions {
  std::string spec, specName, format = "text";
  SizeOptions sizes;
  Options options;
};

/// What is said, in order: a name, its value as text, and as JSON where that
/// differs.
struct Fact {
  std::string name, text, json;
};

class Facts {
public:
  void add(const std::string &name, const std::string &text) {
    facts.push_back({name, text, quote(text)});
  }
  void addNumber(const std::string &name, double value,
                 const std::string &text) {
    facts.push_back({name, text, fmt::format("{:.15g}", value)});
  }
  void addList(const std::string &name, const std::vector<std::string> &items) {
    std::string json;
    for (const std::string &item : items)
      json += (json.empty() ? "" : ", ") + quote(item);
    facts.push_back(
        {name, fmt::format("{}", fmt::join(items, ", ")), "[" + json + "]"});
  }
  void printText() const {
    for (const Fact &fact : facts) {
      std::string label = fact.name;
      std::replace(label.begin(), label.end(), '_', ' ');
      fmt::print("{:<14} {}\n", label, fact.text);
    }
  }
  void printJson() const {
    std::string text;
    for (const Fact &fact : facts)
      text += fmt::format("{}\"{}\": {}", text.empty() ? "" : ", ", fact.name,
                          fact.json);
    fmt::print("{{{}}}\n", text);
  }

private:
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
  std::vector<Fact> facts;
};
} // namespace

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

/// What the spec says, as the importer understood it.
static void addMeaning(Facts &facts, const Signature &signature,
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

/// What was proven and decided.
static void addPlan(Facts &facts, QuadraticOp op, mlir::ModuleOp module) {
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

static int run(const ExplainOptions &given) {
  if (given.format != "text" && given.format != "json")
    throw UsageError(
        fmt::format("--format {}: 'text' or 'json' is expected", given.format));
  Kernel kernel =
      Compiler(given.options).compileFile(given.spec, given.specName);
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
    plain->walk([&](AttentionOp op) { addMeaning(facts, impl.signature, op); });
    mlir::OwningOpRef<mlir::ModuleOp> scheduled =
        compilation.schedule(sizes, impl.getLevel());
    scheduled->walk([&](QuadraticOp op) { addPlan(facts, op, *scheduled); });
    mlir::func::FuncOp function = attentionFunction(*scheduled);
    for (unsigned n = 0; n < function.getNumArguments(); ++n) {
      auto argument = function.getArgAttrOfType<ArgAttr>(n, kArgAttrName);
      if (!argument || argument.getKind() != ArgKind::Workspace)
        continue;
      auto type = llvm::cast<mlir::MemRefType>(function.getArgumentTypes()[n]);
      workspaceRow += type.getRank() == 4 ? type.getDimSize(3) : 1;
    }
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
      "explain", "Say how a spec was understood and planned");
  auto given = std::make_shared<ExplainOptions>();
  verb->add_option("SPEC", given->spec, "a .attn or .mlir file")->required();
  addSizeOptions(*verb, given->sizes);
  verb->add_option("--format", given->format, "text or json")
      ->capture_default_str();
  addLevelOption(*verb, given->options.level);
  verb->add_option("--spec-name", given->specName,
                   "the spec, where the file holds several");
  verb->footer(
      "With --shape also what a call costs: visible pairs, operations, bytes, "
      "workspace.\n\nExample:\n"
      "  attnc explain examples/yat.attn --shape 1,8,8,2048,2048,64,64");
  verb->callback(
      [given, &action] { action = [given] { return run(*given); }; });
}
