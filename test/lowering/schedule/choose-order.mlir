// RUN: attn-opt %s --attn-issue-licence --attn-choose-order -split-input-file | FileCheck %s

// A separable kernel without an order asked for: both, and what decides between them.
// (q.k)^2 of rows of 16 has 136 channels; a row of the linear order costs 136 * 17
// times 1.25 multiply-adds of the other, and 850 more.

!m = memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: @both
// CHECK:       attn.attention
// CHECK-SAME:    linear = whole, rank = 136
// CHECK-SAME:    schedule = #attn.schedule<order = quadratic, pair_cost = 640, row_cost = 74800>
// CHECK:       attn.attention
// CHECK-SAME:    schedule = #attn.schedule<order = linear, pair_cost = 640, row_cost = 74800>
module attributes {attn.target = #attn.target<kind = "cpu", level = "x86-64-v3", lanes = 8>} {
func.func @both(%q: !m, %k: !m, %v: !m, %o: !m) {
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

!m = memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: @asked
// CHECK:       attn.attention
// CHECK-SAME:    linear = ordered
// CHECK-SAME:    schedule = #attn.schedule<order = linear>
// CHECK-NOT:   attn.attention
module attributes {attn.order = "linear", attn.target = #attn.target<kind = "cpu", level = "x86-64-v3", lanes = 8>} {
func.func @asked(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<16xf32>, %b: !attn.row<16xf32>):
    %s = attn.dot %a, %b : !attn.row<16xf32>, !attn.row<16xf32>
    %w = arith.mulf %s, %s : f32
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

// -----

!m = memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: @inseparable
// CHECK:       attn.attention
// CHECK-SAME:    linear_reason = "not separable
// CHECK-SAME:    schedule = #attn.schedule<order = quadratic>
// CHECK-NOT:   attn.attention
module attributes {attn.target = #attn.target<kind = "cpu", level = "x86-64-v3", lanes = 8>} {
func.func @inseparable(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<16xf32>, %b: !attn.row<16xf32>):
    %s = attn.dot %a, %b : !attn.row<16xf32>, !attn.row<16xf32>
    %w = math.exp %s : f32
    attn.yield %w : f32
  }
  return
}
}
