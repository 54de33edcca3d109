// RUN: attn-opt %s --attn-issue-licence --attn-choose-order -split-input-file -verify-diagnostics

!m = memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>
module attributes {attn.order = "linear", attn.target = #attn.target<kind = "cpu", level = "x86-64-v3", lanes = 8>} {
func.func @unlicensed(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<16xf32>, %b: !attn.row<16xf32>):
    %s = attn.dot %a, %b : !attn.row<16xf32>, !attn.row<16xf32>
    // expected-error @+1 {{the linear order is not licensed: not separable}}
    %w = math.exp %s : f32
    attn.yield %w : f32
  }
  return
}
}

// -----

!m = memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>
module attributes {attn.order = "cubic", attn.target = #attn.target<kind = "cpu", level = "x86-64-v3", lanes = 8>} {
// expected-error @+1 {{there is no order 'cubic'}}
func.func @unknown(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<16xf32>, %b: !attn.row<16xf32>):
    %s = attn.dot %a, %b : !attn.row<16xf32>, !attn.row<16xf32>
    %w = arith.mulf %s, %s : f32
    attn.yield %w : f32
  }
  return
}
}
