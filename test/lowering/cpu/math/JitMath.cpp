//===- JitMath.cpp - the expanded functions, compiled for one level -------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitMath.h"
#include "dialect/attn/Attn.h"

#include "lowering/Passes.h"
#include "lowering/Target.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <xmmintrin.h>

using namespace mlir;

namespace {
struct Function {
  const char *name;
  const char *expression; ///< of %x and %y; $T and $I stand for the types
};
} // namespace

static const Function functions[] = {
    {"exp", "math.exp %x : $T"},
    {"exp_nonpositive", "math.exp %x {attn.nonpositive} : $T"},
    {"exp2", "math.exp2 %x : $T"},
    {"exp2_nonpositive", "math.exp2 %x {attn.nonpositive} : $T"},
    {"expm1", "math.expm1 %x : $T"},
    {"log", "math.log %x : $T"},
    {"log2", "math.log2 %x : $T"},
    {"log1p", "math.log1p %x : $T"},
    {"tanh", "math.tanh %x : $T"},
    {"sin", "math.sin %x : $T"},
    {"cos", "math.cos %x : $T"},
    {"powf", "math.powf %x, %y : $T"},
    {"floor", "math.floor %x : $T"},
    {"fma", "math.fma %x, %x, %y : $T"},
    {"pow_m3", "math.fpowi %x, %m3 : $T, $I"},
    {"pow_m1", "math.fpowi %x, %m1 : $T, $I"},
    {"pow_0", "math.fpowi %x, %p0 : $T, $I"},
    {"pow_1", "math.fpowi %x, %p1 : $T, $I"},
    {"pow_2", "math.fpowi %x, %p2 : $T, $I"},
    {"pow_3", "math.fpowi %x, %p3 : $T, $I"},
    {"pow_7", "math.fpowi %x, %p7 : $T, $I"},
    {"pow_half", "math.powf %x, %half : $T"},
    {"pow_m2half", "math.powf %x, %m2half : $T"},
    {"pow_4half", "math.powf %x, %p4half : $T"},
};

static std::string symbolName(const Function &function, int64_t lanes) {
  return function.name + ("_" + std::to_string(lanes));
}

/// A loop over `lanes` elements at a time; lanes = 0 is a loop over scalars.
static std::string source(const Function &function, int64_t lanes) {
  std::string text = R"(
func.func @$N(%xs: memref<?xf32>, %ys: memref<?xf32>, %out: memref<?xf32>)
    attributes {llvm.emit_c_interface} {
  %zero = arith.constant 0 : index
  %step = arith.constant $S : index
  %n = memref.dim %xs, %zero : memref<?xf32>
  %m3 = arith.constant $C-3$D : $I
  %m1 = arith.constant $C-1$D : $I
  %p0 = arith.constant $C0$D : $I
  %p1 = arith.constant $C1$D : $I
  %p2 = arith.constant $C2$D : $I
  %p3 = arith.constant $C3$D : $I
  %p7 = arith.constant $C7$D : $I
  %half = arith.constant $C0.5$D : $T
  %m2half = arith.constant $C-2.5$D : $T
  %p4half = arith.constant $C4.5$D : $T
  scf.for %i = %zero to %n step %step {
    %x = $L %xs[%i] : memref<?xf32>$V
    %y = $L %ys[%i] : memref<?xf32>$V
    %r = $E
    $W %r, %out[%i] : memref<?xf32>$V
  }
  return
})";
  bool scalar = lanes == 0;
  std::string count = std::to_string(lanes);
  std::pair<const char *, std::string> words[] = {
      {"$N", symbolName(function, lanes)},
      {"$S", scalar ? "1" : count},
      {"$E", function.expression},
      {"$C", scalar ? "" : "dense<"},
      {"$D", scalar ? "" : ">"},
      {"$L", scalar ? "memref.load" : "vector.load"},
      {"$W", scalar ? "memref.store" : "vector.store"},
      {"$V", scalar ? "" : ", $T"},
      {"$T", scalar ? "f32" : "vector<" + count + "xf32>"},
      {"$I", scalar ? "i32" : "vector<" + count + "xi32>"}};
  for (auto &[from, to] : words)
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;)
      text.replace(at, 2, to);
  return text;
}

static void check(bool ok, const std::string &what) {
  if (ok)
    return;
  llvm::errs() << what << "\n";
  std::abort();
}

