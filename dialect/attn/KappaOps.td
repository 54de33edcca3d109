//===- KappaOps.td - the kernel language ------------------------*- tablegen -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===---------------------------------------------------------------------------===//

#ifndef ATTN_KAPPA_OPS_TD
#define ATTN_KAPPA_OPS_TD

include "AttnBase.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

// Every operation infers its result type, so that a module whose row lengths are
// unknown (`?`) becomes one with known lengths by inferring again.
class Attn_KappaOp<string mnemonic, list<Trait> traits = []>
    : Attn_Op<mnemonic, !listconcat([Pure], traits)>;
class Attn_RowOp<string mnemonic, list<Trait> traits = []>
    : Attn_KappaOp<mnemonic, !listconcat(traits, [DeclareOpInterfaceMethods<InferTypeOpInterface>])>;

def Attn_IndexOp : Attn_KappaOp<"index"> {
  let summary = "a position, a head, a batch or a true length";
  let description = [{
    `attn.index i` is p_i = i + offset, `j` the key's position, `head`, `kv_head`
    and `batch` the coordinates, `nq` and `nk` the true lengths of the sequence (S1).
    Example: `%j = attn.index j`.
  }];
  let arguments = (ins Attn_PositionAttr:$position);
  let results = (outs Index:$result);
  let assemblyFormat = "`` $position attr-dict"; // the attribute brings its space
}

def Attn_DimOp : Attn_KappaOp<"dim"> {
  let summary = "the length of a row";
  let description = [{ Folds to a constant once the length is known. Example: `%n = attn.dim %q : !attn.row<64xf32>`. }];
  let arguments = (ins Attn_RowType:$row);
  let results = (outs Index:$result);
  let assemblyFormat = "$row attr-dict `:` qualified(type($row))";
  let hasFolder = 1;
}

