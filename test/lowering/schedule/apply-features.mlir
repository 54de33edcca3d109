// kappa by the features asked for: existing operations, nothing of features behind the pass.
// RUN: attn-opt %s -attn-apply-features | FileCheck %s

!m = memref<?x?x?x8xf32>

// One dot of the features of both sides; the query's over the largest of them, which cancels in o.
// CHECK-LABEL: @favor
// CHECK: applied = true
// CHECK: %[[Q:.*]] = attn.random_features stabilised %{{.*}}, 16 {orthogonal, seed = 7 : i64}
// CHECK: %[[K:.*]] = attn.random_features positive %{{.*}}, 16 {orthogonal, seed = 7 : i64}
// CHECK: %[[S:.*]] = attn.dot %[[Q]], %[[K]]
// CHECK: %[[W:.*]] = arith.mulf %[[S]], %cst
// CHECK: attn.yield %[[W]]
// CHECK-NOT: math.exp
func.func @favor(%q: !m, %o: !m) {
  attn.attention ins(%q, %q, %q : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> attributes {features = #attn.features<kind = favor, count = 16, seed = 7, orthogonal = true>} kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    %w = math.exp %s : f32
    attn.yield %w : f32
  }
  return
}

// A mass is asked for: nothing cancels.
// CHECK-LABEL: @favor_mass
// CHECK-COUNT-2: attn.random_features positive
func.func @favor_mass(%q: !m, %o: !m, %l: memref<?x?x?xf32>) {
  attn.attention ins(%q, %q, %q : !m, !m, !m) outs(%o, %l : !m, memref<?x?x?xf32>) results [#attn.result<o>, #attn.result<mass>] normalize<mass> attributes {features = #attn.features<kind = favor, count = 16>} kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    %w = math.exp %s : f32
    attn.yield %w : f32
  }
  return
}

// Horner's rule in the exponent; the theorem that keeps it positive goes with it.
// CHECK-LABEL: @taylor
// CHECK: features = #attn.features<kind = taylor, order = 2, applied = true, sign_reason = "a Taylor polynomial
// CHECK: %[[S:.*]] = attn.dot
// CHECK: arith.mulf %{{.*}}, %[[S]]
// CHECK: arith.addf
// CHECK: arith.mulf %{{.*}}, %[[S]]
// CHECK: arith.addf
// CHECK-NOT: math.exp
func.func @taylor(%q: !m, %o: !m) {
  attn.attention ins(%q, %q, %q : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> attributes {features = #attn.features<kind = taylor, order = 2>} kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    %w = math.exp %s : f32
    attn.yield %w : f32
  }
  return
}

// Twice is once.
// CHECK-LABEL: @applied
// CHECK: math.exp
func.func @applied(%q: !m, %o: !m) {
  attn.attention ins(%q, %q, %q : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> attributes {features = #attn.features<kind = taylor, order = 2, applied = true>} kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    %w = math.exp %s : f32
    attn.yield %w : f32
  }
  return
}
