//===- AttnOps.td - attention and its schedules -----------------*- tablegen -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===---------------------------------------------------------------------------===//

#ifndef ATTN_OPS_TD
#define ATTN_OPS_TD

include "AttnBase.td"
include "KappaOps.td"

def Attn_ResultArrayAttr : TypedArrayAttrBase<Attn_ResultAttr, "results wanted">;
def Attn_TermArrayAttr : TypedArrayAttrBase<Attn_NormalizerTermAttr, "normaliser terms">;

// The same meaning at two stages: undecided, and with the schedule chosen.
// A schedule may have regions of its own behind the common ones.
class Attn_AttentionLike<string mnemonic, dag ownRegions = (region), string ownFormat = "", string ownDeclarations = "">
    : Attn_Op<mnemonic, [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let arguments = (ins
      AnyMemRef:$query, AnyMemRef:$key, AnyMemRef:$value,
      Optional<AnyMemRef>:$keyLengths, Optional<AnyMemRef>:$queryLengths, Optional<AnyMemRef>:$offset,
      Variadic<AnyMemRef>:$outputs, Variadic<AnyMemRef>:$state,
      Attn_ResultArrayAttr:$results,
      Attn_NormalizeAttr:$normalize,
      OptionalAttr<Attn_TermArrayAttr>:$terms,
      UnitAttr:$allow_signed,
      OptionalAttr<Attn_LicenceAttr>:$licence,
      OptionalAttr<Attn_ScheduleAttr>:$schedule,
      OptionalAttr<Attn_FeaturesAttr>:$features);
  let regions = !con((region MaxSizedRegion<1>:$queryMap, MaxSizedRegion<1>:$keyMap,
      MaxSizedRegion<1>:$valueMap, SizedRegion<1>:$kappa, MaxSizedRegion<1>:$mask,
      MaxSizedRegion<1>:$normalizer), ownRegions);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
    (`lengths` `(` $keyLengths^ `,` $queryLengths `,` $offset `:` type($keyLengths) `,` type($queryLengths) `,` type($offset) `)`)?
    `outs` `(` $outputs `:` type($outputs) `)` (`state` `(` $state^ `:` type($state) `)`)?
    `results` $results `normalize` `` $normalize
    attr-dict-with-keyword
    (`query` $queryMap^)? (`key` $keyMap^)? (`value` $valueMap^)?
    `kappa` $kappa (`mask` $mask^)? (`normalizer` $normalizer^)?
  }] # ownFormat;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The row type after f_Q, f_K, f_V (0, 1, 2).
    ::attn::RowType getMappedRow(unsigned role);
    /// The memory a result is written to, or null if it was not asked for.
    ::mlir::Value getOutput(::attn::Result kind);
    bool wants(::attn::Result kind) { return static_cast<bool>(getOutput(kind)); }
    /// The value yielded for a term of the normaliser, or null.
    ::mlir::Value getTerm(::attn::NormalizerTerm term);
  }] # ownDeclarations;
}

