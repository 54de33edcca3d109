// RUN: attn-opt %s --attn-hoist-row-maps | FileCheck %s

// f_K, a key-side norm inside kappa and f_V are computed once a row; kappa reads
// what attn.rows wrote.

!m = memref<?x?x?x8xf32, strided<[?, ?, ?, 1], offset: ?>>
!row = !attn.row<8xf32>

// CHECK-LABEL: func.func @maps(
// CHECK-SAME:    %[[K:[^:]*]]: memref{{[^,]*}}, {{.*}} %[[WK:[^:]*]]: memref<?x?x?x8xf32, strided<[?, ?, 8, 1], offset: ?>> {attn.arg = #attn.arg<kind = workspace, name = "w4", axes = ["batch", "kv_head", "nk"]>}
// CHECK:         attn.rows %{{.*}} into
// CHECK:           %[[U:.*]] = attn.unit
// CHECK:           %[[N:.*]] = attn.sqnorm %[[U]]
// CHECK:           attn.yield %[[U]], %[[N]]
// CHECK:         attn.rows
// CHECK:           attn.rope
// CHECK:         attn.attention
// CHECK-NOT:     attn.unit
// CHECK:           attn.dot
// CHECK:           %[[B:.*]] = attn.index{{ +}}batch
// CHECK:           %[[H:.*]] = attn.index{{ +}}kv_head
// CHECK:           %[[J:.*]] = attn.index{{ +}}j
// CHECK:           memref.load %{{.*}}[%[[B]], %[[H]], %[[J]]]
func.func @maps(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass>
  key {
  ^bb0(%x: !row):
    %u = attn.unit %x : !row
    attn.yield %u : !row
  } value {
  ^bb0(%x: !row):
    %p = arith.constant 1.0 : f32
    %r = attn.rope %x, %p {base = 100.0 : f64} : !row
    attn.yield %r : !row
  } kappa {
  ^bb0(%a: !row, %b: !row):
    %s = attn.dot %a, %b : !row, !row
    %n = attn.sqnorm %b : !row
    %x = arith.subf %s, %n : f32
    %w = math.exp %x : f32
    attn.yield %w : f32
  }
  return
}
