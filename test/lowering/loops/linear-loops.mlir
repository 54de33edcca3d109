// RUN: attn-opt %s --attn-issue-licence --attn-choose-order --attn-build-features \
// RUN:   --attn-choose-schedule --attn-to-tile-loops --canonicalize --cse \
// RUN:   -split-input-file | FileCheck %s

// Causal: the state passes along tiles of as many queries as a vector has lanes.

!m = memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: func.func @causal.stage0(
// CHECK:         scf.forall
// Keys before the first query, then tiles of queries.
// CHECK:           scf.for {{.*}} -> (!tile.tile<e16, r136, f32>, !tile.tile<r136, f32>)
// CHECK:           scf.for {{.*}} iter_args(%[[S:.*]] = {{.*}}, %[[Z:.*]] = {{.*}}) -> (!tile.tile<e16, r136, f32>, !tile.tile<r136, f32>)
// CHECK:             %[[K:.*]] = tile.load {{.*}} -> !tile.tile<k8, d16, f32>
// CHECK:             %[[PK:.*]] = tile.mask {{.*}} -> !tile.tile<k8, r136, f32>
// CHECK:             %[[V:.*]] = tile.load {{.*}} -> !tile.tile<k8, e16, f32>
// CHECK:             %[[Q:.*]] = tile.load {{.*}} -> !tile.tile<q8, d16, f32>
// CHECK:             %[[PQ:.*]] = tile.rows {{.*}} -> !tile.tile<q8, r136, f32>
// Pairs inside the tile by kappa itself.
// CHECK:             %[[A:.*]] = tile.contract %[[Q]], %[[K]] into
// CHECK:             %[[W:.*]] = tile.map %[[A]]
// CHECK:             %[[P:.*]] = tile.mask %[[W]]
// CHECK:             %[[OLD:.*]] = tile.contract %[[PQ]], %[[S]] into
// CHECK:             tile.contract %[[P]], %[[V]] into %[[OLD]] if %{{.*}} keep
// CHECK:             tile.contract %[[PQ]], %[[Z]] into
// CHECK:             tile.store
// CHECK:             %[[S1:.*]] = tile.contract %[[PK]], %[[V]] into %[[S]]
// CHECK:             %[[Z1:.*]] = tile.reduce add %[[PK]] into %[[Z]]
// CHECK:             scf.yield %[[S1]], %[[Z1]]
module attributes {attn.order = "linear", attn.target = #attn.target<kind = "cpu", level = "x86-64-v3", lanes = 8>} {
func.func @causal(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<16xf32>, %b: !attn.row<16xf32>):
    %s = attn.dot %a, %b : !attn.row<16xf32>, !attn.row<16xf32>
    %w = arith.mulf %s, %s : f32
    attn.yield %w : f32
  } mask {
    %i = attn.index i
    %j = attn.index j
    %m = arith.cmpi sle, %j, %i : index
    attn.yield %m : i1
  }
  return
}
}

// -----

// Without a mask: parts of the keys, their sum, and queries that read it.

!m = memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: func.func @whole.stage0(
// CHECK:         tile.contract {{.*}} -> !tile.tile<e16, r136, f32>
// CHECK:         tile.store {{.*}} : !tile.tile<e16, r136, f32>
// CHECK-LABEL: func.func @whole.stage1(
// CHECK:         tile.load {{.*}} -> !tile.tile<r136, f32>
// CHECK:         arith.addf
// CHECK-LABEL: func.func @whole.stage2(
// CHECK:         tile.load {{.*}} -> !tile.tile<e16, r136, f32>
// CHECK:         tile.contract {{.*}} -> !tile.tile<q128, e16, f32>
module attributes {attn.order = "linear", attn.target = #attn.target<kind = "cpu", level = "x86-64-v3", lanes = 8>} {
func.func @whole(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<16xf32>, %b: !attn.row<16xf32>):
    %s = attn.dot %a, %b : !attn.row<16xf32>, !attn.row<16xf32>
    %w = arith.mulf %s, %s : f32
    attn.yield %w : f32
  }
  return
}
}

// -----

// Recurrent: the sums before and after are the caller's; the query heads of a
// key head share them, so that one item reads and writes them.

!m = memref<?x?x?x8xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: func.func @recurrent.stage0(
// CHECK-SAME:    %[[BEFORE:[a-z0-9]+]]: memref<?x?x10x8xf32, strided<[?, ?, 8, 1], offset: ?>> {attn.arg = #attn.arg<kind = state, name = "state", axes = ["batch", "kv_head", "10", "8"]>}
// CHECK-SAME:    %[[AFTER:[a-z0-9]+]]: memref<?x?x10x8xf32, strided<[?, ?, 8, 1], offset: ?>> {attn.arg = #attn.arg<kind = output, name = "state"
// CHECK:         scf.forall (%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) in
// CHECK:           memref.load %[[BEFORE]]
// CHECK:           tile.load %[[BEFORE]]{{.*}} -> !tile.tile<e8, r8, f32>
// CHECK:           tile.load %[[BEFORE]]{{.*}} -> !tile.tile<r8, f32>
// CHECK:           scf.for {{.*}} -> (!tile.tile<e8, r8, f32>, !tile.tile<r8, f32>)
// CHECK:             tile.load {{.*}} -> !tile.tile<k8, r8, f32>
// CHECK:             scf.for
// CHECK:               tile.load {{.*}} -> !tile.tile<q8, d8, f32>
// CHECK:               tile.store
// CHECK:             scf.yield
// CHECK:           tile.store {{.*}}, %[[AFTER]]{{.*}} : !tile.tile<e8, r8, f32>
// CHECK:           tile.store {{.*}}, %[[AFTER]]{{.*}} : !tile.tile<r8, f32>
// CHECK:           memref.store {{.*}}, %[[AFTER]]
module attributes {attn.order = "recurrent", attn.target = #attn.target<kind = "cpu", level = "x86-64-v3", lanes = 8>} {
func.func @recurrent(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> attributes {allow_signed} kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    attn.yield %s : f32
  } mask {
    %i = attn.index i
    %j = attn.index j
    %m = arith.cmpi sle, %j, %i : index
    attn.yield %m : i1
  }
  return
}
}
