// What the tile dialect refuses, type by type and op by op.
// RUN: %attn-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{expected an axis letter and its extent, as in q64}}
func.func private @axis_and_extent(!tile.tile<q, f32>)

// -----

// expected-error@+1 {{unknown axis 'z'; axes are q, k, d, e and r}}
func.func private @axis_unknown(!tile.tile<z8, f32>)

// -----

// expected-error@+1 {{axis 'q' stands twice}}
func.func private @axis_twice(!tile.tile<q8, q8, f32>)

// -----

// expected-error@+1 {{an extent is positive}}
func.func private @extent(!tile.tile<q0, f32>)

// -----

// expected-error@+1 {{elements are scalars}}
func.func private @element(!tile.tile<q8, vector<4xf32>>)

// -----

func.func @load_rank(%m: memref<?x8xf32>, %i: index) {
  // expected-error@+1 {{moves tiles of one or two axes}}
  %t = tile.load %m[%i] to %i : memref<?x8xf32> -> !tile.tile<q8, k8, d8, f32>
  return
}

// -----

func.func @load_indices(%m: memref<?x?x8xf32>, %i: index) {
  // expected-error@+1 {{needs 2 indices, got 1}}
  %t = tile.load %m[%i] to %i : memref<?x?x8xf32> -> !tile.tile<k8, d8, f32>
  return
}

// -----

func.func @load_length(%m: memref<?x8xf32>, %i: index) {
  // expected-error@+1 {{covers rows of length 4, the memory has 8}}
  %t = tile.load %m[%i] to %i : memref<?x8xf32> -> !tile.tile<k8, d4, f32>
  return
}

// -----

func.func @store_length(%t: !tile.tile<k8, d4, f32>, %m: memref<?x8xf32>, %i: index) {
  // expected-error@+1 {{covers rows of length 4, the memory has 8}}
  tile.store %t, %m[%i] to %i : !tile.tile<k8, d4, f32>, memref<?x8xf32>
  return
}

// -----

func.func @splat(%x: index) {
  // expected-error@+1 {{fills a tile of its scalar's type}}
  %t = tile.splat %x : index -> !tile.tile<q8, f32>
  return
}

// -----

func.func @iota(%x: index) {
  // expected-error@+1 {{makes a tile of one axis and index elements}}
  %t = tile.iota %x : !tile.tile<q8, f32>
  return
}

// -----

func.func @contract_type(%a: !tile.tile<q8, d8, f32>, %b: !tile.tile<k8, d8, f32>, %c: !tile.tile<q8, k8, f32>) {
  // expected-error@+1 {{has the type of its accumulator}}
  %t = tile.contract %a, %b into %c : (!tile.tile<q8, d8, f32>, !tile.tile<k8, d8, f32>, !tile.tile<q8, k8, f32>) -> !tile.tile<q8, f32>
  return
}

// -----

func.func @contract_axis(%a: !tile.tile<q8, d8, f32>, %b: !tile.tile<k8, d8, f32>, %c: !tile.tile<q8, e8, f32>) {
  // expected-error@+1 {{has no operand with the accumulator's axis 'e'}}
  %t = tile.contract %a, %b into %c : (!tile.tile<q8, d8, f32>, !tile.tile<k8, d8, f32>, !tile.tile<q8, e8, f32>) -> !tile.tile<q8, e8, f32>
  return
}

// -----

func.func @contract_extents(%a: !tile.tile<q8, d8, f32>, %b: !tile.tile<k8, d4, f32>, %c: !tile.tile<q8, k8, f32>) {
  // expected-error@+1 {{has operands that differ along axis 'd'}}
  %t = tile.contract %a, %b into %c : (!tile.tile<q8, d8, f32>, !tile.tile<k8, d4, f32>, !tile.tile<q8, k8, f32>) -> !tile.tile<q8, k8, f32>
  return
}

// -----

