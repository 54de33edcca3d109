// The functions of the C header around the entries of the stages; all others become internal.

// RUN: %attn-opt %s -attn-cpu-c-entry | FileCheck %s
// RUN: %attn-opt %s -attn-cpu-c-entry -convert-scf-to-cf -convert-arith-to-llvm -convert-func-to-llvm \
// RUN:   -convert-cf-to-llvm -reconcile-unrealized-casts | mlir-translate --mlir-to-llvmir | FileCheck %s --check-prefix=LLVM

#rows = strided<[?, ?, ?, 1], offset: ?>
#line = strided<[?], offset: ?>
module attributes {attn.c_interface = {name = "soft", kernel = "f", sizes = {},
    type = (memref<?x?x?x8xf32, #rows>, memref<?x?x?x8xf32, #rows>, memref<?x?x?x8xf32, #rows>, memref<f32>,
            memref<?xi64, #line>, memref<?xi64, #line>, memref<?xi64, #line>, memref<?x?x?x8xf32, #rows>) -> (),
    arguments = [#attn.arg<kind = query, name = "q">, #attn.arg<kind = key, name = "k">, #attn.arg<kind = value, name = "v">,
      #attn.arg<kind = param, name = "s", axes = [], relop = ">=", bound = 0.0 : f64>,
      #attn.arg<kind = key_lengths, name = "key_lengths">, #attn.arg<kind = query_lengths, name = "query_lengths">,
      #attn.arg<kind = offset, name = "offset">, #attn.arg<kind = output, name = "o">]}} {
  // CHECK: llvm.mlir.global internal constant @soft.texts("success\00soft: a pointer is null\00
  // CHECK-SAME: soft: s: a value breaks s >= 0\00
  // CHECK: llvm.func internal @f.stage0.run
  llvm.func @f.stage0.run(%args: !llvm.ptr, %begin: i64, %end: i64) { llvm.return }
  llvm.func @f.stage0.items.run(%args: !llvm.ptr) -> i64 {
    %0 = llvm.mlir.constant(7 : i64) : i64
    llvm.return %0 : i64
  }
  // CHECK: func.func private @attn.c.view
  // CHECK: func.func @soft.prepare(%{{.*}}) -> i32 attributes {llvm.linkage = #llvm.linkage<internal>}
  // CHECK: llvm.call @f.stage0.items.run
  // CHECK: func.func @soft.range
  // CHECK: llvm.call @f.stage0.run
  // CHECK: llvm.atomicrmw add
  // CHECK: func.func @soft(%{{.*}}: !llvm.ptr) -> i32 {
}

// LLVM-NOT: {{^}}declare
// LLVM-DAG: define i32 @soft(ptr
// LLVM-DAG: define i32 @soft_prepare(ptr
// LLVM-DAG: define i64 @soft_workspace(ptr
// LLVM-DAG: define i64 @soft_stages(ptr
// LLVM-DAG: define i64 @soft_items(ptr
// LLVM-DAG: define i32 @soft_range(ptr
// LLVM-DAG: define ptr @soft_error(i32
