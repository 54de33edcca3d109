// A kernel that may be negative is licensed where nothing depends on its sign.
// RUN: attn-opt %s -attn-issue-licence | FileCheck %s

!m = memref<1x1x?x64xf32>
!w = memref<1x1x?xf32>
!row = !attn.row<64xf32>

// A no carries a counterexample.
// CHECK-LABEL: func.func @unnormalised(
// CHECK: nonnegative = no, sign_reason = "kappa = -{{[0-9.e-]+}} (k = -q)", gauge = none
func.func @unnormalised(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m)
      results [#attn.result<o>] normalize<none> kappa {
  ^bb0(%a: !row, %b: !row):
    %s = attn.dot %a, %b : !row, !row
    attn.yield %s : f32
  }
  return
}

// CHECK-LABEL: func.func @allowed(
// CHECK: nonnegative = no
func.func @allowed(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m)
      results [#attn.result<o>] normalize<mass> attributes {allow_signed} kappa {
  ^bb0(%a: !row, %b: !row):
    %s = attn.dot %a, %b : !row, !row
    attn.yield %s : f32
  }
  return
}

// exp(s) > s, but no rule says so.
// CHECK-LABEL: func.func @unproven(
// CHECK: nonnegative = unproven, sign_reason = "exp(dot(q, k)) - dot(q, k) in (-inf, inf) is not proven non-negative"
func.func @unproven(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m)
      results [#attn.result<o>] normalize<mass> attributes {allow_signed} kappa {
  ^bb0(%a: !row, %b: !row):
    %s = attn.dot %a, %b : !row, !row
    %e = math.exp %s : f32
    %w = arith.subf %e, %s : f32
    attn.yield %w : f32
  }
  return
}
