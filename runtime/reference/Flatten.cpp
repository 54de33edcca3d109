//===- Flatten.cpp - from a region to a flat program ----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/Flatten.h"
#include "dialect/attn/RandomRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "runtime/reference/Instructions.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attn::reference {
namespace {

/// A tensor power with more channels than this is a mistake, not a kernel.
constexpr int64_t kMaxChannels = int64_t(1) << 24;

Level join(Level a, Level b) { return static_cast<Level>(a | b); }

class Flattener {
public:
  explicit Flattener(const std::vector<Memory> &memories) : memories(memories) {
    program.intLevels = {OnQuery, OnKey,  OnHead, OnHead,
                         OnHead,  OnHead, OnHead};
  }

  FailureOr<Program> flatten(Region &region, ArrayRef<RowArgument> arguments);

private:
  LogicalResult flattenOp(Operation *op, std::vector<Instruction> &code);
  LogicalResult flattenScalar(Operation *op, Instruction &made);
  LogicalResult flattenConstant(arith::ConstantOp op);
  LogicalResult flattenMap(MapOp op, std::vector<Instruction> &code);
  LogicalResult flattenPower(PowerOp op, Instruction &made);
  LogicalResult flattenRope(RopeOp op, Instruction &made);
  void markMadeRows();

  Register newReal(Level level) {
    program.reals.push_back({});
    program.realLevels.push_back(level);
    return {RegisterKind::Real, level, int(program.reals.size()) - 1};
  }
  Register newInt(Level level) {
    program.ints.push_back(0);
    program.intLevels.push_back(level);
    return {RegisterKind::Int, level, int(program.ints.size()) - 1};
  }
  Register newRow(Level level, int64_t length) {
    program.lengths.push_back(length);
    program.rowLevels.push_back(level);
    return {RegisterKind::Row, level, int(program.lengths.size()) - 1};
  }
  /// The length of a row value, known in spite of a `?` in its type.
  int64_t lengthOf(Value row) {
    return program.lengths[registers.lookup(row).index];
  }
  /// The register of an operand. Constants and extents may stand outside of the
  /// region, in the function: they come in at their first use.
  FailureOr<Register> registerOf(Operation *user, Value value);
  /// The function argument that a memref is, or an error.
  FailureOr<unsigned> memoryOf(Operation *op, Value memref);

