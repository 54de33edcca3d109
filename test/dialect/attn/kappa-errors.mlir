// What the kernel language refuses, op by op.
// RUN: %attn-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{a row has one extent, as in !attn.row<64xf32>}}
func.func @row_type(%a: !attn.row<8x8xf32>)

// -----

func.func @dot(%a: !attn.row<8xf32>, %b: !attn.row<4xf32>) -> f32 {
  // expected-error@+1 {{needs rows of equal length, got 8 and 4}}
  %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<4xf32>
  return %s : f32
}

// -----

func.func @sqdist(%a: !attn.row<8xf32>, %b: !attn.row<4xf32>) -> f32 {
  // expected-error@+1 {{needs rows of equal length, got 8 and 4}}
  %s = attn.sqdist %a, %b : !attn.row<8xf32>, !attn.row<4xf32>
  return %s : f32
}

// -----

func.func @map_lengths(%a: !attn.row<8xf32>, %b: !attn.row<4xf32>) {
  // expected-error@+1 {{needs rows of equal length, got 8 and 4}}
  %s = attn.map %a, %b : !attn.row<8xf32>, !attn.row<4xf32> {
  ^bb0(%x: f32, %y: f32):
    attn.yield %x : f32
  }
  return
}

// -----

func.func @map_empty() {
  // expected-error@+1 {{needs at least one row}}
  %s = "attn.map"() ({
    %c = arith.constant 1.0 : f32
    attn.yield %c : f32
  }) : () -> !attn.row<?xf32>
  return
}

// -----

func.func @map_takes(%a: !attn.row<8xf32>) {
  // expected-error@+1 {{region takes one f32 a row}}
  %s = attn.map %a : !attn.row<8xf32> {
  ^bb0(%x: f32, %y: f32):
    attn.yield %x : f32
  }
  return
}

// -----

func.func @map_yields(%a: !attn.row<8xf32>) {
  // expected-error@+1 {{region yields one f32}}
  %s = attn.map %a : !attn.row<8xf32> {
  ^bb0(%x: f32):
    attn.yield %x, %x : f32, f32
  }
  return
}

// -----

func.func @project_rows(%a: !attn.row<8xf32>, %w: memref<4x16xf32>) {
  // expected-error@+1 {{multiplies a row of length 8 with a matrix of 4 rows}}
  %s = attn.project %a, %w[] : !attn.row<8xf32>, memref<4x16xf32>
  return
}

// -----

func.func @project_indices(%a: !attn.row<8xf32>, %w: memref<?x8x16xf32>) {
  // expected-error@+1 {{needs 1 leading indices, got 0}}
  %s = attn.project %a, %w[] : !attn.row<8xf32>, memref<?x8x16xf32>
  return
}

// -----

func.func @project_axes(%a: !attn.row<8xf32>, %w: memref<8xf32>) {
  // expected-error@+1 {{a matrix has at least two axes}}
  %s = attn.project %a, %w[] : !attn.row<8xf32>, memref<8xf32>
  return
}

// -----

func.func @row_indices(%w: memref<?x?x8xf32>, %h: index) {
  // expected-error@+1 {{needs 2 leading indices, got 1}}
  %s = attn.row %w[%h] : memref<?x?x8xf32>
  return
}

// -----

func.func @row_axes(%w: memref<f32>) {
  // expected-error@+1 {{a row needs at least one axis}}
  %s = attn.row %w[] : memref<f32>
  return
}

// -----

func.func @rope(%a: !attn.row<7xf32>, %p: f32) {
  // expected-error@+1 {{rotates pairs and needs a row of even length, got 7}}
  %s = attn.rope %a, %p {base = 1.0e4 : f64} : !attn.row<7xf32>
  return
}

// -----

func.func @power_degree(%a: !attn.row<8xf32>) {
  // expected-error@+1 {{attribute 'degree' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %s = attn.power %a, 0 : !attn.row<8xf32>
  return
}

// -----

func.func @power_channels(%a: !attn.row<512xf32>) {
  // expected-error@+1 {{the tensor power has too many channels}}
  %s = attn.power %a, 30 : !attn.row<512xf32>
  return
}

// -----

func.func @outer_channels(%a: !attn.row<4194304xf32>) {
  // expected-error@+1 {{the outer product has too many channels}}
  %s = attn.outer %a, %a : !attn.row<4194304xf32>, !attn.row<4194304xf32>
  return
}

// -----

func.func @concat_channels(%a: !attn.row<1099511627776xf32>) {
  // expected-error@+1 {{the rows together are too long}}
  %s = attn.concat %a, %a : !attn.row<1099511627776xf32>, !attn.row<1099511627776xf32>
  return
}

// -----

func.func @random_kind(%a: !attn.row<8xf32>) {
  // expected-error@+1 {{is hyperbolic only where it is positive}}
  %s = attn.random_features anchors %a, 4 {seed = 1 : i64, hyperbolic} : !attn.row<8xf32>
  return
}

// -----

// expected-error@+1 {{favor features have a positive 'count'}}
func.func @features_count() attributes {a = #attn.features<kind = favor>}

// -----

// expected-error@+1 {{taylor features have no 'nodes'}}
func.func @features_nodes() attributes {a = #attn.features<kind = taylor, order = 2, nodes = 3>}

// -----

// expected-error@+1 {{'orthogonal' and 'hyperbolic' are of favor features}}
func.func @features_orthogonal() attributes {a = #attn.features<kind = rff, count = 2, orthogonal = true>}

// -----

// expected-error@+1 {{'anchors' is of slay features}}
func.func @features_anchors() attributes {a = #attn.features<kind = rff, count = 2, anchors = true>}
