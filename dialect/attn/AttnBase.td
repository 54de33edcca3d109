//===- AttnBase.td - dialect, types and attributes --------------*- tablegen -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===---------------------------------------------------------------------------===//

#ifndef ATTN_BASE_TD
#define ATTN_BASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::attn";
  let summary = "attention as a kernel smoother, and the language its kernels are written in";
  let description = [{
    `o_i = sum_j kappa(f_Q(q_i), f_K(k_j)) v_j / sum_j kappa(...)`. The dialect
    holds what attention means (`attn.attention`), what was decided about it
    (typed attributes, `attn.quadratic`) and the kernel language: operations on
    opaque rows. Scalar arithmetic is upstream `arith` and `math`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
  let hasConstantMaterializer = 1;
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class Attn_Op<string mnemonic, list<Trait> traits = []>
    : Op<Attn_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def Attn_RowType : TypeDef<Attn_Dialect, "Row"> {
  let mnemonic = "row";
  let summary = "one row of Q, K, V or a parameter, opaque to the kernel";
  let description = [{
    `!attn.row<64xf32>`, or `!attn.row<?xf32>` before shapes are known. A kernel
    cannot take a row apart: it may only use the operations that the analyses
    understand. The length is in the type, so unequal lengths are a verifier error.
  }];
  let parameters = (ins "int64_t":$length, "::mlir::FloatType":$elementType);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    bool hasStaticLength() const { return getLength() != ::mlir::ShapedType::kDynamic; }
    RowType withLength(int64_t n) const { return get(getContext(), n, getElementType()); }
  }];
}

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

class Attn_Enum<string name, string text, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, text, cases> {
  let cppNamespace = "::attn";
  let genSpecializedAttr = 0;
}

// `i` is the position p_i = i + offset of the query (S1), never the array index.
def Attn_Position : Attn_Enum<"Position", "a position or an extent that a kernel may ask for", [
    I32EnumAttrCase<"I", 0, "i">, I32EnumAttrCase<"J", 1, "j">,
    I32EnumAttrCase<"Head", 2, "head">, I32EnumAttrCase<"KvHead", 3, "kv_head">,
    I32EnumAttrCase<"Batch", 4, "batch">,
    I32EnumAttrCase<"Nq", 5, "nq">, I32EnumAttrCase<"Nk", 6, "nk">]>;
def Attn_PositionAttr : EnumAttr<Attn_Dialect, Attn_Position, "position"> {
  let assemblyFormat = "$value";
}

def Attn_Normalize : Attn_Enum<"Normalize", "what the weighted sum is divided by", [
    I32EnumAttrCase<"Mass", 0, "mass">, I32EnumAttrCase<"None", 1, "none">]>;
def Attn_NormalizeAttr : EnumAttr<Attn_Dialect, Attn_Normalize, "normalize"> {
  let assemblyFormat = "`<` $value `>`";
}

def Attn_NormalizerTerm : Attn_Enum<"NormalizerTerm", "an addition to the denominator", [
    I32EnumAttrCase<"Delta", 0, "delta">, I32EnumAttrCase<"Floor", 1, "floor">,
    I32EnumAttrCase<"Sink", 2, "sink">]>;
def Attn_NormalizerTermAttr : EnumAttr<Attn_Dialect, Attn_NormalizerTerm, "term"> {
  let assemblyFormat = "`<` $value `>`";
}

def Attn_Result : Attn_Enum<"Result", "a result of attention", [
    I32EnumAttrCase<"O", 0, "o">, I32EnumAttrCase<"Mass", 1, "mass">,
    I32EnumAttrCase<"Lse", 2, "lse">, I32EnumAttrCase<"Max", 3, "max">,
    I32EnumAttrCase<"Argmax", 4, "argmax">, I32EnumAttrCase<"Entropy", 5, "entropy">,
    I32EnumAttrCase<"Weights", 6, "weights">]>;
def Attn_ResultAttr : EnumAttr<Attn_Dialect, Attn_Result, "result"> {
  let assemblyFormat = "`<` $value `>`";
}

