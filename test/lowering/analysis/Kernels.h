//===- Kernels.h - kernels from text, for the tests of the analyses -------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_LOWERING_ANALYSIS_KERNELS_H
#define ATTN_TEST_LOWERING_ANALYSIS_KERNELS_H

#include "dialect/attn/Attn.h"
#include "dialect/spec/Importer.h"
#include <gtest/gtest.h>

namespace attn {

/// The attention that a spec's text means.
struct Kernel {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  AttentionOp op;

  explicit Kernel(const std::string &text) {
    ParsedAttention parsed = parseAttention(text, "kernel.attn", context);
    EXPECT_TRUE(parsed) << text << "\n" << parsed.error;
    if (!parsed)
      return;
    module = std::move(parsed.module);
    module->walk([&](AttentionOp found) { op = found; });
  }
  mlir::Block &body() { return op.getKappa().front(); }
  mlir::Value kappa() { return body().getTerminator()->getOperand(0); }
};

} // namespace attn

#endif // ATTN_TEST_LOWERING_ANALYSIS_KERNELS_H
