//===- Importer.cpp - specifications to the attn dialect ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/Importer.h"
#include "dialect/spec/Checker.h"
#include "dialect/spec/RegionEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace attn;

void attn::loadImportDialects(MLIRContext &context) {
  context.loadDialect<AttnDialect, arith::ArithDialect, func::FuncDialect,
                      math::MathDialect, memref::MemRefDialect>();
}

namespace {

/// Builds the function of one checked spec.
class FunctionBuilder {
public:
  FunctionBuilder(const CheckedSpec &checked, StringAttr file, ModuleOp module)
      : checked(checked), spec(*checked.spec), file(file),
        builder(OpBuilder::atBlockEnd(module.getBody())) {}
  func::FuncOp build();

private:
  Type array(unsigned rank, Type element) {
    SmallVector<int64_t> dynamic(rank, ShapedType::kDynamic);
    auto layout = StridedLayoutAttr::get(builder.getContext(),
                                         ShapedType::kDynamic, dynamic);
    return MemRefType::get(dynamic, element, layout);
  }
  void argument(Type type, ArgKind kind, StringRef name,
                const Spec::Parameter *parameter = nullptr);
  void declareArguments();
  AttentionOp buildAttention(Block *entry);
  FeaturesAttr featuresOf(const CheckedSpec &checked) {
    if (!checked.features)
      return {};
    const CheckedSpec::Features &f = *checked.features;
    return FeaturesAttr::get(builder.getContext(),
                             static_cast<FeatureKind>(f.kind), f.order, f.count,
                             f.nodes, f.seed, f.orthogonal, f.hyperbolic,
                             f.anchors, /*applied=*/false, StringAttr());
  }
  void fillRegions(AttentionOp op, Block *entry);

  const CheckedSpec &checked;
  const Spec &spec;
  StringAttr file;
  OpBuilder builder;
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
};

} // namespace

static std::string textOf(const Spec::Edge &edge) {
  if (edge.variable.text.empty())
    return std::to_string(edge.number);
  return (edge.negated ? "-" : "") + edge.variable.text;
}

static const char *textOf(Spec::Operator relop) {
  switch (relop) {
  case Spec::Operator::Less:
    return "<";
  case Spec::Operator::LessEqual:
    return "<=";
  case Spec::Operator::Greater:
    return ">";
  case Spec::Operator::GreaterEqual:
    return ">=";
  case Spec::Operator::Equal:
    return "==";
  default:
    return "!=";
  }
}

void FunctionBuilder::argument(Type type, ArgKind kind, StringRef name,
                               const Spec::Parameter *parameter) {
  ArrayAttr axes;
  StringAttr relop;
  FloatAttr bound;
  if (parameter) {
    SmallVector<Attribute> texts;
    for (const Spec::Axis &axis : parameter->axes)
      texts.push_back(builder.getStringAttr(
          axis.name.text.empty() ? textOf(axis.low) + ":" + textOf(axis.high)
                                 : axis.name.text));
    axes = builder.getArrayAttr(texts);
    if (parameter->relop) {
      relop = builder.getStringAttr(textOf(*parameter->relop));
      bound = builder.getF64FloatAttr(parameter->bound);
    }
  }
  auto attribute =
      ArgAttr::get(builder.getContext(), kind, builder.getStringAttr(name),
                   axes, parameter && parameter->integer, relop, bound);
  types.push_back(type);
  attributes.push_back(
      builder.getDictionaryAttr(builder.getNamedAttr(kArgAttrName, attribute)));
}

void FunctionBuilder::declareArguments() {
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type(),
       i64 = builder.getI64Type();
  constexpr ArgKind kinds[] = {ArgKind::Query, ArgKind::Key, ArgKind::Value};
  for (unsigned r = 0; r < 3; ++r)
    argument(array(4, f32), kinds[r], spec.inputs[checked.roles[r].input].text);
  for (const Spec::Parameter &parameter : spec.parameters)
    argument(array(parameter.axes.size(), parameter.integer ? i64 : f32),
             ArgKind::Param, parameter.name.text, &parameter);
  argument(array(1, i64), ArgKind::KeyLengths, "key_lengths");
  argument(array(1, i64), ArgKind::QueryLengths, "query_lengths");
  argument(array(1, i64), ArgKind::Offset, "offset");
  for (unsigned result : checked.results) {
    auto kind = static_cast<Result>(result);
    bool wide = kind == Result::O || kind == Result::Weights;
    argument(array(wide ? 4 : 3, kind == Result::Argmax ? i32 : f32),
             ArgKind::Output, stringifyResult(kind));
  }
}

