//===- ScalarInstructions.cpp - arith and math on scaled numbers ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No input makes these undefined: integers wrap, a division by zero gives 0, a
// conversion saturates.
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/Instructions.h"
#include <algorithm>
#include <unordered_map>

using namespace attn::reference;

namespace {

using Handler = Instruction::Handler;
using Int = int64_t;

template <auto F> void real1(Machine &m, const Instruction &i) {
  m.reals[i.result] = F(m.reals[i.args[0]]);
}
template <auto F> void real2(Machine &m, const Instruction &i) {
  m.reals[i.result] = F(m.reals[i.args[0]], m.reals[i.args[1]]);
}
template <auto F> void int1(Machine &m, const Instruction &i) {
  m.ints[i.result] = F(m.ints[i.args[0]]);
}
template <auto F> void int2(Machine &m, const Instruction &i) {
  m.ints[i.result] = F(m.ints[i.args[0]], m.ints[i.args[1]]);
}
/// A function that looks at the number and not at its exponent.
template <double (*F)(double)> Scaled onPlain(Scaled a) {
  return {F(plain(a)), 0};
}

Scaled negate(Scaled a) { return -a; }
Scaled add(Scaled a, Scaled b) { return a + b; }
Scaled subtract(Scaled a, Scaled b) { return a - b; }
Scaled multiply(Scaled a, Scaled b) { return a * b; }
Scaled divide(Scaled a, Scaled b) { return a / b; }
Scaled maximum(Scaled a, Scaled b) {
  return isNaN(a) ? a : isNaN(b) ? b : a < b ? b : a;
}
Scaled minimum(Scaled a, Scaled b) {
  return isNaN(a) ? a : isNaN(b) ? b : b < a ? b : a;
}
Scaled maximumNumber(Scaled a, Scaled b) {
  return isNaN(a) ? b : isNaN(b) ? a : a < b ? b : a;
}
Scaled minimumNumber(Scaled a, Scaled b) {
  return isNaN(a) ? b : isNaN(b) ? a : b < a ? b : a;
}
Scaled magnitude(Scaled a) { return {std::abs(a.m), a.e}; }
Scaled exponential(Scaled a) { return scaledExp(plain(a)); }
Scaled exponential2(Scaled a) { return scaledExp(plain(a) * M_LN2); }
Scaled logarithm(Scaled a) { return {std::log(a.m) + a.e, 0}; }
Scaled logarithm2(Scaled a) { return {(std::log(a.m) + a.e) / M_LN2, 0}; }
Scaled squareRoot(Scaled a) { return {std::sqrt(a.m), a.e / 2}; }
Scaled inverseRoot(Scaled a) { return {1 / std::sqrt(a.m), -a.e / 2}; }
/// Where exp made a large argument its exponent matters: log1p(exp(x)) = x.
Scaled logarithmOf1Plus(Scaled a) {
  return a.e > 30 ? logarithm(a + Scaled{1, 0})
                  : Scaled{std::log1p(plain(a)), 0};
}
Scaled exponentialMinus1(Scaled a) {
  double x = plain(a);
  return x > 600 ? scaledExp(x) : Scaled{std::expm1(x), 0};
}
Scaled powerOf(Scaled a, Scaled b) { return scaledPower(a, plain(b)); }

Int wrap(uint64_t x) { return static_cast<Int>(x); }
Int addInts(Int a, Int b) { return wrap(uint64_t(a) + uint64_t(b)); }
Int subtractInts(Int a, Int b) { return wrap(uint64_t(a) - uint64_t(b)); }
Int multiplyInts(Int a, Int b) { return wrap(uint64_t(a) * uint64_t(b)); }
Int absoluteInt(Int a) { return a < 0 ? subtractInts(0, a) : a; }
Int divideInts(Int a, Int b) {
  return b == 0 ? 0 : b == -1 ? subtractInts(0, a) : a / b;
}
Int remainderInts(Int a, Int b) { return b == 0 || b == -1 ? 0 : a % b; }
Int floorDivide(Int a, Int b) {
  return divideInts(a, b) - (remainderInts(a, b) != 0 && (a < 0) != (b < 0));
}
Int ceilDivide(Int a, Int b) {
  return divideInts(a, b) + (remainderInts(a, b) != 0 && (a < 0) == (b < 0));
}
Int minInts(Int a, Int b) { return std::min(a, b); }
Int maxInts(Int a, Int b) { return std::max(a, b); }
Int andInts(Int a, Int b) { return a & b; }
Int orInts(Int a, Int b) { return a | b; }
Int xorInts(Int a, Int b) { return a ^ b; }

void toReal(Machine &m, const Instruction &i) {
  m.reals[i.result] = {static_cast<double>(m.ints[i.args[0]]), 0};
}
void toInt(Machine &m, const Instruction &i) {
  double x = plain(m.reals[i.args[0]]);
  m.ints[i.result] = std::isnan(x) ? 0
                     : x >= 0x1p63 ? std::numeric_limits<Int>::max()
                     : x < -0x1p63 ? std::numeric_limits<Int>::min()
                                   : static_cast<Int>(x);
}
void copyInt(Machine &m, const Instruction &i) {
  m.ints[i.result] = m.ints[i.args[0]];
}
void copyReal(Machine &m, const Instruction &i) {
  m.reals[i.result] = m.reals[i.args[0]];
}
/// math.fpowi: its exponent is an integer value, nearly always a constant.
void powerByInt(Machine &m, const Instruction &i) {
  m.reals[i.result] =
      scaledPower(m.reals[i.args[0]], static_cast<long>(m.ints[i.args[1]]));
}

const std::unordered_map<std::string_view, Handler> &handlers() {
  static const std::unordered_map<std::string_view, Handler> table = {
      {"arith.addf", real2<add>},
      {"arith.subf", real2<subtract>},
      {"arith.mulf", real2<multiply>},
      {"arith.divf", real2<divide>},
      {"arith.negf", real1<negate>},
      {"arith.maximumf", real2<maximum>},
      {"arith.minimumf", real2<minimum>},
      {"arith.maxnumf", real2<maximumNumber>},
      {"arith.minnumf", real2<minimumNumber>},
      {"arith.addi", int2<addInts>},
      {"arith.subi", int2<subtractInts>},
      {"arith.muli", int2<multiplyInts>},
      {"arith.divsi", int2<divideInts>},
      {"arith.remsi", int2<remainderInts>},
      {"arith.floordivsi", int2<floorDivide>},
      {"arith.ceildivsi", int2<ceilDivide>},
      {"arith.minsi", int2<minInts>},
      {"arith.maxsi", int2<maxInts>},
      {"arith.andi", int2<andInts>},
      {"arith.ori", int2<orInts>},
      {"arith.xori", int2<xorInts>},
      {"arith.sitofp", toReal},
      {"arith.uitofp", toReal}, // of i1 only, which is held as 0 or 1
      {"arith.fptosi", toInt},
      {"arith.index_cast", copyInt},
      {"arith.extui", copyInt}, // likewise
      {"arith.extf", copyReal},
      {"arith.truncf", copyReal}, // all in double: storage alone is narrow
      {"math.exp", real1<exponential>},
      {"math.exp2", real1<exponential2>},
      {"math.expm1", real1<exponentialMinus1>},
      {"math.log", real1<logarithm>},
      {"math.log2", real1<logarithm2>},
      {"math.log1p", real1<logarithmOf1Plus>},
      {"math.sqrt", real1<squareRoot>},
      {"math.rsqrt", real1<inverseRoot>},
      {"math.absf", real1<magnitude>},
      {"math.absi", int1<absoluteInt>},
      {"math.powf", real2<powerOf>},
      {"math.fpowi", powerByInt},
      {"math.tanh", real1<onPlain<std::tanh>>},
      {"math.erf", real1<onPlain<std::erf>>},
      {"math.cos", real1<onPlain<std::cos>>},
      {"math.sin", real1<onPlain<std::sin>>},
      {"math.floor", real1<onPlain<std::floor>>},
      {"math.ceil", real1<onPlain<std::ceil>>},
  };
  return table;
}

} // namespace

