//===- Terms.h - values of an expression ------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Builder.h's expressions are made of: numbers, conditions, rows, matrices
// and parameters, each a node of the tree that Compiler::compile reads.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TERMS_H
#define ATTN_TERMS_H

#include "attn/Error.h"
#include "attn/Spec.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace attn {

class Attention;
class Param;

//===----------------------------------------------------------------------===//
// Terms: nothing to see here for users
//===----------------------------------------------------------------------===//

namespace detail {

enum class Kind { Foreign, Int, Real, Bool, Row, Matrix, Param };

/// A node of an expression; shared, never changed.
struct Term;
using TermRef = std::shared_ptr<const Term>;

TermRef integerTerm(int64_t value);
TermRef bigIntegerTerm(uint64_t value);
TermRef realTerm(double value);
TermRef wordTerm(const std::string &name);
TermRef operationTerm(Spec::Operator op, std::vector<TermRef> operands);
TermRef callTerm(const char *name, std::vector<TermRef> operands);
TermRef indexTerm(const TermRef &parameter, std::vector<TermRef> indices);
/// Throws unless a parameter, where the term is one, is of this kind.
TermRef checkedTerm(const Param &param, Kind kind);

/// What all expressions have.
class Expression {
public:
  const TermRef &term() const { return node; }

protected:
  explicit Expression(TermRef node) : node(std::move(node)) {}
  ~Expression() = default;
  Expression(const Expression &) = default;
  Expression &operator=(const Expression &) = default;

private:
  TermRef node;
};

/// A word of the language that stands for a value: no memory, so constant.
template <Kind kindOfWord> struct Word {
  static constexpr Kind kind = kindOfWord;
  const char *name;
  TermRef term() const { return wordTerm(name); }
};

template <class T, class = void>
struct KindOf
    : std::integral_constant<Kind, std::is_same<T, bool>::value ? Kind::Foreign
                                   : std::is_integral<T>::value ? Kind::Int
                                   : std::is_floating_point<T>::value
                                       ? Kind::Real
                                       : Kind::Foreign> {};
template <class T>
struct KindOf<T, std::enable_if_t<std::is_same<
                     std::remove_cv_t<decltype(T::kind)>, Kind>::value>>
    : std::integral_constant<Kind, T::kind> {};
template <class T>
inline constexpr Kind kindOf = KindOf<std::decay_t<T>>::value;

/// Whether an operator of these types is ours: all are operands, one a class.
template <class... Ts>
using Ours = std::enable_if_t<((kindOf<Ts> != Kind::Foreign) && ...) &&
                              (std::is_class<std::decay_t<Ts>>::value || ...)>;

template <class T> TermRef termOf(const T &x) {
  if constexpr (std::is_class<T>::value)
    return x.term();
  else if constexpr (std::is_floating_point<T>::value)
    return realTerm(static_cast<double>(x));
  else if constexpr (std::is_signed<T>::value)
    return integerTerm(static_cast<int64_t>(x));
  else
    return bigIntegerTerm(static_cast<uint64_t>(x));
}

constexpr bool isNumber(Kind kind) {
  return kind == Kind::Int || kind == Kind::Real || kind == Kind::Param;
}
constexpr bool isRow(Kind kind) {
  return kind == Kind::Row || kind == Kind::Param;
}
constexpr bool isInt(Kind kind) {
  return kind == Kind::Int || kind == Kind::Param;
}

} // namespace detail

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// Positions of the query and of the key.
inline constexpr detail::Word<detail::Kind::Int> i{"i"}, j{"j"};
/// The number in an expression, and the axis of a parameter.
struct AxisWord : detail::Word<detail::Kind::Int> {};
/// The query head, the key/value head, the batch; the numbers of queries and
/// keys.
inline constexpr AxisWord head{{"head"}}, kv_head{{"kv_head"}},
    batch{{"batch"}}, nq{{"nq"}}, nk{{"nk"}};
