//===- Builder.h - kernels as C++ expressions -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The language of `.attn` files in C++. Short kernels are a lambda:
//
//     using namespace attn;
//     Spec yat = attention(
//         "yat", {param("b", head) >= 0, param("eps", head) > 0},
//         [](Row q, Row k, Real b, Real eps) {
//           return pow(dot(q, k) + b, 2) / (sqdist(q, k) + eps);
//         });
//     Kernel kernel = Compiler().compile(yat);
//
// with a mask, a normaliser or other results, the lambda returns a Kappa:
//
//     Spec sink = attention(
//         "sink", {param("s", head), intParam("w") >= 0},
//         [](Row q, Row k, Real s, Int w) {
//           return Kappa(exp(30 * tanh(dot(q, k) / sqrt(dim) / 30)))
//               .mask(causal && window(w, 0))
//               .normalize(mass().sink(s))
//               .returns({"o", "lse"});
//         });
//
// and where roles are assigned, an Attention takes statements as a file does:
//
//     Attention block("block", {"x"});
//     Row x = block.input("x");
//     Matrix Wq = block.parameter(param("Wq", head, "D", "d"));
//     Matrix Wk = block.parameter(param("Wk", kv_head, "D", "d"));
//     Matrix Wv = block.parameter(param("Wv", kv_head, "D", "e"));
//     block.q = rope(x * Wq, i);
//     block.k = rope(x * Wk, j);
//     block.v = x * Wv;
//     block.kappa = exp(dot(block.q, block.k) / sqrt(dim));
//     block.mask = causal;
//     Kernel kernel = Compiler().compile(block);
//
// An expression is a number (Real, Int), a condition (Bool), a row, a matrix,
// or a Param, which may be any of them. What C++ sees to be wrong does not
// compile: `dot(q, 1)`, `q < k`, `W * x`. The rest (sides, proofs, names) is
// found by Compiler::compile and thrown as Error, with the spec as text.
//
// Unlike C++: `a / b` of two Ints is a real (floordiv(a, b) is the integer),
// `a % b` has the sign of b, `^` does not exist (pow(a, b)), and && and || do
// not decide whether the other side is built.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_BUILDER_H
#define ATTN_BUILDER_H

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

//===----------------------------------------------------------------------===//
// Types of results
//===----------------------------------------------------------------------===//

namespace detail {

template <Kind a> constexpr void wantNumberOrRow() {
  static_assert(a != Kind::Bool,
                "a condition is no number; write where(condition, 1, 0)");
  static_assert(a != Kind::Matrix,
                "a matrix is multiplied from the left by a row, x * W");
}

/// Of two operands of + - * min max: a row if one is, an Int if both are.
template <class A, class B> struct ArithmeticResult {
  static constexpr Kind a = kindOf<A>, b = kindOf<B>;
  using type = std::conditional_t<
      a == Kind::Row || b == Kind::Row, Row,
      std::conditional_t<a == Kind::Int && b == Kind::Int, Int, Real>>;
  static constexpr void check() {
    wantNumberOrRow<a>();
    wantNumberOrRow<b>();
  }
};
template <class A, class B>
using Arithmetic2 = typename ArithmeticResult<A, B>::type;
/// Of a function of reals: coordinate by coordinate on a row.
template <class A>
using Mapped = std::conditional_t<kindOf<A> == Kind::Row, Row, Real>;

template <class A, class B>
Arithmetic2<A, B> arithmetic(Spec::Operator op, const A &a, const B &b) {
  ArithmeticResult<A, B>::check();
  return Arithmetic2<A, B>(operationTerm(op, {termOf(a), termOf(b)}));
}
template <class A> Mapped<A> mapped(const char *name, const A &x) {
  wantNumberOrRow<kindOf<A>>();
  return Mapped<A>(callTerm(name, {termOf(x)}));
}
template <class A, class B>
Bool comparison(Spec::Operator op, const A &a, const B &b) {
  static_assert(isNumber(kindOf<A>) && isNumber(kindOf<B>),
                "comparisons take numbers, not rows or conditions");
  return Bool(operationTerm(op, {termOf(a), termOf(b)}));
}
template <class A, class B>
Int integers(Spec::Operator op, const A &a, const B &b) {
  static_assert(isInt(kindOf<A>) && isInt(kindOf<B>),
                "% and floordiv take Ints; floor(a / b) divides reals");
  return Int(operationTerm(op, {termOf(a), termOf(b)}));
}
template <class A, class B>
Bool logic(Spec::Operator op, const A &a, const B &b) {
  static_assert(kindOf<A> == Kind::Bool && kindOf<B> == Kind::Bool,
                "&& and || take conditions; compare with something");
  return Bool(operationTerm(op, {termOf(a), termOf(b)}));
}

} // namespace detail

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

