//===- CudaNames.cpp - names, parameters and memory in CUDA C++ -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values have no names in the IR; what they are used for has.
//
//===----------------------------------------------------------------------===//

#include "lowering/cuda/CudaPrinter.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

std::string CudaPrinter::unique(StringRef wanted) {
  std::string name = wanted.str();
  for (int n = 1; !taken.insert(name).second; ++n)
    name = wanted.str() + (std::isdigit(wanted.back()) ? "_" : "") +
           std::to_string(n);
  return name;
}

//===----------------------------------------------------------------------===//
// What a value is used for
//===----------------------------------------------------------------------===//

/// The lengths or offset that a conditional reads.
static StringRef lengthRead(scf::IfOp op, function_ref<ArgAttr(Value)> argOf) {
  StringRef name;
  op.getThenRegion().walk([&](memref::LoadOp load) {
    ArgAttr arg = argOf(load.getMemRef());
    if (!arg)
      return;
    if (arg.getKind() == ArgKind::KeyLengths)
      name = "nk";
    else if (arg.getKind() == ArgKind::QueryLengths)
      name = "nq";
    else if (arg.getKind() == ArgKind::Offset)
      name = "offset";
  });
  return name;
}

std::string CudaPrinter::nameFor(Value v) {
  Operation *def = v.getDefiningOp();
  if (auto load = dyn_cast_or_null<memref::LoadOp>(def))
    if (ArgAttr arg = argOf(load.getMemRef()))
      return unique((arg.getName().getValue() + "Here").str());
  if (auto choice = dyn_cast_or_null<scf::IfOp>(def))
    if (StringRef name = lengthRead(choice, [&](Value m) { return argOf(m); });
        !name.empty())
      return unique(name);
  for (OpOperand &use : v.getUses()) {
    Operation *user = use.getOwner();
    unsigned n = use.getOperandNumber();
    if (auto mask = dyn_cast<tile::MaskOp>(user); mask && mask.getEdge() == v)
      return unique("edge");
    if (auto contract = dyn_cast<tile::ContractOp>(user);
        contract && contract.getEdge() == v)
      return unique("edge");
    if (auto choice = dyn_cast<scf::IfOp>(user);
        choice && choice.getNumResults())
      return unique(isa<TileType>(choice.getResult(0).getType()) ? "visible"
                                                                 : "given");
    if (auto iota = dyn_cast<tile::IotaOp>(user))
      return unique(iota.getResult().getType().has('q') ? "q0" : "j0");
    if (auto load = dyn_cast<tile::LoadOp>(user);
        load && n >= 1 &&
        (load.getResult().getType().has('k') ||
         isRows(load.getResult().getType()))) {
      size_t axis = n - 1, last = load.getIndices().size() - 1;
      if (axis == last)
        return unique(load.getResult().getType().has('q') ? "q0" : "j0");
      if (axis == last - 1)
        return unique("head");
    }
    if (isa<arith::MinSIOp>(user) && def && isa<arith::SubIOp>(def))
      return unique("left");
  }
  if (v.getType().isInteger(1))
    return unique("is");
  // Ends of ranges.
  if (isa_and_nonnull<arith::MinSIOp>(def))
    return unique("end");
  APInt constant;
  if (isa_and_nonnull<arith::SubIOp>(def) &&
      matchPattern(def->getOperand(1), m_One()))
    return unique("last");
  if (isa_and_nonnull<arith::AddIOp>(def) &&
      matchPattern(def->getOperand(1), m_ConstantInt(&constant)))
    return unique("end");
  if (isa_and_nonnull<arith::DivSIOp>(def) &&
      isa_and_nonnull<arith::MaxSIOp>(def->getOperand(1).getDefiningOp()))
    return unique("group");
  // What is computed from one parameter has its name.
  if (def && v.getType().isF32()) {
    Value memory;
    bool one = true;
    SmallVector<Operation *> work{def};
    llvm::SmallPtrSet<Operation *, 16> seen;
    while (!work.empty() && seen.size() < 64) {
      Operation *op = work.pop_back_val();
      if (!seen.insert(op).second)
        continue;
      if (auto load = dyn_cast<memref::LoadOp>(op)) {
        one &= !memory || memory == load.getMemRef();
        memory = load.getMemRef();
        continue;
      }
      for (Value operand : op->getOperands())
        if (Operation *inner = operand.getDefiningOp())
          work.push_back(inner);
    }
    if (memory && one)
      return unique(arrayName(memory) + "Value");
  }
  return unique(v.getType().isF32() ? "c" : "n");
}

