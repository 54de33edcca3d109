//===- Program.h - a region as a flat list of instructions ------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walking MLIR once a pair would be slow, so a region becomes a Program: one
// instruction an operation, over registers. Each instruction knows on what it
// depends, so that what only the key decides is computed once a key.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_REFERENCE_PROGRAM_H
#define ATTN_RUNTIME_REFERENCE_PROGRAM_H

#include "runtime/reference/Elements.h"
#include "runtime/reference/Noise.h"
#include "runtime/reference/Scaled.h"
#include <array>
#include <memory>

namespace attn::reference {

/// What a value depends on, as bits: joining two is a bitwise or.
enum Level : uint8_t { OnHead = 0, OnQuery = 1, OnKey = 2, OnPair = 3 };

/// The first integer registers hold the coordinates, in the order of
/// attn::Position.
enum Coordinate {
  AtI,
  AtJ,
  AtHead,
  AtKvHead,
  AtBatch,
  AtNq,
  AtNk,
  NumCoordinates
};

enum class RegisterKind : uint8_t { Real, Int, Row };
struct Register {
  RegisterKind kind = RegisterKind::Int;
  Level level = OnHead;
  int index = 0;
};

/// An array that instructions read, with its strides made explicit.
struct Memory {
  Tensor tensor;
  std::vector<int64_t> strides;
};

/// The registers, and what instructions read besides.
struct Machine {
  std::vector<Scaled> reals;
  std::vector<int64_t> ints;
  std::vector<double *> rows;
  std::vector<int64_t> lengths;
  const std::vector<Memory> *memories = nullptr;
  /// Set by an instruction that could not do its work.
  const char *fault = nullptr;
  /// Its seed is the state of the generator by which results are moved.
  Noise noise;
};

struct Instruction {
  using Handler = void (*)(Machine &, const Instruction &);
  Handler handler = nullptr;
  Level level = OnHead;
  int result = 0;
  std::vector<int> args;
  bool rounds = false;           ///< in f32 the result would be rounded
  bool isRow = false;            ///< the result is a row,
  bool isMade = false;           ///< which the region yields or pairs take
  int64_t number = 0;            ///< a predicate, a degree, a memory
  std::vector<double> weights;   ///< frequencies, multinomial weights
  std::vector<int32_t> indices;  ///< multisets of coordinates
  std::vector<Instruction> body; ///< of attn.map, with its arguments in `args`
  std::shared_ptr<const std::vector<float>> rows; ///< random rows
};

/// Moves a result as far as the machine's noise says.
void disturb(Machine &machine, const Instruction &instruction);

/// Computes a result, moved where noise is asked for.
inline void execute(Machine &machine, const Instruction &instruction) {
  instruction.handler(machine, instruction);
  if (machine.noise.seed && (instruction.rounds || instruction.isMade))
    disturb(machine, instruction);
}

/// A region made flat.
struct Program {
  std::vector<Instruction> code;
  std::vector<Register> results;
  std::vector<int> arguments; ///< row registers
  /// All registers: constants have their value from the start.
  std::vector<Scaled> reals;
  std::vector<int64_t> ints = std::vector<int64_t>(NumCoordinates, 0);
  std::vector<int64_t> lengths;
  std::vector<Level> realLevels, intLevels, rowLevels;
};

/// Runs a program over batches, heads, keys and queries, computing each value
/// as seldom as it changes.
class Evaluator {
public:
  Evaluator(const Program &program, const std::vector<Memory> &memories);

  /// From now on every result is moved at random, unless the seed is 0.
  void addNoise(const Noise &noise) { machine.noise = noise; }

  /// Sets batch, heads and lengths, and computes what depends on no position.
  void enterHead(int64_t batch, int64_t head, int64_t kvHead, int64_t nq,
                 int64_t nk);
  /// Computes what depends on the key only, for keys 0 .. n-1. `rows` holds the
  /// n mapped rows (null if the region takes none).
  void prepareKeys(int64_t n, const double *rows);
  /// Moves to a query; `row` may be null.
  void enterQuery(int64_t position, const double *row);
  /// Computes the results for the query and key j.
  void evaluatePair(int64_t j);
  /// Computes a row map: everything, for one row at one position.
  const double *mapRow(int64_t position, const double *row);
  /// Computes everything for the query alone.
  void evaluateQuery(int64_t position);

  Scaled real(unsigned result) const {
    return machine.reals[program.results[result].index];
  }
  bool flag() const { return machine.ints[program.results[0].index] != 0; }
  int64_t rowLength() const {
    return machine.lengths[program.results[0].index];
  }
  /// What went wrong in an instruction, or null.
  const char *fault() const { return machine.fault; }

private:
  void run(Level level);
  void selectKey(int64_t j);

  const Program &program;
  Machine machine;
  std::vector<std::vector<double>> storage;
  /// Values that depend on the key only: one vector a register.
  std::vector<std::vector<double>> keyRows;
  std::vector<std::vector<Scaled>> keyReals;
  std::vector<std::vector<int64_t>> keyInts;
  std::array<std::vector<const Instruction *>, 4> byLevel;
  std::vector<int> cachedReals, cachedInts, cachedRows;
  const double *keyArgument = nullptr;
};

} // namespace attn::reference

#endif // ATTN_RUNTIME_REFERENCE_PROGRAM_H
