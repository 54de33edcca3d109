//===- FlattenRows.cpp - the operations on rows as instructions -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/attn/RandomRows.h"
#include "runtime/reference/Flattener.h"
#include "runtime/reference/Instructions.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attn::reference {

/// A tensor power with more channels than this is a mistake, not a kernel.
constexpr int64_t kMaxChannels = int64_t(1) << 24;

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

LogicalResult Flattener::flattenRowOp(Operation *op, Instruction &made,
                                      int64_t &length) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
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
        made.number =
            2 * static_cast<int64_t>(random.getKind()) + random.getHyperbolic();
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
      .Default([&](Operation *) {
        return op->emitError("the reference does not know this operation");
      });
}

} // namespace attn::reference
