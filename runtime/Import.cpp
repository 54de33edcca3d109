//===- Import.cpp - texts to modules, modules to signatures ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Import.h"

#include "dialect/attn/Attn.h"
#include "dialect/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"

using namespace attn;
using namespace attn::runtime;
using namespace mlir;

void runtime::registerImportDialects(MLIRContext &context) {
  DialectRegistry registry;
  registry.insert<AttnDialect, arith::ArithDialect, func::FuncDialect,
                  math::MathDialect, memref::MemRefDialect>();
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

static bool isAttention(func::FuncOp function) {
  return function.getNumArguments() != 0 &&
         function.getArgAttr(0, kArgAttrName) != nullptr;
}

func::FuncOp runtime::attentionFunction(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (isAttention(function))
      return function;
  return nullptr;
}

OwningOpRef<ModuleOp> runtime::importText(MLIRContext &context,
                                          std::string_view text,
                                          std::string_view name,
                                          std::string_view file) {
  auto place = FileLineColLoc::get(&context, llvm::StringRef(file), 1, 1);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(&context), file);
  if (!module)
    return nullptr;
  std::string names;
  unsigned count = 0;
  for (auto function :
       llvm::make_early_inc_range(module->getOps<func::FuncOp>())) {
    if (!isAttention(function))
      continue;
    names += (names.empty() ? "" : ", ") + function.getName().str();
    if (name.empty() || function.getName() == llvm::StringRef(name))
      ++count;
    else
      function.erase();
  }
  if (names.empty())
    emitError(place)
        << "there is no attention function in this module; its arguments "
           "carry 'attn.arg'";
  else if (count == 0)
    emitError(place) << "there is no spec '" << llvm::StringRef(name)
                     << "' here; there is " << names;
  else if (count > 1)
    emitError(place) << "there are several specs here: " << names
                     << "; choose one by its name";
  return count == 1 ? std::move(module) : nullptr;
}

static LogicalResult readFormal(func::FuncOp function, unsigned index,
                                Formal &formal) {
  auto arg = function.getArgAttrOfType<ArgAttr>(index, kArgAttrName);
  if (!arg)
    return function.emitError("argument #")
           << index << " has no '" << kArgAttrName << "'";
  formal.kind = static_cast<FormalKind>(arg.getKind());
  formal.name = arg.getName().str();
  formal.integer = arg.getInteger();
  if (arg.getRelop() && arg.getBound()) {
    formal.relop = arg.getRelop().str();
    formal.bound = arg.getBound().getValueAsDouble();
  }
  if (arg.getAxes())
    for (Attribute attribute : arg.getAxes()) {
      auto text = dyn_cast<StringAttr>(attribute);
      formal.axes.emplace_back();
      if (!text || !parseAxis(text.str(), formal.axes.back()))
        return function.emitError("argument #")
               << index << " has no axis " << attribute;
    }
  auto type = dyn_cast<MemRefType>(function.getArgumentTypes()[index]);
  if (!type)
    return function.emitError("argument #") << index << " must be a memref";
  if (formal.kind == FormalKind::Param &&
      static_cast<size_t>(type.getRank()) != formal.axes.size())
    return function.emitError("argument #")
           << index << " has rank " << type.getRank() << " but "
           << formal.axes.size() << " axes";
  return success();
}

LogicalResult runtime::readSignature(ModuleOp module, Signature &signature) {
  static_assert(static_cast<int>(FormalKind::Workspace) ==
                static_cast<int>(ArgKind::Workspace));
  func::FuncOp function = attentionFunction(module);
  unsigned attentions = 0;
  function.walk([&](AttentionOp) { ++attentions; });
  if (attentions != 1)
    return function.emitError(
               "an attention function has one attn.attention, not ")
           << attentions;
  signature = Signature();
  signature.name = function.getName().str();
  unsigned roles[3] = {0, 0, 0};
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    signature.formals.emplace_back();
    Formal &formal = signature.formals.back();
    if (failed(readFormal(function, i, formal)))
      return failure();
    if (formal.kind == FormalKind::Workspace)
      return function.emitError("workspaces are added by a pass, not by hand");
    if (formal.kind == FormalKind::Output)
      signature.results.push_back(formal.name);
    if (formal.kind <= FormalKind::Value)
      ++roles[static_cast<int>(formal.kind)];
  }
  for (unsigned count : roles)
    if (count != 1)
      return function.emitError(
          "an attention function has one argument each of kind "
          "query, key and value");
  return success();
}

LogicalResult runtime::specialiseOn(func::FuncOp function,
                                    const StaticSizes &sizes) {
  return success();
}