/// As MLIR lowers memref<?xf32> for the C interface.
namespace {
struct Array {
  const float *base, *aligned;
  int64_t offset = 0, size, stride = 1;
  explicit Array(const std::vector<float> &v)
      : base(v.data()), aligned(v.data()), size(v.size()) {}
};
} // namespace

using Loop = void (*)(Array *, Array *, Array *);

namespace {
struct Compiled {
  std::unique_ptr<ExecutionEngine> engine;
  Loop vectors, scalars;
};
} // namespace

struct JitMath::State {
  MLIRContext context{MLIRContext::Threading::DISABLED};
  const attn::CpuLevel *level;
  std::map<std::string, Compiled> compiled;

  const Compiled &get(const std::string &function);
  Compiled compile(const Function &function);
};

std::vector<std::string> JitMath::levels() {
  std::vector<std::string> names;
  for (const attn::CpuLevel &level : attn::cpuLevels())
    if (attn::hostRuns(level))
      names.push_back(level.name.str());
  return names;
}

JitMath &JitMath::at(const std::string &level) {
  // Never destroyed: the destructor of an ExecutionEngine looks for a symbol
  // and may compile for it, which fails once LLVM's own statics are gone.
  static auto &all = *new std::map<std::string, JitMath *>;
  JitMath *&entry = all[level];
  if (!entry)
    entry = new JitMath(level);
  return *entry;
}

JitMath::JitMath(const std::string &level) : state(new State) {
  state->level = attn::findCpuLevel(level);
  DialectRegistry registry;
  registry
      .insert<attn::AttnDialect, arith::ArithDialect, cf::ControlFlowDialect,
              func::FuncDialect, math::MathDialect, memref::MemRefDialect,
              scf::SCFDialect, vector::VectorDialect, LLVM::LLVMDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  state->context.appendDialectRegistry(registry);
  state->context.loadDialect<attn::AttnDialect>();
  // The test marks operations with an attribute of a dialect it does not need.
  state->context.allowUnregisteredDialects();
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
}

Compiled JitMath::State::compile(const Function &function) {
  auto module = parseSourceString<ModuleOp>(
      source(function, level->lanes) + source(function, 0), &context);
  check(bool(module), "cannot parse the test's function");

  (*module)->setAttr(
      attn::kTargetAttrName,
      attn::TargetAttr::get(&context, StringAttr::get(&context, "cpu"),
                            StringAttr::get(&context, level->name),
                            level->lanes, /*fast_math=*/false));
  PassManager pm(&context);
  pm.addPass(attn::createExpandVectorMathPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  check(succeeded(pm.run(*module)), "cannot lower the test's function");

  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  check(target, error);
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, level->cpu, level->features, {}, llvm::Reloc::PIC_));
  ExecutionEngineOptions options;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Default;
  auto engine = ExecutionEngine::create(*module, options, std::move(machine));
  check(bool(engine), "cannot compile the test's function");

  auto find = [&](int64_t lanes) {
    auto symbol =
        (*engine)->lookup("_mlir_ciface_" + symbolName(function, lanes));
    check(bool(symbol), "cannot find the test's function");
    return reinterpret_cast<Loop>(*symbol);
  };
  Loop vectors = find(level->lanes), scalars = find(0);
  return {std::move(*engine), vectors, scalars};
}

const Compiled &JitMath::State::get(const std::string &name) {
  auto found = compiled.find(name);
  if (found != compiled.end())
    return found->second;
  for (const Function &function : functions)
    if (name == function.name)
      return compiled[name] = compile(function);
  check(false, "no function " + name);
  std::abort();
}

void JitMath::run(const std::string &function, const std::vector<float> &x,
                  const std::vector<float> &y, std::vector<float> &out) {
  const Compiled &code = state->get(function);
  // Whole vectors run as vectors, the rest as scalars.
  size_t whole = x.size() / state->level->lanes * state->level->lanes;
  out.resize(x.size());
  Array xs(x), ys(y.empty() ? x : y), outs(out);
  xs.size = whole;
  unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | 0x8040); // FTZ, DAZ
  code.vectors(&xs, &ys, &outs);
  xs.size = x.size() - whole;
  for (Array *array : {&xs, &ys, &outs})
    array->aligned += whole;
  code.scalars(&xs, &ys, &outs);
  _mm_setcsr(saved);
}

std::vector<float> JitMath::run(const std::string &function,
                                const std::vector<float> &x,
                                const std::vector<float> &y) {
  std::vector<float> out;
  run(function, x, y, out);
  return out;
}

std::string identifier(std::string level) {
  std::replace(level.begin(), level.end(), '-', '_');
  return level;
}
