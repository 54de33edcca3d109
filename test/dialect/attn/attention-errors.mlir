// What the verifier of attn.attention, attn.quadratic and attn.rows refuses.
// RUN: %attn-opt %s -split-input-file -verify-diagnostics

func.func @input_axes(%q: memref<?x?x8xf32>, %k: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>) {
  // expected-error@+1 {{inputs have the axes [B, H, N, D]}}
  attn.attention ins(%q, %k, %k : memref<?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) outs(%o : memref<?x?x?x8xf32>) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    attn.yield %s : f32
  }
  return
}

// -----

func.func @lengths(%q: memref<?x?x?x8xf32>, %n: memref<?xi32>, %o: memref<?x?x?x8xf32>) {
  // expected-error@+1 {{lengths and offset are memref<?xi64>}}
  attn.attention ins(%q, %q, %q : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) lengths(%n, %n, %n : memref<?xi32>, memref<?xi32>, memref<?xi32>) outs(%o : memref<?x?x?x8xf32>) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    attn.yield %s : f32
  }
  return
}

// -----

func.func @results_count(%q: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>) {
  // expected-error@+1 {{names 2 results for 1 outputs}}
  attn.attention ins(%q, %q, %q : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) outs(%o : memref<?x?x?x8xf32>) results [#attn.result<o>, #attn.result<mass>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    attn.yield %s : f32
  }
  return
}

// -----

func.func @results_unique(%q: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>) {
  // expected-error@+1 {{wants result 'o' twice}}
  attn.attention ins(%q, %q, %q : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) outs(%o, %o : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) results [#attn.result<o>, #attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    attn.yield %s : f32
  }
  return
}

// -----

func.func @results_axes(%q: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>) {
  // expected-error@+1 {{result 'mass' has 3 axes}}
  attn.attention ins(%q, %q, %q : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) outs(%o : memref<?x?x?x8xf32>) results [#attn.result<mass>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    attn.yield %s : f32
  }
  return
}

// -----

func.func @map_yields_a_row(%q: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>) {
  // expected-error@+1 {{region 'query' must yield one row}}
  attn.attention ins(%q, %q, %q : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) outs(%o : memref<?x?x?x8xf32>) results [#attn.result<o>] normalize<mass> query {
  ^bb0(%a: !attn.row<8xf32>):
    %s = attn.sqnorm %a : !attn.row<8xf32>
    attn.yield %s : f32
  } kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    attn.yield %s : f32
  }
  return
}

// -----

func.func @region_takes(%q: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>) {
  // expected-error@+1 {{region 'key' must take ('!attn.row<8xf32>'), it takes ('!attn.row<4xf32>')}}
  attn.attention ins(%q, %q, %q : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) outs(%o : memref<?x?x?x8xf32>) results [#attn.result<o>] normalize<mass> key {
  ^bb0(%a: !attn.row<4xf32>):
    attn.yield %a : !attn.row<4xf32>
  } kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    attn.yield %s : f32
  }
  return
}

// -----

func.func @region_yields(%q: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>) {
  // expected-error@+1 {{region 'kappa' must yield ('f32'), it yields ('index')}}
  attn.attention ins(%q, %q, %q : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) outs(%o : memref<?x?x?x8xf32>) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.index i
    attn.yield %s : index
  }
  return
}

// -----

func.func @region_ends(%q: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>) {
  // expected-error@+1 {{region 'mask' must end in attn.yield}}
  attn.attention ins(%q, %q, %q : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) outs(%o : memref<?x?x?x8xf32>) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    attn.yield %s : f32
  } mask {
    llvm.unreachable
  }
  return
}

// -----

func.func @terms(%q: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>) {
  // expected-error@+1 {{has terms in a denominator that normalize<none> lacks}}
  attn.attention ins(%q, %q, %q : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) outs(%o : memref<?x?x?x8xf32>) results [#attn.result<o>] normalize<none> attributes {terms = [#attn.term<delta>]} kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    attn.yield %s : f32
  } normalizer {
    %c = arith.constant 1.0 : f32
    attn.yield %c : f32
  }
  return
}

// -----

func.func @decided(%q: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>) {
  // expected-error@+1 {{needs a licence and a schedule of quadratic order}}
  attn.quadratic ins(%q, %q, %q : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) outs(%o : memref<?x?x?x8xf32>) results [#attn.result<o>] normalize<mass> kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    attn.yield %s : f32
  }
  return
}

// -----

func.func @rows_count(%k: memref<?x?x?x8xf32>, %w: memref<?x?x?x8xf32>) {
  // expected-error@+1 {{yields one value an output}}
  attn.rows %k into %w, %w : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32> {
  ^bb0(%a: !attn.row<8xf32>):
    attn.yield %a : !attn.row<8xf32>
  }
  return
}