inline constexpr detail::Word<detail::Kind::Real> pi{"pi"}, inf{"inf"};
/// Masks: the key is not later than the query, or is earlier.
inline constexpr detail::Word<detail::Kind::Bool> causal{"causal"},
    strict_causal{"strict_causal"};
/// No mask; as a normaliser, the plain sum.
struct None : detail::Word<detail::Kind::Bool> {};
inline constexpr None none{{"none"}};

/// A size variable: an axis of a parameter, bound by the array that is given,
/// and an int in expressions. `Size D("D")`.
class Size {
public:
  static constexpr detail::Kind kind = detail::Kind::Int;
  explicit Size(std::string name) : text(std::move(name)) {}
  const std::string &name() const { return text; }
  detail::TermRef term() const { return detail::wordTerm(text); }

private:
  std::string text;
};

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

/// An exact integer: positions, lengths, integer parameters.
class Int : public detail::Expression {
public:
  static constexpr detail::Kind kind = detail::Kind::Int;
  template <class T,
            std::enable_if_t<detail::kindOf<T> == detail::Kind::Int, int> = 0>
  Int(const T &value) : Expression(detail::termOf(value)) {}
  Int(const Param &param);
  explicit Int(detail::TermRef term) : Expression(std::move(term)) {}
};

/// A real number. Ints convert.
class Real : public detail::Expression {
public:
  static constexpr detail::Kind kind = detail::Kind::Real;
  template <class T,
            std::enable_if_t<detail::kindOf<T> == detail::Kind::Int ||
                                 detail::kindOf<T> == detail::Kind::Real,
                             int> = 0>
  Real(const T &value) : Expression(detail::termOf(value)) {}
  Real(const Param &param);
  explicit Real(detail::TermRef term) : Expression(std::move(term)) {}
};

/// A condition, as a mask is one. C++'s own bool is not.
class Bool : public detail::Expression {
public:
  static constexpr detail::Kind kind = detail::Kind::Bool;
  template <class T,
            std::enable_if_t<detail::kindOf<T> == detail::Kind::Bool, int> = 0>
  Bool(const T &value) : Expression(value.term()) {}
  explicit Bool(detail::TermRef term) : Expression(std::move(term)) {}
};

/// A row of numbers: of an input, a role, a parameter with one size axis.
class Row : public detail::Expression {
public:
  static constexpr detail::Kind kind = detail::Kind::Row;
  Row(const Param &param);
  explicit Row(detail::TermRef term) : Expression(std::move(term)) {}
};

/// A parameter with two size axes; `x * W` multiplies a row by it.
class Matrix : public detail::Expression {
public:
  static constexpr detail::Kind kind = detail::Kind::Matrix;
  Matrix(const Param &param);
  explicit Matrix(detail::TermRef term) : Expression(std::move(term)) {}
};

/// A parameter, or what its indices pick: a number in arithmetic, and what it
/// was declared as where a Row, a Matrix or an Int is wanted.
class Param : public detail::Expression {
public:
  static constexpr detail::Kind kind = detail::Kind::Param;
  /// The element at explicit axes in order, `bias[i - j]`, `table.at(i, j)`;
  /// head, kv_head and batch are implicit. Indices clamp to their axis.
  template <class T> Param operator[](const T &index) const {
    return at(index);
  }
  template <class... Ts> Param at(const Ts &...indices) const {
    static_assert((detail::isInt(detail::kindOf<Ts>) && ...),
                  "an index is an Int; floor(x) makes one");
    return Param(detail::indexTerm(term(), {detail::termOf(indices)...}));
  }
  explicit Param(detail::TermRef term) : Expression(std::move(term)) {}
};

inline Int::Int(const Param &param)
    : Expression(detail::checkedTerm(param, kind)) {}
inline Real::Real(const Param &param)
    : Expression(detail::checkedTerm(param, kind)) {}
inline Row::Row(const Param &param)
    : Expression(detail::checkedTerm(param, kind)) {}
inline Matrix::Matrix(const Param &param)
    : Expression(detail::checkedTerm(param, kind)) {}

} // namespace attn

#endif // ATTN_TERMS_H
