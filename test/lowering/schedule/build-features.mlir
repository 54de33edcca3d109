// RUN: attn-opt %s --attn-issue-licence --attn-choose-order --attn-build-features -split-input-file | FileCheck %s

// (q.k)^2 is the dot of symmetric squares. All queries read one state: a workspace of
// 8 parts of 16 + 1 rows of channels, 136 of them, whole vectors of 8.

!m = memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: @square
// CHECK-SAME:    memref<?x?x136x136xf32, strided<[?, ?, 136, 1], offset: ?>> {attn.arg = #attn.arg<kind = workspace, name = "w4", axes = ["batch", "kv_head", "136"]>}
// CHECK:       attn.linear
// CHECK-SAME:    state(
// CHECK:       query {
// CHECK:         attn.power %{{.*}}, 2 : !attn.row<16xf32>
// CHECK:       key {
// CHECK:         attn.power %{{.*}}, 2 : !attn.row<16xf32>
// CHECK:       kappa {
// CHECK-NEXT:  ^bb0(%[[A:.*]]: !attn.row<136xf32>, %[[B:.*]]: !attn.row<136xf32>):
// CHECK-NEXT:    %[[S:.*]] = attn.dot %[[A]], %[[B]]
// CHECK-NEXT:    attn.yield %[[S]] : f32
module attributes {attn.order = "linear", attn.target = #attn.target<kind = "cpu", level = "x86-64-v3", lanes = 8>} {
func.func @square(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<16xf32>, %b: !attn.row<16xf32>):
    %s = attn.dot %a, %b : !attn.row<16xf32>, !attn.row<16xf32>
    %w = arith.mulf %s, %s : f32
    attn.yield %w : f32
  }
  return
}
}

// -----

// 1 + (q.k)^2 has 137 channels, and zeros up to 144.

!m = memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: @padded
// CHECK-NOT:     workspace
// CHECK:       attn.linear
// CHECK:       kappa {
// CHECK-NEXT:  ^bb0(%{{.*}}: !attn.row<144xf32>, %{{.*}}: !attn.row<144xf32>):
module attributes {attn.order = "linear", attn.target = #attn.target<kind = "cpu", level = "x86-64-v3", lanes = 8>} {
func.func @padded(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<16xf32>, %b: !attn.row<16xf32>):
    %s = attn.dot %a, %b : !attn.row<16xf32>, !attn.row<16xf32>
    %t = arith.mulf %s, %s : f32
    %one = arith.constant 1.0 : f32
    %w = arith.addf %t, %one : f32
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
