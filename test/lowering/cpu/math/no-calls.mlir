// No function becomes a call or is taken apart by lane, on any level.

// RUN: %attn-opt %s --attn-expand-vector-math --cse --convert-vector-to-llvm \
// RUN:   --convert-math-to-llvm --convert-arith-to-llvm --convert-func-to-llvm \
// RUN:   --reconcile-unrealized-casts | mlir-translate --mlir-to-llvmir -o %t.ll
// RUN: llc -mtriple=x86_64-linux-gnu -mcpu=x86-64-v2 %t.ll -o - | FileCheck %s
// RUN: llc -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3 %t.ll -o - | FileCheck %s
// RUN: llc -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 %t.ll -o - | FileCheck %s

// CHECK-LABEL: vectors:
// CHECK-NOT: call
// CHECK-NOT: {{(add|sub|mul|div|fmadd[0-9]*|min|max|cvt[a-z0-9]*2)s[sd] }}
// CHECK-LABEL: scalars:
// CHECK-NOT: call
// CHECK: .Lfunc_end1:
func.func @vectors(%in: !llvm.ptr, %out: !llvm.ptr) {
  %x = llvm.load %in : !llvm.ptr -> vector<16xf32>
  %0 = math.exp %x : vector<16xf32>
  %1 = math.exp %0 {attn.nonpositive} : vector<16xf32>
  %2 = math.exp2 %1 : vector<16xf32>
  %3 = math.exp2 %2 {attn.nonpositive} : vector<16xf32>
  %4 = math.expm1 %3 : vector<16xf32>
  %5 = math.log %4 : vector<16xf32>
  %6 = math.log2 %5 : vector<16xf32>
  %7 = math.log1p %6 : vector<16xf32>
  %8 = math.tanh %7 : vector<16xf32>
  %9 = math.sin %8 : vector<16xf32>
  %10 = math.cos %9 : vector<16xf32>
  %11 = math.powf %10, %x : vector<16xf32>
  %12 = math.floor %11 : vector<16xf32>
  %13 = math.fma %12, %x, %x : vector<16xf32>
  %14 = math.sqrt %13 : vector<16xf32>
  %15 = math.absf %14 : vector<16xf32>
  %c3 = arith.constant dense<3> : vector<16xi32>
  %16 = math.fpowi %15, %c3 : vector<16xf32>, vector<16xi32>
  llvm.store %16, %out : vector<16xf32>, !llvm.ptr
  return
}

func.func @scalars(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  %1 = math.exp2 %0 : f32
  %2 = math.expm1 %1 : f32
  %3 = math.log %2 : f32
  %4 = math.log2 %3 : f32
  %5 = math.log1p %4 : f32
  %6 = math.tanh %5 : f32
  %7 = math.sin %6 : f32
  %8 = math.cos %7 : f32
  %9 = math.powf %8, %x : f32
  %10 = math.floor %9 : f32
  %11 = math.fma %10, %x, %x : f32
  %c3 = arith.constant 3 : i32
  %12 = math.fpowi %11, %c3 : f32, i32
  return %12 : f32
}
