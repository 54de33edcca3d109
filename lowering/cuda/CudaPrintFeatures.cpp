//===- CudaPrintFeatures.cpp - the linear order in CUDA C++ ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Features and the state lie in shared memory and are changed in place where
// nobody asks for what was there before; z is in registers.
//
//===----------------------------------------------------------------------===//

#include "lowering/cuda/CudaPrinter.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

static TileType typeOf(Value v) { return cast<TileType>(v.getType()); }

/// Whether `user` has run, for the last time, when `op` begins.
static bool hasRun(Operation *user, Operation *op) {
  for (Operation *at = op; at; at = at->getParentOp())
    if (Operation *here = at->getBlock()->findAncestorOpInBlock(*user))
      return here != at && here->isBeforeInBlock(at);
  return false;
}
/// Whether nobody but `op` reads v once `op` begins: not behind it, and not in
/// the next turn of a loop that v comes from outside of.
static bool isLastRead(Value v, Operation *op) {
  return llvm::all_of(v.getUsers(), [&](Operation *user) {
    if (user == op)
      return true;
    for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
         loop = loop->getParentOfType<scf::ForOp>())
      if (loop->isAncestor(user) &&
          !loop->isAncestor(v.getParentBlock()->getParentOp()))
        return false;
    return hasRun(user, op);
  });
}

//===----------------------------------------------------------------------===//
// The state
//===----------------------------------------------------------------------===//

/// A place for the state v.
void CudaPrinter::statePlace(Value v, Value memory) {
  TileType t = typeOf(v);
  int64_t rows = (t.size('e') + 15) / 16 * 16, rank = t.size('r');
  std::string name = unique("state");
  std::string text = "  const auto " + name + " = rowsAt<State<" +
                     std::to_string(t.size('e')) + ", " + std::to_string(rank) +
                     ">>(shared, " +
                     std::to_string(scratch(rows * (rank + 8) * 4)) + ");\n";
  body.insert(placesEnd, text);
  placesEnd += text.size();
  texts[v] = {name};
  placeOf[v] = name;
}

LogicalResult CudaPrinter::printStateLoad(tile::LoadOp op) {
  Value result = op.getResult(), memory = op.getMemory();
  TileType t = typeOf(result);
  ValueRange indices = op.getIndices();
  if (t.rank() == 1)
    return declareTile(result, "loadFeatures<" + std::to_string(t.size('r')) +
                                   ">(" + address(memory, indices) + ")");
  if (op->getParentOfType<scf::ForOp>())
    return op.emitOpError("loads a state in a loop");
  statePlace(result, memory);
  line("stage(" + of(result).code + ", " +
       address(memory, indices.drop_back()) + ", " +
       stride(memory, indices.size() - 1).code + ", " +
       of(indices.back()).code + ", " + of(op.getLimit()).code + ");");
  pending.push_back(result);
  return success();
}

/// One number of a row of features, behind the row itself: by the thread that
/// stored its place there, so that no other's store comes later.
LogicalResult CudaPrinter::printStateNumber(memref::StoreOp op) {
  Value memory = op.getMemRef();
  ArgAttr arg = argOf(memory);
  if (!arg || arg.getKind() != ArgKind::Output ||
      arg.getName().getValue() != kStateName)
    return op.emitOpError("stores a number to what is no state");
  ValueRange indices = op.getIndices();
  line("storeFeature(" + of(op.getValue()).code + ", " +
       address(memory, indices.drop_back()) + ", " + of(indices.back()).code +
       ");");
  return success();
}

/// A function of every element, applied when the state is added to.
LogicalResult CudaPrinter::printStateMap(tile::MapOp op) {
  if (op.getInputs().size() != 1 || !isState(typeOf(op.getInputs()[0])))
    return op.emitOpError("maps a state together with something else");
  Value from = op.getInputs()[0], to = op.getResult();
  std::string name = unique("carried");
  if (failed(printLambda(op, "const auto " + name + " = ",
                         /*withInputs=*/false, ";")))
    return failure();
  texts[to] = of(from);
  placeOf[to] = std::string(placeOf.lookup(from));
  carried[to] = name;
  return success();
}

LogicalResult CudaPrinter::printAbsorb(tile::ContractOp op) {
  Value acc = op.getAcc(), result = op.getResult();
  // What was there is lost, under each of its names.
  for (Value v = acc; v;) {
    auto map = v.getDefiningOp<tile::MapOp>();
    if (!isLastRead(v, op))
      return op.emitOpError("adds to a state that is still read");
    v = map ? map.getInputs()[0] : Value();
  }
  if (op.getEdge())
    return op.emitOpError("adds masked pairs to a state");
  std::string place = placeOf.lookup(acc);
  writes(place);
  auto function = carried.find(acc);
  line("absorb(" + of(acc).code + ", " + of(op.getA()).code + ", " +
       of(op.getB()).code +
       (function == carried.end() ? "" : ", " + function->second) + ");");
  texts[result] = of(acc);
  placeOf[result] = place;
  return success();
}

