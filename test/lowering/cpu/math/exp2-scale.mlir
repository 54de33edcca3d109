// The same where the level is AVX-512.

// RUN: %attn-opt %s --attn-expand-vector-math --cse --convert-scf-to-cf --convert-vector-to-llvm \
// RUN:   --convert-math-to-llvm --convert-arith-to-llvm --convert-func-to-llvm --convert-cf-to-llvm \
// RUN:   --reconcile-unrealized-casts | sed 's/attributes {.*} {/{/' \
// RUN:   | mlir-translate --mlir-to-llvmir | llc -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -o %t.s
// RUN: awk '/Inner Loop/ { inside = 1; n = 0 } inside && /^\tv/ { ++n } \
// RUN:   inside && /^\tj/ { print "loop " ++loop ": " n; inside = 0 }' %t.s | FileCheck %s

module attributes {attn.target = #attn.target<kind = "cpu", level = "x86-64-v4", lanes = 16>} {
// Load, difference from the floor, polynomial 5 and a copy, power of two, store.
// CHECK: loop 1: 10
func.func @any(%xs: !llvm.ptr, %n: i64) {
  %zero = arith.constant 0 : i64
  %step = arith.constant 16 : i64
  scf.for %i = %zero to %n step %step : i64 {
    %p = llvm.getelementptr %xs[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %p : !llvm.ptr -> vector<16xf32>
    %r = math.exp2 %x : vector<16xf32>
    llvm.store %r, %p : vector<16xf32>, !llvm.ptr
  }
  return
}
}
