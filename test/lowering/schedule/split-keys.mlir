// RUN: attn-opt %s --attn-issue-licence --attn-choose-schedule -split-input-file | FileCheck %s

// Few and many queries may come: an operation for each, and a workspace for the sums
// of the parts, 17 times 8 rows as long as a value with its mass and gauge.

!m = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: @both
// CHECK-SAME:    %[[W:[a-z0-9]+]]: memref<?x?x136x80xf32, {{.*}}kind = workspace{{.*}}"head"
// CHECK:       attn.quadratic
// CHECK-SAME:    tile_q = 64, tile_k = 64, split = <few_queries = 8>
// CHECK:       attn.quadratic
// CHECK-SAME:    state(%[[W]]
// CHECK-SAME:    tile_q = 16, tile_k = 32, split = <parts = 16, few_queries = 8>
module attributes {attn.target = #attn.target<kind = "cpu", level = "x86-64-v4", lanes = 16>} {
func.func @both(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<64xf32>, %b: !attn.row<64xf32>):
    %s = attn.dot %a, %b : !attn.row<64xf32>, !attn.row<64xf32>
    %w = math.exp %s : f32
    attn.yield %w : f32
  }
  return
}
}

// -----

// Where all sequences have few queries, or none has, there is one operation; tiles are
// no larger than there are queries.

!m = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: @few
// CHECK:       attn.quadratic
// CHECK-SAME:    split = <parts = 16>
// CHECK-NOT:   attn.quadratic
module attributes {attn.queries = array<i64: 0, 8>, attn.target = #attn.target<kind = "cpu", level = "x86-64-v4", lanes = 16>} {
func.func @few(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<64xf32>, %b: !attn.row<64xf32>):
    %s = attn.dot %a, %b : !attn.row<64xf32>, !attn.row<64xf32>
    %w = math.exp %s : f32
    attn.yield %w : f32
  }
  return
}
}

// -----

!m = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: @many
// CHECK:       attn.quadratic
// CHECK-NOT:     split =
// CHECK-SAME:    tile_q = 32
// CHECK-NOT:   attn.quadratic
module attributes {attn.queries = array<i64: 9, 32>, attn.target = #attn.target<kind = "cpu", level = "x86-64-v4", lanes = 16>} {
func.func @many(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<64xf32>, %b: !attn.row<64xf32>):
    %s = attn.dot %a, %b : !attn.row<64xf32>, !attn.row<64xf32>
    %w = math.exp %s : f32
    attn.yield %w : f32
  }
  return
}
}

// -----

// Key rows that differ by query head are not shared by the heads of a group.

!m = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: @rows_by_head
// CHECK:       attn.quadratic
// CHECK-NOT:     split =
// CHECK-NOT:   attn.quadratic
module attributes {attn.queries = array<i64: 0, 8>, attn.target = #attn.target<kind = "cpu", level = "x86-64-v4", lanes = 16>} {
func.func @rows_by_head(%q: !m, %k: !m, %v: !m, %w: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<64xf32>, %b: !attn.row<64xf32>):
    %n = attn.index batch
    %h = attn.index head
    %j = attn.index j
    %r = attn.row %w[%n, %h, %j] : !m
    %s = attn.dot %a, %r : !attn.row<64xf32>, !attn.row<64xf32>
    %x = math.exp %s : f32
    attn.yield %x : f32
  }
  return
}
}

// -----

// Rows of bf16 are multiplied by pairs of products where the level has them. A tile of keys has 8 KiB of stored rows...

!m = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: @pairs
// CHECK:       attn.quadratic
// CHECK-SAME:    tile_k = 64, products = pairs, split = <parts = 16>
module attributes {attn.queries = array<i64: 0, 8>, attn.target = #attn.target<kind = "cpu", level = "avx512bf16", lanes = 16>} {
func.func @pairs(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<64xf32>, %b: !attn.row<64xf32>):
    %s = attn.dot %a, %b : !attn.row<64xf32>, !attn.row<64xf32>
    %w = math.exp %s : f32
    attn.yield %w : f32
  }
  return
}
}

// -----

// ... and as numbers where it has not.

!m = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-LABEL: @numbers
// CHECK:       attn.quadratic
// CHECK-SAME:    tile_k = 64, split = <parts = 16>
module attributes {attn.queries = array<i64: 0, 8>, attn.target = #attn.target<kind = "cpu", level = "x86-64-v4", lanes = 16>} {
func.func @numbers(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<64xf32>, %b: !attn.row<64xf32>):
    %s = attn.dot %a, %b : !attn.row<64xf32>, !attn.row<64xf32>
    %w = math.exp %s : f32
    attn.yield %w : f32
  }
  return
}
}
