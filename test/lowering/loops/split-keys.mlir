// RUN: attn-opt %s --attn-issue-licence --attn-choose-schedule --attn-to-tile-loops --canonicalize --cse | FileCheck %s

// Few queries: three row-major stages. The queries of a group of heads become rows of the state.

!m = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: func.func @few.stage0(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: memref<?x?x136x80xf32
// CHECK:         tile.load %{{.*}} -> !tile.tile<q8, d64, f32>
// CHECK:         memref.subview %[[W]][0, 0, 0, 0]
// CHECK:         tile.store
// CHECK:       {tile.row_major}

// A part of the keys passes by all rows. Rows of several heads: heads are a tile, and each row has its own slope.
// CHECK-LABEL: func.func @few.stage1(
// CHECK:         scf.forall ({{.*}}) in (%{{.*}}, %{{.*}}, 16, %{{.*}})
// CHECK:           tile.map {{.*}} {tile.positions}
// CHECK:             arith.divsi
// CHECK:           tile.load {{.*}} -> !tile.tile<q16, d64, f32>
// CHECK:           %[[SLOPE:.*]] = tile.map
// CHECK:             memref.load
// CHECK:           scf.for
// CHECK:             %[[K:.*]] = tile.load {{.*}} -> !tile.tile<k32, d64, f32>
// CHECK:             tile.contract %{{.*}}, %[[K]]
// CHECK:             tile.map {{.*}}%[[SLOPE]]
// CHECK:             %[[V:.*]] = tile.load {{.*}} -> !tile.tile<k32, e64, f32>
// CHECK:             tile.contract %{{.*}}, %[[V]]
// The sum, its mass and its gauge.
// CHECK:           tile.store %{{.*}} : !tile.tile<q16, e64, f32>
// CHECK:           memref.subview {{.*}}[0, 0, 0, 64]
// CHECK:           memref.subview {{.*}}[0, 0, 0, 65]
// CHECK:       {tile.row_major}

// Parts in order, in the units of the larger gauge.
// CHECK-LABEL: func.func @few.stage2(
// CHECK:         scf.for
// CHECK:           math.exp2
// CHECK:           math.exp2
// CHECK:         arith.divf
// CHECK:         tile.store
// CHECK:       {tile.row_major}
module attributes {attn.queries = array<i64: 0, 8>, attn.target = #attn.target<kind = "cpu", level = "x86-64-v4", lanes = 16>} {
func.func @few(%q: !m, %k: !m, %v: !m, %slopes: memref<?xf32>, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<64xf32>, %b: !attn.row<64xf32>):
    %s = attn.dot %a, %b : !attn.row<64xf32>, !attn.row<64xf32>
    %h = attn.index head
    %c = memref.load %slopes[%h] : memref<?xf32>
    %x = arith.mulf %s, %c : f32
    %w = math.exp %x : f32
    attn.yield %w : f32
  }
  return
}
}