AttentionOp FunctionBuilder::buildAttention(Block *entry) {
  MLIRContext *context = builder.getContext();
  SmallVector<Attribute> results, terms;
  for (unsigned result : checked.results)
    results.push_back(ResultAttr::get(context, static_cast<Result>(result)));
  for (auto &[term, value] : checked.terms)
    terms.push_back(
        NormalizerTermAttr::get(context, static_cast<NormalizerTerm>(term)));
  auto args = entry->getArguments();
  size_t lengths = 3 + spec.parameters.size();
  Location loc = locationOf(file, spec.name.place);
  if (checked.features) // whoever refuses them points at them
    loc = FusedLoc::get(context,
                        {loc, locationOf(file, checked.features->place)});
  return AttentionOp::create(
      builder, loc, args[0], args[1], args[2], args[lengths], args[lengths + 1],
      args[lengths + 2], args.drop_front(lengths + 3), /*state=*/ValueRange(),
      builder.getArrayAttr(results),
      checked.normalizeByMass ? Normalize::Mass : Normalize::None,
      terms.empty() ? ArrayAttr() : builder.getArrayAttr(terms),
      checked.allowSigned, LicenceAttr(), ScheduleAttr(), featuresOf(checked));
}

void FunctionBuilder::fillRegions(AttentionOp op, Block *entry) {
  RegionEmitter emitter(checked, entry->getArguments(), file);
  const Graph &graph = checked.graph();
  Region *maps[] = {&op.getQueryMap(), &op.getKeyMap(), &op.getValueMap()};
  for (unsigned r = 0; r < 3; ++r) {
    // A role that is an input as it stands needs no map.
    NodeId row = checked.roles[r].row;
    while (graph[row].op == NodeOp::Role)
      row = graph[row].operands[0];
    if (graph[row].op != NodeOp::Input)
      emitter.emitRowMap(*maps[r], checked.roles[r].input, row);
  }
  emitter.emitKappa(op.getKappa());
  if (checked.mask != CheckedSpec::kNone)
    emitter.emitScalars(op.getMask(), {checked.mask});
  SmallVector<NodeId> terms;
  for (auto &[term, value] : checked.terms)
    terms.push_back(value);
  if (!terms.empty())
    emitter.emitScalars(op.getNormalizer(), terms);
}

func::FuncOp FunctionBuilder::build() {
  declareArguments();
  Location loc = locationOf(file, spec.name.place);
  auto function = func::FuncOp::create(
      builder, loc, spec.name.text, builder.getFunctionType(types, {}),
      /*attrs=*/ArrayRef<NamedAttribute>(), attributes);
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  AttentionOp op = buildAttention(entry);
  func::ReturnOp::create(builder, loc);
  fillRegions(op, entry);
  return function;
}

std::optional<SpecError> attn::importSpecs(ArrayRef<Spec> specs, StringRef file,
                                           MLIRContext &context,
                                           OwningOpRef<ModuleOp> &module) {
  loadImportDialects(context);
  auto fileAttr = StringAttr::get(&context, file);
  OwningOpRef<ModuleOp> result =
      ModuleOp::create(FileLineColLoc::get(fileAttr, 1, 1));
  llvm::StringMap<uint32_t> names;
  try {
    for (const Spec &spec : specs) {
      auto [known, added] =
          names.try_emplace(spec.name.text, spec.name.place.line);
      if (!added)
        throw SpecError{"'" + spec.name.text + "' is already defined in line " +
                            std::to_string(known->second) +
                            "; choose another name",
                        spec.name.place};
      CheckedSpec checked = checkSpec(spec);
      FunctionBuilder(checked, fileAttr, *result).build();
    }
  } catch (SpecError &error) {
    return std::move(error);
  }
  if (failed(verify(*result)))
    return SpecError{"the imported module does not verify", {}};
  module = std::move(result);
  return std::nullopt;
}
