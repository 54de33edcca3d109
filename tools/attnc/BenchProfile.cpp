//===- BenchProfile.cpp - where the time of a kernel goes -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel is timed as it is and with parts left out: without the sum of
// values, then with a bare dot for kappa, then without keys. What a part takes
// is the difference. The parts overlap on a machine that does several things at
// once, so that a difference is what would be gained, not what is spent.
//
//===----------------------------------------------------------------------===//

#include "BenchTables.h"
#include "Machine.h"
#include "dialect/attn/Attn.h"
#include "dialect/spec/Importer.h"
#include "runtime/Compile.h"
#include "runtime/Import.h"

#include <fmt/format.h>

#include <algorithm>

using namespace attn;
using namespace attn::runtime;

/// Leaves the mass as the only result.
static void keepMass(mlir::func::FuncOp function, AttentionOp op) {
  mlir::MLIRContext *context = op.getContext();
  mlir::Value mass = op.getOutput(Result::Mass);
  if (!mass) {
    int64_t open = mlir::ShapedType::kDynamic;
    mlir::Builder b(context);
    auto memory = mlir::MemRefType::get(
        {open, open, open}, b.getF32Type(),
        mlir::StridedLayoutAttr::get(context, open, {open, open, open}));
    auto arg = ArgAttr::get(context, ArgKind::Output, b.getStringAttr("mass"),
                            mlir::ArrayAttr(), /*integer=*/false,
                            mlir::StringAttr(), mlir::FloatAttr());
    unsigned position = function.getNumArguments();
    (void)function.insertArgument(
        position, memory,
        b.getDictionaryAttr(b.getNamedAttr(kArgAttrName, arg)), op.getLoc());
    mass = function.getArgument(position);
  }
  llvm::SmallVector<mlir::Value> outputs(op.getOutputs());
  op.getOutputsMutable().assign(mass);
  op.setResultsAttr(
      mlir::ArrayAttr::get(context, {ResultAttr::get(context, Result::Mass)}));
  llvm::BitVector unused(function.getNumArguments());
  for (mlir::Value output : outputs)
    if (output != mass)
      unused.set(llvm::cast<mlir::BlockArgument>(output).getArgNumber());
  (void)function.eraseArguments(unused);
}

/// Puts the dot of the rows in kappa's place. It may be negative, so that it is
/// summed and not divided by.
static void makeDot(AttentionOp op) {
  mlir::Block &kappa = op.getKappa().front();
  mlir::OpBuilder b(kappa.getTerminator());
  mlir::Value dot =
      DotOp::create(b, op.getLoc(), kappa.getArgument(0), kappa.getArgument(1));
  kappa.getTerminator()->setOperand(0, dot);
  op.setNormalize(Normalize::None);
  op.removeTermsAttr();
  op.getNormalizer().getBlocks().clear();
  op.removeFeaturesAttr();
}

/// The kernel with parts left out.
static Kernel leaveOut(const Kernel &kernel, const TableOptions &given,
                       bool isDot) {
  Kernel::Impl &impl = kernel.getImpl();
  std::string text =
      impl.compilation->emit(Stage::Attn, nullptr, impl.getLevel());
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  ParsedAttention parsed = parseAttention(text, "profile.mlir", context);
  if (!parsed)
    throw Error(parsed.error);
  parsed.module->walk([&](AttentionOp op) {
    keepMass(op->getParentOfType<mlir::func::FuncOp>(), op);
    if (isDot)
      makeDot(op);
  });
  std::string changed;
  llvm::raw_string_ostream stream(changed);
  parsed.module->print(stream);
  // A bare dot is separable; its pairs are what is to be timed.
  Options quadratic = given.options;
  quadratic.schedule = "quadratic";
  return Compiler(quadratic).compile(changed, kernel.name(), "profile.mlir");
}

int attn::runProfile(const TableOptions &given, const std::string &spec,
                     const std::string &specName, const BenchSetting &setting) {
  Progress progress;
  BenchSetting noKeys = setting;
  noKeys.keyLengths.assign(setting.shape.B, 0);
  Kernel kernel = Compiler(given.options).compileFile(spec, specName);
  Kernel dot = leaveOut(kernel, given, /*isDot=*/true);
  std::vector<BenchEntry> entries; // of less and less
  entries.push_back(prepareEntry(kernel, 0, setting, progress));
  entries.push_back(prepareEntry(leaveOut(kernel, given, /*isDot=*/false), 0,
                                 setting, progress));
  entries.push_back(prepareEntry(dot, 0, setting, progress));
  entries.push_back(prepareEntry(dot, 0, noKeys, progress));
  double round = 0;
  for (BenchEntry &entry : entries)
    round += entry.warmUp();
  int64_t turns = given.repeat
                      ? given.repeat
                      : std::clamp<int64_t>(
                            4 * given.seconds / std::max(round, 1e-6), 5, 1000);
  for (int64_t turn = 0; turn < turns; ++turn)
    for (BenchEntry &entry : entries) {
      progress.show(
          fmt::format("profile {}: {} of {}", kernel.name(), turn + 1, turns));
      entry.seconds.push_back(entry.run());
    }
  progress.clear();

  std::vector<double> times;
  for (const BenchEntry &entry : entries)
    times.push_back(median(entry.seconds) * 1e3);
  const std::pair<const char *, double> parts[] = {
      {"qk", times[2] - times[3]},
      {"kappa", times[1] - times[2]},
      {"pv", times[0] - times[1]},
      {"packing and rest", times[3]}};
  if (!given.json)
    fmt::print(
        "{}: {}, {} threads, shape {}, {:.3f} ms; a part is what leaving "
        "it out gains\n{:<18} {:>10} {:>8}\n",
        machineName(), kernel.name(), given.options.threads,
        setting.shape.toString(), times[0], "part", "ms", "share");
  for (const auto &[name, ms] : parts)
    if (given.json)
      fmt::print("{{\"spec\": \"{}\", \"part\": \"{}\", \"ms\": {:.4f}, "
                 "\"share\": {:.4f}}}\n",
                 kernel.name(), name, ms, ms / times[0]);
    else
      fmt::print("{:<18} {:>10.3f} {:>8.3f}\n", name, ms, ms / times[0]);
  return 0;
}
