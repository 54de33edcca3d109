//===- Instructions.h - what each operation computes ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_REFERENCE_INSTRUCTIONS_H
#define ATTN_RUNTIME_REFERENCE_INSTRUCTIONS_H

#include "runtime/reference/Program.h"
#include <string_view>

namespace attn::reference {

/// The handler of a scalar operation that is decided by its name, as in
/// "math.exp", and by nothing else; null if there is none.
Instruction::Handler scalarHandler(std::string_view operation);

// The others. `number` is the comparison's predicate, as arith numbers them.
void compareReals(Machine &machine, const Instruction &i);
void compareInts(Machine &machine, const Instruction &i);
void selectReal(Machine &machine, const Instruction &i);
void selectInt(Machine &machine, const Instruction &i);
void selectRow(Machine &machine, const Instruction &i);
void powerOfVarying(Machine &machine, const Instruction &i);
/// `number` is the index of the memory, `args` the indices.
void loadReal(Machine &machine, const Instruction &i);
void loadInt(Machine &machine, const Instruction &i);
void loadRow(Machine &machine, const Instruction &i);
/// `args` is the row and the leading indices.
void projectRow(Machine &machine, const Instruction &i);

// On rows.
void dotRows(Machine &machine, const Instruction &i);
void squaredDistance(Machine &machine, const Instruction &i);
void squaredNorm(Machine &machine, const Instruction &i);
void unitRow(Machine &machine, const Instruction &i);
void concatRows(Machine &machine, const Instruction &i);
void outerRow(Machine &machine, const Instruction &i);
/// `weights` are base^(-t/n); `number` is 1 if interleaved.
void ropeRow(Machine &machine, const Instruction &i);
/// `indices` are the multisets, `number` their size, `weights` their weights.
void powerRow(Machine &machine, const Instruction &i);
/// `rows` are the random rows, `number` is the kind, times two, and one more
/// where the features are hyperbolic.
void randomRow(Machine &machine, const Instruction &i);
/// `args` are the rows, then the real registers of the body's arguments, then
/// the register of its yield.
void mapRows(Machine &machine, const Instruction &i);

} // namespace attn::reference

#endif // ATTN_RUNTIME_REFERENCE_INSTRUCTIONS_H
