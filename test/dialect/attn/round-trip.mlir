// Every op and attribute of the dialect prints what it parses, in both forms.
// RUN: %attn-opt %s > %t.1
// RUN: %attn-opt %t.1 | diff %t.1 -
// RUN: %attn-opt %s -mlir-print-op-generic | %attn-opt | diff %t.1 -
// RUN: %attn-opt %s | FileCheck %s
// RUN: FileCheck %s --check-prefix=SPACE --strict-whitespace < %t.1

// CHECK: module attributes {attn.target = #attn.target<kind = "cpu", level = "x86-64-v3", lanes = 8>}
module attributes {attn.target = #attn.target<kind = "cpu", level = "x86-64-v3", lanes = 8>} {

// CHECK-LABEL: func.func private @arguments
// CHECK-SAME: #attn.arg<kind = param, name = "b", axes = ["head", "-4:M"], integer = true, relop = ">=", bound = 0.000000e+00 : f64>
func.func private @arguments(memref<f32> {attn.arg = #attn.arg<kind = param, name = "b", axes = ["head", "-4:M"], integer = true, relop = ">=", bound = 0.0 : f64>})

// CHECK-LABEL: func.func @rows
// CHECK: attn.index kv_head
// SPACE: = attn.index kv_head
// CHECK: attn.dim %{{.*}} : !attn.row<?xf32>
// CHECK: attn.sqnorm %{{.*}} : !attn.row<8xf32>
// CHECK: attn.map %{{.*}}, %{{.*}} : !attn.row<8xf32>, !attn.row<?xf32>
// CHECK: attn.project %{{.*}}, %{{.*}}[%{{.*}}] : !attn.row<8xf32>, memref<?x8x16xf32>
// CHECK: attn.row %{{.*}}[%{{.*}}] : memref<?x16xf32>
// CHECK: attn.rope %{{.*}}, %{{.*}} {base = 1.000000e+04 : f64, interleaved} : !attn.row<16xf32>
// CHECK: attn.power %{{.*}}, 2 : !attn.row<8xf32>
// CHECK: attn.concat %{{.*}}, %{{.*}} : !attn.row<36xf32>, !attn.row<16xf32>
// CHECK: attn.outer %{{.*}}, %{{.*}} : !attn.row<52xf32>, !attn.row<8xf32>
// CHECK: attn.unit %{{.*}} : !attn.row<416xf32>
func.func @rows(%a: !attn.row<8xf32>, %b: !attn.row<?xf32>, %W: memref<?x8x16xf32>, %A: memref<?x16xf32>) -> !attn.row<416xf32> {
  %h = attn.index kv_head
  %n = attn.dim %b : !attn.row<?xf32>
  %s = attn.sqnorm %a : !attn.row<8xf32>
  %m = attn.map %a, %b : !attn.row<8xf32>, !attn.row<?xf32> {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %s : f32
    attn.yield %z : f32
  }
  %p = attn.project %m, %W[%h] : !attn.row<8xf32>, memref<?x8x16xf32>
  %r = attn.row %A[%h] : memref<?x16xf32>
  %q = attn.rope %r, %s {base = 1.0e4 : f64, interleaved} : !attn.row<16xf32>
  %d = attn.dot %p, %q : !attn.row<16xf32>, !attn.row<16xf32>
  %e = attn.sqdist %p, %q : !attn.row<16xf32>, !attn.row<16xf32>
  %t = attn.power %a, 2 : !attn.row<8xf32>
  %c = attn.concat %t, %p : !attn.row<36xf32>, !attn.row<16xf32>
  %o = attn.outer %c, %a : !attn.row<52xf32>, !attn.row<8xf32>
  %u = attn.unit %o : !attn.row<416xf32>
  return %u : !attn.row<416xf32>
}

// CHECK-LABEL: func.func @attention
// CHECK: attn.attention ins({{.*}}) lengths({{.*}}) outs({{.*}}) results [#attn.result<o>, #attn.result<lse>] normalize<mass> attributes {allow_signed, terms = [#attn.term<sink>]} query {
// CHECK: } kappa {
// CHECK: } mask {
// CHECK: } normalizer {
func.func @attention(%q: memref<?x?x?x8xf32>, %n: memref<?xi64>, %o: memref<?x?x?x8xf32>, %l: memref<?x?x?xf32>) {
  attn.attention ins(%q, %q, %q : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) lengths(%n, %n, %n : memref<?xi64>, memref<?xi64>, memref<?xi64>) outs(%o, %l : memref<?x?x?x8xf32>, memref<?x?x?xf32>) results [#attn.result<o>, #attn.result<lse>] normalize<mass> attributes {allow_signed, terms = [#attn.term<sink>]} query {
  ^bb0(%a: !attn.row<8xf32>):
    %u = attn.unit %a : !attn.row<8xf32>
    attn.yield %u : !attn.row<8xf32>
  } kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    attn.yield %s : f32
  } mask {
    %i = attn.index i
    %j = attn.index j
    %c = arith.cmpi sle, %j, %i : index
    attn.yield %c : i1
  } normalizer {
    %c = arith.constant 1.0 : f32
    attn.yield %c : f32
  }
  return
}

// CHECK-LABEL: func.func @features
// CHECK: features = #attn.features<kind = favor, count = 256, seed = 7, orthogonal = true>
// CHECK: attn.random_features positive %{{.*}}, 16 {hyperbolic, orthogonal, seed = 7 : i64} : !attn.row<8xf32>
// CHECK: attn.random_features trigonometric %{{.*}}, 16 {seed = -1 : i64, stream = 2 : i64} : !attn.row<8xf32>
// CHECK: attn.dot {{.*}} : !attn.row<32xf32>, !attn.row<32xf32>
func.func @features(%q: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>) {
  attn.attention ins(%q, %q, %q : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) outs(%o : memref<?x?x?x8xf32>) results [#attn.result<o>] normalize<mass> attributes {features = #attn.features<kind = favor, count = 256, seed = 7, orthogonal = true>} kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %x = attn.random_features positive %a, 16 {seed = 7 : i64, orthogonal, hyperbolic} : !attn.row<8xf32>
    %y = attn.random_features trigonometric %b, 16 {seed = -1 : i64, stream = 2 : i64} : !attn.row<8xf32>
    %s = attn.dot %x, %y : !attn.row<32xf32>, !attn.row<32xf32>
    attn.yield %s : f32
  }
  return
}

// CHECK-LABEL: func.func @decided
// CHECK: attn.quadratic {{.*}} attributes {licence = #attn.licence<nonnegative = yes, sign_reason = "exp", gauge = max>, schedule = #attn.schedule<order = quadratic, tile_q = 96, tile_k = 64>} kappa
// CHECK: attn.linear {{.*}} state(%{{.*}} : memref<?x?x?x8xf32>) {{.*}} attributes {licence = #attn.licence<nonnegative = yes, gauge = none, linear = whole, rank = 8>, schedule = #attn.schedule<order = linear, tile_q = 64, tile_k = 64, pair_cost = 16, row_cost = 72>} key {
// CHECK: attn.channels %{{.*}}, %{{.*}}
// CHECK: query_features {
// CHECK: attn.power %{{.*}}, 2 : !attn.row<8xf32>
// CHECK: key_features {
// CHECK: decay {
// CHECK: attn.rows %{{.*}} into %{{.*}} : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>
func.func @decided(%q: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>) {
  attn.quadratic ins(%q, %q, %q : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) outs(%o : memref<?x?x?x8xf32>) results [#attn.result<o>] normalize<mass> attributes {licence = #attn.licence<nonnegative = yes, sign_reason = "exp", gauge = max>, schedule = #attn.schedule<order = quadratic, tile_q = 96, tile_k = 64>} kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    attn.yield %s : f32
  }
  attn.linear ins(%q, %q, %q : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) outs(%o : memref<?x?x?x8xf32>) state(%o : memref<?x?x?x8xf32>) results [#attn.result<o>] normalize<mass> attributes {licence = #attn.licence<nonnegative = yes, gauge = none, linear = whole, rank = 8>, schedule = #attn.schedule<order = linear, tile_q = 64, tile_k = 64, pair_cost = 16, row_cost = 72>} key {
  ^bb0(%a: !attn.row<8xf32>):
    %n = attn.sqnorm %a : !attn.row<8xf32>
    %c = attn.channels %n, %n
    %p = attn.power %c, 7 : !attn.row<2xf32>
    attn.yield %p : !attn.row<8xf32>
  } kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    attn.yield %s : f32
  } query_features {
  ^bb0(%a: !attn.row<8xf32>):
    %p = attn.power %a, 2 : !attn.row<8xf32>
    attn.yield %p : !attn.row<36xf32>
  } key_features {
  ^bb0(%a: !attn.row<8xf32>):
    %p = attn.power %a, 2 : !attn.row<8xf32>
    attn.yield %p : !attn.row<36xf32>
  } decay {
    %c = arith.constant 0.0 : f32
    attn.yield %c : f32
  }
  attn.rows %q into %o : memref<?x?x?x8xf32>, memref<?x?x?x8xf32> {
  ^bb0(%a: !attn.row<8xf32>):
    %u = attn.unit %a : !attn.row<8xf32>
    attn.yield %u : !attn.row<8xf32>
  }
  return
}
}
