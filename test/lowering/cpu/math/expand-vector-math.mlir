// RUN: %attn-opt %s --split-input-file --attn-expand-vector-math | FileCheck %s

// A bound that lets NaN through, and nothing that a lane could call.
// CHECK-LABEL: func @exp2
// CHECK-NOT: math.exp2
// CHECK: %[[LIMIT:.*]] = arith.constant dense<-1.270000e+02> : vector<8xf32>
// CHECK: %[[BELOW:.*]] = arith.cmpf ogt, %[[LIMIT]], %[[X:.*]] : vector<8xf32>
// CHECK: arith.select %[[BELOW]], %[[LIMIT]], %[[X]]
// CHECK-COUNT-5: vector.fma
// CHECK-NOT: vector.fma
func.func @exp2(%x: vector<8xf32>) -> vector<8xf32> {
  %r = math.exp2 %x {attn.nonpositive} : vector<8xf32>
  return %r : vector<8xf32>
}

// -----

// A scalar runs as four equal lanes.
// CHECK-LABEL: func @scalar
// CHECK: vector.broadcast %{{.*}} : f32 to vector<4xf32>
// CHECK: vector.extract %{{.*}}[0] : f32 from vector<4xf32>
func.func @scalar(%x: f32) -> f32 {
  %r = math.log %x : f32
  return %r : f32
}

// -----

// x^5 = x * (x^2)^2, also where the exponent is a broadcast.
// CHECK-LABEL: func @constant_power
// CHECK-SAME: %[[X:.*]]: vector<8xf32>
// CHECK: %[[X2:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK: %[[X4:.*]] = arith.mulf %[[X2]], %[[X2]]
// CHECK: %[[X5:.*]] = arith.mulf %[[X]], %[[X4]]
// CHECK: return %[[X5]]
func.func @constant_power(%x: vector<8xf32>) -> vector<8xf32> {
  %five = arith.constant 5 : i32
  %n = vector.broadcast %five : i32 to vector<8xi32>
  %r = math.fpowi %x, %n : vector<8xf32>, vector<8xi32>
  return %r : vector<8xf32>
}

// -----

// 1 / (sqrt(x) * x), no logarithm; -0 becomes 0 first.
// CHECK-LABEL: func @halves
// CHECK-SAME: %[[X:.*]]: f32
// CHECK: %[[X0:.*]] = arith.addf %[[X]], %{{.*}} : f32
// CHECK: %[[ROOT:.*]] = math.sqrt %[[X0]] : f32
// CHECK: %[[POWER:.*]] = arith.mulf %[[ROOT]], %[[X0]] : f32
// CHECK: %[[ONE:.*]] = arith.constant 1.0{{.*}} : f32
// CHECK: arith.divf %[[ONE]], %[[POWER]] : f32
func.func @halves(%x: f32) -> f32 {
  %y = arith.constant -1.5 : f32
  %r = math.powf %x, %y : f32
  return %r : f32
}

// -----

// What is a few instructions anyway stays.
// CHECK-LABEL: func @kept
// CHECK: math.sqrt
// CHECK: math.floor
// CHECK: math.absf
func.func @kept(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.sqrt %x : vector<8xf32>
  %1 = math.floor %0 : vector<8xf32>
  %2 = math.absf %1 : vector<8xf32>
  return %2 : vector<8xf32>
}
