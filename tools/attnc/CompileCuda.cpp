//===- CompileCuda.cpp - attnc compile for GPUs ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileCuda.h"
#include "LevelOption.h"
#include "Meaning.h"
#include "PendingFile.h"
#include "Verbs.h"
#include "lowering/cuda/Cuda.h"
#include "runtime/Compile.h"
#include "runtime/Kernel.h"
#include "runtime/cuda/CudaCache.h"
#include "runtime/cuda/EmitCuda.h"

#include <fmt/format.h>

#include <filesystem>

using namespace attn;
using namespace attn::runtime;

void attn::addCudaOptions(CLI::App &verb, CompileCudaOptions &options) {
  addArchOption(verb, options.architecture,
                "with --target=cuda: the GPU architecture; {}")
      ->capture_default_str();
  verb.add_option("--tiles", options.tiles,
                  "with --target=cuda: queries and keys in a tile, as 64,32");
  verb.add_flag("--tf32", options.tf32,
                "with --target=cuda: products of f32 rows on the matrix unit, "
                "to 10 bits");
}

static std::vector<int64_t> parseTiles(const std::string &text) {
  if (text.empty())
    return {};
  size_t comma = text.find(',');
  std::optional<int64_t> q, k;
  if (comma != std::string::npos) {
    q = parseInteger(text.substr(0, comma));
    k = parseInteger(text.substr(comma + 1));
  }
  if (!q || !k || *q < 16 || *q % 16 || *q > 512 || *k < 16 || *k % 16 ||
      *k > 64)
    throw UsageError(fmt::format(
        "--tiles {}: multiples of 16 are expected, at most 512 queries and 64 "
        "keys",
        text));
  return {*q, *k};
}

/// Beside the output: k.cu.launch.json of k.cu. The whole name is in it, since
/// k.ptx may be of another type, architecture or tile.
static std::string launchPath(const std::string &output) {
  return output + ".launch.json";
}

static int64_t sharedBytesOf(const CudaProgram &program, size_t n,
                             const std::string &entry) {
  for (const LaunchStage &stage : program.stages)
    if (stage.entry == entry)
      return stage.sharedBytes;
  return n < program.stages.size() ? program.stages[n].sharedBytes : 0;
}

/// What the spec says, in its own words.
static std::vector<std::string> aboutKernel(Kernel::Impl &impl,
                                            const StaticSizes &sizes) {
  Facts facts;
  auto guard = impl.compilation->lock();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      impl.compilation->specialisedModule(sizes);
  module->walk([&](AttentionOp op) { addMeaning(facts, impl.signature, op); });
  std::vector<std::string> lines;
  for (const char *name : {"q", "k", "v", "kappa", "mask", "normalize"})
    if (std::string text = facts.find(name); !text.empty())
      lines.push_back(fmt::format("{:<9} = {}", name, text));
  return lines;
}

int attn::compileForCuda(const CompileCudaOptions &given) {
  bool text = given.emit == "cuda" || given.emit == "launch";
  if (!text && given.emit != "ptx" && given.emit != "cubin")
    throw UsageError(fmt::format(
        "--emit {}: with --target=cuda, cuda, ptx, cubin or launch is expected",
        given.emit));
  if (given.emit == "cubin" && given.output == "-")
    throw UsageError("--emit cubin: say with -o which file to write");
  if (given.output != "-")
    checkOutputs({{"-o", given.output}, {"-o", launchPath(given.output)}},
                 given.spec);
  CudaOptions options;
  options.tiles = parseTiles(given.tiles);
  options.level = &cudaLevel(given.architecture);
  options.storage = given.sizes.type;
  options.tf32 = given.tf32;
  Options compilation;
  compilation.schedule = given.schedule;
  Kernel kernel = Compiler(compilation).compileFile(given.spec, given.specName);
  Kernel::Impl &impl = kernel.getImpl();
  StaticSizes sizes = staticSizes(impl.signature, given.sizes)
                          .value_or(defaultSizes(impl.signature));
  options.about = aboutKernel(impl, sizes);
  CudaProgram program = impl.compilation->emitCuda(sizes, options);
  if (given.emit == "launch" && given.output == "-") {
    fmt::print("{}", launchJson(program));
    return 0;
  }
  std::string bytes =
      given.emit == "launch" ? launchJson(program) : program.source;
  if (!text) {
    CudaCode code = compileCudaCached(
        Cache(Cache::folderFor("")), program.source, program.name,
        program.architecture, given.emit == "ptx");
    bytes = std::move(code.bytes);
    for (size_t n = 0; n < code.usage.size(); ++n) {
      const KernelUsage &usage = code.usage[n];
      fmt::print(stderr,
                 "{}: {} registers, {} bytes of shared memory, {} bytes of "
                 "stack, {} + {} bytes spilled\n",
                 usage.entry.empty() && n < program.stages.size()
                     ? program.stages[n].entry
                     : usage.entry,
                 usage.registers, sharedBytesOf(program, n, usage.entry),
                 usage.stack, usage.spillStores, usage.spillLoads);
    }
    for (const std::string &remark : code.remarks)
      fmt::print(stderr, "{}: {}\n", program.name, remark);
  }
  if (given.output == "-") {
    fmt::print("{}", bytes);
    return 0;
  }
  std::vector<PendingFile> files;
  files.emplace_back(given.output);
  files[0].write(bytes);
  // Not beside a device or a pipe.
  bool isFile = !std::filesystem::exists(given.output) ||
                std::filesystem::is_regular_file(given.output);
  if (given.emit != "launch" && isFile) {
    files.emplace_back(launchPath(given.output));
    files[1].write(launchJson(program));
  }
  commitAll(files);
  return 0;
}