def Attn_ArgKind : Attn_Enum<"ArgKind", "what a function argument is bound to", [
    I32EnumAttrCase<"Query", 0, "query">, I32EnumAttrCase<"Key", 1, "key">,
    I32EnumAttrCase<"Value", 2, "value">, I32EnumAttrCase<"Param", 3, "param">,
    I32EnumAttrCase<"KeyLengths", 4, "key_lengths">,
    I32EnumAttrCase<"QueryLengths", 5, "query_lengths">,
    I32EnumAttrCase<"Offset", 6, "offset">, I32EnumAttrCase<"State", 7, "state">,
    I32EnumAttrCase<"Output", 8, "output">, I32EnumAttrCase<"Workspace", 9, "workspace">]>;

def Attn_Verdict : Attn_Enum<"Verdict", "the outcome of a proof", [
    I32EnumAttrCase<"Yes", 0, "yes">, I32EnumAttrCase<"No", 1, "no">,
    I32EnumAttrCase<"Unproven", 2, "unproven">]>;

def Attn_Gauge : Attn_Enum<"Gauge", "which running factor keeps kappa in range (S6)", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Max", 1, "max">]>;

def Attn_FeatureKind : Attn_Enum<"FeatureKind", "how kappa is made a finite sum of products", [
    I32EnumAttrCase<"Taylor", 0, "taylor">, I32EnumAttrCase<"Favor", 1, "favor">,
    I32EnumAttrCase<"Rff", 2, "rff">, I32EnumAttrCase<"Slay", 3, "slay">,
    I32EnumAttrCase<"Maclaurin", 4, "maclaurin">]>;

def Attn_RandomKind : Attn_Enum<"RandomKind", "what is made of the products with random rows", [
    I32EnumAttrCase<"Positive", 0, "positive">, I32EnumAttrCase<"Stabilised", 1, "stabilised">,
    I32EnumAttrCase<"Trigonometric", 2, "trigonometric">, I32EnumAttrCase<"Anchors", 3, "anchors">]>;
def Attn_RandomKindAttr : EnumAttr<Attn_Dialect, Attn_RandomKind, "random"> {
  let assemblyFormat = "$value";
}

def Attn_Order : Attn_Enum<"Order", "the order of the parentheses", [
    I32EnumAttrCase<"Quadratic", 0, "quadratic">, I32EnumAttrCase<"Linear", 1, "linear">,
    I32EnumAttrCase<"Recurrent", 2, "recurrent">]>;

def Attn_Products : Attn_Enum<"Products", "what multiplies rows with rows, and weights with values", [
    I32EnumAttrCase<"Numbers", 0, "numbers">, I32EnumAttrCase<"Pairs", 1, "pairs">,
    I32EnumAttrCase<"Tiles", 2, "tiles">]>;

def Attn_LinearScan : Attn_Enum<"LinearScan", "how the linear order may sum over keys", [
    I32EnumAttrCase<"Refused", 0, "refused">, I32EnumAttrCase<"Whole", 1, "whole">,
    I32EnumAttrCase<"Ordered", 2, "ordered">]>;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class Attn_Attr<string name, string attrMnemonic> : AttrDef<Attn_Dialect, name> {
  let mnemonic = attrMnemonic;
  let assemblyFormat = "`<` struct(params) `>`";
}

def Attn_ArgAttr : Attn_Attr<"Arg", "arg"> {
  let summary = "what the user binds a function argument to, and what was declared about it";
  let description = [{
    Stands on every argument of an attention function under the name `attn.arg`.
    `name` is the name the user knows; for the roles it is the input's name, which
    several roles may share (`q = p; k = p`).
    `axes` (parameters only) holds one string an array axis: "head", "kv_head",
    "batch", the name of a size variable, or a closed range "lo:hi" whose edges are
    integers, size variables, "nq" or "nk", each optionally negated.
    `integer` says that the parameter was declared `int`.
    `relop` and `bound` are the declared bound, e.g. `>=` and 0: an assumption of
    the proofs, checked on every call.
    Example: `#attn.arg<kind = param, name = "b", axes = ["head"], relop = ">=", bound = 0.0 : f64>`.
  }];
  let parameters = (ins EnumParameter<Attn_ArgKind>:$kind, "::mlir::StringAttr":$name,
      OptionalParameter<"::mlir::ArrayAttr">:$axes,
      DefaultValuedParameter<"bool", "false">:$integer,
      OptionalParameter<"::mlir::StringAttr">:$relop,
      OptionalParameter<"::mlir::FloatAttr">:$bound);
}