/// z is in registers, a feature a thread; every query needs all of it.
LogicalResult CudaPrinter::printMassContract(tile::ContractOp op) {
  std::string &place = places[{nullptr, "sums"}];
  if (place.empty())
    place = "floatsAt(shared, " +
            std::to_string(scratch(4 * typeOf(op.getB()).size('r'))) + ")";
  writes(place);
  LogicalResult declared =
      declareTile(op.getResult(), "contract(" + of(op.getA()).code + ", " +
                                      of(op.getB()).code + ", " + place + ", " +
                                      of(op.getAcc()).code + ")");
  forgetTouched(); // it has a barrier
  touched[place] = false;
  return declared;
}

//===----------------------------------------------------------------------===//
// Features
//===----------------------------------------------------------------------===//

/// A place for features that `op` makes: that of others, if they are of the
/// same type and read no more.
std::string CudaPrinter::featurePlace(Value v, Operation *op,
                                      StringRef wanted) {
  for (auto &[other, name] : features)
    if (other.getType() == v.getType() && isLastRead(other, op)) {
      other = v;
      placeOf[v] = name;
      return name;
    }
  std::string name = rows(v, wanted, {});
  features.push_back({v, name});
  return name;
}

static StringRef nameOfFeatures(TileType t) {
  return t.has('q') ? "queryFeatures" : "keyFeatures";
}

LogicalResult CudaPrinter::printFeatureMap(tile::MapOp op) {
  Value result = op.getResult(), source;
  TileType t = typeOf(result);
  for (Value input : op.getInputs()) {
    if (isFeatures(typeOf(input)))
      source = input;
    else if (typeOf(input).getAxes() != "k" ||
             !isa_and_nonnull<tile::MapOp, tile::IotaOp>(input.getDefiningOp()))
      return op.emitOpError("maps features together with something else than "
                            "positions of keys");
  }
  if (!source)
    return op.emitOpError("makes features of no rows");
  // Of a query, evaluated where they are read: by the one warp that owns it.
  if (t.has('q') && typeOf(source).getElementType() != t.getElementType()) {
    std::string name = unique(nameOfFeatures(t));
    if (failed(printLambda(op, "const auto " + name + " = mapped(",
                           /*withInputs=*/true, ");")))
      return failure();
    texts[result] = {name};
    placeOf[result] = std::string(placeOf.lookup(source));
    return success();
  }
  bool inPlace = source.getType() == result.getType() && isLastRead(source, op);
  std::string place = placeOf.lookup(source);
  if (inPlace)
    placeOf[result] = place;
  else
    place = featurePlace(result, op, nameOfFeatures(t));
  writes(place);
  if (failed(printLambda(op, "mapRows(" + place + ", ", /*withInputs=*/true,
                         ");")))
    return failure();
  for (auto &feature : features)
    if (feature.first == source && inPlace)
      feature.first = result;
  texts[result] = {place};
  return success();
}

LogicalResult CudaPrinter::printFeatureMask(tile::MaskOp op) {
  Value source = op.getTile(), result = op.getResult();
  if (!isLastRead(source, op) || typeOf(op.getKeep()).getAxes() != "k" ||
      !placeOf.count(source))
    return op.emitOpError("masks features that are still read");
  std::string place = placeOf.lookup(source);
  writes(place);
  line("maskRows(" + place + ", " + of(op.getEdge()).code + ", " +
       of(op.getKeep()).code + ", " + of(op.getFill()).code + ");");
  for (auto &feature : features)
    if (feature.first == source)
      feature.first = result;
  texts[result] = {place};
  placeOf[result] = place;
  return success();
}

/// One value a key, for whoever makes features of the key.
LogicalResult CudaPrinter::printKeyMap(tile::MapOp op) {
  TileType t = op.getResult().getType();
  for (Value input : op.getInputs())
    if (!isa_and_nonnull<tile::MapOp, tile::IotaOp>(input.getDefiningOp()))
      return op.emitOpError("maps something else than positions of keys");
  std::string head;
  if (t.getElementType().isF32()) {
    std::string place =
        "floatsAt(shared, " + std::to_string(scratch(4 * t.size('k'))) + ")";
    writes(place);
    head = "keptByKey<" + std::to_string(t.size('k')) + ">(" + place + ", ";
  } else {
    head = "byKey(";
  }
  std::string name = nameForTile(op.getResult());
  if (failed(printLambda(op, "const auto " + name + " = " + head,
                         /*withInputs=*/true, ");")))
    return failure();
  if (t.getElementType().isF32())
    forgetTouched(); // it has a barrier
  texts[op.getResult()] = {name};
  return success();
}
