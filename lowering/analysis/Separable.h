//===- Separable.h - kernels of finite rank, feature maps -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// kappa = sum of a(q) b(k) dot(x, y)^n...: a finite sum of products of one side
// each, since a power of a dot is the dot of the symmetric tensor powers. The
// map is read off the normal form: sums concatenate channels, products are
// outer products, (c + q.k)^p comes out as binom(D + p, p) channels.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_SEPARABLE_H
#define ATTN_LOWERING_ANALYSIS_SEPARABLE_H

#include "lowering/analysis/Mercer.h"

namespace attn {

/// Channels that share their scalars: query * key * prod dot(rows_t)^degrees_t.
/// As features of q: `query` times the outer product of power(x_t, degrees_t);
/// of k: `key` times that of power(y_t, degrees_t). A coefficient, which may be
/// negative, is in `query`.
struct FeatureBlock {
  Polynomial query, key;
  std::vector<unsigned> degrees; ///< one a row pair of the map
  int64_t channels = 0;          ///< 0: lengths are not known
};

struct FeatureMap {
  /// Rows (x_t, y_t): of the query, and of the key.
  std::vector<std::pair<RowId, RowId>> rows;
  std::vector<FeatureBlock> blocks;
  int64_t rank = 0; ///< 0: lengths are not known, or too many to count
  /// The rank as a polynomial in D, the length of q in kappa; e.g.
  /// `(D^2 + 3*D + 2)/2`.
  std::string formula;
  /// e with kappa = exp(e(i) - e(j)) * the blocks; zero where there is none.
  Polynomial decay;
};

struct SeparableVerdict {
  Verdict verdict = Verdict::Unproven;
  std::vector<std::string> reasons;
  mlir::Value culprit;
  std::optional<FeatureMap> map; ///< where the verdict is yes
};

/// The map that the compiler would build; deterministic. `form` may assume that
/// j <= i, see NormalForm.
SeparableVerdict deriveFeatures(NormalForm &form);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_SEPARABLE_H
