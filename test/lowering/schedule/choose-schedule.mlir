// RUN: attn-opt %s --attn-issue-licence --attn-choose-schedule -split-input-file | FileCheck %s

// An exponential is split by its gauge, in base 2; the tile of keys shrinks where
// rows of V lie a large power of two apart.

!m = memref<?x?x?x128xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: @exponential
// CHECK:       attn.quadratic
// CHECK-SAME:    gauge = max
// CHECK-SAME:    schedule = #attn.schedule<order = quadratic, tile_q = 128, tile_k = 30, split = <few_queries = 8>>
// CHECK:         attn.yield %{{.*}}, %{{.*}} : f32, f32
module attributes {attn.target = #attn.target<kind = "cpu", level = "x86-64-v3", lanes = 8>} {
func.func @exponential(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<128xf32>, %b: !attn.row<128xf32>):
    %s = attn.dot %a, %b : !attn.row<128xf32>, !attn.row<128xf32>
    %w = math.exp %s : f32
    attn.yield %w : f32
  }
  return
}
}

// -----

// An algebraic kernel has no gauge and stays one value.

!m = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: @square
// CHECK:       attn.quadratic
// CHECK-SAME:    gauge = none
// CHECK-SAME:    schedule = #attn.schedule<order = quadratic, tile_q = 64, tile_k = 64, split = <few_queries = 8>>
// CHECK:         attn.yield %{{[^,]*}} : f32
module attributes {attn.target = #attn.target<kind = "cpu", level = "x86-64-v4", lanes = 16>} {
func.func @square(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<64xf32>, %b: !attn.row<64xf32>):
    %s = attn.dot %a, %b : !attn.row<64xf32>, !attn.row<64xf32>
    %w = arith.mulf %s, %s : f32
    attn.yield %w : f32
  }
  return
}
}

// -----

// Rows of bf16 are packed into tiles where the level multiplies them as they are stored: no tile of
// queries is larger, and none is short.

!m = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: @tiles
// CHECK:       attn.quadratic
// CHECK-SAME:    schedule = #attn.schedule<order = quadratic, tile_q = 256, tile_k = 64, products = tiles, split
module attributes {attn.target = #attn.target<kind = "cpu", level = "avx512bf16", lanes = 16>} {
func.func @tiles(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<64xf32>, %b: !attn.row<64xf32>):
    %s = attn.dot %a, %b : !attn.row<64xf32>, !attn.row<64xf32>
    %w = math.exp %s : f32
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
