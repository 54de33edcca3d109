//===- BuilderTest.cpp - kernels as C++ expressions -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What C++ builds and what the parser reads must be one module; here for the
// examples, each written down a second time.
//
//===----------------------------------------------------------------------===//

#include "attn/attn.h"
#include "runtime/Compile.h"
#include "runtime/Kernel.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace attn;

namespace {

std::string moduleOf(const Kernel &kernel) {
  Kernel::Impl &impl = kernel.getImpl();
  return impl.compilation->emit(runtime::Stage::Attn, nullptr, impl.getLevel());
}

/// The spec is that of the example, and its text reads back as the same.
void expectExample(const Spec &spec) {
  SCOPED_TRACE(spec.name.text);
  Compiler compiler;
  std::string expected = moduleOf(compiler.compileFile(
      std::string(ATTN_EXAMPLES) + "/" + spec.name.text + ".attn"));
  EXPECT_EQ(moduleOf(compiler.compile(spec)), expected);
  EXPECT_EQ(moduleOf(compiler.compile(toText(spec))), expected);
}

TEST(BuilderTest, KernelsOfRows) {
  expectExample(attention("softmax", {}, [](Row q, Row k) {
    return Kappa(exp(dot(q, k) / sqrt(dim))).returns({"o", "lse"});
  }));
  expectExample(attention(
      "gaussian", {param("sigma", head) > 0}, [](Row q, Row k, Real sigma) {
        return Kappa(exp(-sqdist(q, k) / (2 * pow(sigma, 2))))
            .returns({"o", "lse"});
      }));
  expectExample(
      attention("imq", {param("c", head) > 0}, [](Row q, Row k, Real c) {
        return Kappa(1 / sqrt(sqdist(q, k) + pow(c, 2))).returns({"o", "mass"});
      }));
  expectExample(attention(
      "laplacian", {param("sigma", head) > 0}, [](Row q, Row k, Param sigma) {
        return Kappa(exp(-sqrt(sqdist(q, k)) / sigma)).returns({"o", "lse"});
      }));
  expectExample(
      attention("polynomial", {param("c") >= 0}, [](Row q, Row k, Real c) {
        return Kappa(pow(dot(q, k) / sqrt(dim) + c, 4))
            .mask(causal)
            .returns({"o", "mass"});
      }));
  expectExample(attention("sigmoid", {}, [](Row q, Row k) {
    return Kappa(sigmoid(dot(q, k) / sqrt(dim) - log(nk))).normalize(none);
  }));
  expectExample(
      attention("yat2m", {param("b", head) >= 0, param("eps", head) > 0},
                [](Row q, Row k, Real b, Real eps) {
                  return Kappa(pow(dot(q, k) + b, 4) / (sqdist(q, k) + eps))
                      .normalize(mass().delta(1e-9))
                      .returns({"o", "mass"});
                }));
  expectExample(attention("performer", {}, [](Row q, Row k) {
    return Kappa(exp(dot(q, k) / sqrt(dim)))
        .features(Features::favor(256).seed(7));
  }));
  expectExample(attention("elu1", {}, [](Row q, Row k) {
    auto phi = [](Row x) { return elu(x) + 1; };
    return Kappa(dot(phi(q), phi(k))).mask(causal).returns({"o", "mass"});
  }));
}

TEST(BuilderTest, KernelsOfPositions) {
  expectExample(attention(
      "alibi", {param("slope", head) >= 0}, [](Row q, Row k, Real slope) {
        return Kappa(exp(dot(q, k) / sqrt(dim) - slope * abs(i - j)))
            .mask(causal)
            .returns({"o", "lse"});
      }));
  expectExample(attention(
      "t5", {param("bias", head, table(-128, 128))},
      [](Row q, Row k, Param bias) {
        return Kappa(exp(dot(q, k) + bias[i - j])).returns({"o", "lse"});
      }));
  expectExample(
      attention("retnet", {param("g", head) > 0}, [](Row q, Row k, Real g) {
        return Kappa(dot(q, k) * pow(g, i - j)).mask(causal).normalize(none);
      }));
  expectExample(
      attention("softcap_sink", {param("s", head), intParam("w") >= 0},
                [](Row q, Row k, Real s, Int w) {
                  return Kappa(exp(30 * tanh(dot(q, k) / sqrt(dim) / 30)))
                      .mask(causal && window(w, 0))
                      .normalize(mass().sink(s))
                      .returns({"o", "lse"});
                }));
  expectExample(attention("plm",
                          {intParam("n", batch), intParam("doc", batch, nk)},
                          [](Row q, Row k, Int n, Param doc) {
                            return Kappa(exp(dot(q, k)))
                                .mask((causal || j < n) && doc[i] == doc[j])
                                .returns({"o", "lse"});
                          }));
}

TEST(BuilderTest, FeatureMaps) {
  auto lineOf = [](const Features &map) {
    Attention a("f");
    a.kappa = exp(dot(a.q, a.k));
    a.features(map);
    std::string text = toText(a);
    size_t start = text.find("features = ");
    return text.substr(start, text.find('\n', start) - start);
  };
  EXPECT_EQ(lineOf(Features::taylor(4)), "features = taylor(order = 4)");
  EXPECT_EQ(lineOf(Features::favor(32).orthogonal(false).hyperbolic().seed(-3)),
            "features = favor(m = 32, orthogonal = 0, hyperbolic = 1, seed = "
            "-3)");
  EXPECT_EQ(lineOf(Features::rff(8)), "features = rff(m = 8)");
  EXPECT_EQ(lineOf(Features::slay(3, 8).anchors()),
            "features = slay(nodes = 3, features = 8, poly = anchors)");
  EXPECT_EQ(lineOf(Features::maclaurin()), "features = maclaurin(order = 4)");
}

TEST(BuilderTest, RolesAndNames) {
  Attention yat("yat");
  Real rawB = yat.parameter(param("b_raw", head));
  Real rawEps = yat.parameter(param("eps_raw", head));
  Real b = yat.let("b", softplus(rawB));
  Real eps = yat.let("eps", softplus(rawEps));
  yat.kappa = pow(dot(yat.q, yat.k) + b, 2) / (sqdist(yat.q, yat.k) + eps);
  yat.mask = causal;
  yat.returns({"o", "mass"});
  expectExample(yat);
  EXPECT_EQ(toText(yat),
            "attention yat(q, k, v; b_raw[head], eps_raw[head]) {\n"
            "  b = softplus(b_raw)\n"
            "  eps = softplus(eps_raw)\n"
            "  kappa = (dot(q, k) + b)^2 / (sqdist(q, k) + eps)\n"
            "  mask = causal\n"
            "  return o, mass\n"
            "}\n");

  Attention block("block", {"x"});
  Row x = block.input("x");
  Size D("D"), d("d");
  Matrix Wq = block.parameter(param("Wq", head, D, d));
  Matrix Wk = block.parameter(param("Wk", kv_head, D, d));
  Matrix Wv = block.parameter(param("Wv", kv_head, D, "e"));
  block.q = rope(x * Wq, i);
  block.k = rope(x * Wk, j);
  block.v = x * Wv;
  block.kappa = exp(dot(block.q, block.k) / sqrt(dim));
  block.mask = causal;
  expectExample(block);

  Attention nlm("nlm", {"p", "v"});
  Int W = nlm.parameter(intParam("W") > 0);
  Real h = nlm.parameter(param("h") > 0);
  nlm.q = nlm.input("p");
  nlm.k = nlm.input("p");
  nlm.kappa = exp(-sqdist(nlm.q, nlm.k) / pow(h, 2));
  nlm.mask =
      abs(floordiv(i, W) - floordiv(j, W)) <= 10 && abs(i % W - j % W) <= 10;
  expectExample(nlm);

  Attention cosformer("cosformer");
  Real M = cosformer.parameter(param("M") > 0);
  Real c = cosformer.let("c", pi / 2 / M);
  auto fold = [&](Row r, Int position) {
    return concat(relu(r) * cos(c * position), relu(r) * sin(c * position));
  };
  cosformer.q = fold(cosformer.q, i);
  cosformer.k = fold(cosformer.k, j);
  cosformer.kappa = dot(cosformer.q, cosformer.k);
  cosformer.allowSigned();
  cosformer.normalize(mass().floor(1e-6));
  expectExample(cosformer);

  Attention gat("gat");
  Row a = gat.parameter(param("a", head, d)),
      e = gat.parameter(param("c", head, d));
  Real s = gat.let("s", dot(a, gat.q) + dot(e, gat.k));
  gat.kappa = exp(max(s, 0.2 * s));
  gat.returns({"o", "lse"});
  expectExample(gat);

  Attention mlp("yat_mlp", {"x", "W", "alpha"});
  Real b0 = mlp.parameter(param("b") >= 0),
       eps0 = mlp.parameter(param("eps") > 0);
  mlp.q = mlp.input("x");
  mlp.k = mlp.input("W");
  mlp.v = mlp.input("alpha");
  mlp.kappa = pow(dot(mlp.q, mlp.k) + b0, 2) / (sqdist(mlp.q, mlp.k) + eps0);
  mlp.normalize(none);
  expectExample(mlp);

  Attention table("nadaraya_watson", {"x", "X", "Y"});
  Real width = table.parameter(param("h") > 0);
  Int leaveOut = table.parameter(intParam("leave_out") >= 0);
  table.q = table.input("x");
  table.k = table.input("X");
  table.v = table.input("Y");
  table.kappa = exp(-sqdist(table.q, table.k) / (2 * pow(width, 2)));
  table.mask = leaveOut == 0 || i != j;
  table.returns({"o", "lse"});
  expectExample(table);
}

/// What the examples do not use, against text.
TEST(BuilderTest, TheRestOfTheLanguage) {
  Attention f("f");
  Int n = f.parameter(intParam("n"));
  Param t = f.parameter(param("t", kv_head, table("-L", "nk"), table(0, 3)));
  Param ids = f.parameter(intParam("ids", batch, nk));
  Row w = f.parameter(param("w", "L"));
  f.q = rope(unit(f.q), i, 500, true);
  f.k = power(f.k, 2) - outer(f.k, f.k);
  Row r = f.let("r", min(abs(f.q), 0.5));
  Real u = f.let("u", where(i > j && !(n == 0), -1, inf) + t.at(i - j, n));
  f.kappa = exp(-sigmoid(u) * sqdist(r, -f.k) + dim(f.k) - floor(nq / 2.0) +
                head * kv_head - Size("L") + dot(w, w));
  f.mask = strict_causal || prefix(n) || document(ids) || none;
  f.normalize(mass().sink(1).floor(0.25));
  const char *text = "attention f(q, k, v; n: int, t[kv_head, -L:nk, 0:3], "
                     "ids[batch, nk]: int, w[L]) {\n"
                     "  q = rope(unit(q), i, 500, 1)\n"
                     "  k = power(k, 2) - outer(k, k)\n"
                     "  r = min(abs(q), 0.5)\n"
                     "  u = where(i > j and not n == 0, -1, inf) + "
                     "t[i - j, n]\n"
                     "  kappa = exp(-sigmoid(u) * sqdist(r, -k) + dim(k) - "
                     "floor(nq / 2.0) + head * kv_head - L + dot(w, w))\n"
                     "  mask = strict_causal or prefix(n) or document(ids) or "
                     "none\n"
                     "  normalize = mass(sink = 1, floor = 0.25)\n"
                     "}\n";
  EXPECT_EQ(toText(f), text);
  Compiler compiler;
  EXPECT_EQ(moduleOf(compiler.compile(f)), moduleOf(compiler.compile(text)));
}

TEST(BuilderTest, ComputesWhatItSays) {
  Kernel kernel = Compiler().compile(
      attention("yat", {param("b", head) >= 0, param("eps", head) > 0},
                [](Row q, Row k, Real b, Real eps) {
                  return pow(dot(q, k) + b, 2) / (sqdist(q, k) + eps);
                }));
  float q[] = {1, 2}, k[] = {0, 1, 2, 0}, v[] = {1, 10}, o[1];
  kernel({{"q", {q, {1, 2}}},
          {"k", {k, {2, 2}}},
          {"v", {v, {2, 1}}},
          {"b", 1},
          {"eps", 0.5}},
         {{"o", {o, {1, 1}}}});
  double near = 9 / 2.5,
         far = 9 / 5.5; // (2 + 1)^2 / (1 + 1 + .5), / (1 + 4 + .5)
  EXPECT_NEAR(o[0], (near + 10 * far) / (near + far), 1e-5);
}

} // namespace
