//===- FuzzTest.cpp - parser and importer on 100,000 inputs ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Mutated specs and token soup, from a fixed seed. Whatever the text, there is
// a module that verifies or an error with a place inside the text. The same
// inputs run under the sanitizers.
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/Importer.h"
#include "dialect/spec/Parser.h"

#include "mlir/IR/MLIRContext.h"
#include <algorithm>
#include <cctype>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace attn;

namespace {

const std::vector<std::string> kSeeds = {
    "attention sink(q,k,v; s[head], w: int >= 0) { kappa = "
    "exp(30*tanh(dot(q,k)/sqrt(dim)/30)); mask = causal and window(w, 0)\n"
    "normalize = mass(sink = s); return o, lse }",
    "attention yat2m(q,k,v; b[head] >= 0, eps[head] > 0) { kappa = "
    "(dot(q,k)+b)^4/(sqdist(q,k)+eps); normalize = mass(delta = 1e-9)\n"
    "return o, mass }",
    "attention linear(q,k,v) { phi(x) = elu(x) + 1; kappa = dot(phi(q), "
    "phi(k))\n"
    "mask = causal }",
    "attention block(x; Wq[head,D,d], Wk[kv_head,D,d], Wv[kv_head,D,e]) {\n"
    "q = rope(x*Wq, i); k = rope(x*Wk, j); v = x*Wv\n"
    "kappa = exp(dot(q,k)/sqrt(dim)); mask = causal }",
    "attention nlm(p, v; W: int > 0, h > 0) { q = p; k = p\n"
    "kappa = exp(-sqdist(q,k)/h^2)\n"
    "mask = abs(i//W - j//W) <= 10 and abs(i%W - j%W) <= 10 }",
    "attention t5(q,k,v; bias[head,-128:128]) { kappa = exp(dot(q,k) + bias[i "
    "- j])"
    " }",
    "attention gat(q,k,v; a[head,d], c[head,d]) { s = dot(a,q) + dot(c,k)\n"
    "kappa = exp(max(s, 0.2*s)) }",
    "attention plm(q,k,v; n[batch]: int, doc[batch,nk]: int) { kappa = "
    "exp(dot(q,k)); mask = (causal or j < n) and doc[i] == doc[j] }",
    "attention cosformer(q,k,v; M > 0) { c = pi/2/M\n"
    "q = concat(relu(q)*cos(c*i), relu(q)*sin(c*i))\n"
    "k = concat(relu(k)*cos(c*j), relu(k)*sin(c*j))\n"
    "kappa = dot(q,k); allow signed; normalize = mass(floor = 1e-6) }",
    "attention more(q,k,v; T[nk,M,d], B[-M:M]) { kappa = where(i == j, "
    "sigmoid(dot(outer(q, q), power(k, 2)) - log(nk)), B[floor(dot(q,k))] + "
    "dot(q, T[j, i % 3])^-1.5); q = unit(q); mask = not prefix(2^3) or "
    "document(D); features = favor(m = 3) }",
};

const std::vector<std::string> kWords = {"attention", "t",
                                         "(",         "q",
                                         "k",         "v",
                                         ")",         "{",
                                         "}",         ";",
                                         "\n",        "kappa",
                                         "=",         "dot",
                                         "exp",       "+",
                                         "-",         "*",
                                         "/",         "//",
                                         "%",         "^",
                                         "<",         "<=",
                                         ">",         ">=",
                                         "==",        "!=",
                                         "and",       "or",
                                         "not",       "[",
                                         "]",         ",",
                                         ":",         "int",
                                         "real",      "head",
                                         "batch",     "kv_head",
                                         "i",         "j",
                                         "nq",        "nk",
                                         "dim",       "pi",
                                         "inf",       "mask",
                                         "causal",    "none",
                                         "where",     "window",
                                         "prefix",    "1",
                                         "0",         "2.5",
                                         "1e-9",      "-128",
                                         "b",         "W",
                                         "x",         "unit",
                                         "rope",      "concat",
                                         "outer",     "power",
                                         "sqdist",    "normalize",
                                         "mass",      "delta",
                                         "floor",     "sink",
                                         "return",    "o",
                                         "lse",       "allow",
                                         "signed",    "features",
                                         "favor",     "max",
                                         "softplus",  "elu",
                                         "# c\n",     "document",
                                         "f",         "9223372036854775807",
                                         "relu"};

/// Words that may stand for each other in an expression, and operators that
/// may.
const std::vector<std::string> kAtoms = {
    "q",      "k",    "v",      "i",     "j",    "head",   "batch",  "nq",
    "nk",     "dim",  "pi",     "1",     "0",    "2.5",    "b",      "W",
    "x",      "p",    "s",      "n",     "dot",  "exp",    "sqdist", "unit",
    "max",    "relu", "concat", "where", "inf",  "causal", "abs",    "floor",
    "window", "sqrt", "cos",    "o",     "mass", "M",      "d",      "kv_head"};
const std::vector<std::string> kOperators = {"+",  "-", "*", "/",
                                             "//", "%", "^"};

class Generator {
public:
  std::string next() { return random(4) == 0 ? soup() : mutated(); }

private:
  size_t random(size_t n) { return engine() % n; }
  const std::string &word() { return kWords[random(kWords.size())]; }

