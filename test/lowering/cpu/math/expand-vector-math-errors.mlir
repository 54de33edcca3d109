// RUN: %attn-opt %s --split-input-file --verify-diagnostics --attn-expand-vector-math

func.func @wide(%x: f64) -> f64 {
  // expected-error @below {{no expansion without the math library}}
  %r = math.exp %x : f64
  return %r : f64
}

// -----

func.func @exponent(%x: f32, %n: i32) -> f32 {
  // expected-error @below {{only constant exponents of math.fpowi}}
  %r = math.fpowi %x, %n : f32, i32
  return %r : f32
}

// -----

func.func @unknown(%x: vector<8xf32>) -> vector<8xf32> {
  // expected-error @below {{no expansion without the math library}}
  %r = math.erf %x : vector<8xf32>
  return %r : vector<8xf32>
}