class Attn_DefaultedEnum<EnumInfo info, string value> : EnumParameter<info> {
  let defaultValue = value;
}

def Attn_LicenceAttr : Attn_Attr<"Licence", "licence"> {
  let summary = "what was proven of kappa";
  let description = [{
    Written by `attn-issue-licence`. `nonnegative` is the verdict on kappa >= 0 and
    `sign_reason` its rule or obstacle; `gauge` says whether a running maximum of the
    exponent is needed and `gauge_reason` why. `linear` says whether phi(Q) (phi(K)^T V) is
    legal: over all keys at once (`whole`), or carried along to where a query stands (`ordered`);
    `rank` is the number of channels of phi, and `linear_reason` what stands against it.
    Text for people is made from these.
  }];
  let parameters = (ins EnumParameter<Attn_Verdict>:$nonnegative,
      OptionalParameter<"::mlir::StringAttr">:$sign_reason,
      EnumParameter<Attn_Gauge>:$gauge,
      OptionalParameter<"::mlir::StringAttr">:$gauge_reason,
      Attn_DefaultedEnum<Attn_LinearScan, "::attn::LinearScan::Refused">:$linear,
      DefaultValuedParameter<"int64_t", "0">:$rank,
      OptionalParameter<"::mlir::StringAttr">:$linear_reason);
}

