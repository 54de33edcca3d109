//===- Flatten.cpp - from a region to a flat program ----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/Flatten.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "runtime/reference/Flattener.h"
#include "runtime/reference/Instructions.h"

using namespace mlir;

namespace attn::reference {

FailureOr<Program> Flattener::flatten(Region &region,
                                      ArrayRef<RowArgument> arguments) {
  Block &block = region.front();
  for (auto [argument, given] : llvm::zip(block.getArguments(), arguments)) {
    Register row = newRow(given.level, given.length);
    registers[argument] = row;
    program.arguments.push_back(row.index);
    int64_t declared = cast<RowType>(argument.getType()).getLength();
    if (declared != ShapedType::kDynamic && declared != given.length)
      return region.getParentOp()->emitError("is for rows of length ")
             << declared << ", the array has " << given.length;
  }
  for (Operation &op : block.without_terminator())
    if (failed(flattenOp(&op, program.code)))
      return failure();
  for (Value value : block.getTerminator()->getOperands()) {
    FailureOr<Register> result = registerOf(block.getTerminator(), value);
    if (failed(result))
      return failure();
    program.results.push_back(*result);
  }
  markMadeRows();
  return std::move(program);
}

/// What the region yields, and what pairs take of one side.
void Flattener::markMadeRows() {
  llvm::DenseSet<int> taken;
  for (Register result : program.results)
    if (result.kind == RegisterKind::Row)
      taken.insert(result.index);
  for (auto &[value, found] : registers)
    if (found.kind == RegisterKind::Row && found.level != OnPair &&
        llvm::any_of(value.getUsers(), [&](Operation *user) {
          auto result = user->getNumResults() == 1
                            ? registers.find(user->getResult(0))
                            : registers.end();
          return result != registers.end() && result->second.level == OnPair;
        }))
      taken.insert(found.index);
  for (Instruction &instruction : program.code)
    instruction.isMade =
        instruction.isRow && taken.contains(instruction.result);
}

FailureOr<Register> Flattener::registerOf(Operation *user, Value value) {
  Operation *definition = value.getDefiningOp();
  if (!registers.contains(value) && definition &&
      isa<func::FuncOp>(definition->getParentOp()) &&
      failed(flattenOp(definition, program.code)))
    return failure();
  auto found = registers.find(value);
  if (found == registers.end())
    return user->emitError("uses a value that the reference cannot see");
  return found->second;
}

FailureOr<unsigned> Flattener::memoryOf(Operation *op, Value memref) {
  auto argument = dyn_cast<BlockArgument>(memref);
  if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()) ||
      argument.getArgNumber() >= memories.size())
    return op->emitError(
        "reads memory that is not an argument of the function");
  return argument.getArgNumber();
}

LogicalResult Flattener::flattenConstant(arith::ConstantOp op) {
  if (auto real = dyn_cast<FloatAttr>(op.getValue())) {
    Register made = newReal(OnHead);
    program.reals[made.index] = {real.getValueAsDouble(), 0};
    registers[op] = made;
    return success();
  }
  if (auto number = dyn_cast<IntegerAttr>(op.getValue())) {
    Register made = newInt(OnHead);
    // A true i1 is 1 here, not -1.
    program.ints[made.index] = number.getType().isInteger(1)
                                   ? number.getValue().getZExtValue()
                                   : number.getValue().getSExtValue();
    registers[op] = made;
    return success();
  }
  return op.emitError("is a constant that the reference does not understand");
}

