//===- Spec.h - what a kernel specification says ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tree that both `.attn` text and C++ expressions build and that the
// importer turns into the dialect. Installed as attn/Spec.h: standard headers
// only.
//
// A spec says names and operators, nothing about types: `attention yat(q, k, v;
// b[head] >= 0) { kappa = (dot(q, k) + b)^2 }` has three inputs, one parameter
// and one statement. Expressions stand in one array; an operand stands before
// the expression that uses it, so that an expression may be shared and no walk
// over a spec needs recursion.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SPEC_H
#define ATTN_SPEC_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn {

struct Spec {
  /// Where something was written. Lines and columns count from 1, columns in
  /// bytes; line 0 means that there is no text.
  struct Place {
    uint32_t line = 0, column = 0, length = 0;
  };

  /// A name and where it stands.
  struct Name {
    std::string text;
    Place place;
  };

  /// A position in Spec::expressions.
  using Id = uint32_t;
  static constexpr Id kNone = ~Id(0);

  enum class Operator : uint8_t {
    // One operand.
    Minus,
    Plus,
    Not,
    // Two operands.
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    And,
    Or,
  };

  struct Expression {
    enum Kind : uint8_t {
      Integer,  ///< `integer`
      Real,     ///< `real`
      Variable, ///< `name`
      Call,     ///< `name`(operands..., argument names = operands...)
      Index,    ///< `name`[operands...]
      Operation ///< `op` on one or two operands
    };
    Kind kind = Integer;
    Operator op = Operator::Minus;
    Place place;
    int64_t integer = 0;
    double real = 0;
    std::string name;
    std::vector<Id> operands;
    /// Calls: the names of the last operands, `f(x, base = 2)`.
    std::vector<Name> argumentNames;
  };

  /// An edge of a table axis: a number, or a size variable (or nq, nk),
  /// possibly negated.
  struct Edge {
    int64_t number = 0;
    Name variable; ///< empty: `number` is meant
    bool negated = false;
  };

  /// `head`, `kv_head`, `batch`, a size variable, or a table `low:high`.
  struct Axis {
    Name name; ///< empty: a table
    Edge low, high;
    Place place;
  };

  struct Parameter {
    Name name;
    std::vector<Axis> axes;
    bool integer = false;
    /// The declared bound, `name <relop> bound`.
    std::optional<Operator> relop;
    double bound = 0;
    Place boundPlace;
  };

  struct Argument {
    Name name;
    Id value = kNone;
  };

  struct Statement {
    enum Kind : uint8_t {
      Assign,      ///< `name` = `value`; q, k and v are roles
      Define,      ///< `name`(`names`) = `value`
      Kappa,       ///< kappa = `value`
      Mask,        ///< mask = `value`
      Normalize,   ///< normalize = `name`(`arguments`)
      Features,    ///< features = `name`(...)
      AllowSigned, ///< allow signed
      Return       ///< return `names`
    };
    Kind kind = Assign;
    Place place; ///< of its first word
    Name name;
    std::vector<Name> names;
    std::vector<Argument> arguments;
    Id value = kNone;
  };

  Name name;
  std::vector<Name> inputs;
  std::vector<Parameter> parameters;
  std::vector<Statement> statements;
  std::vector<Expression> expressions;

  /// Adds an expression; its operands were added before.
  Id add(Expression expression) {
    expressions.push_back(std::move(expression));
    return static_cast<Id>(expressions.size() - 1);
  }
};

} // namespace attn

#endif // ATTN_SPEC_H