def Attn_KeySplitAttr : Attn_Attr<"KeySplit", "key_split"> {
  let summary = "keys that are split over work items, for few queries";
  let description = [{
    The keys of a sequence are split over at most `parts` work items, and the queries of a group of
    heads are rows of one tile; 0: a work item sees all keys. An operation with parts has a state:
    for each query head `parts` + 1 times kFewQueries rows, as long as a mapped query and as a value
    with its mass and gauge. The rows of a group of heads follow each other: its mapped queries, then
    a sum for each of them and for each part.

    Of two operations, the one with parts works on sequences of at most `few_queries` queries (and at
    least `least_keys` keys), the other on the rest; 0: there is no other operation.

    `per_head`: a tile has the queries of one head, as where keys are not split. The state then has,
    for each part, a row of sums for each of at most `few_queries` queries, one of masses and one of
    gauges.
    Example: `#attn.key_split<parts = 16, few_queries = 8>`.
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "0">:$parts,
      DefaultValuedParameter<"int64_t", "0">:$few_queries,
      DefaultValuedParameter<"int64_t", "0">:$least_keys,
      DefaultValuedParameter<"bool", "false">:$per_head);
}

def Attn_ScheduleAttr : Attn_Attr<"Schedule", "schedule"> {
  let summary = "the order of the parentheses and the tile sizes";
  let description = [{
    `order` is written by `attn-choose-order`, the rest by `attn-choose-schedule`: `tile_q` query
    rows stay while tiles of `tile_k` key rows pass by. Where there is an operation of either
    order, one of them works on a sequence: the linear one if
    `pair_cost` nq nk > `row_cost` (nq + nk). Costs of 0: there is no other operation.

    `products`: of f32 `numbers`; or of bf16 rows as they are stored, for which weights are rounded
    to bf16: of `pairs`, by instructions that add two products at once, or of `tiles` that are packed
    for a matrix unit, or for such instructions, and that many queries share. `short_first`: the first tile is the one that is not whole, of queries as of keys. Where
    the mask is causal its few queries see the fewest keys, and tiles of queries end where the
    diagonal leaves a tile of keys. `one_token`: sequences of the recurrent order have at most one
    token a call, and there is no loop that carries their state.
    Example: `#attn.schedule<order = quadratic, tile_q = 96, tile_k = 64, short_first = true>`.
  }];
  let parameters = (ins EnumParameter<Attn_Order>:$order,
      DefaultValuedParameter<"int64_t", "0">:$tile_q, DefaultValuedParameter<"int64_t", "0">:$tile_k,
      DefaultValuedParameter<"int64_t", "0">:$pair_cost,
      DefaultValuedParameter<"int64_t", "0">:$row_cost,
      DefaultValuedParameter<"Products", "Products::Numbers">:$products,
      DefaultValuedParameter<"bool", "false">:$short_first,
      OptionalParameter<"KeySplitAttr">:$split,
      DefaultValuedParameter<"bool", "false">:$one_token);
  let builders = [AttrBuilder<(ins "Order":$order, CArg<"int64_t", "0">:$tileQ,
      CArg<"int64_t", "0">:$tileK, CArg<"int64_t", "0">:$pairCost, CArg<"int64_t", "0">:$rowCost), [{
    return $_get($_ctxt, order, tileQ, tileK, pairCost, rowCost, Products::Numbers, false, KeySplitAttr(), false);
  }]>];
  let extraClassDeclaration = [{
    /// The same, but for what is named.
    ScheduleAttr withTiles(int64_t tileQ, int64_t tileK) const;
    ScheduleAttr withProducts(Products products) const;
    ScheduleAttr withShortFirst(bool shortFirst) const;
    ScheduleAttr withSplit(KeySplitAttr split) const;
    ScheduleAttr withOneToken(bool oneToken) const;
    /// The split, of no parts where there is none.
    KeySplitAttr getKeySplit() const;
  }];
}

def Attn_FeaturesAttr : Attn_Attr<"Features", "features"> {
  let summary = "the feature map that stands in for kappa, as the user asked for it";
  let description = [{
    From `features = NAME(...)`; `attn-apply-features` rewrites kappa and marks it `applied`.
    `order` is of taylor and maclaurin, `count` the random features of favor, rff and of each node of
    slay, `nodes` those of slay's quadrature. `orthogonal` and `hyperbolic` are favor's; `anchors` says
    that slay estimates the square too. `seed` makes the random rows. `sign_reason`: the theorem by
    which the applied kappa is non-negative, where the ranges do not show it.
    Constraint (arguments): those of the kind are positive, the others are not given.
    Example: `#attn.features<kind = favor, count = 256, seed = 7, orthogonal = true>`.
  }];
  let parameters = (ins EnumParameter<Attn_FeatureKind>:$kind,
      DefaultValuedParameter<"int64_t", "0">:$order, DefaultValuedParameter<"int64_t", "0">:$count,
      DefaultValuedParameter<"int64_t", "0">:$nodes, DefaultValuedParameter<"int64_t", "0">:$seed,
      DefaultValuedParameter<"bool", "false">:$orthogonal,
      DefaultValuedParameter<"bool", "false">:$hyperbolic,
      DefaultValuedParameter<"bool", "false">:$anchors,
      DefaultValuedParameter<"bool", "false">:$applied,
      OptionalParameter<"::mlir::StringAttr">:$sign_reason);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The same, applied.
    FeaturesAttr asApplied(::llvm::StringRef signReason);
  }];
}

def Attn_TargetAttr : Attn_Attr<"Target", "target"> {
  let summary = "the machine the module is compiled for";
  let description = [{
    Stands on the module under the name `attn.target`. `kind` is `cpu` (later
    `cuda`), `level` a row of the target's table (`x86-64-v3`, ...); `lanes` is the
    number of f32 lanes of its vectors. `fast_math` allows arithmetic that gives up
    digits and special values (attn-expand-vector-math says which).
    Example: `#attn.target<kind = "cpu", level = "x86-64-v3", lanes = 8>`.
  }];
  let parameters = (ins "::mlir::StringAttr":$kind, "::mlir::StringAttr":$level, "int64_t":$lanes,
      DefaultValuedParameter<"bool", "false">:$fast_math);
}

#endif // ATTN_BASE_TD
