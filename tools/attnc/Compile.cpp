//===- Compile.cpp - attnc compile ----------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Compile.h"
#include "CHeader.h"
#include "CompileCuda.h"
#include "Kernels.h"
#include "LevelOption.h"
#include "LinkShared.h"
#include "Meaning.h"
#include "PendingFile.h"
#include "Problem.h"
#include "ScheduleOption.h"
#include "runtime/AheadOfTime.h"
#include "runtime/Kernel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

#include <filesystem>

using namespace attn;
using namespace attn::runtime;

namespace {
struct CompileOptions {
  std::string spec, specName, emit = "llvm", output = "-", header, cName;
  std::string target = "cpu";
  SizeOptions sizes;
  Options options;
  CompileCudaOptions cuda;
};
} // namespace

static std::optional<Stage> stageOf(const std::string &name) {
  if (name == "attn")
    return Stage::Attn;
  if (name == "scheduled")
    return Stage::Scheduled;
  if (name == "loops")
    return Stage::Loops;
  if (name == "llvm")
    return Stage::Llvm;
  if (name == "asm")
    return Stage::Asm;
  if (name == "obj" || name == "shared")
    return std::nullopt;
  throw UsageError(
      fmt::format("--emit {}: one of attn, scheduled, loops, llvm, asm, obj, "
                  "shared is expected",
                  name));
}

static void checkOptions(const CompileOptions &given, bool binary) {
  if (binary && given.output == "-")
    throw UsageError(
        fmt::format("--emit {}: say with -o which file to write", given.emit));
  if (!binary && (!given.header.empty() || !given.cName.empty()))
    throw UsageError(fmt::format("--{} goes with --emit=obj or --emit=shared",
                                 given.header.empty() ? "c-name" : "header"));
  if (!binary && given.options.level.find(',') != std::string::npos)
    throw UsageError(fmt::format("--emit {}: a text is that of one level; a "
                                 "list goes with --emit=obj or --emit=shared",
                                 given.emit));
  std::vector<GivenOutput> files;
  if (given.output != "-")
    files.push_back({"-o", given.output});
  if (!given.header.empty())
    files.push_back({"--header", given.header});
  checkOutputs(files, given.spec);
}

/// Prints the text of a stage.
static int print(const CompileOptions &given, Stage stage) {
  Kernel kernel =
      Compiler(given.options).compileFile(given.spec, given.specName);
  Kernel::Impl &impl = kernel.getImpl();
  std::optional<StaticSizes> sizes = staticSizes(impl.signature, given.sizes);
  std::optional<PendingFile> file;
  if (given.output != "-")
    file.emplace(given.output);
  std::string text =
      impl.compilation->emit(stage, sizes ? &*sizes : nullptr, impl.getLevel());
  if (stage == Stage::Asm) // the other texts name it in an attribute
    text.insert(
        0, fmt::format("/* level {} */\n", describeLevel(impl.getLevel())));
  if (!file) {
    fmt::print("{}", text);
    return 0;
  }
  file->write(text);
  file->commit();
  return 0;
}

static Facts factsOf(Kernel::Impl &impl, const StaticSizes &sizes) {
  Facts facts;
  Compilation &compilation = *impl.compilation;
  auto guard = compilation.lock();
  mlir::OwningOpRef<mlir::ModuleOp> plain =
      compilation.specialisedModule(sizes);
  plain->walk([&](AttentionOp op) { addMeaning(facts, impl.signature, op); });
  mlir::OwningOpRef<mlir::ModuleOp> scheduled =
      compilation.schedule(sizes, impl.getLevel());
  scheduled->walk([&](mlir::Operation *op) {
    auto licence = op->getAttrOfType<LicenceAttr>("licence");
    if (!licence)
      return mlir::WalkResult::advance();
    addLicence(facts, licence);
    return mlir::WalkResult::interrupt(); // the same for both orders
  });
  return facts;
}

