//===- Kernel.cpp - the public interface ----------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Kernel.h"
#include "runtime/BinderImpl.h"
#include "runtime/Cache.h"
#include "runtime/Compile.h"
#include "runtime/cuda/Device.h"
#include "runtime/cuda/GpuTargets.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>

using namespace attn;
using namespace attn::runtime;

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

/// The level that the options name; by default the best of this machine.
static CpuLevel chooseLevel(const Options &options) {
  if (isGpuTarget(options.target)) // whose level is an architecture
    return hostCpuLevel();
  if (std::optional<CpuLevel> level = parseCpuLevel(options.level)) {
    level->fastMath = options.fastMath;
    return *level;
  }
  std::vector<std::string> names;
  for (const CpuLevel &known : cpuLevels())
    names.push_back(known.name.str());
  throw Error("there is no feature level '" + options.level +
              "'; known levels are " + joinNames(names));
}

static void checkOptions(const Options &options) {
  if (options.target != "cpu" && options.target != "reference" &&
      !isGpuTarget(options.target))
    throw Error("there is no target '" + options.target +
                "'; known targets are cpu, cuda, cuda-emulator, reference");
  if (isGpuTarget(options.target) && !options.level.empty())
    cudaLevel(options.level);
  if (options.device < -1)
    throw Error("there is no CUDA device " + std::to_string(options.device));
  if (options.device >= 0 && options.target != "cuda")
    throw Error("a device is for the target cuda, not for " + options.target);
  if (options.threads < 0)
    throw Error("a call cannot use " + std::to_string(options.threads) +
                " threads");
  if (!options.schedule.empty() && options.schedule != "quadratic" &&
      options.schedule != "linear" && options.schedule != kRecurrent)
    throw Error("there is no schedule '" + options.schedule +
                "'; known schedules are quadratic, linear, recurrent");
  if (options.schedule == kRecurrent && options.target == "reference")
    throw Error("the recurrent order is of compiled code; the target "
                "reference computes whole sequences");
  chooseLevel(options);
}

Kernel::Impl::Impl(std::shared_ptr<Compilation> compilation,
                   const Options &options)
    : compilation(std::move(compilation)),
      signature(this->compilation->getSignature()), options(options),
      threads(options.threads),
      level(std::make_unique<const CpuLevel>(chooseLevel(options))) {
  rules.reference = options.target == "reference";
  rules.gpu = isGpuTarget(options.target);
  rules.recurrent = isRecurrent();
  rules.devices = options.target == "cuda";
  rules.target = options.target;
  this->compilation->setOrder(options.schedule);
}

Kernel::Impl::~Impl() = default;

std::shared_ptr<Specialisation>
Kernel::Impl::specialise(const StaticSizes &sizes) {
  auto find = [&]() -> std::shared_ptr<Specialisation> {
    for (const auto &known : specialisations)
      if (known->sizes == sizes)
        return known;
    return nullptr;
  };
  {
    std::shared_lock lock(mutex);
    if (auto known = find())
      return known;
  }
  std::unique_lock lock(mutex);
  if (auto known = find()) // another thread was faster
    return known;
  specialisations.push_back(compilation->specialise(
      sizes, rules.reference || rules.gpu ? nullptr : level.get()));
  return specialisations.back();
}

std::string Kernel::Impl::levelName() const {
  if (!rules.gpu)
    return nameOf(*level);
  return options.level.empty() ? "default architecture" : options.level;
}

bool Kernel::Impl::roundsWeights(Type storage) const {
  if (rules.gpu)
    return storage == Type::bf16 || storage == Type::f16;
  // Of few queries, at least.
  return !rules.reference && storage == Type::bf16 &&
         (level->matrixVectors || level->hasPairProducts);
}

Noise Kernel::Impl::noiseOf(Type storage) const {
  Noise noise;
  // Rows that maps make are tf32 there (LegalizeForCuda).
  if (rules.gpu && (storage == Type::bf16 || storage == Type::f16))
    noise.madeRows = halfUnit(kTf32Digits);
  // So are features, in the linear order.
  if (options.schedule != "quadratic")
    noise.features = noise.madeRows;
  return noise;
}

struct Kernel::Impl::GpuCode {
  StaticSizes sizes;
  Type storage;
  std::string architecture;
  GpuProgram program;
};

const Kernel::Impl::GpuCode &Kernel::Impl::gpuKernel(const Binding &binding,
                                                     double &milliseconds) {
  Type storage = rowTypeOf(signature, binding);
  std::string architecture = architectureFor(binding, options);
  std::lock_guard<std::mutex> lock(gpuMutex);
  for (const auto &known : gpuCode)
    if (known->sizes == binding.sizes && known->storage == storage &&
        known->architecture == architecture)
      return *known;
  auto start = std::chrono::steady_clock::now();
  gpuCode.push_back(std::make_unique<GpuCode>(
      GpuCode{binding.sizes, storage, architecture,
              makeGpuKernel(*compilation, binding.sizes, storage, architecture,
                            options)}));
  milliseconds = std::chrono::duration<double, std::milli>(
                     std::chrono::steady_clock::now() - start)
                     .count();
  return *gpuCode.back();
}

