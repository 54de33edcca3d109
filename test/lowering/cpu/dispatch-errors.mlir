// RUN: %attn-opt %s -attn-cpu-dispatch -split-input-file -verify-diagnostics

// expected-error @below {{the module has no 'attn.dispatch' or no modules of levels in it}}
module {
  module attributes {attn.target = #attn.target<kind = "cpu", level = "x86-64-v2", lanes = 4>} {
  }
}

// -----

module attributes {attn.dispatch = "k"} {
  // expected-error @below {{is of no level that CPUID tells; set attn.target}}
  module attributes {attn.target = #attn.target<kind = "cpu", level = "aarch64", lanes = 4>} {
  }
}