/// Writes an object or a shared library, and its header.
static int build(CompileOptions given) {
  std::vector<CpuLevel> levels =
      levelsOf(given.options.level, given.options.fastMath);
  if (given.emit == "shared" && !isHostArchitecture(levels.front()))
    throw UsageError(fmt::format(
        "--emit shared: this machine's linker makes no library for {}; use "
        "--emit=obj and link it with a cross compiler",
        levels.front().codeName().str()));
  given.options.level = nameOf(levels.front());
  Kernel kernel =
      Compiler(given.options).compileFile(given.spec, given.specName);
  Kernel::Impl &impl = kernel.getImpl();
  StaticSizes sizes = staticSizes(impl.signature, given.sizes)
                          .value_or(defaultSizes(impl.signature));
  std::vector<PendingFile> files;
  files.emplace_back(given.output);
  if (!given.header.empty())
    files.emplace_back(given.header);
  AheadOfTime made = impl.compilation->compileAhead(sizes, levels, given.cName);
  std::string_view object(made.object->getBufferStart(),
                          made.object->getBufferSize());
  auto fileName = [](const std::string &path) {
    return std::filesystem::path(path).filename().string();
  };
  if (given.emit == "shared")
    files[0].write(linkShared(object, fileName(given.output)));
  else
    files[0].write(object);
  std::string level = llvm::join(llvm::map_range(levels, describeLevel), ", ");
  if (impl.getLevel().fastMath)
    level += " (with fast math)";
  if (!given.header.empty())
    files[1].write(
        cHeader(made, factsOf(impl, sizes), level, fileName(given.header)));
  commitAll(files);
  return 0;
}

static int run(CompileOptions given) {
  // What goes on from a state is decoded.
  given.sizes.fewQueries |= given.options.schedule == kRecurrent;
  if (given.target == "cuda") {
    CompileCudaOptions cuda = given.cuda;
    cuda.spec = given.spec;
    cuda.specName = given.specName;
    cuda.emit = given.emit == "llvm" ? "cuda" : given.emit;
    cuda.output = given.output;
    cuda.sizes = given.sizes;
    cuda.schedule = given.options.schedule;
    return compileForCuda(cuda);
  }
  std::optional<Stage> stage = stageOf(given.emit);
  checkOptions(given, !stage);
  return stage ? print(given, *stage) : build(given);
}

void attn::addCompile(CLI::App &app, Action &action) {
  CLI::App *verb = app.add_subcommand(
      "compile", "Compile a spec: an object with a C header, a shared library, "
                 "or what it becomes on the way");
  auto given = std::make_shared<CompileOptions>();
  verb->add_option("SPEC", given->spec, "a .attn or .mlir file")->required();
  verb->add_option("--emit", given->emit,
                   "obj or shared: machine code with a C interface; attn, "
                   "scheduled, loops, llvm or asm: the text at that stage")
      ->capture_default_str();
  verb->add_option("-o,--output", given->output,
                   "the file to write; -: standard output (texts only)")
      ->capture_default_str();
  verb->add_option("--header", given->header,
                   "with obj and shared: the C header to write");
  verb->add_option("--c-name", given->cName,
                   "what the names in C begin with; default: the spec's name");
  verb->add_option(
          "--target", given->target,
          "cpu, or cuda: then --emit is cuda (a .cu file), ptx, "
          "cubin, or launch: how to launch them, as JSON, which is "
          "also written beside the others, k.cu.launch.json for -o k.cu")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "cuda"}));
  addCudaOptions(*verb, given->cuda);
  addSizeOptions(*verb, given->sizes);
  addLevelsOption(*verb, given->options.level);
  addFastMathOption(*verb, given->options.fastMath);
  addScheduleOption(*verb, given->options.schedule);
  verb->add_option("--spec-name", given->specName,
                   "the spec, where the file holds several");
  verb->footer(
      "Code is made for fixed row lengths: 64 where nothing is said; numbers "
      "of "
      "queries, keys, heads and sequences are free. With --emit=attn row "
      "lengths stay open.\n\n"
      "An object needs nothing but memcpy, memmove and memset, and its header "
      "says how to call it. A shared library is linked with the system's cc or "
      "ld. --march=aarch64 cross-compiles, to an object.\n\nExample:\n"
      "  attnc compile examples/yat.attn --emit=obj --D 64 --Dv 64 -o yat.o "
      "--header yat.h\n"
      "  attnc compile examples/yat.attn --emit=obj "
      "--march=x86-64-v2,x86-64-v3,x86-64-v4 -o yat.o --header yat.h\n"
      "  attnc compile examples/yat.attn --target=cuda --arch=sm_90a "
      "--type=bf16 -o yat.cu");
  verb->callback([given, verb, &action] {
    action = [given, verb] {
      checkTargetOptions(*verb, given->target);
      return run(*given);
    };
  });
}
