//===- CpuDispatch.cpp - one kernel at several feature levels -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of every level's C interface get a tail to their names and the
// level's instructions; under the ordinary names stand functions that pick. The
// level is asked for once and kept in an integer: that needs no C library, and
// no dynamic linker as an ifunc does. A prepared call belongs to the level that
// prepared it, by its marker, whatever level is chosen since.
//
//===----------------------------------------------------------------------===//

#include "lowering/Passes.h"
#include "lowering/cpu/CInterface.h"
#include "lowering/cpu/TargetLevel.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Parser/Parser.h"

namespace attn {
#define GEN_PASS_DEF_CPUDISPATCHPASS
#include "lowering/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

static constexpr StringLiteral kLibrary =
#include "lowering/cpu/CpuDispatchLibrary.inc"
    ;

namespace {

/// A function of the C header.
struct Entry {
  StringLiteral suffix;
  std::initializer_list<StringLiteral> arguments;
  StringLiteral result;
  bool takesCall;     ///< a prepared one, which knows its level
  bool negatesStatus; ///< the result is a size
};
const Entry entries[] = {
    {"", {"!llvm.ptr"}, "i32", false, false},
    {"_prepare", {"!llvm.ptr", "!llvm.ptr"}, "i32", false, false},
    {"_workspace", {"!llvm.ptr"}, "i64", false, true},
    {"_stages", {"!llvm.ptr"}, "i64", true, true},
    {"_items", {"!llvm.ptr", "i64"}, "i64", true, true},
    {"_range", {"!llvm.ptr", "i64", "i64", "i64"}, "i32", true, false},
};

/// Writes what stands under the ordinary names, as MLIR text.
class DispatchText {
public:
  DispatchText(StringRef name, ArrayRef<CpuLevel> levels)
      : name(name), levels(levels), out(text) {}

  std::string write() {
    out << kLibrary;
    writeLevels();
    writeChosen();
    for (const Entry &entry : entries)
      writeEntry(entry);
    return std::move(text);
  }

private:
  static constexpr int32_t kNone = static_cast<int32_t>(CError::Machine);

  /// NAME.levels() -> a bit a level that the machine runs.
  void writeLevels() {
    out << "func.func private @" << name << ".levels() -> i32 {\n"
        << "  %m:6 = func.call @attn.c.machine() : () -> (i32, i32, i32, i32, "
           "i32, i32)\n"
        << "  %all0 = arith.constant 0 : i32\n";
    // Only who has code for the tile registers asks for them.
    bool tiles = llvm::any_of(
        levels, [](const CpuLevel &level) { return level.hasMatrixUnit; });
    if (tiles)
      out << "  %x = func.call @attn.c.permitted(%m#3) : (i32) -> i32\n";
    for (auto [n, level] : llvm::enumerate(levels)) {
      const CpuidBits &bits = level.cpuid;
      uint32_t words[] = {1u << n,           bits.leaf1Ecx, bits.leaf7Ebx,
                          bits.extended1Ecx, bits.xcr0,     bits.leaf7Edx,
                          bits.leaf7Sub1Eax};
      std::string needed;
      for (auto [w, value] : llvm::enumerate(words)) {
        std::string word = "%w" + std::to_string(n) + std::to_string(w);
        out << "  " << word << " = arith.constant "
            << static_cast<int32_t>(value) << " : i32\n";
        if (w)
          needed += ", " + word;
      }
      out << "  %b" << n << " = func.call @attn.c.offers(%w" << n
          << "0, %m#0, %m#1, %m#2, " << (tiles ? "%x" : "%m#3")
          << ", %m#4, %m#5" << needed
          << ") : (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, "
             "i32, i32) -> i32\n"
          << "  %all" << n + 1 << " = arith.ori %all" << n << ", %b" << n
          << " : i32\n";
    }
    out << "  return %all" << levels.size() << " : i32\n}\n";
  }

