// RUN: attn-opt %s --attn-issue-licence --attn-choose-schedule --attn-to-tile-loops --canonicalize | FileCheck %s

// Products of pairs take the query's rows as the bf16 numbers that they were: unscaled, the scale
// stands behind the product; and weights as bf16, but for their sum.

!m = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: func.func @pairs.stage1(
// CHECK:         %[[Q:.*]] = tile.load {{.*}} -> !tile.tile<q16, d64, f32>
// CHECK-NEXT:    %[[STORED:.*]] = tile.cast %[[Q]] : !tile.tile<q16, d64, f32> -> !tile.tile<q16, d64, bf16>
// CHECK:         scf.for
// CHECK:           %[[S:.*]] = tile.contract %[[STORED]], {{.*}} -> !tile.tile<q16, k64, f32>
// CHECK:           %[[E:.*]] = tile.map %[[S]]
// CHECK:             arith.mulf
// CHECK:             math.exp2
// CHECK:           tile.reduce add %[[P:.*]] into
// CHECK:           %[[ROUNDED:.*]] = tile.cast %[[P]] : !tile.tile<q16, k64, f32> -> !tile.tile<q16, k64, bf16>
// CHECK:           tile.contract %[[ROUNDED]]
module attributes {attn.queries = array<i64: 0, 8>, attn.target = #attn.target<kind = "cpu", level = "avx512bf16", lanes = 16>} {
func.func @pairs(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<64xf32>, %b: !attn.row<64xf32>):
    %c = arith.constant 0.125 : f32
    %s = attn.dot %a, %b : !attn.row<64xf32>, !attn.row<64xf32>
    %x = arith.mulf %s, %c : f32
    %w = math.exp %x : f32
    attn.yield %w : f32
  }
  return
}
}
