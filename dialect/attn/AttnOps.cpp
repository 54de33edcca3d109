//===- AttnOps.cpp - attention and its schedules: verifiers ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/attn/Attn.h"

using namespace mlir;
using namespace attn;

#define GET_OP_CLASSES
#include "dialect/attn/AttnOps.cpp.inc"

static RowType rowOfMemory(Value memory) {
  auto type = cast<MemRefType>(memory.getType());
  return RowType::get(type.getContext(), type.getDimSize(type.getRank() - 1),
                      Float32Type::get(type.getContext()));
}

static YieldOp yieldOf(Region &region) {
  return region.empty() || region.front().empty()
             ? YieldOp()
             : dyn_cast<YieldOp>(region.front().getTerminator());
}

template <typename Op> static RowType mappedRow(Op op, unsigned role) {
  Region *maps[] = {&op.getQueryMap(), &op.getKeyMap(), &op.getValueMap()};
  Value inputs[] = {op.getQuery(), op.getKey(), op.getValue()};
  if (maps[role]->empty())
    return rowOfMemory(inputs[role]);
  return cast<RowType>(yieldOf(*maps[role]).getValues()[0].getType());
}

template <typename Op> static Value outputOf(Op op, Result kind) {
  for (auto [attr, output] : llvm::zip(op.getResults(), op.getOutputs()))
    if (cast<ResultAttr>(attr).getValue() == kind)
      return output;
  return {};
}

template <typename Op> static Value termOf(Op op, NormalizerTerm term) {
  if (op.getTerms())
    for (auto [attr, value] :
         llvm::zip(*op.getTerms(), yieldOf(op.getNormalizer()).getValues()))
      if (cast<NormalizerTermAttr>(attr).getValue() == term)
        return value;
  return {};
}

/// A region that is there has these arguments and yields these types.
static LogicalResult verifyRegion(Operation *op, Region &region, StringRef name,
                                  TypeRange arguments, TypeRange yields) {
  auto yield = yieldOf(region);
  if (!yield)
    return op->emitOpError()
           << "region '" << name << "' must end in attn.yield";
  if (region.front().getArgumentTypes() != arguments)
    return op->emitOpError()
           << "region '" << name << "' must take (" << arguments
           << "), it takes (" << region.front().getArgumentTypes() << ")";
  if (yield.getValues().getTypes() != yields)
    return op->emitOpError()
           << "region '" << name << "' must yield (" << yields
           << "), it yields (" << yield.getValues().getTypes() << ")";
  return success();
}

template <typename Op> static LogicalResult verifyAttention(Op op) {
  MLIRContext *context = op.getContext();
  Type f32 = Float32Type::get(context), i1 = IntegerType::get(context, 1);
  for (Value input : {op.getQuery(), op.getKey(), op.getValue()})
    if (cast<MemRefType>(input.getType()).getRank() != 4)
      return op.emitOpError("inputs have the axes [B, H, N, D]");
  for (Value lengths :
       {op.getKeyLengths(), op.getQueryLengths(), op.getOffset()})
    if (lengths) {
      auto type = cast<MemRefType>(lengths.getType());
      if (type.getRank() != 1 || !type.getElementType().isInteger(64))
        return op.emitOpError("lengths and offset are memref<?xi64>");
    }

  // Results.
  if (op.getResults().size() != op.getOutputs().size())
    return op.emitOpError("names ") << op.getResults().size() << " results for "
                                    << op.getOutputs().size() << " outputs";
  llvm::SmallDenseSet<int> seen;
  for (auto [attr, output] : llvm::zip(op.getResults(), op.getOutputs())) {
    Result kind = cast<ResultAttr>(attr).getValue();
    if (!seen.insert(static_cast<int>(kind)).second)
      return op.emitOpError("wants result '")
             << stringifyResult(kind) << "' twice";
    auto type = cast<MemRefType>(output.getType());
    bool wide = kind == Result::O || kind == Result::Weights;
    if (type.getRank() != (wide ? 4 : 3))
      return op.emitOpError("result '")
             << stringifyResult(kind) << "' has " << (wide ? 4 : 3) << " axes";
  }

  // Maps and kappa.
  Region *maps[] = {&op.getQueryMap(), &op.getKeyMap(), &op.getValueMap()};
  Value inputs[] = {op.getQuery(), op.getKey(), op.getValue()};
  StringRef names[] = {"query", "key", "value"};
  for (unsigned role = 0; role < 3; ++role) {
    if (maps[role]->empty())
      continue;
    YieldOp yield = yieldOf(*maps[role]);
    if (!yield || yield.getValues().size() != 1 ||
        !isa<RowType>(yield.getValues()[0].getType()))
      return op.emitOpError()
             << "region '" << names[role] << "' must yield one row";
    if (failed(verifyRegion(op, *maps[role], names[role],
                            {rowOfMemory(inputs[role])},
                            yield.getValues().getTypes())))
      return failure();
  }
  Type rows[] = {mappedRow(op, 0), mappedRow(op, 1)};
  // A schedule may split kappa = 2^exponent * factor (S6).
  SmallVector<Type> weights(
      !std::is_same_v<Op, AttentionOp> && yieldOf(op.getKappa()) &&
              yieldOf(op.getKappa()).getValues().size() == 2
          ? 2
          : 1,
      f32);
  if (failed(verifyRegion(op, op.getKappa(), "kappa", rows, weights)))
    return failure();
  if (!op.getMask().empty() &&
      failed(verifyRegion(op, op.getMask(), "mask", {}, {i1})))
    return failure();

  // The normaliser.
  size_t terms = op.getTerms() ? op.getTerms()->size() : 0;
  if (terms != 0 && op.getNormalize() == Normalize::None)
    return op.emitOpError(
        "has terms in a denominator that normalize<none> lacks");
  if (terms != 0 || !op.getNormalizer().empty()) {
    SmallVector<Type> types(terms, f32);
    if (failed(verifyRegion(op, op.getNormalizer(), "normalizer", {}, types)))
      return failure();
  }
  return success();
}

