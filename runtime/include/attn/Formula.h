//===- Formula.h - operators and functions of a kernel ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operators, scalar and row functions, and masks of the language, on the
// values of Terms.h.
//
// Unlike C++: `a / b` of two Ints is a real (floordiv(a, b) is the integer),
// `a % b` has the sign of b, `^` does not exist (pow(a, b)), and && and || do
// not decide whether the other side is built.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_FORMULA_H
#define ATTN_FORMULA_H

#include "attn/Terms.h"

namespace attn {

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

} // namespace attn

#endif // ATTN_FORMULA_H
