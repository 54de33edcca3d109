// One refusal a diagnostic, each at the sub-expression that is to blame.
// RUN: attn-opt %s -attn-issue-licence -split-input-file -verify-diagnostics

!m = memref<1x1x?x64xf32>
!w = memref<1x1x?xf32>
!row = !attn.row<64xf32>

func.func @signed_mass(%q: !m, %k: !m, %v: !m, %o: !m) {
  // expected-note@below {{a counterexample: kappa = }}
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !row, %b: !row):
    // expected-error@below {{kappa is not proven non-negative: dot(q, k) can be negative; write `allow signed`, square it, or use `normalize = none`}}
    %s = attn.dot %a, %b : !row, !row
    %three = arith.constant 3 : i32
    %w = math.fpowi %s, %three : f32, i32
    attn.yield %w : f32
  }
  return
}

// -----

!m = memref<1x1x?x64xf32>
!w = memref<1x1x?xf32>
!row = !attn.row<64xf32>

// Nothing refutes this one: exp(s) > s.
func.func @unproven_mass(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !row, %b: !row):
    %s = attn.dot %a, %b : !row, !row
    %e = math.exp %s : f32
    // expected-error@below {{kappa is not proven non-negative: exp(dot(q, k)) - dot(q, k) can be negative}}
    %w = arith.subf %e, %s : f32
    attn.yield %w : f32
  }
  return
}

// -----

!m = memref<1x1x?x64xf32>
!w = memref<1x1x?xf32>
!row = !attn.row<64xf32>

func.func @signed_lse(%q: !m, %k: !m, %v: !m, %o: !m, %l: !w) {
  // expected-note@below {{a counterexample: kappa = }}
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o, %l : !m, !w)
      results [#attn.result<o>, #attn.result<lse>] normalize<mass> attributes {allow_signed} kappa {
  ^bb0(%a: !row, %b: !row):
    %s = attn.dot %a, %b : !row, !row
    // expected-error@below {{`lse` is the logarithm of the mass: kappa is not proven non-negative: tanh(dot(q, k)) can be negative; do not return `lse`, or square it}}
    %w = math.tanh %s : f32
    attn.yield %w : f32
  }
  return
}

// -----

!m = memref<1x1x?x64xf32>
!w = memref<1x1x?xf32>
!row = !attn.row<64xf32>

func.func @signed_entropy(%q: !m, %k: !m, %v: !m, %o: !m, %l: !w) {
  // expected-note@below {{a counterexample: kappa = }}
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o, %l : !m, !w)
      results [#attn.result<o>, #attn.result<entropy>] normalize<mass> attributes {allow_signed} kappa {
  ^bb0(%a: !row, %b: !row):
    %s = attn.dot %a, %b : !row, !row
    // expected-error@below {{`entropy` is of weights that are a distribution: kappa is not proven non-negative: tanh(dot(q, k)) can be negative; do not return `entropy`, or square it}}
    %w = math.tanh %s : f32
    attn.yield %w : f32
  }
  return
}

// -----

!m = memref<1x1x?x64xf32>
!w = memref<1x1x?xf32>
!row = !attn.row<64xf32>

func.func @real_power(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !row, %b: !row):
    %s = attn.dot %a, %b : !row, !row
    %n = arith.constant 2.5 : f32
    // expected-error@below {{the base of ^2.5 is not proven non-negative: dot(q, k) can be negative}}
    %w = math.powf %s, %n : f32
    attn.yield %w : f32
  }
  return
}

// -----

!m = memref<1x1x?x64xf32>
!w = memref<1x1x?xf32>
!row = !attn.row<64xf32>

func.func @logarithm(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !row, %b: !row):
    %r = attn.sqdist %a, %b : !row, !row
    %n = arith.negf %r : f32
    // expected-error@below {{the logarithm of -sqdist(q, k) is undefined: it is never positive}}
    %x = math.log %n : f32
    %w = math.exp %x : f32
    attn.yield %w : f32
  }
  return
}