  /// NAME.level() -> the number of the chosen level, one more than there are if
  /// the machine runs none; and NAME_level(level), which chooses.
  void writeChosen() {
    size_t count = levels.size();
    out << "llvm.mlir.global internal @" << name << ".chosen(0 : i32) : i32\n"
        << "func.func private @" << name << ".level() -> i32 {\n"
        << "  %place = llvm.mlir.addressof @" << name
        << ".chosen : !llvm.ptr\n"
           "  %unknown = arith.constant 0 : i32\n"
           "  %one = arith.constant 1 : i32\n"
           "  %none = arith.constant "
        << (1u << count)
        << " : i32\n"
           "  %known = llvm.load %place atomic monotonic {alignment = 4 : i64} "
           ": !llvm.ptr -> i32\n"
           "  %asked = arith.cmpi ne, %known, %unknown : i32\n"
           "  %level = scf.if %asked -> (i32) {\n"
           "    scf.yield %known : i32\n"
           "  } else {\n"
           "    %levels = func.call @"
        << name
        << ".levels() : () -> i32\n"
           "    %some = arith.ori %levels, %none : i32\n"
           "    %first = \"llvm.intr.cttz\"(%some) <{is_zero_poison = true}> : "
           "(i32) -> i32\n"
           "    %number = arith.addi %first, %one : i32\n"
           "    llvm.store %number, %place atomic monotonic {alignment = 4 : "
           "i64} : i32, !llvm.ptr\n"
           "    scf.yield %number : i32\n"
           "  }\n"
           "  return %level : i32\n}\n";
    out << "func.func @" << name
        << "_level(%level: i32) -> i32 {\n"
           "  %place = llvm.mlir.addressof @"
        << name
        << ".chosen : !llvm.ptr\n"
           "  %zero = arith.constant 0 : i32\n"
           "  %one = arith.constant 1 : i32\n"
           "  %count = arith.constant "
        << count
        << " : i32\n"
           "  %error = arith.constant "
        << -kNone
        << " : i32\n"
           "  %levels = func.call @"
        << name
        << ".levels() : () -> i32\n"
           "  %bit = arith.subi %level, %one : i32\n"
           "  %listed = arith.cmpi ult, %bit, %count : i32\n"
           "  %shift = arith.select %listed, %bit, %zero : i32\n"
           "  %shifted = arith.shrui %levels, %shift : i32\n"
           "  %odd = arith.trunci %shifted : i32 to i1\n"
           "  %runs = arith.andi %odd, %listed : i1\n"
           "  scf.if %runs {\n"
           "    llvm.store %level, %place atomic monotonic {alignment = 4 : "
           "i64} : i32, !llvm.ptr\n"
           "  }\n"
           "  %now = func.call @"
        << name
        << ".level() : () -> i32\n"
           "  %asks = arith.cmpi eq, %level, %zero : i32\n"
           "  %served = arith.ori %asks, %runs : i1\n"
           "  %exists = arith.cmpi ule, %now, %count : i32\n"
           "  %sound = arith.andi %served, %exists : i1\n"
           "  %r = arith.select %sound, %now, %error : i32\n"
           "  return %r : i32\n}\n";
  }

  void writeEntry(const Entry &entry) {
    std::string operands, types, parameters;
    for (auto [n, type] : llvm::enumerate(entry.arguments)) {
      std::string separator = n ? ", " : "", value = "%a" + std::to_string(n);
      operands += separator + value;
      types += separator + type.str();
      parameters += separator + value + ": " + type.str();
    }
    out << "func.func @" << name << entry.suffix << "(" << parameters << ") -> "
        << entry.result << " {\n";
    if (entry.takesCall)
      out << "  %marker = arith.constant " << kCMarker << " : i64\n"
          << "  %count = arith.constant " << levels.size() << " : i64\n"
          << "  %level = func.call @attn.c.preparedby(%a0, %marker, %count) : "
             "(!llvm.ptr, i64, i64) -> i32\n";
    else
      out << "  %level = func.call @" << name << ".level() : () -> i32\n";
    out << "  cf.switch %level : i32, [default: ^none";
    for (size_t n = 1; n <= levels.size(); ++n)
      out << ", " << n << ": ^level" << n;
    out << "]\n";
    for (auto [n, level] : llvm::enumerate(levels))
      out << "^level" << n + 1 << ":\n  %r" << n << " = llvm.call @\"" << name
          << entry.suffix << "." << level.codeName() << "\"(" << operands
          << ") : (" << types << ") -> " << entry.result << "\n  return %r" << n
          << " : " << entry.result << "\n";
    out << "^none:\n  %e = arith.constant "
        << (entry.negatesStatus ? -kNone : kNone) << " : " << entry.result
        << "\n  return %e : " << entry.result << "\n}\n";
  }

