//===- Compile.cpp - from a spec to code ----------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Compile.h"
#include "runtime/Arrays.h"
#include "runtime/Cache.h"
#include "runtime/CodeGen.h"
#include "runtime/Explanation.h"
#include "runtime/Import.h"

#include "attn/attn.h"
#include "dialect/attn/Attn.h"
#include "dialect/attn/FewQueries.h"
#include "dialect/spec/Importer.h"
#include "dialect/spec/WriteSpec.h"
#include "lowering/Passes.h"
#include "lowering/Pipelines.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/xxhash.h"

using namespace attn;
using namespace attn::runtime;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

static void buildLicencePipeline(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createApplyFeaturesPass());
  pm.addNestedPass<func::FuncOp>(createIssueLicencePass());
}

static void buildSimplifyPipeline(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createSimplifyPass());
}

static void buildFeaturesPipeline(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createApplyFeaturesPass());
}

static void buildMergePipeline(OpPassManager &pm) {
  pm.addPass(createCSEPass());
}

LogicalResult runtime::runPipeline(ModuleOp module,
                                   void (*build)(OpPassManager &)) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
#ifdef NDEBUG
  pm.enableVerifier(false); // a third of the time of the small passes
#endif
  build(pm);
  return pm.run(module);
}

// Without threads of its own: contexts are many and their work is short.
Compilation::Compilation(std::shared_ptr<const Cache> cache)
    : context(MLIRContext::Threading::DISABLED) {
  if (cache && *cache && !compilerIdentity().empty())
    this->cache = std::move(cache);
}

Compilation::~Compilation() = default;

/// Throws the text of a diagnostic, with the place that it begins with.
[[noreturn]] static void fail(llvm::StringRef text, llvm::StringRef file) {
  text = text.rtrim('\n');
  if (text.empty())
    throw Error("internal: a pass failed without a diagnostic");
  llvm::StringRef rest = text;
  int line, column;
  if (rest.consume_front(file) && rest.consume_front(":") &&
      !rest.consumeInteger(10, line) && rest.consume_front(":") &&
      !rest.consumeInteger(10, column))
    throw Error(text.str(), file.str(), line, column);
  throw Error(text.str());
}

/// MLIR's way to print what was made from no text, `<unknown>:0: error:
/// loc("file"): ...`, as `file: error: ...`.
static std::string withFile(std::string text, const std::string &file) {
  for (const char *kind : {"error: ", "note: "}) {
    std::string odd =
        std::string("<unknown>:0: ") + kind + "loc(\"" + file + "\"): ";
    for (size_t at = 0; (at = text.find(odd, at)) != std::string::npos;)
      text.replace(at, odd.size(), file + ": " + kind);
  }
  return text;
}

void Compilation::check(llvm::function_ref<LogicalResult()> work) {
  DiagnosticText diagnostics(text, file, context);
  if (failed(work()))
    fail(withFile(diagnostics.take(), file), file);
}

void Compilation::adopt(OwningOpRef<ModuleOp> parsed, std::string_view name,
                        bool acceptSigned) {
  module = std::move(parsed);
  check([&] { return selectFunction(*module, name); });
  check([&] { return readSignature(*module, signature); });
  if (acceptSigned)
    return;
  if (cache) {
    llvm::raw_string_ostream stream(ir);
    module->print(stream);
    if (cache->load(key("licence")))
      return; // a proof of the same IR by the same build
  }
  OwningOpRef<ModuleOp> licensed = module->clone();
  check([&] { return runPipeline(*licensed, buildLicencePipeline); });
  if (cache)
    cache->store(key("licence"), signature.name + ": licence", "granted");
}

void Compilation::setOrder(std::string order) {
  bool had = this->order == kRecurrent;
  this->order = std::move(order);
  if (this->order != kRecurrent || had)
    return;
  for (const Formal &formal : signature.formals)
    if (formal.name == kState)
      throw Error(signature.name + " has an argument of its own named '" +
                  formal.name +
                  "', the name of what the recurrent order takes "
                  "and gives; rename it");
  for (FormalKind kind : {FormalKind::State, FormalKind::Output}) {
    signature.formals.emplace_back();
    signature.formals.back().kind = kind;
    signature.formals.back().name = kState;
  }
  signature.results.push_back(std::string(kState));
}

std::string Compilation::key(const std::string &what) const {
  return compilerIdentity() + "\n" + what + "\n" + ir;
}

std::string Compilation::codeKey(const StaticSizes &sizes,
                                 const CpuLevel &level) const {
  return key("code for " + attn::nameOf(level) +
             (level.fastMath ? ", fast math" : "") +
             (order.empty() ? "" : "\norder " + order) + "\nrows " +
             std::to_string(sizes.rows.size()) + ", " + toText(sizes));
}

std::shared_ptr<Compilation>
Compilation::parse(std::string_view text, std::string_view name,
                   std::string_view file, std::shared_ptr<const Cache> cache,
                   bool acceptSigned) {
  std::shared_ptr<Compilation> self(new Compilation(std::move(cache)));
  self->text = text;
  self->file = file;
  ParsedAttention parsed =
      parseAttention(self->text, self->file, self->context);
  if (!parsed)
    fail(parsed.error, self->file);
  self->adopt(std::move(parsed.module), name, acceptSigned);
  return self;
}

