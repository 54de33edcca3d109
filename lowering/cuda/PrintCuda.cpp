//===- PrintCuda.cpp - one .cu file of a module ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/SplitKeys.h"
#include "lowering/cuda/Cuda.h"
#include "lowering/cuda/CudaPrinter.h"

using namespace mlir;
using namespace attn;

/// Words of C++, of the prelude and of CUDA: no name of ours.
static llvm::StringSet<> reservedNames() {
  llvm::StringSet<> names;
  for (StringRef word :
       {"alignas",  "and",       "asm",      "auto",      "bool",
        "break",    "case",      "char",     "class",     "const",
        "continue", "default",   "delete",   "do",        "double",
        "else",     "enum",      "explicit", "extern",    "false",
        "float",    "for",       "goto",     "if",        "inline",
        "int",      "long",      "main",     "namespace", "new",
        "not",      "operator",  "or",       "private",   "public",
        "register", "return",    "short",    "signed",    "sizeof",
        "static",   "struct",    "switch",   "template",  "this",
        "throw",    "true",      "try",      "typedef",   "union",
        "unsigned", "using",     "virtual",  "void",      "volatile",
        "while",    "xor",       "warpSize", "gridDim",   "blockDim",
        "blockIdx", "threadIdx", "r",        "at",        "shared",
        "std",      "errno",     "i64",      "u32",       "u16",
        "u64",      "infinity"})
    names.insert(word);
  // What the prelude declares or calls; the names of its variables are free.
  for (StringRef text : {cudaDevicePrelude(), cudaTilePrelude(),
                         cudaGroupDevicePrelude(), cudaGroupTilePrelude()}) {
    StringRef previous;
    while (!text.empty()) {
      if (text.starts_with("//")) {
        text = text.drop_front(std::min(text.find('\n'), text.size()));
        continue;
      }
      StringRef word =
          text.take_while([](char c) { return std::isalnum(c) || c == '_'; });
      text = text.drop_front(std::max<size_t>(word.size(), 1));
      if (word.empty())
        continue;
      if (previous == "struct" || previous == "define" ||
          text.starts_with("(") || text.starts_with("<"))
        names.insert(word);
      previous = word;
    }
  }
  return names;
}

static std::string roleOf(ArgAttr arg) {
  switch (arg.getKind()) {
  case ArgKind::Param:
    return "parameter";
  case ArgKind::Output: // what a call gives stands where it took it, or apart
    return arg.getName().getValue() == kStateName ? kNewStateRole.str()
                                                  : arg.getName().str();
  default:
    return stringifyArgKind(arg.getKind()).str();
  }
}

FailureOr<CudaProgram> attn::printCuda(ModuleOp module,
                                       ArrayRef<std::string> about) {
  auto target = module->getAttrOfType<TargetAttr>(kTargetAttrName);
  const CudaLevel *level =
      target ? findCudaLevel(target.getLevel().getValue()) : nullptr;
  if (!level)
    return module.emitError("the module names no known GPU; set ")
           << kTargetAttrName;
  static const llvm::StringSet<> reserved = reservedNames();
  CudaProgram program;
  program.architecture = level->name.str();
  std::string kernels;
  CudaFile file{*level, reserved, 0, {}, {}};
  int64_t threads = 0;
  for (auto stage : module.getOps<func::FuncOp>())
    file.queries = std::max(file.queries, CudaPrinter::queriesOf(stage));
  for (auto stage : module.getOps<func::FuncOp>()) {
    if (stage.getOps<scf::ForallOp>().empty())
      continue;
    LaunchStage launch;
    if (failed(CudaPrinter(stage, file).print(kernels, launch)))
      return failure();
    kernels += "\n";
    if (launch.sharedBytes > level->sharedBytes)
      return stage.emitError("rows are too long: their tiles take ")
             << launch.sharedBytes / 1024 << " KiB of shared memory, "
             << level->name << " has " << level->sharedBytes / 1024;
    if (threads && threads != launch.threads)
      return stage.emitError("has other tiles than the other stages");
    threads = launch.threads;
    program.stages.push_back(std::move(launch));
    if (program.arguments.empty())
      program.name = stage.getName().split('.').first.str();
    program.arguments.resize(
        std::max<size_t>(program.arguments.size(), stage.getNumArguments()));
    for (BlockArgument argument : stage.getArguments())
      if (auto arg = stage.getArgAttrOfType<ArgAttr>(argument.getArgNumber(),
                                                     kArgAttrName)) {
        LaunchArgument &known = program.arguments[argument.getArgNumber()];
        auto type = cast<MemRefType>(argument.getType());
        known.name = arg.getName().str();
        known.role = roleOf(arg);
        Type element = type.getElementType(); // tf32 lies there as a float
        known.type = element.isTF32() ? "float" : cTypeOf(element).str();
        bool isSums = known.isState() || arg.getKind() == ArgKind::Workspace;
        if (ArrayAttr axes = arg.getAxes(); axes && isSums)
          known.perQueryHead =
              llvm::any_of(axes.getAsValueRange<StringAttr>(),
                           [](StringRef axis) { return axis == "head"; });
        if (type.getRank() == 4 && !type.isDynamicDim(3))
          known.row = type.getDimSize(3);
        if (!isSums)
          continue;
        if (!type.isDynamicDim(2))
          known.rows = type.getDimSize(2);
        if (cast<StringAttr>(arg.getAxes()[2]).getValue() == kSplitAxisName) {
          known.parts = kKeyParts;
          known.partQueries = kSplitQueries;
        }
      }
  }
  if (program.stages.empty())
    return module.emitError("has no stage to print");
  std::string head = "// " + program.name + ": attention for " +
                     program.architecture + ", made by attnc.\n//\n";
  for (const std::string &line : about)
    head += "//   " + line + "\n";
  head +=
      "//\n// How to launch it stands in the .launch.json beside it. Compile "
      "with --std=c++17 --ftz=true.\n\n";
  std::string device = cudaDevicePrelude().str(),
              tiles = cudaTilePrelude().str();
  if (!file.products.empty()) {
    device += cudaGroupDevicePrelude();
    for (const GroupProduct &product : file.products)
      device += groupProductText(product);
    tiles += cudaGroupTilePrelude();
  }
  program.source =
      head + "#ifdef " + kHostPreludeMacro.str() + "\n#include " +
      kHostPreludeMacro.str() + "\n#else\n" + device +
      "#endif\n\nconstexpr int kThreads = " + std::to_string(threads) +
      ";\n\n" + tiles +
      "\n//===- the kernels --------------------------------------------------"
      "----===//\n\n" +
      kernels;
  return program;
}
