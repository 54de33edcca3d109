//===- CudaPrintTiles.cpp - tile operations in CUDA C++ -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows lie in shared memory, everything else in registers; what is computed
// reads like its formula.
//
//===----------------------------------------------------------------------===//

#include "lowering/cuda/CudaPrinter.h"
#include "lowering/loops/ArithmeticAttributes.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

static TileType typeOf(Value v) { return cast<TileType>(v.getType()); }
std::string CudaPrinter::typeText(Value v) {
  TileType t = typeOf(v);
  std::string element = elementType(v).str();
  if (t.has('r'))
    return "Features<" + std::to_string(t.size('r')) + ">";
  if (t.rank() == 2)
    return "Pairs<" +
           std::to_string(t.has('e') ? columnGroups(t.size('e'))
                                     : t.size('k') / 8) +
           ">";
  return t.has('q') ? "PerQuery<" + element + ">"
                    : "PerKey<" + std::to_string(t.size('k') / 8) + ", " +
                          element + ">";
}

LogicalResult CudaPrinter::declareTile(Value v, const Twine &text) {
  std::string name = nameForTile(v);
  line("const auto " + name + " = " + text + ";");
  texts[v] = {name};
  return success();
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// Whether every entry of p is proven to lie in [0, 1]: what a running maximum
/// was subtracted from.
static bool isBelowOne(Value p) {
  if (auto mask = p.getDefiningOp<tile::MaskOp>())
    p = mask.getTile();
  auto map = p.getDefiningOp<tile::MapOp>();
  if (!map)
    return false;
  auto yield = cast<tile::YieldOp>(map.getBody().front().getTerminator());
  auto power = yield.getValues()[0].getDefiningOp<math::Exp2Op>();
  return power && power->hasAttr(kNonPositiveAttrName);
}

/// Weights that 16 bits may not hold go the way of f32, and so do values that
/// somebody else reads: odd ones are written over where p is rounded.
bool attn::isRounded(tile::ContractOp op) {
  Type values = typeOf(op.getB()).getElementType();
  return op.getB().hasOneUse() &&
         (values.isBF16() || (values.isF16() && isBelowOne(op.getA())));
}

LogicalResult CudaPrinter::printContract(tile::ContractOp op) {
  TileType a = typeOf(op.getA()), b = typeOf(op.getB()),
           r = op.getResult().getType();
  std::string acc = of(op.getAcc()).code, left = of(op.getA()).code,
              right = of(op.getB()).code;
  bool pairs = isRows(a) && a.has('q') && isRows(b) && b.has('k');
  if (pairs && r.has('q') && r.has('k')) {
    // Rows of 16 bits are exact in tf32, and meet those of tf32 there.
    Type type = a.getElementType();
    if (type.isTF32() || type != b.getElementType() || (type.isF32() && tf32))
      return declareTile(op.getResult(), "contractTf32(" + left + ", " + right +
                                             ", " + acc + ")");
    if (auto it = operands.find(op.getA()); it != operands.end())
      left = it->second;
    return declareTile(op.getResult(),
                       "contract(" + left + ", " + right + ", " + acc + ")");
  }
  if (isFeatures(a) && a.has('q') && isState(b) && r.has('q'))
    return declareTile(op.getResult(),
                       "contract(" + left + ", " + right + ", " + acc + ")");
  if (isFeatures(a) && a.has('q') && b.has('r') && b.rank() == 1)
    return printMassContract(op);
  if (isFeatures(a) && a.has('k') && isRows(b) && b.has('e') && isState(r))
    return printAbsorb(op);
  if (a.has('q') && a.has('k') && b.has('k') && b.has('e') && r.has('e')) {
    bool asTf32 = tf32 && b.getElementType().isF32();
    std::string text = (isRounded(op) ? "contractRounded("
                        : asTf32      ? "contractTf32("
                                      : "contract(") +
                       left + ", " + right + ", " + acc;
    if (op.getEdge())
      text += ", " + of(op.getEdge()).code + ", " + of(op.getKeep()).code;
    return declareTile(op.getResult(), text + ")");
  }
  return op.emitOpError("contracts something else than rows of queries and "
                        "keys, or pairs and values");
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

/// The region as a lambda of its inputs: head, lambda, the inputs if they are
/// to follow it, tail.
LogicalResult CudaPrinter::printLambda(tile::MapOp op, const std::string &head,
                                       bool withInputs, StringRef tail) {
  bool outerNarrow = narrow;
  narrow = isNarrow(op.getBody());
  // An input that comes twice is one parameter.
  std::string parameters, inputs;
  Block &block = op.getBody().front();
  llvm::DenseMap<Value, std::string> known;
  llvm::StringSet<> outer = taken;
  for (auto [input, argument] :
       llvm::zip(op.getInputs(), block.getArguments())) {
    std::string &name = known[input];
    if (name.empty()) {
      name = of(input).code;
      if (name.find_first_of("<(") != std::string::npos)
        name = unique("x");
      parameters += (parameters.empty() ? "" : ", ") +
                    cTypeOf(argument.getType(), narrow).str() + " " + name;
      if (withInputs)
        inputs += ", " + of(input).code;
    }
    auto function = carried.find(input);
    texts[argument] = {
        function == carried.end() ? name : function->second + "(" + name + ")"};
  }
  // Numbers from outside, as narrow as those inside.
  llvm::DenseMap<Value, Text> outside;
  if (narrow)
    block.walk([&](Operation *nested) {
      for (Value v : nested->getOperands())
        if ((v.getType().isIndex() || v.getType().isInteger(64)) &&
            !op->isAncestor(v.getParentBlock()->getParentOp()) &&
            !outside.count(v) && !of(v).constant) {
          outside[v] = of(v);
          texts[v] = {"int(" + outside[v].code + ")"};
        }
    });
  std::string wholeBody;
  std::swap(body, wholeBody);
  ++indent;
  LogicalResult printed = printBlock(block);
  --indent;
  std::swap(body, wholeBody);
  narrow = outerNarrow;
  std::string value = of(block.getTerminator()->getOperand(0)).code;
  for (auto &[v, text] : outside)
    texts[v] = text;
  if (failed(printed))
    return failure();
  taken = outer; // names inside a lambda are its own
  std::string start = head + "[=](" + parameters + ") {",
              end = "}" + inputs + tail.str();
  std::string one = start + " return " + value + "; " + end;
  if (wholeBody.empty() && one.size() + 2 * indent <= 80) {
    line(one);
  } else {
    line(start);
    body += wholeBody;
    ++indent;
    line("return " + value + ";");
    --indent;
    line(end);
  }
  return success();
}

LogicalResult CudaPrinter::printMap(tile::MapOp op) {
  TileType t = op.getResult().getType();
  if (isFeatures(t))
    return printFeatureMap(op);
  if (isState(t))
    return printStateMap(op);
  if (t.getAxes() == "k" &&
      llvm::any_of(op.getResult().getUsers(), [](Operation *user) {
        return isa<tile::MapOp, tile::MaskOp>(user) &&
               isFeatures(typeOf(user->getResult(0)));
      }))
    return printKeyMap(op);
  bool isLazy = t.rank() == 2 && !t.getElementType().isF32();
  if (isRows(t) || (isLazy && !t.has('k')))
    return op.emitOpError("maps something else than pairs, results, or one "
                          "value a query or key");
  std::string name = nameForTile(op.getResult());
  if (failed(printLambda(
          op,
          "const auto " + name + " = " +
              (isLazy ? "lazy(" : "map<" + typeText(op.getResult()) + ">("),
          /*withInputs=*/true, ");")))
    return failure();
  texts[op.getResult()] = {name};
  return success();
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

LogicalResult CudaPrinter::printTile(Operation &op) {
  reads(op);
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return printLoad(load);
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return printStore(store);
  if (auto contract = dyn_cast<tile::ContractOp>(op))
    return printContract(contract);
  if (auto map = dyn_cast<tile::MapOp>(op))
    return printMap(map);
  if (auto rowMap = dyn_cast<tile::RowsOp>(op))
    return printRows(rowMap);
  if (auto splat = dyn_cast<tile::SplatOp>(op)) {
    TileType t = splat.getResult().getType();
    if (isRows(t))
      return op.emitOpError("fills rows");
    if (isState(t)) {
      statePlace(splat.getResult(), {});
      writes(placeOf[splat.getResult()]);
      line("fill(" + of(splat.getResult()).code + ", " +
           of(splat.getValue()).code + ");");
      return success();
    }
    Text x = of(splat.getValue());
    std::string scalar =
        t.getElementType().isF32()
            ? x.code
            : (elementType(splat.getResult()) + "(" + x.code + ")").str();
    texts[splat.getResult()] = {"splat<" + typeText(splat.getResult()) + ">(" +
                                scalar + ")"};
    return success();
  }
  if (auto iota = dyn_cast<tile::IotaOp>(op)) {
    std::string name = nameForTile(iota.getResult());
    line("const " +
         StringRef(iota.getResult().getType().has('q') ? "QueryPositions"
                                                       : "KeyPositions") +
         " " + name + "{int(" + of(iota.getOrigin()).code + ")};");
    texts[iota.getResult()] = {name};
    return success();
  }
  if (auto mask = dyn_cast<tile::MaskOp>(op)) {
    TileType t = mask.getResult().getType();
    if (isFeatures(t))
      return printFeatureMask(mask);
    if (t.rank() != 2 || isRows(t))
      return op.emitOpError("masks something else than pairs");
    return declareTile(mask.getResult(), "mask(" + of(mask.getTile()).code +
                                             ", " + of(mask.getEdge()).code +
                                             ", " + of(mask.getKeep()).code +
                                             ", " + of(mask.getFill()).code +
                                             ")");
  }
  if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    TileType from = typeOf(reduce.getTile()), to = reduce.getResult().getType();
    if (isFeatures(from) && from.has('k') && to.getAxes() == "r" &&
        reduce.getCombine() == tile::Combine::Add)
      return declareTile(reduce.getResult(),
                         "sumRows(" + of(reduce.getTile()).code + ", " +
                             of(reduce.getInit()).code + ")");
    if (isRows(from) || !from.has('q') || to.rank() != 1 || !to.has('q'))
      return op.emitOpError("folds something else than the keys of pairs");
    StringRef name = reduce.getCombine() == tile::Combine::Add   ? "reduceAdd"
                     : reduce.getCombine() == tile::Combine::Max ? "reduceMax"
                                                                 : "reduceMin";
    int64_t groups =
        from.has('k') ? from.size('k') / 8 : columnGroups(from.size('e'));
    return declareTile(reduce.getResult(),
                       name + "<" + std::to_string(groups) + ">(" +
                           of(reduce.getTile()).code + ", " +
                           of(reduce.getInit()).code + ")");
  }
  if (auto norm = dyn_cast<tile::SqNormOp>(op)) {
    TileType t = typeOf(norm.getTile());
    if (!isRows(t))
      return op.emitOpError("takes norms of something else than rows");
    std::string x = of(norm.getTile()).code;
    if (t.has('q'))
      return declareTile(norm.getResult(), "queryNorms(" + x + ")");
    std::string at = std::to_string(scratch(t.getShape()[0] * 4));
    return declareTile(norm.getResult(),
                       "keyNorms(" + x + ", floatsAt(shared, " + at + "))");
  }
  if (auto distance = dyn_cast<tile::SqDistOp>(op))
    return declareTile(distance.getResult(),
                       "sqdist(" + of(distance.getDot()).code + ", " +
                           of(distance.getQueryNorm()).code + ", " +
                           of(distance.getKeyNorm()).code + ", " +
                           of(distance.getEps()).code + ", " +
                           of(distance.getQuery()).code + ", " +
                           of(distance.getKey()).code + ")");
  if (auto cast = dyn_cast<tile::CastOp>(op)) {
    texts[cast.getResult()] = of(cast.getTile());
    return success();
  }
  return op.emitOpError("has no form in CUDA");
}
