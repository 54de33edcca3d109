//===- Program.cpp - runs a flat region -----------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/Program.h"
#include "runtime/reference/Instructions.h"
#include <algorithm>

using namespace attn::reference;

Evaluator::Evaluator(const Program &program,
                     const std::vector<Memory> &memories)
    : program(program) {
  machine.reals = program.reals;
  machine.ints = program.ints;
  machine.lengths = program.lengths;
  machine.memories = &memories;
  for (int64_t length : program.lengths)
    storage.emplace_back(length);
  for (std::vector<double> &row : storage)
    machine.rows.push_back(row.data());
  for (const Instruction &instruction : program.code)
    byLevel[instruction.level].push_back(&instruction);

  keyRows.resize(program.lengths.size());
  keyReals.resize(program.reals.size());
  keyInts.resize(program.ints.size());
  for (size_t r = 0; r < program.realLevels.size(); ++r)
    if (program.realLevels[r] == OnKey)
      cachedReals.push_back(r);
  for (size_t r = NumCoordinates; r < program.intLevels.size(); ++r)
    if (program.intLevels[r] == OnKey)
      cachedInts.push_back(r);
  for (size_t r = 0; r < program.rowLevels.size(); ++r)
    if (program.rowLevels[r] == OnKey &&
        std::find(program.arguments.begin(), program.arguments.end(),
                  static_cast<int>(r)) == program.arguments.end())
      cachedRows.push_back(r);
}

void attn::reference::disturb(Machine &machine,
                              const Instruction &instruction) {
  Noise &noise = machine.noise;
  auto factor = [&](double most) { return movedOne(noise.seed, most); };
  if (instruction.isRow) {
    double most = std::max(instruction.rounds ? noise.numbers : 0,
                           instruction.isMade ? noise.madeRows : 0);
    double *row = machine.rows[instruction.result];
    for (int64_t t = 0; most > 0 && t < machine.lengths[instruction.result];
         ++t)
      row[t] *= factor(most);
    return;
  }
  Scaled &real = machine.reals[instruction.result];
  if (instruction.handler == dotRows || instruction.handler == squaredNorm ||
      instruction.handler == squaredDistance) {
    const double *x = machine.rows[instruction.args.front()];
    const double *y = machine.rows[instruction.args.back()];
    // A sum is rounded at every step, in proportion to what it has come to.
    double sum = 0, norms = 0, squares = 0;
    for (int64_t t = 0; t < machine.lengths[instruction.args.front()]; ++t) {
      sum += x[t] * y[t];
      norms += x[t] * x[t] + y[t] * y[t];
      squares += sum * sum;
      // A squared distance comes from norms and a product where it is at least
      // a 16th of the norms, and elsewhere from differences (S5).
      if (instruction.handler == squaredDistance)
        squares += norms * norms;
    }
    double size = std::sqrt(squares);
    if (instruction.handler == squaredDistance && norms > 0)
      size *= std::min(1.0, 16 * real.m / norms);
    real.m += (factor(noise.numbers) - 1) * size;
  }
  real.m *= factor(noise.numbers);
  if (real.e != 0) // compiled code has the exponent in f32, too
    real.e *= factor(noise.numbers);
}

void Evaluator::run(Level level) {
  for (const Instruction *instruction : byLevel[level])
    execute(machine, *instruction);
}

void Evaluator::enterHead(int64_t batch, int64_t head, int64_t kvHead,
                          int64_t nq, int64_t nk) {
  machine.ints[AtBatch] = batch;
  machine.ints[AtHead] = head;
  machine.ints[AtKvHead] = kvHead;
  machine.ints[AtNq] = nq;
  machine.ints[AtNk] = nk;
  run(OnHead);
}

void Evaluator::selectKey(int64_t j) {
  machine.ints[AtJ] = j;
  if (keyArgument)
    machine.rows[program.arguments[1]] = const_cast<double *>(
        keyArgument + j * machine.lengths[program.arguments[1]]);
  for (int r : cachedRows)
    machine.rows[r] = keyRows[r].data() + j * machine.lengths[r];
}

void Evaluator::prepareKeys(int64_t n, const double *rows) {
  keyArgument = rows;
  for (int r : cachedRows)
    keyRows[r].resize(n * machine.lengths[r]);
  for (int r : cachedReals)
    keyReals[r].resize(n);
  for (int r : cachedInts)
    keyInts[r].resize(n);
  for (int64_t j = 0; j < n; ++j) {
    selectKey(j);
    run(OnKey);
    for (int r : cachedReals)
      keyReals[r][j] = machine.reals[r];
    for (int r : cachedInts)
      keyInts[r][j] = machine.ints[r];
  }
}

void Evaluator::enterQuery(int64_t position, const double *row) {
  machine.ints[AtI] = position;
  if (row)
    machine.rows[program.arguments[0]] = const_cast<double *>(row);
  run(OnQuery);
}

void Evaluator::evaluatePair(int64_t j) {
  selectKey(j);
  for (int r : cachedReals)
    machine.reals[r] = keyReals[r][j];
  for (int r : cachedInts)
    machine.ints[r] = keyInts[r][j];
  run(OnPair);
}

const double *Evaluator::mapRow(int64_t position, const double *row) {
  machine.ints[AtI] = machine.ints[AtJ] = position;
  machine.rows[program.arguments[0]] = const_cast<double *>(row);
  for (const Instruction &instruction : program.code)
    if (instruction.level != OnHead)
      execute(machine, instruction);
  return machine.rows[program.results[0].index];
}

void Evaluator::evaluateQuery(int64_t position) {
  machine.ints[AtI] = position;
  run(OnQuery);
}
