// RUN: attn-opt %s --attn-issue-licence --attn-choose-order --attn-build-features -split-input-file | FileCheck %s

// (q.k)^2 is the dot of symmetric squares. All queries read one state: a workspace of
// 8 parts of 16 + 1 rows of channels, 136 of them, whole vectors of 8.

!m = memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: @square
// CHECK-SAME:    memref<?x?x136x136xf32, strided<[?, ?, 136, 1], offset: ?>> {attn.arg = #attn.arg<kind = workspace, name = "w4", axes = ["batch", "kv_head", "136"]>}
// CHECK:       attn.linear
// CHECK-SAME:    state(
// CHECK:       kappa {
// CHECK-NEXT:  ^bb0(%[[A:.*]]: !attn.row<16xf32>, %[[B:.*]]: !attn.row<16xf32>):
// CHECK-NEXT:    %[[S:.*]] = attn.dot %[[A]], %[[B]]
// CHECK-NEXT:    %[[W:.*]] = arith.mulf %[[S]], %[[S]]
// CHECK-NEXT:    attn.yield %[[W]] : f32
// CHECK:       query_features {
// CHECK-NEXT:  ^bb0(%[[A:.*]]: !attn.row<16xf32>):
// CHECK-NEXT:    %[[P:.*]] = attn.power %[[A]], 2 : !attn.row<16xf32>
// CHECK-NEXT:    attn.yield %[[P]]
// CHECK:       key_features {
// CHECK:         attn.power %{{.*}}, 2 : !attn.row<16xf32>
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
// CHECK:       query_features {
// CHECK:         attn.yield %{{.*}} : !attn.row<144xf32>
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

// -----

// phi of one row is the last step of f_Q and f_K, and kappa their dot; a decay stands apart.

!m = memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: @plain
// CHECK:       attn.linear
// CHECK:       query {
// CHECK:         attn.map
// CHECK:       key {
// CHECK:         attn.map
// CHECK:       kappa {
// CHECK-NEXT:  ^bb0(%[[A:.*]]: !attn.row<16xf32>, %[[B:.*]]: !attn.row<16xf32>):
// CHECK-NEXT:    %[[S:.*]] = attn.dot %[[A]], %[[B]]
// CHECK:         %[[E:.*]] = math.exp
// CHECK-NEXT:    %[[W:.*]] = arith.mulf %[[S]], %[[E]]
// CHECK-NEXT:    attn.yield %[[W]] : f32
// CHECK-NOT:   query_features
// CHECK:       decay {
// CHECK:         attn.yield %{{.*}} : f32
module attributes {attn.order = "linear", attn.target = #attn.target<kind = "cpu", level = "x86-64-v3", lanes = 8>} {
func.func @plain(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<16xf32>, %b: !attn.row<16xf32>):
    %zero = arith.constant 0.0 : f32
    %x = attn.map %a : !attn.row<16xf32> {
    ^bb0(%t: f32):
      %r = arith.maximumf %t, %zero : f32
      attn.yield %r : f32
    }
    %y = attn.map %b : !attn.row<16xf32> {
    ^bb0(%t: f32):
      %r = arith.maximumf %t, %zero : f32
      attn.yield %r : f32
    }
    %s = attn.dot %x, %y : !attn.row<16xf32>, !attn.row<16xf32>
    %i = attn.index i
    %j = attn.index j
    %d = arith.subi %j, %i : index
    %n = arith.index_cast %d : index to i64
    %f = arith.sitofp %n : i64 to f32
    %e = math.exp %f : f32
    %w = arith.mulf %s, %e : f32
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
