//===- DeepTest.cpp - expressions that no person writes -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "lowering/Passes.h"
#include "lowering/analysis/Gauge.h"

#include "mlir/Pass/PassManager.h"
#include <functional>

using namespace attn;
using namespace mlir;

namespace {
using Step = std::function<Value(OpBuilder &, Location, Value x, Value s)>;

/// Licenses and splits a kernel of 20,000 steps: neither the stack nor the
/// time may run out.
void licenseChain(const Step &step) {
  constexpr int length = 20000;
  Kernel kernel(
      "attention t(q, k, v) {\nkappa = dot(q, k)\nnormalize = none\n}\n");
  Operation *yield = kernel.body().getTerminator();
  OpBuilder builder(yield);
  Value s = kernel.kappa(), x = s;
  for (int n = 0; n < length; ++n)
    x = step(builder, yield->getLoc(), x, s);
  yield->setOperand(0, x);
  PassManager passes(&kernel.context);
  passes.enableVerifier(false);
  passes.addNestedPass<func::FuncOp>(createIssueLicencePass());
  EXPECT_TRUE(succeeded(passes.run(*kernel.module)));
  EXPECT_TRUE(succeeded(splitGauge(kernel.kappa(), builder)));
  EXPECT_TRUE(kernel.op.getLicence());
}
} // namespace

TEST(Deep, Sums) {
  licenseChain([](OpBuilder &b, Location loc, Value x, Value s) -> Value {
    return arith::AddFOp::create(b, loc, x, s);
  });
}

TEST(Deep, SumsOfExponentials) {
  licenseChain([](OpBuilder &b, Location loc, Value x, Value s) -> Value {
    return arith::AddFOp::create(b, loc, x, math::ExpOp::create(b, loc, x));
  });
}

TEST(Deep, Products) {
  licenseChain([](OpBuilder &b, Location loc, Value x, Value s) -> Value {
    return arith::MulFOp::create(b, loc, s, x);
  });
}

TEST(Deep, Functions) {
  licenseChain([](OpBuilder &b, Location loc, Value x, Value s) -> Value {
    return math::TanhOp::create(b, loc, x);
  });
}

TEST(Deep, Maxima) {
  licenseChain([](OpBuilder &b, Location loc, Value x, Value s) -> Value {
    Value e = math::ExpOp::create(b, loc, x);
    Value p =
        arith::MulFOp::create(b, loc, arith::AddFOp::create(b, loc, x, s), s);
    return arith::MaximumFOp::create(b, loc, e, p);
  });
}
