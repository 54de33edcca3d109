// RUN: %attn-opt %s --split-input-file --attn-expand-vector-math | FileCheck %s

// One degree less, and reciprocals for divisions.
module attributes {attn.target = #attn.target<kind = "cpu", level = "x86-64-v3", lanes = 8, fast_math = true>} {
  // CHECK-LABEL: func @exp2
  // CHECK-COUNT-4: vector.fma
  // CHECK-NOT: vector.fma
  func.func @exp2(%x: vector<8xf32>) -> vector<8xf32> {
    %r = math.exp2 %x {attn.nonpositive} : vector<8xf32>
    return %r : vector<8xf32>
  }
  // CHECK-LABEL: func @divide
  // CHECK: arith.divf %{{.*}}, %{{.*}} fastmath<ninf,arcp> : vector<8xf32>
  func.func @divide(%x: vector<8xf32>, %y: vector<8xf32>) -> vector<8xf32> {
    %r = arith.divf %x, %y : vector<8xf32>
    return %r : vector<8xf32>
  }
  // The exponential may be infinite, and its reciprocal 0.
  // CHECK-LABEL: func @sigmoid
  // CHECK: arith.divf %{{.*}}, %{{.*}} : vector<8xf32>
  func.func @sigmoid(%x: vector<8xf32>, %one: vector<8xf32>) -> vector<8xf32> {
    %e = math.exp %x : vector<8xf32>
    %d = arith.addf %one, %e : vector<8xf32>
    %r = arith.divf %one, %d : vector<8xf32>
    return %r : vector<8xf32>
  }
}

// -----

// Nobody asked.
module attributes {attn.target = #attn.target<kind = "cpu", level = "x86-64-v3", lanes = 8>} {
  // CHECK-LABEL: func @divide
  // CHECK: arith.divf %{{.*}}, %{{.*}} : vector<8xf32>
  func.func @divide(%x: vector<8xf32>, %y: vector<8xf32>) -> vector<8xf32> {
    %r = arith.divf %x, %y : vector<8xf32>
    return %r : vector<8xf32>
  }
}