Handler attn::reference::scalarHandler(std::string_view operation) {
  auto found = handlers().find(operation);
  return found == handlers().end() ? nullptr : found->second;
}

void attn::reference::compareReals(Machine &m, const Instruction &i) {
  Scaled a = m.reals[i.args[0]], b = m.reals[i.args[1]];
  // Outcomes are bits: equal 1, greater 2, less 4, unordered 8. arith numbers
  // its predicates otherwise from the unordered ones on.
  static constexpr int kHolds[16] = {0, 1,  2,  3,  4,  5,  6, 7,
                                     9, 10, 11, 12, 13, 14, 8, 15};
  int outcome = isNaN(a) || isNaN(b) ? 8 : a == b ? 1 : b < a ? 2 : 4;
  m.ints[i.result] = (kHolds[i.number] & outcome) != 0;
}

void attn::reference::compareInts(Machine &m, const Instruction &i) {
  int64_t a = m.ints[i.args[0]], b = m.ints[i.args[1]];
  bool outcomes[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
  m.ints[i.result] = outcomes[i.number];
}

void attn::reference::selectReal(Machine &m, const Instruction &i) {
  m.reals[i.result] = m.reals[i.args[m.ints[i.args[0]] ? 1 : 2]];
}
void attn::reference::selectInt(Machine &m, const Instruction &i) {
  m.ints[i.result] = m.ints[i.args[m.ints[i.args[0]] ? 1 : 2]];
}

void attn::reference::powerOfVarying(Machine &m, const Instruction &i) {
  m.reals[i.result] =
      scaledExponential(m.reals[i.args[0]], plain(m.reals[i.args[1]]));
}