class Attn_PairOp<string mnemonic> : Attn_KappaOp<mnemonic, [Commutative]> {
  let arguments = (ins Attn_RowType:$lhs, Attn_RowType:$rhs);
  let results = (outs F32:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` qualified(type($lhs)) `,` qualified(type($rhs))";
  let hasVerifier = 1;
}
def Attn_DotOp : Attn_PairOp<"dot"> {
  let summary = "inner product of two rows, sum_d a_d b_d";
  let description = [{ Constraint (equal lengths): both rows have the same length.
    Example: `%s = attn.dot %q, %k : !attn.row<64xf32>, !attn.row<64xf32>`. }];
}
def Attn_SqDistOp : Attn_PairOp<"sqdist"> {
  let summary = "squared Euclidean distance of two rows, sum_d (a_d - b_d)^2";
  let description = [{ The sum of squared differences; |a|^2 + |b|^2 - 2 a.b is used
    only where it is accurate (S5). Constraint (equal lengths): both rows have the
    same length. Example: `%r = attn.sqdist %q, %k : !attn.row<64xf32>, !attn.row<64xf32>`. }];
}
def Attn_SqNormOp : Attn_KappaOp<"sqnorm"> {
  let summary = "squared Euclidean norm of a row, sum_d a_d^2";
  let description = [{ Example: `%n = attn.sqnorm %q : !attn.row<64xf32>`. }];
  let arguments = (ins Attn_RowType:$row);
  let results = (outs F32:$result);
  let assemblyFormat = "$row attr-dict `:` qualified(type($row))";
}

def Attn_MapOp : Attn_RowOp<"map"> {
  let summary = "a scalar function of every coordinate of one or more rows of equal length";
  let description = [{
    Region: one f32 argument a row, yields f32; scalars from outside may be used.
    Constraint (equal lengths). Example (elu + 1 would add to the result):
    ```mlir
    %y = attn.map %x : !attn.row<64xf32> {
    ^bb0(%c: f32):
      %e = math.exp %c : f32
      attn.yield %e : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Attn_RowType>:$rows);
  let results = (outs Attn_RowType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$rows attr-dict `:` qualified(type($rows)) $body";
  let hasVerifier = 1;
}
def Attn_UnitOp : Attn_RowOp<"unit"> {
  let summary = "the row divided by its Euclidean norm; a zero row stays zero";
  let description = [{ Example: `%u = attn.unit %x : !attn.row<64xf32>`. }];
  let arguments = (ins Attn_RowType:$row);
  let results = (outs Attn_RowType:$result);
  let assemblyFormat = "$row attr-dict `:` qualified(type($row))";
}
def Attn_ProjectOp : Attn_RowOp<"project"> {
  let summary = "row times matrix: y_c = sum_r x_r W[..., r, c]";
  let description = [{
    The matrix is the last two axes of a parameter, at the leading indices given
    (one an axis that is left). Constraints: (index count), (row count) the row's length is
    the matrix's number of rows.
    Example: `%y = attn.project %x, %W[%h] : !attn.row<64xf32>, memref<?x64x32xf32>`.
  }];
  let arguments = (ins Attn_RowType:$row, AnyMemRef:$matrix, Variadic<Index>:$indices);
  let results = (outs Attn_RowType:$result);
  let assemblyFormat = "$row `,` $matrix `[` $indices `]` attr-dict `:` qualified(type($row)) `,` type($matrix)";
  let hasVerifier = 1;
}
def Attn_ParamRowOp : Attn_RowOp<"row"> {
  let summary = "the last axis of a parameter as a row, at the leading indices given";
  let description = [{ Constraint (index count).
    Example: `%a = attn.row %A[%h] : memref<?x64xf32>`. }];
  let arguments = (ins AnyMemRef:$memory, Variadic<Index>:$indices);
  let results = (outs Attn_RowType:$result);
  let assemblyFormat = "$memory `[` $indices `]` attr-dict `:` type($memory)";
  let hasVerifier = 1;
}
def Attn_RopeOp : Attn_RowOp<"rope"> {
  let summary = "rotary position embedding (Su et al. 2021, eq. 34)";
  let description = [{
    With n = length / 2 and angle_t = position * base^(-t/n), t = 0..n-1, the pair
    (x_t, x_{t+n}), or (x_{2t}, x_{2t+1}) where `interleaved`, is rotated by angle_t.
    Angles are exact to f32 for positions up to 2^24. Constraint (even length).
    Example: `%y = attn.rope %x, %p {base = 10000.0 : f64} : !attn.row<64xf32>`.
  }];
  let arguments = (ins Attn_RowType:$row, F32:$position, F64Attr:$base, UnitAttr:$interleaved);
  let results = (outs Attn_RowType:$result);
  let assemblyFormat = "$row `,` $position attr-dict `:` qualified(type($row))";
  let hasVerifier = 1;
}
def Attn_PowerOp : Attn_RowOp<"power"> {
  let summary = "the symmetric tensor power: dot(power(a, p), power(b, p)) = dot(a, b)^p";
  let description = [{
    Channels are the multisets of p coordinates in lexicographic order, weighted by the root of the
    multinomial coefficient: binom(length + p - 1, p) of them. Constraint
    (positive degree). Example: `%y = attn.power %x, 2 : !attn.row<64xf32>`.
  }];
  let arguments = (ins Attn_RowType:$row, ConfinedAttr<I64Attr, [IntPositive]>:$degree);
  let results = (outs Attn_RowType:$result);
  let assemblyFormat = "$row `,` $degree attr-dict `:` qualified(type($row))";
}
def Attn_ConcatOp : Attn_RowOp<"concat"> {
  let summary = "rows laid end to end";
  let description = [{ Example: `%y = attn.concat %a, %b : !attn.row<64xf32>, !attn.row<32xf32>`. }];
  let arguments = (ins Variadic<Attn_RowType>:$rows);
  let results = (outs Attn_RowType:$result);
  let assemblyFormat = "$rows attr-dict `:` qualified(type($rows))";
}
def Attn_OuterOp : Attn_RowOp<"outer"> {
  let summary = "the flattened tensor product: y_{s m + t} = a_s b_t, m the length of b";
  let description = [{ dot(outer(a, b), outer(c, d)) = dot(a, c) dot(b, d).
    Example: `%y = attn.outer %a, %b : !attn.row<8xf32>, !attn.row<4xf32>`. }];
  let arguments = (ins Attn_RowType:$lhs, Attn_RowType:$rhs);
  let results = (outs Attn_RowType:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` qualified(type($lhs)) `,` qualified(type($rhs))";
}
def Attn_ChannelsOp : Attn_RowOp<"channels"> {
  let summary = "scalars as the coordinates of a row";
  let description = [{ Made by feature maps: a term without a row is one channel.
    Example: `%y = attn.channels %a, %b` is a row of length 2. }];
  let arguments = (ins Variadic<F32>:$values);
  let results = (outs Attn_RowType:$result);
  let assemblyFormat = "$values attr-dict";
}
def Attn_RandomFeaturesOp : Attn_RowOp<"random_features"> {
  let summary = "functions of the products of a row with `count` random rows w_r";
  let description = [{
    With u_r = w_r . x:
    - `positive`: exp(min(u_r - |x|^2/2, 32)); `hyperbolic` adds count channels of -w_r;
    - `stabilised`: exp(u_r - max_s u_s), the same but for a factor that x alone decides;
    - `trigonometric`: cos(u_r), then count channels of sin(u_r);
    - `anchors`: u_r^2.

    The w_r are those of RandomRows.h: normal, or `orthogonal` in blocks with the norms of normal
    rows; of unit norm for `anchors`. They depend on the attributes and on the length of x alone.
    E[dot(positive(x), positive(y))] = count exp(x.y) (Choromanski et al. 2021, lemma 1), and for
    trigonometric count exp(-|x - y|^2/2) (Rahimi and Recht 2007).
    Constraint (kind): `hyperbolic` is of positive and stabilised features.
    Example: `%y = attn.random_features positive %x, 256 {seed = 7 : i64} : !attn.row<64xf32>`.
  }];
  let arguments = (ins Attn_RandomKindAttr:$kind, Attn_RowType:$row,
      ConfinedAttr<I64Attr, [IntPositive]>:$count, I64Attr:$seed,
      DefaultValuedAttr<I64Attr, "0">:$stream, UnitAttr:$orthogonal, UnitAttr:$hyperbolic);
  let results = (outs Attn_RowType:$result);
  let assemblyFormat = "$kind $row `,` $count attr-dict `:` qualified(type($row))";
  let hasVerifier = 1;
}
def Attn_YieldOp : Attn_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "ends a region of this dialect with its values";
  let description = [{ Example: `attn.yield %w : f32`. }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` qualified(type($values)))? attr-dict";
}

#endif // ATTN_KAPPA_OPS_TD
