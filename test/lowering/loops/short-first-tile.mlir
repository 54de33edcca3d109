// RUN: attn-opt %s --attn-issue-licence --attn-choose-schedule --canonicalize --cse \
// RUN:   --attn-to-tile-loops --canonicalize --cse | FileCheck %s

// Where lengths are no multiples of tiles, it is the first tile of queries that is short, and the
// first of keys: positions of tiles are counted from the end, and what is below 0 is cut off.

!m = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>

// CHECK-LABEL: func.func @softmax.stage0(
// CHECK:         scf.forall
// CHECK:           %[[END:.*]] = arith.addi %[[START:.*]], %c64
// CHECK-NEXT:      %[[Q0:.*]] = arith.maxsi %[[START]], %c0
// CHECK:           %[[ROWS_END:.*]] = arith.minsi %{{.*}}, %[[END]]
// CHECK:           tile.load {{.*}}, %[[Q0]]] to %[[ROWS_END]] {{.*}} -> !tile.tile<q64, d64, f32>
// CHECK:           %[[WHOLE:.*]] = arith.ceildivsi %[[KEYS:.*]], %c64
// CHECK-NEXT:      %[[PADDED:.*]] = arith.muli %[[WHOLE]], %c64
// CHECK-NEXT:      %[[MISSING:.*]] = arith.subi %[[PADDED]], %[[KEYS]]
// CHECK:               scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %c64
// CHECK:                 %[[FIRST:.*]] = arith.subi %[[J]], %[[MISSING]]
// CHECK-NEXT:            %[[J0:.*]] = arith.maxsi %[[FIRST]], %c0
// CHECK:                 %[[SHORT:.*]] = arith.cmpi slt, %[[J]], %[[MISSING]]
// CHECK-NEXT:            %[[KEYS_END:.*]] = arith.select %[[SHORT]], %{{.*}}, %[[KEYS]]
// CHECK:                 tile.load {{.*}}, %[[J0]]] to %[[KEYS_END]] {{.*}} -> !tile.tile<k64, d64, f32>
// CHECK:           tile.store {{.*}}, %[[Q0]]] to %[[END]]
module attributes {attn.target = #attn.target<kind = "cpu", level = "x86-64-v4", lanes = 16>} {
func.func @softmax(%q: !m, %k: !m, %v: !m, %o: !m) {
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<64xf32>, %b: !attn.row<64xf32>):
    %c = arith.constant 0.125 : f32
    %s = attn.dot %a, %b : !attn.row<64xf32>, !attn.row<64xf32>
    %x = arith.mulf %s, %c : f32
    %w = math.exp %x : f32
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