LogicalResult Flattener::flattenScalar(Operation *op, Instruction &made) {
  made.handler = scalarHandler(op->getName().getStringRef());
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    made.handler = compareReals;
    made.number = static_cast<int64_t>(compare.getPredicate());
  } else if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    made.handler = compareInts;
    made.number = static_cast<int64_t>(compare.getPredicate());
    if (made.number > 5)
      return op->emitError("the reference compares signed integers only");
  } else if (isa<arith::SelectOp>(op)) {
    mlir::Type type = op->getResult(0).getType();
    made.handler = isa<RowType>(type)     ? selectRow
                   : isa<FloatType>(type) ? selectReal
                                          : selectInt;
  } else if (isa<math::PowFOp>(op) &&
             registers.lookup(op->getOperand(1)).level != OnHead) {
    made.handler = powerOfVarying;
  } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
    FailureOr<unsigned> memory = memoryOf(op, load.getMemRef());
    if (failed(memory))
      return failure();
    made.number = *memory;
    made.args.erase(made.args.begin());
    bool real = isa<FloatType>(load.getType());
    if (!real && !isInteger(memories[*memory].tensor.type))
      return op->emitError("loads an integer from an array of real numbers");
    made.handler = real ? loadReal : loadInt;
  }
  if (!made.handler)
    return op->emitError("the reference does not know this operation");
  return success();
}

LogicalResult Flattener::flattenOp(Operation *op,
                                   std::vector<Instruction> &code) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return flattenConstant(constant);
  if (auto index = dyn_cast<IndexOp>(op)) {
    int at = static_cast<int>(index.getPosition());
    registers[index.getResult()] = {RegisterKind::Int, program.intLevels[at],
                                    at};
    return success();
  }
  if (auto map = dyn_cast<MapOp>(op))
    return flattenMap(map, code);
  if (auto dim = dyn_cast<DimOp>(op)) {
    Register made = newInt(OnHead);
    program.ints[made.index] = lengthOf(dim.getRow());
    registers[dim.getResult()] = made;
    return success();
  }
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    FailureOr<unsigned> memory = memoryOf(op, dim.getSource());
    std::optional<int64_t> axis = dim.getConstantIndex();
    if (failed(memory))
      return failure();
    const std::vector<int64_t> &shape = memories[*memory].tensor.shape;
    if (!axis || *axis < 0 || *axis >= static_cast<int64_t>(shape.size()))
      return op->emitError("needs a constant axis of its memory");
    Register made = newInt(OnHead);
    program.ints[made.index] = shape[*axis];
    registers[dim.getResult()] = made;
    return success();
  }
  if (op->getNumResults() != 1)
    return op->emitError("the reference does not know this operation");

  Instruction made;
  for (Value operand : op->getOperands()) {
    if (isa<MemRefType>(operand.getType())) {
      made.args.push_back(-1); // dropped by those who take memory
      continue;
    }
    FailureOr<Register> from = registerOf(op, operand);
    if (failed(from))
      return failure();
    made.level = join(made.level, from->level);
    made.args.push_back(from->index);
  }

  int64_t length = 0;
  if (failed(isa<AttnDialect>(op->getDialect()) ? flattenRowOp(op, made, length)
                                                : flattenScalar(op, made)))
    return failure();

  mlir::Type type = op->getResult(0).getType();
  if (isa<RowType>(type) && isa<arith::SelectOp>(op))
    length = lengthOf(op->getOperand(1));
  Register result = isa<RowType>(type)     ? newRow(made.level, length)
                    : isa<FloatType>(type) ? newReal(made.level)
                                           : newInt(made.level);
  made.result = result.index;
  made.isRow = isa<RowType>(type);
  made.rounds = result.kind != RegisterKind::Int &&
                !isa<ParamRowOp, ConcatOp, memref::LoadOp, arith::SelectOp,
                     arith::SIToFPOp, arith::NegFOp, arith::MaximumFOp,
                     arith::MinimumFOp, math::AbsFOp, math::FloorOp>(op);
  registers[op->getResult(0)] = result;
  code.push_back(std::move(made));
  return success();
}

FailureOr<Program> flatten(Region &region, const std::vector<Memory> &memories,
                           ArrayRef<RowArgument> arguments) {
  return Flattener(memories).flatten(region, arguments);
}

} // namespace attn::reference
