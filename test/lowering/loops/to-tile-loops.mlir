// RUN: attn-opt %s --attn-issue-licence --attn-choose-schedule --canonicalize --cse \
// RUN:   --attn-to-tile-loops --canonicalize --cse | FileCheck %s

// Causal softmax: the grid, the two levels of the loop over keys, and one key step.

!m = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>

// CHECK-LABEL: func.func @softmax.stage0(
// CHECK:         scf.forall
// CHECK:           %[[ROWS:.*]] = tile.load {{.*}} -> !tile.tile<q128, d64, f32>
// 0.125 and log2(e) are one constant, multiplied into the queries, not the pairs.
// CHECK:           %[[Q:.*]] = tile.map %[[ROWS]]
// CHECK-NEXT:      ^bb0
// CHECK-NEXT:        arith.mulf
// Stretches of keys and tiles of keys are skipped where the interval of the mask is empty.
// CHECK:           scf.for
// CHECK:             scf.if
// CHECK:               scf.for
// CHECK:                 scf.if
// CHECK:                   %[[K:.*]] = tile.load {{.*}} -> !tile.tile<k60, d64, f32>
// CHECK:                   %[[S:.*]] = tile.contract %[[Q]], %[[K]] into
// The pair (i, j) is seen if j <= i and the key exists.
// CHECK:                   %[[KEEP:.*]] = tile.map {{.*}} -> !tile.tile<q128, k60, i1>
// CHECK:                     arith.cmpi sle
// CHECK:                     arith.cmpi slt
// CHECK:                   %[[M:.*]] = tile.mask %[[S]] if %[[EDGE:.*]] keep %[[KEEP]]
// CHECK:                   tile.reduce{{ +}}max %[[M]]
// CHECK:                   math.exp2
// CHECK:                   %[[P:.*]] = tile.map %[[M]]
// CHECK:                     math.exp2
// CHECK:                   tile.reduce{{ +}}add %[[P]]
// CHECK:                   tile.contract %[[P]], {{.*}} if %[[EDGE]] keep %[[KEEP]]
// CHECK:           tile.store
module attributes {attn.target = #attn.target<kind = "cpu", level = "x86-64-v3", lanes = 8>} {
func.func @softmax(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<64xf32>, %b: !attn.row<64xf32>):
    %c = arith.constant 0.125 : f32
    %s = attn.dot %a, %b : !attn.row<64xf32>, !attn.row<64xf32>
    %x = arith.mulf %s, %c : f32
    %w = math.exp %x : f32
    attn.yield %w : f32
  } mask {
    %i = attn.index i
    %j = attn.index j
    %m = arith.cmpi sle, %j, %i : index
    attn.yield %m : i1
  }
  return
}
}