StateShape Kernel::Impl::stateOf(const Binding &binding, Specialisation &code,
                                 double &milliseconds) {
  if (rules.gpu)
    return gpuKernel(binding, milliseconds).program.state;
  milliseconds += compile(code);
  return code.state();
}

Prepared Kernel::Impl::prepare(const std::vector<Argument> &arguments,
                               const std::vector<Output> &outputs,
                               void *stream) {
  if (stream && !rules.devices)
    throw Error("a stream is for the target cuda, not for " + options.target);
  Prepared prepared;
  prepared.binding = bindInputs(signature, arguments, rules);
  prepared.binding.stream = stream;
  if (rules.gpu)
    chooseDevice(prepared.binding, options);
  prepared.code = specialise(prepared.binding.sizes);
  double &milliseconds = prepared.compileMilliseconds;
  if (isRecurrent())
    bindState(prepared.binding, signature, arguments,
              stateOf(prepared.binding, *prepared.code, milliseconds), rules);
  bindOutputs(prepared.binding, signature, outputs, prepared.code->outputRow,
              rules);
  if (rules.gpu) {
    prepared.gpu = gpuKernel(prepared.binding, milliseconds).program.kernel;
  } else if (!rules.reference) {
    milliseconds += compile(*prepared.code);
  }
  return prepared;
}

double Kernel::Impl::compile(Specialisation &code) const {
  if (!hostRuns(getLevel()))
    throw Error("this machine does not run " + getLevel().codeName().str() +
                "; its best feature level is " + hostCpuLevel().name.str() +
                (isHostArchitecture(getLevel())
                     ? ""
                     : ". Code for other architectures is made ahead of time: "
                       "attnc compile --emit=obj"));
  return code.compile(getLevel());
}

void Kernel::Impl::run(const Prepared &prepared) const {
  if (prepared.gpu)
    prepared.gpu->run(prepared.binding);
  else if (rules.reference)
    prepared.code->interpret(prepared.binding);
  else
    prepared.code->run(prepared.binding, threads);
  prepared.binding.finish();
}

std::vector<std::vector<int64_t>>
Kernel::Impl::shapesOf(const std::vector<Argument> &arguments) {
  Binding binding = bindInputs(signature, arguments, rules);
  std::shared_ptr<Specialisation> code = specialise(binding.sizes);
  int64_t row = code->outputRow;
  double milliseconds = 0;
  if (rules.gpu)
    chooseDevice(binding, options);
  if (isRecurrent())
    binding.state = stateOf(binding, *code, milliseconds);
  std::vector<std::vector<int64_t>> shapes;
  for (const std::string &result : signature.results)
    shapes.push_back(outputShape(binding, result, row));
  return shapes;
}

void Kernel::Impl::synchronize() const {
  std::vector<std::shared_ptr<const GpuKernel>> kernels;
  {
    std::lock_guard<std::mutex> lock(gpuMutex);
    for (const auto &known : gpuCode)
      kernels.push_back(known->program.kernel);
  }
  for (const auto &kernel : kernels)
    kernel->synchronize();
}

void Kernel::synchronize() const { impl->synchronize(); }

void Kernel::operator()(const std::vector<Argument> &arguments,
                        const std::vector<Output> &outputs) const {
  (*this)(arguments, outputs, nullptr);
}

void Kernel::operator()(const std::vector<Argument> &arguments,
                        const std::vector<Output> &outputs,
                        void *stream) const {
  try {
    impl->run(impl->prepare(arguments, outputs, stream));
  } catch (const std::bad_alloc &) {
    throw Error("out of memory in a call of " + name());
  }
}

const std::string &Kernel::name() const { return impl->signature.name; }

const std::vector<std::string> &Kernel::results() const {
  return impl->signature.results;
}

std::vector<int64_t>
Kernel::shapeOf(std::string_view result,
                const std::vector<Argument> &arguments) const {
  const auto &results = impl->signature.results;
  auto it = std::find(results.begin(), results.end(), result);
  if (it == results.end())
    throw Error("there is no output '" + std::string(result) + "'; " + name() +
                " returns " + joinNames(results));
  return impl->shapesOf(arguments)[it - results.begin()];
}

//===----------------------------------------------------------------------===//
// Compiler
//===----------------------------------------------------------------------===//

Compiler::Compiler(Options options)
    : options(std::move(options)), cache(std::make_shared<const Cache>(
                                       Cache::folderFor(this->options.cache))) {
  checkOptions(this->options);
}

Kernel Compiler::compile(std::string_view text, std::string_view name,
                         std::string_view file) const {
  return Kernel(std::make_shared<Kernel::Impl>(
      Compilation::parse(text, name, file, cache), options));
}

Kernel Compiler::compile(const Spec &spec) const {
  return Kernel(std::make_shared<Kernel::Impl>(Compilation::import(spec, cache),
                                               options));
}

Kernel Compiler::compileFile(const std::string &path,
                             std::string_view name) const {
  std::error_code code;
  std::ifstream stream(path, std::ios::binary);
  if (!stream || std::filesystem::is_directory(path, code))
    throw Error(path + ": error: cannot read this file");
  std::ostringstream text;
  text << stream.rdbuf(); // an empty file fails here, and is the parser's to
                          // refuse
  if (stream.bad())
    throw Error(path + ": error: cannot read this file");
  return compile(text.str(), name, path);
}
