//===- CudaPrinter.cpp - statements and control flow in CUDA C++ ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cuda/CudaPrinter.h"
#include "lowering/CudaAttrs.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

/// Longer expressions get a name.
static constexpr size_t kLongest = 64;

CudaPrinter::CudaPrinter(func::FuncOp stage, CudaFile &file)
    : stage(stage), file(file), taken(file.reserved), tileQ(file.queries) {
  if (auto module = stage->getParentOfType<ModuleOp>())
    tf32 = module->hasAttr(kTf32AttrName);
  // The user's names first; roles may share one.
  llvm::StringMap<int> uses;
  for (BlockArgument argument : stage.getArguments())
    if (ArgAttr arg = argOf(argument))
      ++uses[arg.getName().getValue()];
  for (BlockArgument argument : stage.getArguments()) {
    ArgAttr arg = argOf(argument);
    if (!arg)
      continue;
    std::string name = arg.getName().str();
    if (uses[name] > 1)
      name += arg.getKind() == ArgKind::Query    ? "_q"
              : arg.getKind() == ArgKind::Key    ? "_k"
              : arg.getKind() == ArgKind::State  ? "_in"
              : arg.getKind() == ArgKind::Output ? "_out"
                                                 : "_v";
    arrays[argument] = unique(name);
  }
}

void CudaPrinter::line(const Twine &text) {
  body.append(2 * indent, ' ');
  body += text.str() + "\n";
}

static bool isTile(Type type) { return isa<TileType>(type); }

static bool touchesTiles(Operation &op) {
  return op
      .walk([&](Operation *nested) {
        return llvm::any_of(nested->getOperandTypes(), isTile) ||
                       llvm::any_of(nested->getResultTypes(), isTile)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// The value of an operation as an expression of what has been printed.
std::optional<Text> CudaPrinter::expression(Operation &op) {
  if (auto dim = dyn_cast<memref::DimOp>(op))
    return extent(dim.getSource(), *dim.getConstantIndex());
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    std::string code = element(load.getMemRef(), load.getIndices());
    return Text{narrow && load.getType().isInteger(64) ? "int(" + code + ")"
                                                       : code};
  }
  if (auto choice = dyn_cast<scf::IfOp>(op))
    return conditional(choice);
  SmallVector<Text> operands;
  for (Value operand : op.getOperands())
    operands.push_back(of(operand));
  return scalarText(op, operands, narrow);
}

/// The only result of a block whose operations can all stand in an expression.
std::optional<Text> CudaPrinter::inlined(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (op.getNumResults() != 1 || isa<scf::ForOp>(op))
      return std::nullopt;
    std::optional<Text> text = expression(op);
    if (!text)
      return std::nullopt;
    texts[op.getResult(0)] = *text;
  }
  return of(block.getTerminator()->getOperand(0));
}

std::optional<Text> CudaPrinter::conditional(scf::IfOp op) {
  if (op.getNumResults() != 1)
    return std::nullopt;
  std::optional<Text> yes = inlined(*op.thenBlock()),
                      no = inlined(*op.elseBlock());
  if (!yes || !no)
    return std::nullopt;
  return Text{of(op.getCondition()).in(Text::Or) + " ? " + yes->in(Text::Or) +
                  " : " + no->in(Text::Conditional),
              Text::Conditional};
}

static bool isName(StringRef code) {
  return llvm::all_of(code, [](char c) { return std::isalnum(c) || c == '_'; });
}

LogicalResult CudaPrinter::printScalar(Operation &op) {
  if (op.getNumResults() != 1)
    return op.emitOpError("has no form in CUDA");
  Value result = op.getResult(0);
  std::optional<Text> text = expression(op);
  if (!text)
    return op.emitOpError("has no form in CUDA");
  // What may be written over is read where it is read.
  auto load = dyn_cast<memref::LoadOp>(op);
  ArgAttr read = load ? argOf(load.getMemRef()) : ArgAttr();
  bool inPlace =
      text->constant || isName(text->code) ||
      (result.hasOneUse() && text->code.size() <= kLongest &&
       result.getUsers().begin()->getBlock() == op.getBlock() &&
       !(read && read.getKind() == ArgKind::State) &&
       !isa<tile::MaskOp, tile::ContractOp>(*result.getUsers().begin()));
  if (inPlace || result.use_empty()) {
    texts[result] = *text;
    return success();
  }
  std::string name = nameFor(result);
  line("const " + cTypeOf(result.getType(), narrow) + " " + name + " = " +
       text->code + ";");
  texts[result] = {name};
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

LogicalResult CudaPrinter::printBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(printOp(op)))
      return failure();
  return success();
}

LogicalResult CudaPrinter::printOp(Operation &op) {
  if (isa<arith::ConstantOp>(op))
    return success();
  arriveFor(op);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return printFor(loop);
  if (auto choice = dyn_cast<scf::IfOp>(op)) {
    if (touchesTiles(op) || !conditional(choice))
      return printIf(choice);
    return printScalar(op);
  }
  if (isa<tile::TileDialect>(op.getDialect()))
    return printTile(op);
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return printStateNumber(store);
  return printScalar(op);
}

