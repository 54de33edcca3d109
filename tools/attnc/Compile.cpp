//===- Compile.cpp - attnc compile ----------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Compile.h"
#include "Kernels.h"
#include "LevelOption.h"
#include "PendingFile.h"
#include "Problem.h"
#include "runtime/Kernel.h"

#include <fmt/format.h>

using namespace attn;
using namespace attn::runtime;

namespace {
struct CompileOptions {
  std::string spec, specName, emit = "llvm", output = "-";
  SizeOptions sizes;
  Options options;
};
} // namespace

static Stage stageOf(const std::string &name) {
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
  throw UsageError(fmt::format(
      "--emit {}: one of attn, scheduled, loops, llvm, asm is expected", name));
}

static int run(const CompileOptions &given) {
  Stage stage = stageOf(given.emit);
  Kernel kernel =
      Compiler(given.options).compileFile(given.spec, given.specName);
  Kernel::Impl &impl = kernel.getImpl();
  std::optional<StaticSizes> sizes = staticSizes(impl.signature, given.sizes);
  std::optional<PendingFile> file;
  if (given.output != "-")
    file.emplace(given.output);
  std::string text =
      impl.compilation->emit(stage, sizes ? &*sizes : nullptr, impl.getLevel());
  if (!file) {
    fmt::print("{}", text);
    return 0;
  }
  file->write(text);
  file->commit();
  return 0;
}

void attn::addCompile(CLI::App &app, Action &action) {
  CLI::App *verb =
      app.add_subcommand("compile", "Print what a spec becomes, at any stage");
  auto given = std::make_shared<CompileOptions>();
  verb->add_option("SPEC", given->spec, "a .attn or .mlir file")->required();
  verb->add_option("--emit", given->emit, "attn, scheduled, loops, llvm or asm")
      ->capture_default_str();
  verb->add_option("-o,--output", given->output,
                   "the file to write; -: standard output")
      ->capture_default_str();
  addSizeOptions(*verb, given->sizes);
  addLevelOption(*verb, given->options.level);
  verb->add_option("--spec-name", given->specName,
                   "the spec, where the file holds several");
  verb->footer(
      "Code is made for fixed row lengths: 64 where nothing is said. With "
      "--emit=attn "
      "they stay open.\n\nExample:\n"
      "  attnc compile examples/yat.attn --emit=asm --D 64 --Dv 64 -o yat.s");
  verb->callback(
      [given, &action] { action = [given] { return run(*given); }; });
}
