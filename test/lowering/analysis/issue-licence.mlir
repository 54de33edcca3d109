// The licence of the kernels that everything else is made of. More of them, with
// rewritten forms, are in VerdictTest.cpp.
// RUN: attn-opt %s -attn-issue-licence | FileCheck %s

!m = memref<1x1x?x64xf32>
!w = memref<1x1x?xf32>
!row = !attn.row<64xf32>

// CHECK-LABEL: func.func @softmax(
// CHECK: attn.attention
// CHECK-SAME: #attn.licence<nonnegative = yes, sign_reason = "exp is positive: kappa in (0, inf)", gauge = max, gauge_reason = "e in (-inf, inf): |e| <= 60 is not proven"
func.func @softmax(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m)
      results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !row, %b: !row):
    %s = attn.dot %a, %b : !row, !row
    %c = arith.constant 0.125 : f32
    %x = arith.mulf %s, %c : f32
    %w = math.exp %x : f32
    attn.yield %w : f32
  }
  return
}

// CHECK-LABEL: func.func @soft_cap(
// CHECK: attn.attention
// CHECK-SAME: #attn.licence<nonnegative = yes, sign_reason = "exp is positive: kappa in (9.35762e-14, 1.06865e+13)", gauge = none, gauge_reason = "e in (-30, 30), so |e| <= 60"
func.func @soft_cap(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m)
      results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !row, %b: !row):
    %s = attn.dot %a, %b : !row, !row
    %c = arith.constant 30.0 : f32
    %x = math.tanh %s : f32
    %y = arith.mulf %x, %c : f32
    %w = math.exp %y : f32
    attn.yield %w : f32
  }
  return
}

// CHECK-LABEL: func.func @yat(
// CHECK: attn.attention
// CHECK-SAME: #attn.licence<nonnegative = yes, sign_reason = "a quotient of a non-negative by a positive expression: kappa in [0, inf); eps > 0, declared", gauge = none, gauge_reason = "algebraic: e = 0"
func.func @yat(%q: !m, %k: !m, %v: !m, %eps: memref<f32> {attn.arg = #attn.arg<kind = param, name = "eps", axes = [], relop = ">", bound = 0.0 : f64>}, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m)
      results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !row, %b: !row):
    %s = attn.dot %a, %b : !row, !row
    %r = attn.sqdist %a, %b : !row, !row
    %two = arith.constant 2 : i32
    %e = memref.load %eps[] : memref<f32>
    %n = math.fpowi %s, %two : f32, i32
    %d = arith.addf %r, %e : f32
    %w = arith.divf %n, %d : f32
    attn.yield %w : f32
  }
  return
}

// CHECK-LABEL: func.func @taylor(
// CHECK: attn.attention
// CHECK-SAME: #attn.licence<nonnegative = yes, sign_reason = "a sum that is non-negative: kappa in (0, inf)", gauge = none, gauge_reason = "algebraic: e = 0"
func.func @taylor(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m)
      results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !row, %b: !row):
    %s = attn.dot %a, %b : !row, !row
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %s2 = attn.dot %a, %b : !row, !row
    %x = arith.mulf %s, %s2 : f32
    %y = arith.mulf %x, %half : f32
    %z = arith.addf %one, %s : f32
    %w = arith.addf %z, %y : f32
    attn.yield %w : f32
  }
  return
}

// CHECK-LABEL: func.func @sixth_power(
// CHECK: attn.attention
// CHECK-SAME: #attn.licence<nonnegative = yes, sign_reason = "an even power, or a power of a non-negative base: kappa in [0, inf)", gauge = max, gauge_reason = "a power of degree above 4 in the rows"
func.func @sixth_power(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m)
      results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !row, %b: !row):
    %s = attn.dot %a, %b : !row, !row
    %six = arith.constant 6 : i32
    %w = math.fpowi %s, %six : f32, i32
    attn.yield %w : f32
  }
  return
}

// CHECK-LABEL: func.func @mapped_rows(
// CHECK: attn.attention
// CHECK-SAME: #attn.licence<nonnegative = yes, sign_reason = "a dot of non-negative rows, or of a row with itself: kappa in [0, inf)", gauge = none, gauge_reason = "algebraic: e = 0"
func.func @mapped_rows(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m)
      results [#attn.result<o>] normalize<mass> query {
  ^bb0(%x: !row):
    %y = attn.map %x : !row {
    ^bb0(%c: f32):
      %zero = arith.constant 0.0 : f32
      %m = arith.maximumf %c, %zero : f32
      attn.yield %m : f32
    }
    attn.yield %y : !row
  } key {
  ^bb0(%x: !row):
    %y = attn.unit %x : !row
    %z = attn.map %y : !row {
    ^bb0(%c: f32):
      %m = math.exp %c : f32
      attn.yield %m : f32
    }
    attn.yield %z : !row
  } kappa {
  ^bb0(%a: !row, %b: !row):
    %s = attn.dot %a, %b : !row, !row
    attn.yield %s : f32
  }
  return
}
