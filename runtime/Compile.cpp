//===- Compile.cpp - from a spec to code ----------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Compile.h"
#include "runtime/CodeGen.h"
#include "runtime/Explanation.h"
#include "runtime/Import.h"
#include "runtime/Jit.h"
#include "runtime/reference/Interpreter.h"

#include "attn/attn.h"
#include "dialect/attn/Attn.h"
#include "dialect/spec/Importer.h"
#include "lowering/Passes.h"
#include "lowering/Pipelines.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <chrono>

using namespace attn;
using namespace attn::runtime;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

static void buildLicencePipeline(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createIssueLicencePass());
}

/// What is explained is the kernel that runs, equal expressions merged.
static void buildExplainPipeline(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createSimplifyPass());
  pm.addPass(createCSEPass());
}

static LogicalResult runPipeline(ModuleOp module,
                                 void (*build)(OpPassManager &)) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
#ifdef NDEBUG
  pm.enableVerifier(false); // a third of the time of the small passes
#endif
  build(pm);
  return pm.run(module);
}

// Without threads of its own: contexts are many and their work is short.
Compilation::Compilation() : context(MLIRContext::Threading::DISABLED) {}

Compilation::~Compilation() = default;

[[noreturn]] static void fail(std::string text) {
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  throw Error(text.empty() ? "internal: a pass failed without a diagnostic"
                           : text);
}

void Compilation::check(llvm::function_ref<LogicalResult()> work) {
  DiagnosticText diagnostics(text, file, context);
  if (failed(work()))
    fail(diagnostics.take());
}

std::shared_ptr<Compilation> Compilation::parse(std::string_view text,
                                                std::string_view name,
                                                std::string_view file,
                                                bool acceptSigned) {
  std::shared_ptr<Compilation> self(new Compilation());
  self->text = text;
  self->file = file;
  ParsedAttention parsed =
      parseAttention(self->text, self->file, self->context);
  if (!parsed)
    fail(parsed.error);
  self->module = std::move(parsed.module);
  self->check([&] { return selectFunction(*self->module, name); });
  self->check([&] { return readSignature(*self->module, self->signature); });
  OwningOpRef<ModuleOp> licensed = self->module->clone();
  if (!acceptSigned)
    self->check([&] { return runPipeline(*licensed, buildLicencePipeline); });
  return self;
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
  check([&] { return runPipeline(*result, buildSchedulePipeline); });
  return result;
}

Explanation Compilation::explain(const StaticSizes &sizes) {
  Explanation result;
  result.module = specialisedModule(sizes);
  check([&]() -> LogicalResult {
    if (failed(runPipeline(*result.module, buildExplainPipeline)))
      return failure();
    AttentionOp op;
    result.module->walk([&](AttentionOp found) { op = found; });
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
Compilation::specialise(const StaticSizes &sizes) {
  auto guard = lock();
  int64_t outputRow = 0;
  // Before there is a Specialisation: its destructor takes the lock.
  OwningOpRef<ModuleOp> specialised = specialisedModule(sizes, &outputRow);
  std::shared_ptr<Specialisation> result(
      new Specialisation(shared_from_this(), sizes));
  result->module = std::move(specialised);
  result->outputRow = outputRow;
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

//===----------------------------------------------------------------------===//
// Specialisation
//===----------------------------------------------------------------------===//

Specialisation::Specialisation(std::shared_ptr<Compilation> parent,
                               StaticSizes sizes)
    : sizes(std::move(sizes)), parent(std::move(parent)) {}

Specialisation::~Specialisation() {
  auto guard = parent->lock();
  module = nullptr;
}

/// The workspaces that the schedule pipeline appended to the function.
static std::vector<Workspace> workspacesOf(func::FuncOp function) {
  std::vector<Workspace> workspaces;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto arg = function.getArgAttrOfType<ArgAttr>(i, kArgAttrName);
    if (!arg || arg.getKind() != ArgKind::Workspace)
      continue;
    auto type = cast<MemRefType>(function.getArgumentTypes()[i]);
    Workspace workspace;
    workspace.hasRow = type.getRank() == 4;
    workspace.row = workspace.hasRow ? type.getDimSize(3) : 1;
    if (ArrayAttr axes = arg.getAxes())
      workspace.perQueryHead =
          llvm::any_of(axes.getAsValueRange<StringAttr>(),
                       [](StringRef axis) { return axis == "head"; });
    workspaces.push_back(workspace);
  }
  return workspaces;
}

double Specialisation::compile(const CpuLevel &level) {
  double milliseconds = 0;
  std::call_once(once, [&] {
    auto start = std::chrono::steady_clock::now();
    std::unique_ptr<llvm::MemoryBuffer> object;
    std::vector<std::string> entries;
    {
      auto guard = parent->lock();
      OwningOpRef<ModuleOp> lowered = parent->schedule(sizes, level);
      func::FuncOp function = attentionFunction(*lowered);
      std::string name = function.getName().str();
      workspaces = workspacesOf(function);
      parent->check([&] { return runPipeline(*lowered, buildLoopsPipeline); });
      parent->check([&] { return runPipeline(*lowered, buildCpuPipeline); });
      for (unsigned k = 0;; ++k) {
        std::string stage = name + ".stage" + std::to_string(k);
        if (!SymbolTable::lookupSymbolIn(*lowered, stage + ".run"))
          break;
        entries.push_back(stage);
      }
      object = emitObject(*lowered, level);
    }
    if (entries.empty())
      throw Error("internal: the compiled module has no stages");
    code = std::make_unique<Code>(std::move(object));
    for (const std::string &stage : entries) {
      StageEntry entry;
      entry.run =
          reinterpret_cast<decltype(entry.run)>(code->find(stage + ".run"));
      entry.items = reinterpret_cast<decltype(entry.items)>(
          code->find(stage + ".items.run"));
      stages.push_back(entry);
    }
    milliseconds = std::chrono::duration<double, std::milli>(
                       std::chrono::steady_clock::now() - start)
                       .count();
  });
  return milliseconds;
}

void Specialisation::run(const Binding &binding, const Threads &threads) const {
  execute(stages, workspaces, binding, threads);
}

void Specialisation::interpret(const Binding &binding, uint64_t noise) const {
  // The interpreter reads the IR, and the context does not lock.
  auto guard = parent->lock();
  parent->check([&] {
    return attn::interpret(attentionFunction(*module), binding.arrays, noise);
  });
}
