//===- Import.cpp - attention functions and their signatures --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Import.h"

#include "dialect/attn/Specialize.h"
#include "lowering/analysis/ExpressionText.h"

#include "llvm/ADT/STLExtras.h"

#include <optional>

using namespace attn;
using namespace attn::runtime;
using namespace mlir;

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

/// A module that the text does not spell has no place: where its first function
/// stands, or else where the text begins.
static InFlightDiagnostic emitErrorIn(ModuleOp module) {
  Location place = module.getLoc();
  auto given = dyn_cast<FileLineColLoc>(place);
  if (given && given.getLine() == 0) {
    auto functions = module.getOps<func::FuncOp>();
    place = functions.empty() ? FileLineColLoc::get(given.getFilename(), 1, 1)
                              : (*functions.begin()).getLoc();
  }
  return emitError(place);
}

LogicalResult runtime::selectFunction(ModuleOp module, llvm::StringRef name) {
  std::string names;
  unsigned count = 0;
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (!isAttention(function))
      continue;
    names += (names.empty() ? "" : ", ") + function.getName().str();
    if (name.empty() || function.getName() == name)
      ++count;
    else
      function.erase();
  }
  if (names.empty())
    return emitErrorIn(module)
           << "there is no attention function in this module; the "
              "arguments of one carry '"
           << kArgAttrName << "'";
  if (count == 0)
    return emitErrorIn(module)
           << "there is no spec '" << name << "' here; there is " << names;
  if (count > 1)
    return emitErrorIn(module) << "there are several specs here: " << names
                               << "; choose one by its name";
  return success();
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
    if (formal.kind == FormalKind::Workspace ||
        formal.kind == FormalKind::State)
      return function.emitError(
          "workspaces and states are added by a pass, not "
          "by hand");
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

/// The type in which an input is stored.
static mlir::Type elementOf(const std::string &name, const StaticSizes &sizes,
                            Builder &builder) {
  for (const auto &[input, type] : sizes.types)
    if (input == name)
      return type == attn::Type::bf16  ? mlir::Type(builder.getBF16Type())
             : type == attn::Type::f16 ? mlir::Type(builder.getF16Type())
                                       : mlir::Type(builder.getF32Type());
  return builder.getF32Type();
}

FailureOr<int64_t> runtime::specialiseOn(func::FuncOp function,
                                         const Signature &signature,
                                         const StaticSizes &sizes) {
  auto lookUp = [](const auto &list, const std::string &name) {
    for (const auto &[key, extent] : list)
      if (key == name)
        return extent;
    return ShapedType::kDynamic;
  };
  SmallVector<SmallVector<int64_t>> extents;
  SmallVector<mlir::Type> elements;
  std::optional<unsigned> output;
  Builder builder(function.getContext());
  mlir::Type queryElement = builder.getF32Type();
  for (auto [index, formal] : llvm::enumerate(signature.formals)) {
    extents.emplace_back();
    elements.emplace_back();
    if (formal.kind <= FormalKind::Value) {
      extents.back().push_back(lookUp(sizes.rows, formal.name));
      elements.back() = elementOf(formal.name, sizes, builder);
      if (formal.kind == FormalKind::Query)
        queryElement = elements.back();
    }
    for (const Axis &axis : formal.axes)
      extents.back().push_back(axis.kind == Axis::Named
                                   ? lookUp(sizes.variables, axis.name)
                                   : ShapedType::kDynamic);
    if (formal.kind == FormalKind::Output && formal.name == "o")
      output = index;
  }
  if (failed(specialize(function, extents, elements, describe)))
    return failure();
  AttentionOp attention;
  function.walk([&](AttentionOp op) { attention = op; });
  RowType row = attention.getMappedRow(2);
  if (!row.hasStaticLength())
    return attention.emitError(
        "the length of the rows of v does not follow from the "
        "sizes given");
  if (output) { // known only now that the types of v's map are
    SmallVector<mlir::Type> types(function.getArgumentTypes());
    types[*output] =
        withLastExtents(cast<MemRefType>(types[*output]), row.getLength(),
                        /*contiguous=*/true, queryElement);
    if (failed(specialize(function, types, describe)))
      return failure();
  }
  return row.getLength();
}