  /// A spec around random words: gets past the header.
  std::string soup() {
    std::string text = random(2) ? "attention t(q, k, v; b, W[d, d]: " +
                                       std::string(random(2) ? "int" : "real") +
                                       ") { kappa = dot(q, k)\n"
                                 : "";
    for (size_t n = random(40); n > 0; --n)
      text += word() + (random(3) ? " " : "");
    return text + (random(2) ? "}" : "");
  }

  std::string mutated() {
    std::string text = kSeeds[random(kSeeds.size())];
    for (size_t n = 1 + random(2); n > 0; --n) {
      size_t at = random(text.size());
      size_t length = random(std::min<size_t>(text.size() - at, 12)) + 1;
      switch (random(16)) {
      case 0: // a byte
        text[at] = static_cast<char>(random(256));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2: // some text again, elsewhere
        text.insert(random(text.size()), text.substr(at, length));
        break;
      case 3:
        text.insert(at, " " + word() + " ");
        break;
      default: // one word or operator for another
        replaceToken(text, at);
      }
      if (text.empty())
        text = "a";
    }
    return text;
  }

  void replaceToken(std::string &text, size_t at) {
    auto isName = [&](size_t t) {
      return std::isalnum(static_cast<unsigned char>(text[t])) ||
             text[t] == '_';
    };
    while (at < text.size() && !isName(at) && !std::strchr("+-*/%^", text[at]))
      ++at;
    if (at >= text.size())
      return;
    size_t begin = at, end = at + 1;
    if (!isName(at)) {
      text.replace(at, 1, kOperators[random(kOperators.size())]);
      return;
    }
    while (begin > 0 && isName(begin - 1))
      --begin;
    while (end < text.size() && isName(end))
      ++end;
    const std::string &atom = kAtoms[random(kAtoms.size())];
    text.replace(begin, end - begin, random(8) ? atom : word());
  }

  std::mt19937 engine{20240607};
};

} // namespace

TEST(Fuzz, ParserAndImporter) {
  Generator generator;
  std::unique_ptr<mlir::MLIRContext> context;
  size_t imported = 0, parsed = 0;
  for (int n = 0; n < 100000; ++n) {
    std::string text = generator.next();
    std::vector<Spec> specs;
    std::optional<SpecError> error = parseSpecs(text, specs);
    if (!error) {
      ++parsed;
      // Contexts keep all locations they have seen: take a new one now and
      // then.
      if (!context || parsed % 5000 == 0)
        context = std::make_unique<mlir::MLIRContext>(
            mlir::MLIRContext::Threading::DISABLED);
      mlir::OwningOpRef<mlir::ModuleOp> module;
      error = importSpecs(specs, "fuzz", *context, module);
      ASSERT_NE(bool(module), error.has_value()) << text;
      imported += bool(module);
    }
    if (error) {
      size_t lines = 1 + std::count(text.begin(), text.end(), '\n');
      ASSERT_FALSE(error->message.empty()) << text;
      ASSERT_GE(error->place.line, 1u) << error->message << "\n" << text;
      ASSERT_LE(error->place.line, lines) << text;
      ASSERT_GE(error->place.column, 1u) << text;
      renderError("fuzz", text, *error);
    }
  }
  // The inputs reach deep enough to mean something.
  EXPECT_GT(parsed, 20000u);
  EXPECT_GT(imported, 5000u);
  RecordProperty("parsed", static_cast<int>(parsed));
  RecordProperty("imported", static_cast<int>(imported));
}