  const std::vector<Memory> &memories;
  Program program;
  DenseMap<Value, Register> registers;
};

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

LogicalResult Flattener::flattenMap(MapOp op, std::vector<Instruction> &code) {
  Instruction made;
  made.handler = mapRows;
  Level level = OnHead;
  int64_t length = lengthOf(op.getRows()[0]);
  for (Value row : op.getRows()) {
    if (lengthOf(row) != length)
      return op.emitError("needs rows of equal length, got ")
             << length << " and " << lengthOf(row);
    level = join(level, registers.lookup(row).level);
    made.args.push_back(registers.lookup(row).index);
  }
  Block &body = op.getBody().front();
  // Coordinates count as depending on everything: no cache may hold them.
  for (BlockArgument argument : body.getArguments()) {
    registers[argument] = newReal(OnPair);
    made.args.push_back(registers.lookup(argument).index);
  }
  for (Operation &inner : body.without_terminator())
    if (failed(flattenOp(&inner, made.body)))
      return failure();
  // What the body takes from outside, the map depends on.
  body.walk([&](Operation *inner) {
    if (auto index = dyn_cast<IndexOp>(inner))
      level = join(level, program.intLevels[int(index.getPosition())]);
    for (Value operand : inner->getOperands())
      if (operand.getParentRegion() != &op.getBody() &&
          registers.contains(operand))
        level = join(level, registers.lookup(operand).level);
  });
  FailureOr<Register> yielded =
      registerOf(op, body.getTerminator()->getOperand(0));
  if (failed(yielded))
    return failure();
  made.args.push_back(yielded->index);
  made.number = static_cast<int64_t>(op.getRows().size());
  made.level = level;
  made.isRow = true; // its body's results are rounded
  Register result = newRow(level, length);
  made.result = result.index;
  registers[op.getResult()] = result;
  code.push_back(std::move(made));
  return success();
}

LogicalResult Flattener::flattenRope(RopeOp op, Instruction &made) {
  int64_t n = lengthOf(op.getRow());
  if (n % 2 != 0)
    return op.emitError("rotates pairs and needs a row of even length, got ")
           << n;
  double base = op.getBase().convertToDouble();
  for (int64_t t = 0; t < n / 2; ++t)
    made.weights.push_back(std::pow(base, -2.0 * t / n));
  made.number = op.getInterleaved();
  made.handler = ropeRow;
  return success();
}

LogicalResult Flattener::flattenPower(PowerOp op, Instruction &made) {
  int64_t n = lengthOf(op.getRow()), degree = op.getDegree();
  double channels = 1, factorial = 1;
  for (int64_t t = 1; t <= degree && channels <= kMaxChannels; ++t) {
    channels = channels * (n + t - 1) / t;
    factorial *= t;
  }
  if (degree > 64 || channels > kMaxChannels)
    return op.emitError("the tensor power has too many channels");
  // Multisets in lexicographic order: sorted tuples, counted up like digits.
  std::vector<int32_t> multiset(degree, 0);
  for (;;) {
    double weight = factorial;
    for (int64_t t = 0, run = 1; t < degree; ++t, ++run) {
      if (t > 0 && multiset[t] != multiset[t - 1])
        run = 1;
      weight /= run; // the product of the runs' factorials
    }
    made.weights.push_back(std::sqrt(weight));
    llvm::append_range(made.indices, multiset);
    int64_t last = degree - 1;
    while (last >= 0 && multiset[last] == n - 1)
      --last;
    if (last < 0)
      break;
    std::fill(multiset.begin() + last, multiset.end(), multiset[last] + 1);
  }
  made.number = degree;
  made.handler = powerRow;
  return success();
}

/// Operations on numbers alone, whose meaning their name decides.
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
  auto status =
      llvm::TypeSwitch<Operation *, LogicalResult>(op)
          .Case<DotOp, SqDistOp>([&](auto pair) -> LogicalResult {
            if (lengthOf(pair.getLhs()) != lengthOf(pair.getRhs()))
              return op->emitError("needs rows of equal length, got ")
                     << lengthOf(pair.getLhs()) << " and "
                     << lengthOf(pair.getRhs());
            made.handler = isa<DotOp>(op) ? dotRows : squaredDistance;
            return success();
          })
          .Case<SqNormOp>([&](auto) {
            made.handler = squaredNorm;
            return success();
          })
          .Case<UnitOp>([&](UnitOp unit) {
            made.handler = unitRow;
            length = lengthOf(unit.getRow());
            return success();
          })
          .Case<RopeOp>([&](RopeOp rope) {
            length = lengthOf(rope.getRow());
            return flattenRope(rope, made);
          })
          .Case<PowerOp>([&](PowerOp power) {
            LogicalResult result = flattenPower(power, made);
            length = static_cast<int64_t>(made.weights.size());
            return result;
          })
          .Case<ConcatOp>([&](ConcatOp concat) {
            made.handler = concatRows;
            for (Value row : concat.getRows())
              length += lengthOf(row);
            return success();
          })
          .Case<RandomFeaturesOp>([&](RandomFeaturesOp random) {
            made.handler = randomRow;
            made.rows = randomRowsOf(random, lengthOf(random.getRow()));
            made.number = 2 * static_cast<int64_t>(random.getKind()) +
                          random.getHyperbolic();
            length = random.getResult().getType().getLength();
            return success();
          })
          .Case<OuterOp>([&](OuterOp outer) {
            made.handler = outerRow;
            length = lengthOf(outer.getLhs()) * lengthOf(outer.getRhs());
            return success();
          })
          .Case<ParamRowOp>([&](ParamRowOp row) -> LogicalResult {
            FailureOr<unsigned> memory = memoryOf(op, row.getMemory());
            if (failed(memory))
              return failure();
            made.handler = loadRow;
            made.number = *memory;
            made.args.erase(made.args.begin());
            length = memories[*memory].tensor.shape.back();
            return success();
          })
          .Case<ProjectOp>([&](ProjectOp project) -> LogicalResult {
            FailureOr<unsigned> memory = memoryOf(op, project.getMatrix());
            if (failed(memory))
              return failure();
            const auto &shape = memories[*memory].tensor.shape;
            if (shape[shape.size() - 2] != lengthOf(project.getRow()))
              return op->emitError("multiplies a row of length ")
                     << lengthOf(project.getRow()) << " with a matrix of "
                     << shape[shape.size() - 2] << " rows";
            made.handler = projectRow;
            made.number = *memory;
            made.args.erase(made.args.begin() + 1);
            length = shape.back();
            return success();
          })
          .Default([&](Operation *) { return flattenScalar(op, made); });
  if (failed(status))
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

} // namespace

FailureOr<Program> flatten(Region &region, const std::vector<Memory> &memories,
                           ArrayRef<RowArgument> arguments) {
  return Flattener(memories).flatten(region, arguments);
}

} // namespace attn::reference
