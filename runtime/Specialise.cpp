//===- Specialise.cpp - a kernel at fixed sizes ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Cache.h"
#include "runtime/CodeGen.h"
#include "runtime/Compile.h"
#include "runtime/Jit.h"
#include "runtime/reference/Interpreter.h"

#include "attn/attn.h"
#include "dialect/attn/Attn.h"
#include "dialect/attn/Axes.h"
#include "lowering/Passes.h"
#include "lowering/Pipelines.h"
#include "lowering/analysis/LinearLicence.h"

#include <chrono>

using namespace attn;
using namespace attn::runtime;
using namespace mlir;

Specialisation::Specialisation(std::shared_ptr<Compilation> parent,
                               StaticSizes sizes)
    : sizes(std::move(sizes)), parent(std::move(parent)) {}

Specialisation::~Specialisation() {
  auto guard = parent->lock();
  module = nullptr;
}

static bool isPerQueryHead(ArgAttr arg) {
  return arg.getAxes() &&
         llvm::is_contained(arg.getAxes().getAsValueRange<StringAttr>(),
                            "head");
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
    workspace.rows = type.isDynamicDim(2) ? 0 : type.getDimSize(2);
    workspace.perQueryHead = isPerQueryHead(arg);
    workspaces.push_back(workspace);
  }
  return workspaces;
}

/// The state that the recurrent order appended.
static StateShape stateOf(func::FuncOp function) {
  StateShape state;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto arg = function.getArgAttrOfType<ArgAttr>(i, kArgAttrName);
    if (!arg || arg.getKind() != ArgKind::State)
      continue;
    auto type = cast<MemRefType>(function.getArgumentTypes()[i]);
    state = {type.getDimSize(2), type.getDimSize(3), isPerQueryHead(arg)};
  }
  return state;
}

/// Makes the object, and stores it.
void Specialisation::generate(const CpuLevel &level) {
  auto guard = parent->lock();
  OwningOpRef<ModuleOp> lowered = parent->schedule(sizes, level);
  func::FuncOp function = attentionFunction(*lowered);
  std::string name = function.getName().str();
  stored = StoredCode();
  stored.outputRow = outputRow;
  stored.workspaces = workspacesOf(function);
  stored.state = stateOf(function);
  parent->lower(*lowered);
  for (unsigned k = 0;; ++k) {
    std::string stage = name + ".stage" + std::to_string(k);
    if (!SymbolTable::lookupSymbolIn(*lowered, stage + ".run"))
      break;
    stored.stages.push_back(stage);
  }
  if (stored.stages.empty())
    throw Error("internal: the compiled module has no stages");
  stored.object = emitObject(*lowered, level)->getBuffer().str();
  if (parent->cache)
    parent->cache->store(parent->codeKey(sizes, level),
                         name + " " + toText(sizes) + ", " +
                             attn::nameOf(level),
                         stored.encode());
}

/// Makes the object callable.
void Specialisation::link() {
  code = std::make_unique<Code>(
      llvm::MemoryBuffer::getMemBufferCopy(stored.object, "attn"));
  stages.clear();
  for (const std::string &stage : stored.stages) {
    StageEntry entry;
    entry.run =
        reinterpret_cast<decltype(entry.run)>(code->find(stage + ".run"));
    entry.items = reinterpret_cast<decltype(entry.items)>(
        code->find(stage + ".items.run"));
    stages.push_back(entry);
  }
  stored.object = std::string(); // it lives on as linked code
}

double Specialisation::compile(const CpuLevel &level) {
  double milliseconds = 0;
  std::call_once(once, [&] {
    auto start = std::chrono::steady_clock::now();
    bool linked = false;
    if (!stored.object.empty()) {
      try {
        link();
        linked = true;
      } catch (const Error &) { // not what this build makes: as if not there
      }
    }
    if (!linked) {
      generate(level);
      link();
    }
    milliseconds = std::chrono::duration<double, std::milli>(
                       std::chrono::steady_clock::now() - start)
                       .count();
  });
  return milliseconds;
}

void Specialisation::run(const Binding &binding, const Threads &threads) const {
  execute(stages, stored.workspaces, binding, threads);
}

/// Whether the linear order may be used, with other features than the rows that
/// kappa multiplies.
static bool mayDeriveFeatures(func::FuncOp function) {
  int64_t multiplied = 0, rank = 0;
  function.walk([&](AttentionOp op) {
    LinearLicence licence = licenseLinear(op);
    rank = licence.scan == LinearScan::Refused ? 0 : licence.rank;
    AxesOf axes(op.getKappa(), {QueryAxis, KeyAxis});
    op.getKappa().walk([&](DotOp dot) {
      if (axes(dot.getResult()) == PairAxes)
        multiplied += cast<RowType>(dot.getLhs().getType()).getLength();
    });
  });
  return rank > multiplied;
}

void Specialisation::interpret(const Binding &binding, const Noise &noise) {
  // The interpreter reads the IR, and the context does not lock.
  auto guard = parent->lock();
  if (!module) { // it was meant to be compiled
    module = parent->specialisedModule(sizes);
    parent->applyFeatures(*module);
  }
  func::FuncOp function = attentionFunction(*module);
  Noise moved = noise;
  if (noise.seed && noise.features > 0 && !mayDeriveFeatures(function))
    moved.features = 0;
  parent->check(
      [&] { return attn::interpret(function, binding.arrays, moved); });
}
