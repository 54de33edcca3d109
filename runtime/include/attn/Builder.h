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
//===----------------------------------------------------------------------===//

#ifndef ATTN_BUILDER_H
#define ATTN_BUILDER_H

#include "attn/Formula.h"

namespace attn {

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