  StringRef name;
  ArrayRef<CpuLevel> levels;
  std::string text;
  llvm::raw_string_ostream out;
};

struct CpuDispatch : attn::impl::CpuDispatchPassBase<CpuDispatch> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto name = module->getAttrOfType<StringAttr>(kDispatchAttrName);
    auto kernels = llvm::to_vector(module.getOps<ModuleOp>());
    if (!name || kernels.empty()) {
      module.emitError("the module has no '")
          << kDispatchAttrName << "' or no modules of levels in it";
      return signalPassFailure();
    }
    SmallVector<CpuLevel> levels;
    for (ModuleOp kernel : kernels) {
      std::optional<CpuLevel> level = targetLevel(kernel);
      if (!level || level->cpuid.leaf1Ecx == 0) {
        kernel.emitError("is of no level that CPUID tells; set ")
            << kTargetAttrName;
        return signalPassFailure();
      }
      levels.push_back(*level);
    }
    std::string errorName = (name.getValue() + "_error").str();
    for (auto [kernel, level] : llvm::zip(kernels, levels)) {
      if (kernel != kernels.front())
        dropErrorText(kernel, errorName);
      if (failed(addTail(kernel, level, errorName)))
        return signalPassFailure();
      for (Operation &op : llvm::make_early_inc_range(*kernel.getBody()))
        moveUp(op, module);
      kernel.erase();
    }
    // Calls of functions that the text has not: verified where they meet.
    ParserConfig config(&getContext(), /*verifyAfterParse=*/false);
    OwningOpRef<ModuleOp> text = parseSourceString<ModuleOp>(
        DispatchText(name.getValue(), levels).write(), config);
    if (!text) {
      module.emitError("internal: the dispatching text does not parse");
      return signalPassFailure();
    }
    auto linkage =
        LLVM::LinkageAttr::get(&getContext(), LLVM::Linkage::Internal);
    for (Operation &op : llvm::make_early_inc_range(*text->getBody())) {
      if (auto function = dyn_cast<func::FuncOp>(op);
          function && function.isPrivate())
        function->setAttr("llvm.linkage", linkage);
      op.moveBefore(module.getBody(), module.getBody()->end());
    }
    module->removeAttr(kDispatchAttrName);
  }

  /// Whether the linker is to find it elsewhere.
  static bool isDeclared(Operation &op) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    return function && function.isExternal();
  }

  /// One text of the statuses is enough: levels have the same.
  static void dropErrorText(ModuleOp kernel, StringRef errorName) {
    if (Operation *error = SymbolTable::lookupSymbolIn(kernel, errorName))
      error->erase();
    for (auto global :
         llvm::make_early_inc_range(kernel.getOps<LLVM::GlobalOp>()))
      if (SymbolTable::symbolKnownUseEmpty(global, kernel))
        global.erase();
  }

  /// Gives what the module defines the level's tail and its functions the
  /// level's instructions; but not to the text of statuses, which any machine
  /// may ask for.
  LogicalResult addTail(ModuleOp kernel, const CpuLevel &level,
                        StringRef errorName) {
    MLIRContext *context = &getContext();
    SymbolTable symbols(kernel);
    SmallVector<StringRef> features;
    level.features.split(features, ',', -1, /*KeepEmpty=*/false);
    for (Operation &op : llvm::make_early_inc_range(*kernel.getBody())) {
      auto symbol = dyn_cast<SymbolOpInterface>(op);
      if (!symbol || isDeclared(op) || symbol.getName() == errorName)
        continue;
      std::string tailed = (symbol.getName() + "." + level.codeName()).str();
      if (failed(symbols.rename(symbol, StringAttr::get(context, tailed))))
        return symbol->emitError("cannot be renamed");
      auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
      if (!function)
        continue;
      function.setLinkage(LLVM::Linkage::Internal);
      function.setTargetCpu(level.cpu);
      if (!features.empty())
        function.setTargetFeaturesAttr(
            LLVM::TargetFeaturesAttr::get(context, features));
    }
    return success();
  }

  /// Declarations of several levels are one.
  static void moveUp(Operation &op, ModuleOp module) {
    if (isDeclared(op) &&
        SymbolTable::lookupSymbolIn(module, SymbolTable::getSymbolName(&op)))
      return op.erase();
    op.moveBefore(module.getBody(), module.getBody()->end());
  }
};

} // namespace