/// variables = values, all at once.
void CudaPrinter::assign(ArrayRef<std::string> variables, ValueRange values) {
  SmallVector<std::string> news;
  for (auto [variable, v] : llvm::zip(variables, values)) {
    std::string code = of(v).code;
    // What another assignment is about to overwrite is kept aside.
    bool reads = !isTile(v.getType()) && code != variable && !isName(code);
    if (reads && variables.size() > 1) {
      std::string name = unique("next");
      line("const " + cTypeOf(v.getType()) + " " + name + " = " + code + ";");
      code = name;
    }
    news.push_back(code);
  }
  for (auto [variable, code] : llvm::zip(variables, news))
    if (variable != code)
      line(variable + " = " + code + ";");
}

/// Whether the value of an enclosing loop's variable is only handed on from
/// here: then this loop may go on with the same variable.
static bool isHandedOn(Value init, scf::ForOp loop) {
  auto argument = dyn_cast<BlockArgument>(init);
  if (!argument || !isa<scf::ForOp>(argument.getOwner()->getParentOp()))
    return false;
  return llvm::all_of(init.getUsers(), [&](Operation *user) {
    return user == loop.getOperation() || isa<scf::YieldOp>(user);
  });
}

LogicalResult CudaPrinter::printFor(scf::ForOp op) {
  std::vector<std::string> variables;
  auto yield = cast<scf::YieldOp>(op.getBody()->getTerminator());
  for (auto [n, init, argument] :
       llvm::enumerate(op.getInitArgs(), op.getRegionIterArgs())) {
    std::string name;
    auto tile = dyn_cast<TileType>(init.getType());
    if (isHandedOn(init, op) || (tile && isState(tile))) {
      name = of(init).code; // a state stays where it is
      placeOf[argument] = placeOf.lookup(init);
    } else if (isTile(init.getType())) {
      name = nameForTile(op.getResult(n));
      line("auto " + name + " = " + of(init).code + ";");
    } else {
      name = nameFor(op.getResult(n));
      line(cTypeOf(init.getType()) + " " + name + " = " + of(init).code + ";");
    }
    variables.push_back(name);
    texts[argument] = {name};
  }
  bool tiles = touchesTiles(*op);
  std::string j = unique(tiles ? "j0" : "n");
  texts[op.getInductionVar()] = {j};
  std::string step = of(op.getStep()).code;
  line("for (i64 " + j + " = " + of(op.getLowerBound()).code + "; " + j +
       " < " + of(op.getUpperBound()).in(Text::Sum) + "; " +
       (step == "1" ? "++" + j : j + " += " + step) + ") {");
  ++indent;
  isUnknown = true;
  if (failed(printBlock(*op.getBody())))
    return failure();
  for (auto [v, name] : llvm::zip(yield.getOperands(), variables))
    if (auto tile = dyn_cast<TileType>(v.getType());
        tile && isState(tile) && (of(v).code != name || carried.count(v)))
      return op.emitOpError("carries a state that is not added to in place");
  assign(variables, yield.getOperands());
  --indent;
  line("}");
  isUnknown = true;
  // No copy outlives the loops that asked for it.
  if (copiesAhead && !op->getParentOfType<scf::ForOp>()) {
    line("waitForCopies<0>();");
    copiesAhead = false;
  }
  for (auto [result, name, argument] :
       llvm::zip(op.getResults(), variables, op.getRegionIterArgs())) {
    texts[result] = {name};
    if (auto it = placeOf.find(argument); it != placeOf.end())
      placeOf[result] = std::string(it->second);
  }
  return success();
}

/// Results are the variables that one branch hands on as they are.
LogicalResult CudaPrinter::printIf(scf::IfOp op) {
  auto yieldOf = [](Block *block) {
    return cast<scf::YieldOp>(block->getTerminator());
  };
  std::vector<std::string> variables;
  for (Value result : op.getResults()) {
    unsigned n = cast<OpResult>(result).getResultNumber();
    std::string name;
    for (Block *block : {op.elseBlock(), op.thenBlock()})
      if (auto argument = dyn_cast<BlockArgument>(yieldOf(block).getOperand(n));
          argument && name.empty())
        name = of(argument).code;
    if (name.empty() && !isTile(result.getType())) {
      name = nameFor(result);
      line(cTypeOf(result.getType()) + " " + name + ";");
    }
    if (name.empty())
      return op.emitOpError("passes on something else than carried tiles");
    variables.push_back(name);
  }
  Block *otherwise = op.elseBlock();
  auto doesNothing = [&](Block *block) {
    return !block ||
           (block->without_terminator().empty() &&
            llvm::all_of(llvm::zip(variables, yieldOf(block).getOperands()),
                         [&](auto pair) {
                           return std::get<0>(pair) ==
                                  of(std::get<1>(pair)).code;
                         }));
  };
  auto branch = [&](Block *block) {
    ++indent;
    Values before = pending;
    LogicalResult result = printBlock(*block);
    if (succeeded(result))
      assign(variables, yieldOf(block).getOperands());
    pending = before;
    --indent;
    return result;
  };
  Text condition = of(op.getCondition());
  if (doesNothing(op.thenBlock()) && !doesNothing(otherwise)) {
    line("if (!" + condition.in(Text::Unary) + ") {");
    if (failed(branch(otherwise)))
      return failure();
  } else {
    line("if (" + condition.code + ") {");
    if (failed(branch(op.thenBlock())))
      return failure();
    if (!doesNothing(otherwise)) {
      line("} else {");
      if (failed(branch(otherwise)))
        return failure();
    }
  }
  line("}");
  isUnknown = true;
  for (auto [result, name] : llvm::zip(op.getResults(), variables))
    texts[result] = {name};
  return success();
}