/// What makes the value of a loop or a branch.
static Value source(Value v) {
  while (true) {
    if (auto loop = v.getDefiningOp<scf::ForOp>())
      v = cast<scf::YieldOp>(loop.getBody()->getTerminator())
              .getOperand(cast<OpResult>(v).getResultNumber());
    else if (auto choice = v.getDefiningOp<scf::IfOp>())
      v = cast<scf::YieldOp>(choice.thenBlock()->getTerminator())
              .getOperand(cast<OpResult>(v).getResultNumber());
    else
      return v;
  }
}

static bool isMinusInfinity(Value fill) {
  APFloat v(0.f);
  return matchPattern(fill, m_ConstantFloat(&v)) && v.isInfinity();
}

std::string CudaPrinter::nameForTile(Value v) {
  v = source(v);
  Operation *def = v.getDefiningOp();
  auto type = cast<TileType>(v.getType());
  bool pair = type.has('q') && type.has('k');
  if (!def)
    return unique("x");
  if (type.getAxes() == "r")
    return unique("sums");
  if (auto load = dyn_cast<tile::LoadOp>(def)) {
    if (!isRows(type) && type.has('q')) // what a part of the keys summed
      return unique(type.has('e') ? "partSum" : "partValue");
    return unique(arrayName(load.getMemory()) +
                  (type.rank() == 2 ? "Rows" : "Keys"));
  }
  if (isa<tile::RowsOp>(def))
    return unique(type.rank() == 2 ? "mappedRows" : "rowValue");
  if (auto iota = dyn_cast<tile::IotaOp>(def)) {
    bool byRow = llvm::any_of(v.getUsers(), [&](Operation *user) {
      return user->getBlock() == def->getBlock() && isa<tile::MapOp>(user) &&
             !cast<tile::MapOp>(user).getResult().getType().has('k') &&
             iota->getPrevNode() && isa<scf::ForOp>(iota->getPrevNode());
    });
    return unique(!type.has('q') ? "j" : byRow ? "row" : "i");
  }
  if (isa<tile::ContractOp>(def))
    return unique(type.has('e') ? "acc" : pair ? "dot" : "mass");
  if (isa<tile::SqDistOp>(def))
    return unique("distance");
  if (auto norm = dyn_cast<tile::SqNormOp>(def))
    return unique(type.has('q') ? "queryNorm" : "keyNorm");
  if (auto mask = dyn_cast<tile::MaskOp>(def))
    return unique(isMinusInfinity(mask.getFill()) ? "exponent" : "weight");
  if (auto reduce = dyn_cast<tile::ReduceOp>(def))
    return unique(reduce.getCombine() == tile::Combine::Add   ? "mass"
                  : reduce.getCombine() == tile::Combine::Max ? "peak"
                                                              : "first");
  if (auto map = dyn_cast<tile::MapOp>(def)) {
    for (Operation *user : v.getUsers()) {
      if (auto mask = dyn_cast<tile::MaskOp>(user)) {
        if (mask.getKeep() == v)
          return unique("keep");
        return unique(isMinusInfinity(mask.getFill()) ? "score" : "kappa");
      }
      if (auto contract = dyn_cast<tile::ContractOp>(user);
          contract && contract.getA() == v)
        return unique("weight");
      if (auto store = dyn_cast<tile::StoreOp>(user))
        return unique(arrayName(store.getMemory()) + "Tile");
    }
    if (type.getElementType().isInteger(1))
      return unique(pair ? "keep" : "empty");
    if (type.has('e'))
      return unique("rescaled");
    if (!type.has('k') && llvm::any_of(v.getUsers(), [](Operation *user) {
          auto other = dyn_cast<tile::MapOp>(user);
          return other && other.getResult().getType().has('k');
        }))
      return unique("shift");
    return unique(pair ? "pair" : type.has('q') ? "perRow" : "perKey");
  }
  return unique("x");
}

//===----------------------------------------------------------------------===//
// Parameters and memory
//===----------------------------------------------------------------------===//

