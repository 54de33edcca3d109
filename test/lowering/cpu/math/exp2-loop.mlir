// The price of the exponential of a softmax on AVX2: the vector instructions of
// the loops, the load (folded into the first) and the store included.

// RUN: %attn-opt %s --attn-expand-vector-math --cse --convert-scf-to-cf --convert-vector-to-llvm \
// RUN:   --convert-math-to-llvm --convert-arith-to-llvm --convert-func-to-llvm --convert-cf-to-llvm \
// RUN:   --reconcile-unrealized-casts | mlir-translate --mlir-to-llvmir \
// RUN:   | llc -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3 -o %t.s
// RUN: awk '/Inner Loop/ { inside = 1; n = 0 } inside && /^\tv/ { ++n } \
// RUN:   inside && /^\tj/ { print "loop " ++loop ": " n; inside = 0 }' %t.s | FileCheck %s

// Bounds 2, floor, difference, exponent 2, polynomial 5 and a copy, product, store.
// CHECK: loop 1: 14
func.func @any(%xs: !llvm.ptr, %n: i64) {
  %zero = arith.constant 0 : i64
  %step = arith.constant 8 : i64
  scf.for %i = %zero to %n step %step : i64 {
    %p = llvm.getelementptr %xs[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %p : !llvm.ptr -> vector<8xf32>
    %r = math.exp2 %x : vector<8xf32>
    llvm.store %r, %p : vector<8xf32>, !llvm.ptr
  }
  return
}

// Bound, rounding 2, difference, exponent, polynomial 5 and a copy, product, store.
// CHECK: loop 2: 13
func.func @nonpositive(%xs: !llvm.ptr, %n: i64) {
  %zero = arith.constant 0 : i64
  %step = arith.constant 8 : i64
  scf.for %i = %zero to %n step %step : i64 {
    %p = llvm.getelementptr %xs[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %p : !llvm.ptr -> vector<8xf32>
    %r = math.exp2 %x {attn.nonpositive} : vector<8xf32>
    llvm.store %r, %p : vector<8xf32>, !llvm.ptr
  }
  return
}