RowType AttentionOp::getMappedRow(unsigned role) {
  return mappedRow(*this, role);
}
Value AttentionOp::getOutput(Result kind) { return outputOf(*this, kind); }
Value AttentionOp::getTerm(NormalizerTerm term) { return termOf(*this, term); }
LogicalResult AttentionOp::verify() { return verifyAttention(*this); }

RowType QuadraticOp::getMappedRow(unsigned role) {
  return mappedRow(*this, role);
}
Value QuadraticOp::getOutput(Result kind) { return outputOf(*this, kind); }
Value QuadraticOp::getTerm(NormalizerTerm term) { return termOf(*this, term); }
LogicalResult QuadraticOp::verify() {
  if (!getLicence() || !getSchedule() ||
      getSchedule()->getOrder() != Order::Quadratic)
    return emitOpError("needs a licence and a schedule of quadratic order");
  if ((getSchedule()->getKeySplit().getParts() > 0) != !getState().empty())
    return emitOpError("has a state where its keys are split, and only there");
  return verifyAttention(*this);
}

RowType LinearOp::getMappedRow(unsigned role) { return mappedRow(*this, role); }
Value LinearOp::getOutput(Result kind) { return outputOf(*this, kind); }
Value LinearOp::getTerm(NormalizerTerm term) { return termOf(*this, term); }
LogicalResult LinearOp::verify() {
  if (!getLicence() || getLicence()->getLinear() == LinearScan::Refused ||
      !getSchedule() || getSchedule()->getOrder() == Order::Quadratic)
    return emitOpError(
        "needs a licence for the linear order and a schedule of it");
  bool whole = getLicence()->getLinear() == LinearScan::Whole;
  if (isRecurrent() && whole)
    return emitOpError("is recurrent under a mask that shows keys to come");
  size_t arrays = isRecurrent() ? 2 : whole;
  if (getState().size() != arrays)
    return emitOpError("has a state of ")
           << arrays << " arrays, not " << getState().size();
  if (getQueryFeatures().empty() != getKeyFeatures().empty())
    return emitOpError("has features of both sides or of none");
  Type lengths[2] = {getMappedRow(0), getMappedRow(1)};
  Region *features[] = {&getQueryFeatures(), &getKeyFeatures()};
  StringRef names[] = {"query_features", "key_features"};
  for (unsigned side = 0; side < 2 && !features[0]->empty(); ++side) {
    YieldOp yield = yieldOf(*features[side]);
    SmallVector<Type> yields;
    if (yield)
      llvm::append_range(yields, yield.getValues().getTypes());
    if (yields.size() != 1 || !isa<RowType>(yields[0]))
      return emitOpError() << "region '" << names[side]
                           << "' must yield one row";
    if (failed(verifyRegion(*this, *features[side], names[side],
                            {lengths[side]}, yields)))
      return failure();
    lengths[side] = yields[0];
  }
  if (lengths[0] != lengths[1])
    return emitOpError("has feature rows of one length, not ")
           << lengths[0] << " and " << lengths[1];
  if (!getDecay().empty() &&
      failed(verifyRegion(*this, getDecay(), "decay", {},
                          {Float32Type::get(getContext())})))
    return failure();
  return verifyAttention(*this);
}
bool LinearOp::hasStatePerQueryHead() {
  bool found = false;
  for (Region *region : {&getKeyMap(), &getKeyFeatures(), &getDecay()})
    region->walk(
        [&](IndexOp index) { found |= index.getPosition() == Position::Head; });
  return found;
}
int64_t LinearOp::getRank() {
  if (getQueryFeatures().empty())
    return getMappedRow(0).getLength();
  return cast<RowType>(yieldOf(getQueryFeatures()).getValues()[0].getType())
      .getLength();
}

LogicalResult RowsOp::verify() {
  if (cast<MemRefType>(getInput().getType()).getRank() != 4)
    return emitOpError("reads an input with the axes [B, H, N, D]");
  auto yield = yieldOf(getBody());
  if (!yield || yield.getValues().size() != getOutputs().size())
    return emitOpError("yields one value an output");
  if (getBody().getArgumentTypes() != TypeRange{rowOfMemory(getInput())})
    return emitOpError("region takes the input's row");
  for (auto [value, output] : llvm::zip(yield.getValues(), getOutputs())) {
    int64_t rank = cast<MemRefType>(output.getType()).getRank();
    if (rank != (isa<RowType>(value.getType()) ? 4 : 3))
      return emitOpError(
          "writes rows to [B, H, N, n] and scalars to [B, H, N]");
  }
  return success();
}
