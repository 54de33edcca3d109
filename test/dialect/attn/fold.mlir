// The length of a row is a constant once it is known.
// RUN: %attn-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: func.func @known
// CHECK: %[[C:.*]] = arith.constant 8 : index
// CHECK: return %[[C]]
func.func @known(%a: !attn.row<8xf32>) -> index {
  %n = attn.dim %a : !attn.row<8xf32>
  return %n : index
}

// CHECK-LABEL: func.func @unknown
// CHECK: attn.dim
func.func @unknown(%a: !attn.row<?xf32>) -> index {
  %n = attn.dim %a : !attn.row<?xf32>
  return %n : index
}
