// Two levels of a kernel in one module; the ordinary names pick one.

// RUN: %attn-opt %s -attn-cpu-dispatch | FileCheck %s
// RUN: %attn-opt %s -attn-cpu-dispatch -convert-scf-to-cf -convert-arith-to-llvm -convert-func-to-llvm \
// RUN:   -convert-cf-to-llvm -reconcile-unrealized-casts | mlir-translate --mlir-to-llvmir | FileCheck %s --check-prefix=LLVM

module attributes {attn.dispatch = "k"} {
module attributes {attn.target = #attn.target<kind = "cpu", level = "x86-64-v4", lanes = 16>} {
  llvm.mlir.global internal constant @k.texts("x86-64-v4")
  llvm.func @memcpy(!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
  llvm.func @k(%a: !llvm.ptr) -> i32 {
    %r = llvm.call @k_prepare(%a, %a) : (!llvm.ptr, !llvm.ptr) -> i32
    llvm.return %r : i32
  }
  llvm.func @k_prepare(%a: !llvm.ptr, %b: !llvm.ptr) -> i32 {
    %n = llvm.mlir.constant(16 : i64) : i64
    %p = llvm.call @memcpy(%b, %a, %n) : (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
    %r = llvm.mlir.constant(0 : i32) : i32
    llvm.return %r : i32
  }
  llvm.func @k_workspace(%a: !llvm.ptr) -> i64 { %r = llvm.mlir.constant(0 : i64) : i64 llvm.return %r : i64 }
  llvm.func @k_stages(%a: !llvm.ptr) -> i64 { %r = llvm.mlir.constant(1 : i64) : i64 llvm.return %r : i64 }
  llvm.func @k_items(%a: !llvm.ptr, %s: i64) -> i64 { llvm.return %s : i64 }
  llvm.func @k_range(%a: !llvm.ptr, %s: i64, %b: i64, %e: i64) -> i32 {
    %r = llvm.mlir.constant(0 : i32) : i32
    llvm.return %r : i32
  }
  llvm.func @k_error(%s: i32) -> !llvm.ptr {
    %r = llvm.mlir.addressof @k.texts : !llvm.ptr
    llvm.return %r : !llvm.ptr
  }
}
module attributes {attn.target = #attn.target<kind = "cpu", level = "x86-64-v2", lanes = 4>} {
  llvm.mlir.global internal constant @k.texts("x86-64-v2")
  llvm.func @memcpy(!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
  llvm.func @k(%a: !llvm.ptr) -> i32 {
    %r = llvm.call @k_prepare(%a, %a) : (!llvm.ptr, !llvm.ptr) -> i32
    llvm.return %r : i32
  }
  llvm.func @k_prepare(%a: !llvm.ptr, %b: !llvm.ptr) -> i32 {
    %n = llvm.mlir.constant(4 : i64) : i64
    %p = llvm.call @memcpy(%b, %a, %n) : (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
    %r = llvm.mlir.constant(0 : i32) : i32
    llvm.return %r : i32
  }
  llvm.func @k_workspace(%a: !llvm.ptr) -> i64 { %r = llvm.mlir.constant(0 : i64) : i64 llvm.return %r : i64 }
  llvm.func @k_stages(%a: !llvm.ptr) -> i64 { %r = llvm.mlir.constant(1 : i64) : i64 llvm.return %r : i64 }
  llvm.func @k_items(%a: !llvm.ptr, %s: i64) -> i64 { llvm.return %s : i64 }
  llvm.func @k_range(%a: !llvm.ptr, %s: i64, %b: i64, %e: i64) -> i32 {
    %r = llvm.mlir.constant(0 : i32) : i32
    llvm.return %r : i32
  }
  llvm.func @k_error(%s: i32) -> !llvm.ptr {
    %r = llvm.mlir.addressof @k.texts : !llvm.ptr
    llvm.return %r : !llvm.ptr
  }
}
}

// A level has its instructions, the text of statuses has none and is there once.
// CHECK-NOT: module {{.*}}attn.target
// CHECK: llvm.mlir.global internal constant @"k.texts.x86-64-v4"
// CHECK: llvm.func @memcpy
// CHECK: llvm.func internal @"k.x86-64-v4"({{.*}}target_cpu = "x86-64-v4", target_features = #llvm.target_features<["-prefer-256-bit"]>
// CHECK: llvm.call @"k_prepare.x86-64-v4"
// CHECK: llvm.func @k_error(%{{[a-z0-9]*}}: i32) -> !llvm.ptr {
// CHECK: llvm.mlir.addressof @"k.texts.x86-64-v4"
// CHECK-NOT: @"k.texts.x86-64-v2"
// CHECK-NOT: llvm.func @memcpy
// CHECK: llvm.func internal @"k.x86-64-v2"({{.*}}target_cpu = "x86-64-v2"}
// CHECK: llvm.call @"k_prepare.x86-64-v2"
// CHECK: func.func private @k.levels() -> i32 attributes {llvm.linkage = #llvm.linkage<internal>}
// CHECK: func.func @k_level(
// CHECK: func.func @k(%{{.*}}: !llvm.ptr) -> i32 {
// CHECK: call @k.level()
// CHECK: llvm.call @"k.x86-64-v4"
// CHECK: llvm.call @"k.x86-64-v2"
// CHECK: arith.constant 12 : i32
// CHECK: func.func @k_range(
// CHECK: call @attn.c.preparedby
// CHECK: llvm.call @"k_range.x86-64-v4"

// LLVM-DAG: define internal i32 @k_range.x86-64-v4({{.*}} #[[V4:[0-9]+]]
// LLVM-DAG: define i32 @k_range(
// LLVM-DAG: define i32 @k_level(i32
// LLVM-DAG: attributes #[[V4]] = { "target-cpu"="x86-64-v4" "target-features"="-prefer-256-bit" }
