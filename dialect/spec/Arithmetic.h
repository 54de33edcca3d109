//===- Arithmetic.h - operators and functions on typed values ---*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The typing rules of the language (types int, real, bool, row, matrix; sides),
// one method an operator. Each throws SpecError where its operands do not fit.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SPEC_ARITHMETIC_H
#define ATTN_DIALECT_SPEC_ARITHMETIC_H

#include "dialect/spec/Graph.h"

#include <unordered_map>

namespace attn {

class Arithmetic {
public:
  Graph graph;

  NodeId unary(Spec::Operator op, NodeId x, Spec::Place place);
  NodeId binary(Spec::Operator op, NodeId a, NodeId b, Spec::Place place);
  /// A function of scalars, on rows coordinate by coordinate.
  NodeId function(const std::string &name, const std::vector<NodeId> &x,
                  Spec::Place place);

  // Functions of rows.
  NodeId dot(NodeId a, NodeId b, Spec::Place place);
  NodeId sqdist(NodeId a, NodeId b, Spec::Place place);
  NodeId unit(NodeId row, Spec::Place place);
  NodeId concat(const std::vector<NodeId> &rows, Spec::Place place);
  NodeId outer(NodeId a, NodeId b, Spec::Place place);
  NodeId power(NodeId row, NodeId degree, Spec::Place place);
  NodeId rope(NodeId row, NodeId position, double base, bool interleaved,
              Spec::Place place);
  /// The length of a row, found without the row where that is possible.
  NodeId dim(NodeId row, Spec::Place place);

  /// An int as a real; rows and reals as they are.
  NodeId toReal(NodeId x, Spec::Place place);
  NodeId minInt(NodeId a, NodeId b, Spec::Place place);
  NodeId maxInt(NodeId a, NodeId b, Spec::Place place);
  /// Position, head, batch or true length by attn::Position's number.
  NodeId index(unsigned position, Spec::Place place);

  /// What a parameter was declared as, for the message about divisors.
  std::vector<std::string> parameterNames;

private:
  NodeId numeric(NodeOp op, NodeId a, NodeId b, const char *text,
                 Spec::Place place);
  NodeId divide(NodeId a, NodeId b, bool modulo, Spec::Place place);
  NodeId divisor(NodeId b, const char *text, Spec::Place place);
  NodeId raise(NodeId base, NodeId exponent, Spec::Place place);
  NodeId compare(Spec::Operator op, NodeId a, NodeId b, Spec::Place place);
  NodeId realFunction(NodeOp op, NodeId x, Spec::Place place);
  NodeId select(NodeId c, NodeId a, NodeId b, Spec::Place place);
  NodeId lengthOf(NodeId row, Spec::Place place);
  NodeId product(NodeId row, NodeId matrix, Spec::Place place);

  void wantRow(NodeId x, const std::string &what, Spec::Place place) const;
  void wantNumberOrRow(NodeId x, const std::string &what,
                       Spec::Place place) const;
  void wantCondition(NodeId x, const std::string &what,
                     Spec::Place place) const;
  /// Operands of a row-valued operation are of one side.
  void wantOneSide(const std::vector<NodeId> &operands,
                   Spec::Place place) const;

  std::unordered_map<NodeId, NodeId> lengths; ///< of rows, once computed
};

} // namespace attn

#endif // ATTN_DIALECT_SPEC_ARITHMETIC_H