ArgAttr CudaPrinter::argOf(Value memory) {
  auto argument = dyn_cast<BlockArgument>(memory);
  if (!argument || argument.getOwner() != &stage.front())
    return {};
  return stage.getArgAttrOfType<ArgAttr>(argument.getArgNumber(), kArgAttrName);
}

std::string CudaPrinter::arrayName(Value memory) {
  auto it = arrays.find(memory);
  return it == arrays.end() ? "memory" : it->second;
}

std::string CudaPrinter::parameter(LaunchParameter::Kind kind, Value memory,
                                   unsigned axis) {
  unsigned argument = cast<BlockArgument>(memory).getArgNumber();
  for (const LaunchParameter &known : parameters)
    if (known.kind == kind && known.argument == argument && known.axis == axis)
      return known.name;
  std::string wanted = arrayName(memory) +
                       (kind == LaunchParameter::Extent ? "Extent" : "Stride") +
                       std::to_string(axis);
  std::string symbol;
  if (kind == LaunchParameter::Extent) {
    // What the roles share has the name that the page of semantics gives it.
    static const char *query[] = {"B", "Hq", "Nq"}, *key[] = {"B", "Hk", "Nk"};
    ArgAttr arg = argOf(memory);
    if (axis < 3)
      switch (arg.getKind()) {
      case ArgKind::Query:
      case ArgKind::Output:
        symbol = query[axis];
        break;
      case ArgKind::Key:
      case ArgKind::Value:
        symbol = key[axis];
        break;
      case ArgKind::Workspace:
        symbol = axis == 1 && llvm::any_of(
                                  arg.getAxes().getAsValueRange<StringAttr>(),
                                  [](StringRef a) { return a == "head"; })
                     ? query[axis]
                     : key[axis];
        break;
      default:
        break;
      }
    if (!symbol.empty()) {
      std::string &known = symbols[symbol];
      if (!known.empty())
        return known;
      return known = [&] {
        std::string name = unique(symbol);
        parameters.push_back({kind, name, "i64", argument, axis});
        return name;
      }();
    }
  }
  std::string name = unique(wanted);
  parameters.push_back({kind, name, "i64", argument, axis});
  return name;
}

Text CudaPrinter::extent(Value memory, unsigned axis) {
  auto type = cast<MemRefType>(memory.getType());
  if (!type.isDynamicDim(axis))
    return {std::to_string(type.getDimSize(axis)), Text::Primary, true};
  return {parameter(LaunchParameter::Extent, memory, axis)};
}

Text CudaPrinter::stride(Value memory, unsigned axis) {
  auto type = cast<MemRefType>(memory.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (succeeded(type.getStridesAndOffset(strides, offset)) &&
      !ShapedType::isDynamic(strides[axis]))
    return {std::to_string(strides[axis]), Text::Primary, true};
  return {parameter(LaunchParameter::Stride, memory, axis)};
}

/// index * stride + ..., empty where it is 0.
static std::string sumOfProducts(ArrayRef<Text> indices,
                                 ArrayRef<Text> strides) {
  std::string sum;
  for (auto [index, stride] : llvm::zip(indices, strides)) {
    if (index.code == "0")
      continue;
    sum += (sum.empty() ? "" : " + ") +
           (stride.code == "1" ? index.in(Text::Sum)
                               : index.in(Text::Product) + " * " + stride.code);
  }
  return sum;
}

std::string CudaPrinter::address(Value memory, ValueRange indices) {
  SmallVector<Text> at, strides;
  for (auto [axis, index] : llvm::enumerate(indices)) {
    at.push_back(of(index));
    strides.push_back(at.back().code == "0" ? Text{"0"} : stride(memory, axis));
  }
  std::string sum = sumOfProducts(at, strides);
  return arrayName(memory) + (sum.empty() ? "" : " + " + sum);
}

std::string CudaPrinter::element(Value memory, ValueRange indices) {
  std::string whole = address(memory, indices), name = arrayName(memory);
  StringRef sum = StringRef(whole).drop_front(name.size());
  sum.consume_front(" + ");
  return name + "[" + (sum.empty() ? "0" : sum.str()) + "]";
}

Text CudaPrinter::of(Value v) {
  auto it = texts.find(v);
  if (it != texts.end())
    return it->second;
  if (auto constant = v.getDefiningOp<arith::ConstantOp>())
    return constantText(constant.getValue());
  return {"unknown"};
}
