// Every op of the tile dialect prints what it parses, in both forms.
// RUN: %attn-opt %s > %t.1
// RUN: %attn-opt %t.1 | diff %t.1 -
// RUN: %attn-opt %s -mlir-print-op-generic | %attn-opt | diff %t.1 -
// RUN: FileCheck %s < %t.1
// RUN: FileCheck %s --check-prefix=SPACE --strict-whitespace < %t.1

// CHECK-LABEL: func.func @tiles
func.func @tiles(%m: memref<?x8xf32>, %i: index, %edge: i1, %zero: f32) {
  // CHECK: tile.load %{{.*}}[%{{.*}}] to %{{.*}} : memref<?x8xf32> -> !tile.tile<q16, d8, f32>
  %q = tile.load %m[%i] to %i : memref<?x8xf32> -> !tile.tile<q16, d8, f32>
  %k = tile.load %m[%i] to %i : memref<?x8xf32> -> !tile.tile<k4, d8, f32>
  // CHECK: tile.splat %{{.*}} : f32 -> !tile.tile<q16, k4, f32>
  %z = tile.splat %zero : f32 -> !tile.tile<q16, k4, f32>
  // CHECK: tile.contract %{{.*}}, %{{.*}} into %{{.*}} : (
  %s = tile.contract %q, %k into %z : (!tile.tile<q16, d8, f32>, !tile.tile<k4, d8, f32>, !tile.tile<q16, k4, f32>) -> !tile.tile<q16, k4, f32>
  // CHECK: tile.sqnorm %{{.*}} : !tile.tile<q16, d8, f32> -> !tile.tile<q16, f32>
  %qn = tile.sqnorm %q : !tile.tile<q16, d8, f32> -> !tile.tile<q16, f32>
  %kn = tile.sqnorm %k : !tile.tile<k4, d8, f32> -> !tile.tile<k4, f32>
  // CHECK: tile.sqdist %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} of %{{.*}}, %{{.*}} : (
  %r = tile.sqdist %s, %qn, %kn, %zero of %q, %k : (!tile.tile<q16, k4, f32>, !tile.tile<q16, f32>, !tile.tile<k4, f32>, f32, !tile.tile<q16, d8, f32>, !tile.tile<k4, d8, f32>) -> !tile.tile<q16, k4, f32>
  // CHECK: tile.iota %{{.*}} : !tile.tile<k4, index>
  %j = tile.iota %i : !tile.tile<k4, index>
  // CHECK: tile.map %{{.*}}, %{{.*}} : (
  // CHECK: tile.yield %{{.*}} : i1
  %keep = tile.map %r, %j : (!tile.tile<q16, k4, f32>, !tile.tile<k4, index>) -> !tile.tile<q16, k4, i1> {
  ^bb0(%x: f32, %y: index):
    %c = arith.cmpi sle, %y, %i : index
    tile.yield %c : i1
  }
  // CHECK: tile.mask %{{.*}} if %{{.*}} keep %{{.*}} else %{{.*}} : !tile.tile<q16, k4, f32>, !tile.tile<q16, k4, i1> -> !tile.tile<q16, k4, f32>
  %w = tile.mask %r if %edge keep %keep else %zero : !tile.tile<q16, k4, f32>, !tile.tile<q16, k4, i1> -> !tile.tile<q16, k4, f32>
  // SPACE: = tile.reduce max %{{.*}} into
  // CHECK: tile.reduce max %{{.*}} into %{{.*}} : !tile.tile<q16, k4, f32>, !tile.tile<q16, f32> -> !tile.tile<q16, f32>
  %l = tile.reduce max %w into %qn : !tile.tile<q16, k4, f32>, !tile.tile<q16, f32> -> !tile.tile<q16, f32>
  // CHECK: tile.contract %{{.*}}, %{{.*}} into %{{.*}} if %{{.*}} keep %{{.*}} : (
  %o = tile.contract %w, %k into %q if %edge keep %keep : (!tile.tile<q16, k4, f32>, !tile.tile<k4, d8, f32>, !tile.tile<q16, d8, f32>, i1, !tile.tile<q16, k4, i1>) -> !tile.tile<q16, d8, f32>
  // CHECK: tile.cast %{{.*}} : !tile.tile<q16, d8, f32> -> !tile.tile<q16, d8, bf16>
  %h = tile.cast %o : !tile.tile<q16, d8, f32> -> !tile.tile<q16, d8, bf16>
  // CHECK: tile.rows %{{.*}}(%{{.*}}) : (
  %u = tile.rows %o(%l) : (!tile.tile<q16, d8, f32>, !tile.tile<q16, f32>) -> !tile.tile<q16, d8, f32> {
  ^bb0(%x: !attn.row<8xf32>, %c: f32):
    %v = attn.unit %x : !attn.row<8xf32>
    tile.yield %v : !attn.row<8xf32>
  }
  // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}] to %{{.*}} : !tile.tile<q16, d8, f32>, memref<?x8xf32>
  tile.store %u, %m[%i] to %i : !tile.tile<q16, d8, f32>, memref<?x8xf32>
  return
}
