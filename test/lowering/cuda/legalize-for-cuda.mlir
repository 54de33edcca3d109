// RUN: attn-opt %s -split-input-file -attn-legalize-for-cuda | FileCheck %s

// Rows get the storage type; a scaled query is scaled after the product, where
// no digit of it is rounded away; values are asked for beside the keys.

// CHECK-LABEL: func.func @softmax.stage0
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<?x?x?x64xbf16,
// CHECK-SAME: %{{[a-z0-9]+}}: memref<?xf32> {attn.arg = #attn.arg<kind = param
// CHECK: %[[ROWS:.+]] = tile.load %[[Q]]{{.*}} -> !tile.tile<q64, d64, bf16>
// CHECK-NOT: tile.map
// CHECK: scf.for %[[J:.+]] =
// CHECK-NEXT: %[[K:.+]] = tile.load %{{.*}} -> !tile.tile<k64, d64, bf16>
// CHECK-NEXT: tile.load %{{.*}} -> !tile.tile<k64, e64, bf16>
// CHECK: %[[DOT:.+]] = tile.contract %[[ROWS]], %[[K]]
// CHECK-NEXT: tile.map %[[DOT]]
// CHECK-NEXT: ^bb0(%[[X:.+]]: f32)
// CHECK-NEXT: arith.mulf %[[X]], %{{.+}} : f32
!rows = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
module attributes {attn.storage = bf16} {
  func.func @softmax.stage0(%q: !rows {attn.arg = #attn.arg<kind = query, name = "q">},
      %c: memref<?xf32> {attn.arg = #attn.arg<kind = param, name = "c", axes = ["head"]>},
      %k: !rows {attn.arg = #attn.arg<kind = key, name = "k">},
      %v: !rows {attn.arg = #attn.arg<kind = value, name = "v">},
      %o: !rows {attn.arg = #attn.arg<kind = output, name = "o">}) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %n = memref.dim %k, %c64 : !rows
    scf.forall (%b, %h, %t) in (1, 1, 1) {
      %x = tile.load %q[%b, %h, %t] to %n : !rows -> !tile.tile<q64, d64, f32>
      %factor = memref.load %c[%h] : memref<?xf32>
      %scaled = tile.map %x : (!tile.tile<q64, d64, f32>) -> !tile.tile<q64, d64, f32> {
      ^bb0(%a: f32):
        %y = arith.mulf %a, %factor : f32
        tile.yield %y : f32
      }
      %acc = tile.splat %zero : f32 -> !tile.tile<q64, e64, f32>
      %sum = scf.for %j = %c0 to %n step %c64 iter_args(%carried = %acc) -> (!tile.tile<q64, e64, f32>) {
        %keys = tile.load %k[%b, %h, %j] to %n : !rows -> !tile.tile<k64, d64, f32>
        %none = tile.splat %zero : f32 -> !tile.tile<q64, k64, f32>
        %p = tile.contract %scaled, %keys into %none : (!tile.tile<q64, d64, f32>, !tile.tile<k64, d64, f32>, !tile.tile<q64, k64, f32>) -> !tile.tile<q64, k64, f32>
        %values = tile.load %v[%b, %h, %j] to %n : !rows -> !tile.tile<k64, e64, f32>
        %next = tile.contract %p, %values into %carried : (!tile.tile<q64, k64, f32>, !tile.tile<k64, e64, f32>, !tile.tile<q64, e64, f32>) -> !tile.tile<q64, e64, f32>
        scf.yield %next : !tile.tile<q64, e64, f32>
      }
      tile.store %sum, %o[%b, %h, %t] to %n : !tile.tile<q64, e64, f32>, !rows
    }
    return
  }
}

// -----

// What a map makes of q and k is tf32, as it is made and in its workspace, and so
// are rows of parameters; what a map makes of v has the storage type.

// CHECK-LABEL: func.func @maps.stage0
// CHECK-SAME: %[[KEYS:[a-z0-9]+]]: memref<?x?x?x64xtf32,
// CHECK-SAME: %[[VALUES:[a-z0-9]+]]: memref<?x?x?x64xbf16,
// CHECK: %[[K:.+]] = tile.load %{{.*}} -> !tile.tile<q64, d64, bf16>
// CHECK: %[[MADE:.+]]:2 = tile.rows %[[K]]{{.*}} -> (!tile.tile<q64, d64, tf32>, !tile.tile<q64, f32>)
// CHECK: tile.store %[[MADE]]#0, %[[KEYS]]
// CHECK: %[[ALSO:.+]] = tile.rows %{{.*}} -> !tile.tile<q64, d64, bf16>
// CHECK: tile.store %[[ALSO]], %[[VALUES]]
// CHECK-LABEL: func.func @maps.stage1
// CHECK-SAME: %[[P:[a-z0-9]+]]: memref<?x?x?x64xf32,
// CHECK-SAME: %[[KEYS:[a-z0-9]+]]: memref<?x?x?x64xtf32,
// CHECK-SAME: %[[VALUES:[a-z0-9]+]]: memref<?x?x?x64xbf16,
// CHECK-DAG: tile.load %[[P]]{{.*}} -> !tile.tile<k64, d64, tf32>
// CHECK-DAG: tile.load %[[KEYS]]{{.*}} -> !tile.tile<k64, d64, tf32>
// CHECK-DAG: tile.load %[[VALUES]]{{.*}} -> !tile.tile<k64, e64, bf16>
!rows = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
!numbers = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
module attributes {attn.storage = bf16} {
  func.func @maps.stage0(%k: !rows {attn.arg = #attn.arg<kind = key, name = "k">},
      %keys: !rows {attn.arg = #attn.arg<kind = workspace, name = "w1", axes = ["batch", "kv_head", "nk"]>},
      %values: !rows {attn.arg = #attn.arg<kind = workspace, name = "w2", axes = ["batch", "kv_head", "nk"]>},
      %norms: !numbers {attn.arg = #attn.arg<kind = workspace, name = "w3", axes = ["batch", "kv_head", "nk"]>}) {
    %c0 = arith.constant 0 : index
    scf.forall (%b, %h) in (1, 1) {
      %x = tile.load %k[%b, %h, %c0] to %c0 : !rows -> !tile.tile<q64, d64, f32>
      %j = tile.iota %c0 : !tile.tile<q64, index>
      %made:2 = tile.rows %x(%j) : (!tile.tile<q64, d64, f32>, !tile.tile<q64, index>) -> (!tile.tile<q64, d64, f32>, !tile.tile<q64, f32>) {
      ^bb0(%row: !attn.row<64xf32>, %position: index):
        %y = attn.unit %row : !attn.row<64xf32>
        %n = attn.sqnorm %y : !attn.row<64xf32>
        tile.yield %y, %n : !attn.row<64xf32>, f32
      }
      tile.store %made#0, %keys[%b, %h, %c0] to %c0 : !tile.tile<q64, d64, f32>, !rows
      tile.store %made#1, %norms[%b, %h, %c0] to %c0 : !tile.tile<q64, f32>, !numbers
      %also = tile.rows %x(%j) : (!tile.tile<q64, d64, f32>, !tile.tile<q64, index>) -> !tile.tile<q64, d64, f32> {
      ^bb0(%row: !attn.row<64xf32>, %position: index):
        %y = attn.unit %row : !attn.row<64xf32>
        tile.yield %y : !attn.row<64xf32>
      }
      tile.store %also, %values[%b, %h, %c0] to %c0 : !tile.tile<q64, d64, f32>, !rows
    }
    return
  }
  func.func @maps.stage1(%p: !rows {attn.arg = #attn.arg<kind = param, name = "p", axes = ["batch", "kv_head", "nk"]>},
      %keys: !rows {attn.arg = #attn.arg<kind = workspace, name = "w1", axes = ["batch", "kv_head", "nk"]>},
      %values: !rows {attn.arg = #attn.arg<kind = workspace, name = "w2", axes = ["batch", "kv_head", "nk"]>}) {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    scf.forall (%b, %h) in (1, 1) {
      %x = tile.load %keys[%b, %h, %c0] to %c0 : !rows -> !tile.tile<k64, d64, f32>
      %y = tile.load %p[%b, %h, %c0] to %c0 : !rows -> !tile.tile<k64, d64, f32>
      %z = tile.load %values[%b, %h, %c0] to %c0 : !rows -> !tile.tile<k64, e64, f32>
    }
    return
  }
}

// -----

// Features of one element each are made by all threads, not by a thread a row;
// they are tf32, and sums over keys stay f32. Rows that come a second time stay
// behind the readers of the first.

// CHECK-LABEL: func.func @linear.stage0
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<?x?x65x64xf32,
// CHECK: %[[ROWS:.+]] = tile.load %{{.*}} -> !tile.tile<k64, r64, bf16>
// CHECK: tile.load %[[W]]{{.*}} -> !tile.tile<e64, r64, f32>
// CHECK: %[[FEATURES:.+]] = tile.map %[[ROWS]] : (!tile.tile<k64, r64, bf16>) -> !tile.tile<k64, r64, tf32>
// CHECK-NEXT: ^bb0(%[[X:.+]]: f32)
// CHECK-NEXT: math.exp %[[X]]
// CHECK: tile.contract %[[FEATURES]]
// CHECK: tile.load %{{.*}} -> !tile.tile<k64, r64, bf16>
!rows = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
!sums = memref<?x?x65x64xf32, strided<[?, ?, 64, 1], offset: ?>>
module attributes {attn.storage = bf16} {
  func.func @linear.stage0(%w: !sums {attn.arg = #attn.arg<kind = workspace, name = "w", axes = ["batch", "kv_head", "65"]>},
      %k: !rows {attn.arg = #attn.arg<kind = key, name = "k">},
      %v: !rows {attn.arg = #attn.arg<kind = value, name = "v">}) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %n = memref.dim %k, %c64 : !rows
    scf.forall (%b, %h) in (1, 1) {
      %rows = tile.load %k[%b, %h, %c0] to %n : !rows -> !tile.tile<k64, d64, f32>
      %j = tile.iota %c0 : !tile.tile<k64, index>
      %features = tile.rows %rows(%j) : (!tile.tile<k64, d64, f32>, !tile.tile<k64, index>) -> !tile.tile<k64, r64, f32> {
      ^bb0(%row: !attn.row<64xf32>, %position: index):
        %y = attn.map %row : !attn.row<64xf32> {
        ^bb0(%x: f32):
          %z = math.exp %x : f32
          attn.yield %z : f32
        }
        tile.yield %y : !attn.row<64xf32>
      }
      %values = tile.load %v[%b, %h, %c0] to %n : !rows -> !tile.tile<k64, e64, f32>
      %s = tile.load %w[%b, %h, %c0] to %c64 : !sums -> !tile.tile<e64, r64, f32>
      %t = tile.contract %features, %values into %s : (!tile.tile<k64, r64, f32>, !tile.tile<k64, e64, f32>, !tile.tile<e64, r64, f32>) -> !tile.tile<e64, r64, f32>
      %again = tile.load %k[%b, %h, %c64] to %n : !rows -> !tile.tile<k64, r64, f32>
      %u = tile.contract %again, %values into %t : (!tile.tile<k64, r64, f32>, !tile.tile<k64, e64, f32>, !tile.tile<e64, r64, f32>) -> !tile.tile<e64, r64, f32>
      tile.store %u, %w[%b, %h, %c0] to %c64 : !tile.tile<e64, r64, f32>, !sums
    }
    return
  }
}