template <class A, class B, class = detail::Ours<A, B>>
detail::Arithmetic2<A, B> operator+(const A &a, const B &b) {
  return detail::arithmetic(Spec::Operator::Add, a, b);
}
template <class A, class B, class = detail::Ours<A, B>>
detail::Arithmetic2<A, B> operator-(const A &a, const B &b) {
  return detail::arithmetic(Spec::Operator::Subtract, a, b);
}
/// Of rows coordinate by coordinate; `x * W` with a matrix is the product.
template <class A, class B, class = detail::Ours<A, B>>
detail::Arithmetic2<A, B> operator*(const A &a, const B &b) {
  if constexpr (detail::kindOf<A> == detail::Kind::Row &&
                detail::kindOf<B> == detail::Kind::Matrix)
    return Row(detail::operationTerm(Spec::Operator::Multiply,
                                     {detail::termOf(a), detail::termOf(b)}));
  else
    return detail::arithmetic(Spec::Operator::Multiply, a, b);
}
/// A real, of Ints too.
template <class A, class B, class = detail::Ours<A, B>>
detail::Mapped<detail::Arithmetic2<A, B>> operator/(const A &a, const B &b) {
  detail::ArithmeticResult<A, B>::check();
  return detail::Mapped<detail::Arithmetic2<A, B>>(detail::operationTerm(
      Spec::Operator::Divide, {detail::termOf(a), detail::termOf(b)}));
}
/// With the sign of the divisor.
template <class A, class B, class = detail::Ours<A, B>>
Int operator%(const A &a, const B &b) {
  return detail::integers(Spec::Operator::Modulo, a, b);
}
/// `a // b` of the language: the quotient, rounded down.
template <class A, class B, class = detail::Ours<A, B>>
Int floordiv(const A &a, const B &b) {
  return detail::integers(Spec::Operator::FloorDivide, a, b);
}
template <class A, class = detail::Ours<A>>
detail::Arithmetic2<A, A> operator-(const A &a) {
  detail::ArithmeticResult<A, A>::check();
  return detail::Arithmetic2<A, A>(
      detail::operationTerm(Spec::Operator::Minus, {detail::termOf(a)}));
}
/// C++'s ^ binds more loosely than +: write pow(a, b).
template <class A, class B, class = detail::Ours<A, B>>
void operator^(const A &, const B &) = delete;