def Attn_AttentionOp : Attn_AttentionLike<"attention"> {
  let summary = "kernel attention: o_i = sum_j kappa_ij v_j / sum_j kappa_ij";
  let description = [{
    kappa_ij = kappa(f_Q(q_i), f_K(k_j); theta, i, j) over the keys that the mask
    lets query i see; `normalize<none>` leaves the sum undivided.

    Operands: query [B,Hq,Nq,D], key [B,Hk,Nk,D'], value [B,Hk,Nk,Dv] of any
    strides; the optional lengths `key_lengths[B]`, `query_lengths[B]`, `offset` [1] or [B]
    (memrefs of extent 0 mean: not given, S1); outputs, one a name in `results`:
    o [B,Hq,Nq,Dv], mass, lse, max, entropy [B,Hq,Nq] f32, argmax [B,Hq,Nq] i32,
    weights [B,Hq,Nq,Nk] f32. Parameters are ordinary memrefs that the regions read
    (`memref.load`, `attn.row`, `attn.project`).

    Regions: `query`, `key`, `value` map one row to one row (absent: the identity;
    f_Q may use `attn.index i`, the others `j`); `kappa` takes the mapped rows of q
    and k and yields f32; `mask` takes nothing and yields i1 (absent: all see all);
    `normalizer` takes nothing and yields one f32 a name in `terms` (delta, floor, sink).

    Constraints: (results) names are unique and match the outputs in number and type;
    (terms) match the normaliser's yields, and stand only under `mass`; (region signature).

    ```mlir
    attn.attention ins(%q, %k, %v : !m, !m, !m) outs(%o : !m) results [#attn.result<o>] normalize<mass> kappa {
    ^bb0(%a: !attn.row<64xf32>, %b: !attn.row<64xf32>):
      %s = attn.dot %a, %b : !attn.row<64xf32>, !attn.row<64xf32>
      %w = math.exp %s : f32
      attn.yield %w : f32
    }
    ```
  }];
}

def Attn_QuadraticOp : Attn_AttentionLike<"quadratic"> {
  let summary = "attention by the quadratic schedule: tiles of queries against tiles of keys";
  let description = [{
    The meaning of `attn.attention`, and the decision to sum over keys last.
    Under a gauge (S6) its kappa region yields two values, an exponent and a factor:
    kappa = 2^exponent * factor, and the running maximum of the exponent is kept.
    Constraint (decided): carries a licence and a schedule of quadratic order.
  }];
}

def Attn_LinearOp : Attn_AttentionLike<"linear",
    (region MaxSizedRegion<1>:$queryFeatures, MaxSizedRegion<1>:$keyFeatures, MaxSizedRegion<1>:$decay),
    [{ (`query_features` $queryFeatures^)? (`key_features` $keyFeatures^)? (`decay` $decay^)? }],
    [{
    /// Channels of phi.
    int64_t getRank();
    /// Whether the state comes from the caller and goes to the caller.
    bool isRecurrent() { return getSchedule()->getOrder() == ::attn::Order::Recurrent; }
    /// Sums of keys that differ by query head, and have a state each.
    bool hasStatePerQueryHead();
  }]> {
  let summary = "attention by the linear schedule: phi(q) (sum_j phi(k_j) v_j^T)";
  let description = [{
    The meaning of `attn.attention` for a kernel that is a dot of feature rows, and the
    decision to sum over keys first: S = sum phi(k) v^T and z = sum phi(k) pass from tile to
    tile, o = phi(q) S / phi(q) z.

    `kappa` is the whole kernel, of the rows that f_Q and f_K make, split under a gauge as
    that of `attn.quadratic` is: pairs inside a tile of an ordered scan are computed by it, for what
    features cancel is lost in their dot. `query_features` and `key_features` map the same rows to
    phi(q) and phi(k), of one length (absent, both: f_Q and f_K end in phi). `decay` yields an exponent
    e(i) - e(j) where the kernel decays: kappa = phi(q).phi(k) exp(e(i) - e(j)).

    `state` is a workspace for the sums where the mask lets all
    queries see the same keys (`linear = whole`), of kStateParts parts of Dv rows of S and one
    of z. In the recurrent order it is two arrays of the caller's, the sums before the call's tokens and
    after them: Dv rows of S, one of z, and one that begins with the number of tokens summed, as n mod 2^20
    and n / 2^20. Keys and queries then stand at the number of tokens before plus their index, and
    a decaying state is relative to the next position. Both may be the same memory.

    Constraints: (decided) carries a licence for the linear order and a schedule of it;
    (feature rows) the feature regions stand together and yield rows of one length;
    (state) one array for `whole`, none for `ordered`, two for the recurrent order.

    ```mlir
    attn.linear ins(...) ... kappa {
    ^bb0(%a: !attn.row<8xf32>, %b: !attn.row<8xf32>):
      %s = attn.dot %a, %b : !attn.row<8xf32>, !attn.row<8xf32>
      %w = arith.mulf %s, %s : f32
      attn.yield %w : f32
    } query_features {
    ^bb0(%a: !attn.row<8xf32>):
      %p = attn.power %a, 2 : !attn.row<8xf32>
      attn.yield %p : !attn.row<36xf32>
    } key_features { ... }
    ```
  }];
}

def Attn_RowsOp : Attn_Op<"rows", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "evaluate row maps once a row, ahead of attention";
  let description = [{
    For every (b, h, j) the region takes row j of the input and yields rows and f32
    scalars, one an output: rows go to [B,H,N,n], scalars to [B,H,N]. Made from f_K, f_V
    and the key-side rows inside kappa, so that they are computed once and not once a
    query tile. `attn.index j` is the row's position.
    Constraint (region signature).
    Example: `attn.rows %k into %w : !m, !w { ^bb0(%x: !attn.row<64xf32>): ... attn.yield %y : !attn.row<64xf32> }`.
  }];
  let arguments = (ins AnyMemRef:$input, Variadic<AnyMemRef>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$input `into` $outputs attr-dict `:` type($input) `,` type($outputs) $body";
  let hasVerifier = 1;
}

#endif // ATTN_OPS_TD