// -----

func.func @rows_takes(%k: memref<?x?x?x8xf32>, %w: memref<?x?x?x4xf32>) {
  // expected-error@+1 {{region takes the input's row}}
  attn.rows %k into %w : memref<?x?x?x8xf32>, memref<?x?x?x4xf32> {
  ^bb0(%a: !attn.row<4xf32>):
    attn.yield %a : !attn.row<4xf32>
  }
  return
}

// -----

func.func @rows_rank(%k: memref<?x?x?x8xf32>, %w: memref<?x?x?x8xf32>) {
  // expected-error@+1 {{writes rows to [B, H, N, n] and scalars to [B, H, N]}}
  attn.rows %k into %w : memref<?x?x?x8xf32>, memref<?x?x?x8xf32> {
  ^bb0(%a: !attn.row<8xf32>):
    %s = attn.sqnorm %a : !attn.row<8xf32>
    attn.yield %s : f32
  }
  return
}

// -----

func.func @rows_input(%k: memref<?x8xf32>, %w: memref<?x?x?x8xf32>) {
  // expected-error@+1 {{reads an input with the axes [B, H, N, D]}}
  attn.rows %k into %w : memref<?x8xf32>, memref<?x?x?x8xf32> {
  ^bb0(%a: !attn.row<8xf32>):
    attn.yield %a : !attn.row<8xf32>
  }
  return
}

// -----

func.func @linear_unlicensed(%q: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>) {
  // expected-error@+1 {{needs a licence for the linear order and a schedule of it}}
  attn.linear ins(%q, %q, %q : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) outs(%o : memref<?x?x?x8xf32>) results [#attn.result<o>] normalize<mass>
      attributes {licence = #attn.licence<nonnegative = yes, gauge = none>, schedule = #attn.schedule<order = linear>} kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    attn.yield %s : f32
  }
  return
}

// -----

func.func @linear_sides(%q: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>) {
  // expected-error@+1 {{has features of both sides or of none}}
  attn.linear ins(%q, %q, %q : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) outs(%o : memref<?x?x?x8xf32>) results [#attn.result<o>] normalize<mass>
      attributes {licence = #attn.licence<nonnegative = yes, gauge = none, linear = ordered, rank = 8>, schedule = #attn.schedule<order = linear>} kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    attn.yield %s : f32
  } query_features {
  ^bb0(%a: !attn.row<8xf32>):
    attn.yield %a : !attn.row<8xf32>
  }
  return
}

// -----

func.func @linear_lengths(%q: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>) {
  // expected-error@+1 {{has feature rows of one length, not '!attn.row<36xf32>' and '!attn.row<8xf32>'}}
  attn.linear ins(%q, %q, %q : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) outs(%o : memref<?x?x?x8xf32>) results [#attn.result<o>] normalize<mass>
      attributes {licence = #attn.licence<nonnegative = yes, gauge = none, linear = ordered, rank = 8>, schedule = #attn.schedule<order = linear>} kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    attn.yield %s : f32
  } query_features {
  ^bb0(%a: !attn.row<8xf32>):
    %p = attn.power %a, 2 : !attn.row<8xf32>
    attn.yield %p : !attn.row<36xf32>
  } key_features {
  ^bb0(%a: !attn.row<8xf32>):
    attn.yield %a : !attn.row<8xf32>
  }
  return
}

// -----

func.func @linear_rows(%q: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>) {
  // expected-error@+1 {{region 'key_features' must yield one row}}
  attn.linear ins(%q, %q, %q : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) outs(%o : memref<?x?x?x8xf32>) results [#attn.result<o>] normalize<mass>
      attributes {licence = #attn.licence<nonnegative = yes, gauge = none, linear = ordered, rank = 8>, schedule = #attn.schedule<order = linear>} kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    attn.yield %s : f32
  } query_features {
  ^bb0(%a: !attn.row<8xf32>):
    attn.yield %a : !attn.row<8xf32>
  } key_features {
  ^bb0(%a: !attn.row<8xf32>):
    %n = attn.sqnorm %a : !attn.row<8xf32>
    attn.yield %n : f32
  }
  return
}

// -----

func.func @linear_decay(%q: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>) {
  // expected-error@+1 {{region 'decay' must yield ('f32'), it yields ('index')}}
  attn.linear ins(%q, %q, %q : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>) outs(%o : memref<?x?x?x8xf32>) results [#attn.result<o>] normalize<mass>
      attributes {licence = #attn.licence<nonnegative = yes, gauge = none, linear = ordered, rank = 8>, schedule = #attn.schedule<order = linear>} kappa {
  ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
    %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
    attn.yield %s : f32
  } decay {
    %i = attn.index i
    attn.yield %i : index
  }
  return
}
