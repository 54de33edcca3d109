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

// A softplus that was typed out does not overflow.

// CHECK-LABEL: @softplus
// CHECK:         %[[A:.*]] = arith.maximumf %[[X:.*]], %
// CHECK:         %[[S:.*]] = math.absf %[[X]]
// CHECK:         %[[N:.*]] = arith.negf %[[S]]
// CHECK:         %[[E:.*]] = math.exp %[[N]]
// CHECK:         %[[L:.*]] = math.log1p %[[E]]
// CHECK:         %[[R:.*]] = arith.addf %[[A]], %[[L]]
// CHECK:         return %[[R]]
func.func @softplus(%x: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %e = math.exp %x : f32
  %sum = arith.addf %one, %e : f32
  %r = math.log %sum : f32
  return %r : f32
}

// floor(x) as a real makes no integer on its way.

// CHECK-LABEL: @floor_to_real
// CHECK:         %[[F:.*]] = math.floor
// CHECK-NOT:     fptosi
// CHECK:         return %[[F]]
func.func @floor_to_real(%x: f32) -> f32 {
  %below = math.floor %x : f32
  %wide = arith.fptosi %below : f32 to i64
  %int = arith.index_cast %wide : i64 to index
  %again = arith.index_cast %int : index to i64
  %r = arith.sitofp %again : i64 to f32
  return %r : f32
}
