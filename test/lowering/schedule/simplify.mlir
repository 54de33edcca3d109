// RUN: attn-opt %s --attn-simplify | FileCheck %s

// elu(x) + 1 keeps its digits far below 0.

// CHECK-LABEL: @elu_plus_one
// CHECK:         %[[M:.*]] = arith.maximumf
// CHECK:         %[[E:.*]] = math.exp
// CHECK-NOT:     expm1
// CHECK:         %[[S:.*]] = arith.addf %[[M]], %[[E]]
// CHECK:         return %[[S]]
func.func @elu_plus_one(%x: f32) -> f32 {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %above = arith.maximumf %x, %zero : f32
  %below = arith.minimumf %x, %zero : f32
  %e = math.expm1 %below : f32
  %elu = arith.addf %above, %e : f32
  %r = arith.addf %elu, %one : f32
  return %r : f32
}

// CHECK-LABEL: @other_constant
// CHECK:         math.expm1
func.func @other_constant(%x: f32) -> f32 {
  %two = arith.constant 2.0 : f32
  %e = math.expm1 %x : f32
  %r = arith.addf %e, %two : f32
  return %r : f32
}