template <class A, class B, class = detail::Ours<A, B>>
Bool operator<(const A &a, const B &b) {
  return detail::comparison(Spec::Operator::Less, a, b);
}
template <class A, class B, class = detail::Ours<A, B>>
Bool operator<=(const A &a, const B &b) {
  return detail::comparison(Spec::Operator::LessEqual, a, b);
}
template <class A, class B, class = detail::Ours<A, B>>
Bool operator>(const A &a, const B &b) {
  return detail::comparison(Spec::Operator::Greater, a, b);
}
template <class A, class B, class = detail::Ours<A, B>>
Bool operator>=(const A &a, const B &b) {
  return detail::comparison(Spec::Operator::GreaterEqual, a, b);
}
template <class A, class B, class = detail::Ours<A, B>>
Bool operator==(const A &a, const B &b) {
  return detail::comparison(Spec::Operator::Equal, a, b);
}
template <class A, class B, class = detail::Ours<A, B>>
Bool operator!=(const A &a, const B &b) {
  return detail::comparison(Spec::Operator::NotEqual, a, b);
}
template <class A, class B, class = detail::Ours<A, B>>
Bool operator&&(const A &a, const B &b) {
  return detail::logic(Spec::Operator::And, a, b);
}
template <class A, class B, class = detail::Ours<A, B>>
Bool operator||(const A &a, const B &b) {
  return detail::logic(Spec::Operator::Or, a, b);
}
template <class A, class = detail::Ours<A>> Bool operator!(const A &a) {
  static_assert(detail::kindOf<A> == detail::Kind::Bool,
                "! takes a condition; compare with something");
  return Bool(detail::operationTerm(Spec::Operator::Not, {detail::termOf(a)}));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

// Of numbers; of rows coordinate by coordinate.
template <class A, class = detail::Ours<A>> detail::Mapped<A> exp(const A &x) {
  return detail::mapped("exp", x);
}
template <class A, class = detail::Ours<A>> detail::Mapped<A> log(const A &x) {
  return detail::mapped("log", x);
}
template <class A, class = detail::Ours<A>> detail::Mapped<A> sqrt(const A &x) {
  return detail::mapped("sqrt", x);
}
template <class A, class = detail::Ours<A>> detail::Mapped<A> tanh(const A &x) {
  return detail::mapped("tanh", x);
}
template <class A, class = detail::Ours<A>>
detail::Mapped<A> sigmoid(const A &x) {
  return detail::mapped("sigmoid", x);
}
template <class A, class = detail::Ours<A>>
detail::Mapped<A> softplus(const A &x) {
  return detail::mapped("softplus", x);
}
template <class A, class = detail::Ours<A>> detail::Mapped<A> relu(const A &x) {
  return detail::mapped("relu", x);
}
template <class A, class = detail::Ours<A>> detail::Mapped<A> elu(const A &x) {
  return detail::mapped("elu", x);
}
template <class A, class = detail::Ours<A>> detail::Mapped<A> cos(const A &x) {
  return detail::mapped("cos", x);
}
template <class A, class = detail::Ours<A>> detail::Mapped<A> sin(const A &x) {
  return detail::mapped("sin", x);
}
/// Of an Int an Int.
template <class A, class = detail::Ours<A>>
detail::Arithmetic2<A, A> abs(const A &x) {
  detail::ArithmeticResult<A, A>::check();
  return detail::Arithmetic2<A, A>(
      detail::callTerm("abs", {detail::termOf(x)}));
}
/// Rounds down to an Int.
template <class A, class = detail::Ours<A>> Int floor(const A &x) {
  static_assert(detail::isNumber(detail::kindOf<A>),
                "floor makes an Int and takes a number");
  return Int(detail::callTerm("floor", {detail::termOf(x)}));
}
/// A constant integer exponent multiplies; else the base is proven >= 0.
template <class A, class B, class = detail::Ours<A, B>>
detail::Mapped<A> pow(const A &base, const B &exponent) {
  detail::wantNumberOrRow<detail::kindOf<A>>();
  static_assert(detail::isNumber(detail::kindOf<B>), "an exponent is a number");
  return detail::Mapped<A>(detail::operationTerm(
      Spec::Operator::Power, {detail::termOf(base), detail::termOf(exponent)}));
}
template <class A, class B, class = detail::Ours<A, B>>
detail::Arithmetic2<A, B> min(const A &a, const B &b) {
  detail::ArithmeticResult<A, B>::check();
  return detail::Arithmetic2<A, B>(
      detail::callTerm("min", {detail::termOf(a), detail::termOf(b)}));
}
template <class A, class B, class = detail::Ours<A, B>>
detail::Arithmetic2<A, B> max(const A &a, const B &b) {
  detail::ArithmeticResult<A, B>::check();
  return detail::Arithmetic2<A, B>(
      detail::callTerm("max", {detail::termOf(a), detail::termOf(b)}));
}
/// `a` where the condition holds, else `b`; of two conditions a condition.
template <class A, class B,
          class = std::enable_if_t<detail::kindOf<A> != detail::Kind::Foreign &&
                                   detail::kindOf<B> != detail::Kind::Foreign>>
auto where(const Bool &condition, const A &a, const B &b) {
  detail::TermRef term = detail::callTerm(
      "where", {condition.term(), detail::termOf(a), detail::termOf(b)});
  constexpr bool conditions = detail::kindOf<A> == detail::Kind::Bool &&
                              detail::kindOf<B> == detail::Kind::Bool;
  if constexpr (conditions) {
    return Bool(std::move(term));
  } else {
    detail::ArithmeticResult<A, B>::check();
    return detail::Arithmetic2<A, B>(std::move(term));
  }
}

/// The inner product, and the sum of squared differences: of any two rows.
Real dot(const Row &a, const Row &b);
Real sqdist(const Row &a, const Row &b);
/// The row at length 1; a zero row stays zero.
Row unit(const Row &x);
/// Rotates pairs of coordinates by the position times a frequency each: the
/// first half with the second, or neighbours where interleaved.
Row rope(const Row &x, const Real &position, double base = 10000,
         bool interleaved = false);
/// The flattened tensor product.
Row outer(const Row &a, const Row &b);
/// The symmetric tensor power: dot(power(q, p), power(k, p)) = dot(q, k)^p.
Row power(const Row &x, int degree);
/// Rows end to end.
template <class... Rows> Row concat(const Row &first, const Rows &...others) {
  return Row(detail::callTerm(
      "concat", {first.term(), static_cast<const Row &>(others).term()...}));
}

/// The length of q as q stands; `dim(x)` is that of another row.
struct Dim : detail::Word<detail::Kind::Int> {
  Int operator()(const Row &x) const;
};
inline constexpr Dim dim{{"dim"}};

/// Masks: l keys before the query and r after it, itself between; the first n
/// keys; pairs with equal entries of a parameter over positions, declared as in
/// intParam("ids", batch, nk).
Bool window(const Int &left, const Int &right);
Bool prefix(const Int &n);
Bool document(const Param &ids);

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// An edge of a table axis: an integer, or a size variable, nq or nk, which may
/// be negated as in "-L".
class TableEdge {
public:
  template <class T, std::enable_if_t<std::is_integral<T>::value, int> = 0>
  TableEdge(T number) {
    edge.number = static_cast<int64_t>(number);
  }
  TableEdge(const Size &size) { edge.variable.text = size.name(); }
  TableEdge(const char *size) : TableEdge(std::string(size)) {}
  TableEdge(const std::string &size) {
    edge.negated = !size.empty() && size[0] == '-';
    edge.variable.text = size.substr(edge.negated ? 1 : 0);
  }
  Spec::Edge edge;
};

/// An axis: head, kv_head, batch, nq, nk, a size variable, or a table.
class ParamAxis {
public:
  ParamAxis(const AxisWord &word) { axis.name.text = word.name; }
  ParamAxis(const Size &size) { axis.name.text = size.name(); }
  ParamAxis(const char *size) { axis.name.text = size; }
  ParamAxis(const std::string &size) { axis.name.text = size; }
  ParamAxis(const TableEdge &low, const TableEdge &high) {
    axis.low = low.edge;
    axis.high = high.edge;
  }
  Spec::Axis axis;
};

/// The axis of a table with an entry for every integer from low to high,
/// `table(-128, 128)` or `table("-L", "L")`; indices clamp to it.
inline ParamAxis table(const TableEdge &low, const TableEdge &high) {
  return {low, high};
}

/// A parameter's declaration. At most one bound; proofs assume it, and every
/// call checks it.
class Declaration {
public:
  Spec::Parameter parameter;
  Declaration bounded(Spec::Operator relop, double bound) const;
};

/// Declares a real parameter: `param("bias", head, table(-128, 128))`.
template <class... Axes>
Declaration param(const std::string &name, const Axes &...axes) {
  Declaration declaration;
  declaration.parameter.name.text = name;
  declaration.parameter.axes = {ParamAxis(axes).axis...};
  return declaration;
}
/// Declares an integer parameter: `intParam("w") >= 0`.
template <class... Axes>
Declaration intParam(const std::string &name, const Axes &...axes) {
  Declaration declaration = param(name, axes...);
  declaration.parameter.integer = true;
  return declaration;
}

inline Declaration operator<(const Declaration &d, double bound) {
  return d.bounded(Spec::Operator::Less, bound);
}
inline Declaration operator<=(const Declaration &d, double bound) {
  return d.bounded(Spec::Operator::LessEqual, bound);
}
inline Declaration operator>(const Declaration &d, double bound) {
  return d.bounded(Spec::Operator::Greater, bound);
}
inline Declaration operator>=(const Declaration &d, double bound) {
  return d.bounded(Spec::Operator::GreaterEqual, bound);
}
inline Declaration operator==(const Declaration &d, double bound) {
  return d.bounded(Spec::Operator::Equal, bound);
}
inline Declaration operator!=(const Declaration &d, double bound) {
  return d.bounded(Spec::Operator::NotEqual, bound);
}

//===----------------------------------------------------------------------===//
// Normalisers
//===----------------------------------------------------------------------===//

/// What the weighted sum is divided by: `none`, or `mass()` with more terms in
/// the denominator. They may use parameters, head and batch.
class Normalizer {
public:
  Normalizer(const None &) : byMass(false) {}
  explicit Normalizer(bool byMass) : byMass(byMass) {}
  /// Added to the denominator.
  Normalizer delta(const Real &x) const { return with("delta", x); }
  /// The least size of the denominator; its sign is kept.
  Normalizer floor(const Real &x) const { return with("floor", x); }
  /// exp(x) more mass, that of no key.
  Normalizer sink(const Real &x) const { return with("sink", x); }

private:
  friend class Attention;
  Normalizer with(const char *name, const Real &x) const {
    Normalizer result = *this;
    result.terms.emplace_back(name, x);
    return result;
  }
  bool byMass;
  std::vector<std::pair<std::string, Real>> terms;
};
inline Normalizer mass() { return Normalizer(true); }

//===----------------------------------------------------------------------===//
// Features
//===----------------------------------------------------------------------===//

/// A feature map that stands in for the kernel; what it estimates, and how
/// well, `attnc explain` says.
class Features {
public:
  /// exp by its series to that order.
  static Features taylor(int64_t order = 2);
  /// exp by m positive random features (Performers).
  static Features favor(int64_t m = 256);
  /// A Gaussian by m random frequencies.
  static Features rff(int64_t m = 256);
  /// The spherical Yat by quadrature and positive random features.
  static Features slay(int64_t nodes = 2, int64_t features = 16);
  /// The spherical Yat by its series in the dot.
  static Features maclaurin(int64_t order = 4);
  Features seed(int64_t seed) const;
  /// favor: orthogonal rows, or not; they are unless this says otherwise.
  Features orthogonal(bool yes) const;
  /// favor: every row with its negative.
  Features hyperbolic(bool yes = true) const;
  /// slay: the square is estimated too.
  Features anchors() const;

private:
  friend class Attention;
  struct Arguments; // kept out of what every user compiles
  static Features named(const char *name);
  Features with(const char *argument, int64_t value) const;
  std::shared_ptr<const Arguments> given;
};

/// A kernel with what surrounds it: what a lambda of `attention` may return.
class Kappa {
public:
  template <class T,
            std::enable_if_t<std::is_convertible<T, Real>::value, int> = 0>
  Kappa(const T &value) : value(value) {}
  Kappa &mask(const Bool &condition) {
    visible = std::make_shared<const Bool>(condition);
    return *this;
  }
  Kappa &normalize(const Normalizer &by) {
    normalizer = std::make_shared<const Normalizer>(by);
    return *this;
  }
  /// What stands in for the kernel.
  Kappa &features(const Features &map) {
    approximation = map;
    return *this;
  }
  /// Accepts a denominator that may cross zero.
  Kappa &allowSigned() {
    isSigned = true;
    return *this;
  }
  /// o, mass, lse, max, argmax, entropy, weights; o alone where nothing is
  /// said.
  Kappa &returns(std::vector<std::string> names) {
    results = std::move(names);
    return *this;
  }

private:
  friend class Attention;
  Real value;
  std::shared_ptr<const Bool> visible;
  std::shared_ptr<const Normalizer> normalizer;
  Features approximation;
  bool isSigned = false;
  std::vector<std::string> results;
};

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// A spec under construction: each call or assignment is a statement, in order.
/// Converts to Spec.
class Attention {
  struct State;
  enum class Slot { Q, K, V, Kappa, Mask, Normalize };

public:
  /// Inputs called q, k and v are those roles from the start.
  explicit Attention(const std::string &name,
                     const std::vector<std::string> &inputs = {"q", "k", "v"});
  Attention(const Attention &) = delete;
  Attention &operator=(const Attention &) = delete;
  ~Attention();

  /// The row of an input.
  Row input(const std::string &name) const;
  /// Declares a parameter; convert the result to what it is, `Real b = ...`.
  Param parameter(const Declaration &declaration);

  /// A role: reads as the row that it stands for now; assigning composes the
  /// map of its side, `a.q = unit(a.q)`. Before kappa is given.
  class Role {
  public:
    static constexpr detail::Kind kind = detail::Kind::Row;
    operator Row() const { return Row(term()); }
    detail::TermRef term() const { return parent.read(slot); }
    Role &operator=(const Row &row) {
      parent.assign(slot, row.term());
      return *this;
    }
    Role &operator=(const Role &role) { return *this = Row(role); }
    Role(const Role &) = delete;

  private:
    friend class Attention;
    Role(Attention &parent, Slot slot) : parent(parent), slot(slot) {}
    Attention &parent;
    Slot slot;
  };
  Role q, k, v;

  /// kappa and mask: `a.kappa = exp(dot(a.q, a.k))`, once each.
  template <class T> class Once {
  public:
    Once &operator=(const T &value) {
      parent.assign(slot, value.term());
      return *this;
    }
    Once(const Once &) = delete;
    Once &operator=(const Once &) = delete;

  private:
    friend class Attention;
    Once(Attention &parent, Slot slot) : parent(parent), slot(slot) {}
    Attention &parent;
    Slot slot;
  };
  Once<Real> kappa;
  Once<Bool> mask;

  void normalize(const Normalizer &by);
  void features(const Features &map);
  /// Accepts a denominator that may cross zero.
  void allowSigned();
  void returns(const std::vector<std::string> &names);

  /// Names a value: errors and the text use the name, and it keeps its meaning
  /// when a role is assigned after it.
  Real let(const std::string &name, const Real &x) { return named(name, x); }
  Int let(const std::string &name, const Int &x) { return named(name, x); }
  Bool let(const std::string &name, const Bool &x) { return named(name, x); }
  Row let(const std::string &name, const Row &x) { return named(name, x); }

  /// The spec as it stands.
  const Spec &spec() const;
  operator Spec() const { return spec(); }

  /// For `attention`: kappa with what surrounds it.
  void set(const Kappa &kappa);

private:
  template <class T> T named(const std::string &name, const T &x) {
    return T(define(name, x.term()));
  }
  detail::TermRef define(const std::string &name, const detail::TermRef &value);
  detail::TermRef read(Slot slot) const;
  void assign(Slot slot, const detail::TermRef &value);
  Spec::Id flatten(const detail::TermRef &root);

  std::unique_ptr<State> state;
};

namespace detail {

/// The arguments of a callable that is not overloaded.
template <class T> struct Callable : Callable<decltype(&T::operator())> {};
template <class R, class... As> struct Callable<R (*)(As...)> {
  using Arguments = std::tuple<std::decay_t<As>...>;
};
template <class R, class C, class... As>
struct Callable<R (C::*)(As...)> : Callable<R (*)(As...)> {};
template <class R, class C, class... As>
struct Callable<R (C::*)(As...) const> : Callable<R (*)(As...)> {};
template <class R, class... As>
struct Callable<R (*)(As...) noexcept> : Callable<R (*)(As...)> {};
template <class R, class C, class... As>
struct Callable<R (C::*)(As...) const noexcept> : Callable<R (*)(As...)> {};

/// Throws unless a lambda takes q, k, perhaps v, and the parameters.
void checkArity(const std::string &name, size_t arguments, size_t parameters);

template <class Body, size_t... N>
auto apply(Body &body, const std::vector<Param> &arguments,
           std::index_sequence<N...>) {
  using Arguments = typename Callable<std::decay_t<Body>>::Arguments;
  return body(std::tuple_element_t<N, Arguments>(arguments[N])...);
}

} // namespace detail

/// A spec from a function of the rows q and k, or q, k and v, and of the
/// parameters in order, as Real, Int, Row, Matrix or Param. It returns kappa,
/// or a Kappa.
template <class Body>
Spec attention(const std::string &name,
               const std::vector<Declaration> &parameters, Body &&body) {
  using Arguments = typename detail::Callable<std::decay_t<Body>>::Arguments;
  constexpr size_t count = std::tuple_size<Arguments>::value;
  static_assert(count >= 2, "a kernel takes at least the rows q and k");
  detail::checkArity(name, count, parameters.size());
  Attention result(name);
  std::vector<Param> arguments = {Param(result.q.term()),
                                  Param(result.k.term())};
  if (count > parameters.size() + 2)
    arguments.push_back(Param(result.v.term()));
  for (const Declaration &declaration : parameters)
    arguments.push_back(result.parameter(declaration));
  auto kappa =
      detail::apply(body, arguments, std::make_index_sequence<count>());
  static_assert(std::is_convertible<decltype(kappa), Kappa>::value,
                "a kernel returns a number, as dot(q, k) is one, or a Kappa");
  result.set(kappa);
  return result.spec();
}

/// The spec as `.attn` text, which reads back as the same spec; empty where it
/// would be very long. Throws Error where the tree is no spec.
std::string toText(const Spec &spec);

} // namespace attn

#endif // ATTN_BUILDER_H