func.func @contract_sum(%a: !tile.tile<q8, d8, f32>, %b: !tile.tile<k8, f32>, %c: !tile.tile<q8, k8, f32>) {
  // expected-error@+1 {{sums axis 'd' that only one operand has; reduce it}}
  %t = tile.contract %a, %b into %c : (!tile.tile<q8, d8, f32>, !tile.tile<k8, f32>, !tile.tile<q8, k8, f32>) -> !tile.tile<q8, k8, f32>
  return
}

// -----

func.func @contract_keep(%a: !tile.tile<q8, k8, f32>, %b: !tile.tile<k8, e8, f32>, %c: !tile.tile<q8, e8, f32>, %edge: i1, %keep: !tile.tile<q8, d8, i1>) {
  // expected-error@+1 {{masks pairs of its first operand}}
  %t = tile.contract %a, %b into %c if %edge keep %keep : (!tile.tile<q8, k8, f32>, !tile.tile<k8, e8, f32>, !tile.tile<q8, e8, f32>, i1, !tile.tile<q8, d8, i1>) -> !tile.tile<q8, e8, f32>
  return
}

// -----

func.func @map_takes_one(%a: !tile.tile<q8, f32>) {
  // expected-error@+1 {{region takes one scalar an input}}
  %t = tile.map %a : (!tile.tile<q8, f32>) -> !tile.tile<q8, f32> {
  ^bb0(%x: f32, %y: f32):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @map_takes(%a: !tile.tile<q8, f32>) {
  // expected-error@+1 {{region takes the inputs' element types}}
  %t = tile.map %a : (!tile.tile<q8, f32>) -> !tile.tile<q8, index> {
  ^bb0(%x: index):
    tile.yield %x : index
  }
  return
}

// -----

func.func @map_axes(%a: !tile.tile<q8, k8, f32>) {
  // expected-error@+1 {{has an input with an axis that the result lacks}}
  %t = tile.map %a : (!tile.tile<q8, k8, f32>) -> !tile.tile<q8, f32> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @map_yields(%a: !tile.tile<q8, f32>) {
  // expected-error@+1 {{region yields one scalar of the result's element type}}
  %t = tile.map %a : (!tile.tile<q8, f32>) -> !tile.tile<q8, index> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @mask_type(%a: !tile.tile<q8, k8, f32>, %edge: i1, %keep: !tile.tile<q8, k8, i1>, %f: f32) {
  // expected-error@+1 {{has the type of its tile}}
  %t = tile.mask %a if %edge keep %keep else %f : !tile.tile<q8, k8, f32>, !tile.tile<q8, k8, i1> -> !tile.tile<q8, f32>
  return
}

// -----

func.func @mask_keep(%a: !tile.tile<q8, k8, f32>, %edge: i1, %keep: !tile.tile<q8, d8, i1>, %f: f32) {
  // expected-error@+1 {{keeps by a tile of i1 over its axes}}
  %t = tile.mask %a if %edge keep %keep else %f : !tile.tile<q8, k8, f32>, !tile.tile<q8, d8, i1> -> !tile.tile<q8, k8, f32>
  return
}

// -----

func.func @reduce_type(%a: !tile.tile<q8, k8, f32>, %l: !tile.tile<q8, f32>) {
  // expected-error@+1 {{has the type of its init}}
  %t = tile.reduce add %a into %l : !tile.tile<q8, k8, f32>, !tile.tile<q8, f32> -> !tile.tile<k8, f32>
  return
}

// -----

func.func @reduce_axes(%a: !tile.tile<q8, k8, f32>, %l: !tile.tile<d8, f32>) {
  // expected-error@+1 {{has an init with an axis that the tile lacks}}
  %t = tile.reduce add %a into %l : !tile.tile<q8, k8, f32>, !tile.tile<d8, f32> -> !tile.tile<d8, f32>
  return
}

// -----

func.func @sqnorm(%a: !tile.tile<q8, d8, f32>) {
  // expected-error@+1 {{sums over the second axis of two}}
  %t = tile.sqnorm %a : !tile.tile<q8, d8, f32> -> !tile.tile<d8, f32>
  return
}