std::shared_ptr<Compilation>
Compilation::import(const Spec &given, std::shared_ptr<const Cache> cache) {
  std::shared_ptr<Compilation> self(new Compilation(std::move(cache)));
  Spec spec = given;
  self->file = "<spec " + spec.name.text + ">";
  std::optional<SpecError> error;
  OwningOpRef<ModuleOp> imported;
  try {
    validateSpec(spec);
    self->text = writeSpec(spec);
    error = importSpecs(spec, self->file, self->context, imported);
  } catch (const SpecError &malformed) {
    error = SpecError{malformed.message, {}};
  }
  if (error)
    fail(renderError(self->file, self->text, *error), self->file);
  self->adopt(std::move(imported), {}, /*acceptSigned=*/false);
  return self;
}

uint64_t Compilation::fingerprint() {
  auto guard = lock();
  OwningOpRef<ModuleOp> nameless = module->clone();
  attentionFunction(*nameless).setName("kernel");
  std::string printed;
  llvm::raw_string_ostream stream(printed);
  nameless->print(stream);
  return llvm::xxh3_64bits(printed);
}

OwningOpRef<ModuleOp> Compilation::specialisedModule(const StaticSizes &sizes,
                                                     int64_t *outputRow) {
  OwningOpRef<ModuleOp> clone = module->clone();
  check([&]() -> LogicalResult {
    FailureOr<int64_t> row =
        specialiseOn(attentionFunction(*clone), signature, sizes);
    if (succeeded(row) && outputRow)
      *outputRow = *row;
    return row;
  });
  return clone;
}

OwningOpRef<ModuleOp> Compilation::schedule(const StaticSizes &sizes,
                                            const CpuLevel &level) {
  OwningOpRef<ModuleOp> result = specialisedModule(sizes);
  setTarget(*result, level);
  if (!order.empty())
    (*result)->setAttr(kOrderAttrName, StringAttr::get(&context, order));
  (*result)->setAttr(kQueriesAttrName,
                     DenseI64ArrayAttr::get(
                         &context, {sizes.fewestQueries, sizes.mostQueries}));
  check([&] { return runPipeline(*result, buildSchedulePipeline); });
  return result;
}

void Compilation::lower(ModuleOp scheduled) {
  check([&] { return runPipeline(scheduled, buildLoopsPipeline); });
  check([&] { return runPipeline(scheduled, buildCpuPipeline); });
}

void Compilation::applyFeatures(ModuleOp specialised) {
  bool asked = false;
  specialised.walk(
      [&](AttentionOp op) { asked |= bool(op.getFeaturesAttr()); });
  if (asked)
    check([&] { return runPipeline(specialised, buildFeaturesPipeline); });
}

bool Compilation::dropFeatures() {
  auto guard = lock();
  bool dropped = false;
  module->walk(
      [&](AttentionOp op) { dropped |= bool(op.removeFeaturesAttr()); });
  return dropped;
}

Explanation Compilation::explain(const StaticSizes &sizes) {
  Explanation result;
  result.module = specialisedModule(sizes);
  check([&]() -> LogicalResult {
    // What is explained is the kernel that runs, equal expressions merged.
    if (failed(runPipeline(*result.module, buildSimplifyPipeline)))
      return failure();
    AttentionOp op;
    result.module->walk([&](AttentionOp found) { op = found; });
    if (op.getFeaturesAttr() && !op.getFeaturesAttr().getApplied()) {
      FailureOr<FeatureReport> report =
          attn::applyFeatures(op, /*toExplain=*/true);
      if (failed(report))
        return failure();
      result.features = std::move(*report);
    }
    if (failed(runPipeline(*result.module, buildMergePipeline)))
      return failure();
    FailureOr<KernelProofs> proofs = proveKernel(op);
    if (failed(proofs))
      return failure();
    result.proofs = std::move(*proofs);
    return success();
  });
  for (const Proof &proof : result.proofs.proofs) {
    std::string excerpt;
    if (proof.verdict != Verdict::Yes && proof.culprit) {
      DiagnosticText diagnostics(text, file, context);
      emitRemark(proof.culprit.getLoc()) << "here";
      excerpt = diagnostics.take();
      size_t line = excerpt.find('\n');
      excerpt = line == std::string::npos ? "" : excerpt.substr(line + 1);
    }
    result.excerpts.push_back(excerpt);
  }
  return result;
}

std::shared_ptr<Specialisation>
Compilation::specialise(const StaticSizes &sizes, const CpuLevel *level) {
  std::optional<StoredCode> stored;
  if (cache && level)
    if (std::optional<std::string> bytes = cache->load(codeKey(sizes, *level)))
      stored = StoredCode::decode(*bytes);
  int64_t outputRow = 0;
  OwningOpRef<ModuleOp> specialised;
  auto guard = lock();
  if (!stored) { // before there is a Specialisation: its destructor locks
    specialised = specialisedModule(sizes, &outputRow);
    if (!level)
      applyFeatures(*specialised);
  }
  std::shared_ptr<Specialisation> result(
      new Specialisation(shared_from_this(), sizes));
  if (stored) {
    result->stored = std::move(*stored);
    result->outputRow = result->stored.outputRow;
  } else {
    result->outputRow = outputRow;
    if (!level)
      result->module = std::move(specialised);
  }
  return result;
}

std::string Compilation::emit(Stage stage, const StaticSizes *sizes,
                              const CpuLevel &level) {
  auto guard = lock();
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (stage == Stage::Attn) {
    if (!sizes)
      module->print(stream);
    else
      specialisedModule(*sizes)->print(stream);
    return text;
  }
  OwningOpRef<ModuleOp> result =
      schedule(sizes ? *sizes : defaultSizes(signature), level);
  if (stage >= Stage::Loops)
    check([&] { return runPipeline(*result, buildLoopsPipeline); });
  if (stage >= Stage::Llvm)
    check([&] { return runPipeline(*result, buildCpuPipeline); });
  if (stage == Stage::Asm)
    return emitAssembly(*result, level);
  result->print(stream);
  return text;
}
