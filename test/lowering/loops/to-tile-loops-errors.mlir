// RUN: attn-opt %s --attn-to-tile-loops -split-input-file -verify-diagnostics

!m = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
func.func @undecided(%q: !m, %k: !m, %v: !m, %o: !m) {
  // expected-error @+1 {{has no schedule; run attn-choose-schedule first}}
  attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<64xf32>, %b: !attn.row<64xf32>):
    %s = attn.dot %a, %b : !attn.row<64xf32>, !attn.row<64xf32>
    attn.yield %s : f32
  }
  return
}

// -----

!m = memref<?x?x?x?xf32, strided<[?, ?, ?, 1], offset: ?>>
func.func @unknown_lengths(%q: !m, %k: !m, %v: !m, %o: !m) {
  // expected-error @+1 {{is lowered once row lengths are known; specialise the function first}}
  attn.quadratic ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass>
      attributes {licence = #attn.licence<nonnegative = yes, gauge = none>, schedule = #attn.schedule<order = quadratic, tile_q = 96, tile_k = 64>} kappa {
  ^bb0(%a: !attn.row<?xf32>, %b: !attn.row<?xf32>):
    %s = attn.dot %a, %b : !attn.row<?xf32>, !attn.row<?xf32>
    attn.yield %s : f32
  }
  return
}
