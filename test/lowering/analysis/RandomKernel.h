//===- RandomKernel.h - random kernels of the language --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_LOWERING_ANALYSIS_RANDOMKERNEL_H
#define ATTN_TEST_LOWERING_ANALYSIS_RANDOMKERNEL_H

#include <random>
#include <string>

namespace attn {

/// Writes random kernels in the parameters b >= 0, c, e > 0, n: int > 0; with
/// every compiler the same ones.
class RandomKernel {
public:
  explicit RandomKernel(uint64_t seed) : random(seed) {}

  std::string spec() {
    return "attention t(q, k, v; b >= 0, c, e > 0, n: int > 0) {\n  kappa = " +
           expression(4) + "\n  normalize = none\n}\n";
  }
  std::mt19937_64 random;

private:
  std::string expression(int depth) {
    if (depth == 0 || random() % 8 == 0)
      return leaf();
    std::string x = expression(depth - 1);
    auto y = [&] { return expression(depth - 1); };
    switch (random() % 26) {
    case 0:
    case 1:
    case 2:
      return "(" + x + " + " + y() + ")";
    case 3:
    case 4:
      return "(" + x + " - " + y() + ")";
    case 5:
    case 6:
    case 7:
      return x + "*" + y();
    case 8:
      return x + "/(" + y() + " + e)";
    case 9:
      return x + "/" + leaf();
    case 10:
      return "(" + x + ")^" + std::to_string(2 + random() % 5);
    case 11:
      return "(" + x + ")^2 + 2*(" + x + ")*c + c*c";
    case 12:
      return "exp(" + x + "/4)";
    case 13:
      return "exp(-abs(" + x + "))";
    case 14:
      return "tanh(" + x + ")";
    case 15:
      return "sigmoid(" + x + ")";
    case 16:
      return "softplus(" + x + ")";
    case 17:
      return "relu(" + x + ")";
    case 18:
      return "(elu(" + x + ") + 1)";
    case 19:
      return "abs(" + x + ")^0.5";
    case 20:
      return "sqrt(abs(" + x + "))";
    case 21:
      return "max(" + x + ", " + y() + ")";
    case 22:
      return "min(" + x + ", " + y() + ")";
    case 23: { // one draw a statement: operands have no order
      std::string bound = leaf(), chosen = leaf();
      return "where(" + x + " < " + bound + ", " + chosen + ", " + x + ")";
    }
    case 24:
      return random() % 2 ? "cos(" + x + ")" : "sin(" + x + ")";
    default:
      return "log(abs(" + x + ") + e)";
    }
  }
  std::string leaf() {
    const char *leaves[] = {
        "dot(q, k)",
        "dot(q, k)",
        "sqdist(q, k)",
        "dot(q, q)",
        "dot(relu(q), relu(k))",
        "dot(unit(q), unit(k))",
        "sqdist(unit(q), unit(k))",
        "dot(elu(q) + 1, elu(k) + 1)",
        "dot(concat(unit(q), relu(q)), concat(unit(k), relu(k)))",
        "b",
        "c",
        "e",
        "2",
        "0.5",
        "(i - j)",
        "(i % n)",
        "j",
        "dot(power(q, 2), power(k, 2))",
        "dot(outer(relu(q), q), outer(relu(k), k))",
        "dot(rope(unit(q), i), rope(unit(k), j))",
        "dot(rope(relu(q), i), relu(k))",
        "dot(q/e, k*b)",
        "sqdist(unit(q)*b, relu(k))"};
    return leaves[random() % std::size(leaves)];
  }
};

} // namespace attn

#endif // ATTN_TEST_LOWERING_ANALYSIS_RANDOMKERNEL_H
