//===- TileOps.td - tiles with named axes -----------------------*- tablegen -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===---------------------------------------------------------------------------===//

#ifndef TILE_OPS_TD
#define TILE_OPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::attn::tile";
  let summary = "how attention is tiled: value-semantics operations on tiles with named axes";
  let description = [{
    What every target and every schedule shares. Axes have names, so there are no
    transposes, roles or layouts here; storage and staging belong to the target.
    Loops are `scf.forall` over what the grid owns and `scf.for` over the rest.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

def Tile_TileType : TypeDef<Tile_Dialect, "Tile"> {
  let mnemonic = "tile";
  let summary = "a value with named axes: !tile.tile<q96, k64, f32>";
  let description = [{
    One letter an axis: q query, k key, d head dim, e value dim, r feature, then its
    extent. Order carries no meaning for layout. Elements are f32 (or a storage
    type), index or i1.
  }];
  let parameters = (ins StringRefParameter<"one letter an axis">:$axes,
      ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool has(char axis) const { return getAxes().contains(axis); }
    int64_t size(char axis) const { return getShape()[getAxes().find(axis)]; }
    unsigned rank() const { return getAxes().size(); }
  }];
}

def Tile_Combine : I32EnumAttr<"Combine", "how a reduction folds", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">]> {
  let cppNamespace = "::attn::tile";
  let genSpecializedAttr = 0;
}
def Tile_CombineAttr : EnumAttr<Tile_Dialect, Tile_Combine, "combine"> {
  let assemblyFormat = "$value";
}

def Tile_LoadOp : Tile_Op<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "rows [row, row + R) of memory[leading indices]";
  let description = [{
    The tile's first axis runs over rows; a second one over the last axis of the
    memory. Rows at or past `limit` are zero and never touched (S2). A tile of f32 widens
    what is stored as bf16 or f16.
    Example: `%k = tile.load %K[%b, %h, %j0] to %nk : memref<?x?x?x64xf32> -> !tile.tile<k64, d64, f32>`.
  }];
  let arguments = (ins AnyMemRef:$memory, Variadic<Index>:$indices, Index:$limit);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$memory `[` $indices `]` `to` $limit attr-dict `:` type($memory) `->` qualified(type($result))";
  let hasVerifier = 1;
}
def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "write a tile to rows [row, row + R) of memory; rows at or past `limit` are not";
  let description = [{ Rounded once to the memory's type. With an index for the last axis too, the tile's second axis starts there, and
    what lies past the memory's end is not written. Example: `tile.store %o, %O[%b, %h, %i0] to %nq : !tile.tile<q96, e64, f32>, memref<?x?x?x64xf32>`. }];
  let arguments = (ins Tile_TileType:$tile, AnyMemRef:$memory, Variadic<Index>:$indices, Index:$limit);
  let assemblyFormat = "$tile `,` $memory `[` $indices `]` `to` $limit attr-dict `:` qualified(type($tile)) `,` type($memory)";
  let hasVerifier = 1;
}
def Tile_SplatOp : Tile_Op<"splat", [Pure]> {
  let summary = "one scalar everywhere";
  let description = [{ Example: `%z = tile.splat %c : f32 -> !tile.tile<q96, f32>`. }];
  let arguments = (ins AnyType:$value);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` qualified(type($result))";
  let hasVerifier = 1;
}
def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "origin, origin + 1, ... along the only axis: positions are ordinary tiles";
  let description = [{ Example: `%i = tile.iota %p0 : !tile.tile<q96, index>`. }];
  let arguments = (ins Index:$origin);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$origin attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}
def Tile_ContractOp : Tile_Op<"contract", [Pure, AttrSizedOperandSegments]> {
  let summary = "acc + einsum(a, b): axes of a and b that acc lacks are summed";
  let description = [{
    Where `edge` holds, a pair that `keep` masks adds exactly nothing, whatever the
    other operand holds there (S2); `keep` is a tile over axes of a (e.g. (q, k)), and the
    contraction then runs over unmasked pairs only. Elsewhere keep is not looked at.
    Example: `%s = tile.contract %q, %k into %z : (!tile.tile<q96, d64, f32>, !tile.tile<k64, d64, f32>, !tile.tile<q96, k64, f32>) -> !tile.tile<q96, k64, f32>`.
  }];
  let arguments = (ins Tile_TileType:$a, Tile_TileType:$b, Tile_TileType:$acc,
      Optional<I1>:$edge, Optional<Tile_TileType>:$keep);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$a `,` $b `into` $acc (`if` $edge^ `keep` $keep)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$a, "::mlir::Value":$b, "::mlir::Value":$acc), [{
    build($_builder, $_state, acc.getType(), a, b, acc, ::mlir::Value(), ::mlir::Value()); }]>];
}
def Tile_MapOp : Tile_Op<"map", [RecursiveMemoryEffects]> {
  let summary = "a scalar region at every point; inputs broadcast over the axes they lack";
  let description = [{
    Region: one scalar an input, of its element type; scalars from outside may be used, and
    `memref.load` of a table at computed indices. One result a yielded scalar, all of one shape.
    Example:
    ```mlir
    %p = tile.map %s, %m : (!tile.tile<q96, k64, f32>, !tile.tile<q96, f32>) -> !tile.tile<q96, k64, f32> {
    ^bb0(%x: f32, %y: f32):
      %d = arith.subf %x, %y : f32
      %e = math.exp2 %d : f32
      tile.yield %e : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_TileType>:$inputs);
  let results = (outs Tile_TileType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$inputs attr-dict `:` functional-type(operands, results) $body";
  let hasVerifier = 1;
}
def Tile_MaskOp : Tile_Op<"mask", [Pure]> {
  let summary = "x where keep, else fill; x itself on tiles that are no edge";
  let description = [{
    `edge` false promises that keep holds everywhere, and the tile is not looked at.
    Example: `%e1 = tile.mask %e if %edge keep %keep else %ninf : !tile.tile<q96, k64, f32>, !tile.tile<q96, k64, i1>`.
  }];
  let arguments = (ins Tile_TileType:$tile, I1:$edge, Tile_TileType:$keep, F32:$fill);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$tile `if` $edge `keep` $keep `else` $fill attr-dict `:` qualified(type($tile)) `,` qualified(type($keep)) `->` qualified(type($result))";
  let hasVerifier = 1;
}
def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "fold the axes that init lacks with add, max or min";
  let description = [{ Example: `%l1 = tile.reduce add %p into %l : !tile.tile<q96, k64, f32>, !tile.tile<q96, f32>`. }];
  let arguments = (ins Tile_CombineAttr:$combine, Tile_TileType:$tile, Tile_TileType:$init);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "`` $combine $tile `into` $init attr-dict `:` qualified(type($tile)) `,` qualified(type($init)) `->` qualified(type($result))";
  let hasVerifier = 1;
}
def Tile_SqNormOp : Tile_Op<"sqnorm", [Pure]> {
  let summary = "squared norm of every row: the sum of squares over the second axis";
  let description = [{ Example: `%n = tile.sqnorm %q : !tile.tile<q96, d64, f32> -> !tile.tile<q96, f32>`. }];
  let arguments = (ins Tile_TileType:$tile);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$tile attr-dict `:` qualified(type($tile)) `->` qualified(type($result))";
  let hasVerifier = 1;
}
def Tile_SqDistOp : Tile_Op<"sqdist", [Pure]> {
  let summary = "guarded squared distance of every pair (S5)";
  let description = [{
    qn + kn - 2 dot, and the sum of squared differences of the rows wherever
    qn + kn - 2 dot + eps <= (qn + kn) / 16, chosen pair by pair: the expanded form loses the
    digits that near pairs need. `eps` is the addend that kappa gives the distance (>= 0).
    Example: `%r = tile.sqdist %s, %qn, %kn, %eps of %q, %k : (...) -> !tile.tile<q96, k64, f32>`.
  }];
  let arguments = (ins Tile_TileType:$dot, Tile_TileType:$queryNorm, Tile_TileType:$keyNorm, F32:$eps,
      Tile_TileType:$query, Tile_TileType:$key);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$dot `,` $queryNorm `,` $keyNorm `,` $eps `of` $query `,` $key attr-dict `:` functional-type(operands, results)";
}
def Tile_CastOp : Tile_Op<"cast", [Pure]> {
  let summary = "convert the elements, to feed a matrix unit or to store";
  let description = [{ Example: `%h = tile.cast %p : !tile.tile<q96, k64, f32> -> !tile.tile<q96, k64, bf16>`. }];
  let arguments = (ins Tile_TileType:$tile);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$tile attr-dict `:` qualified(type($tile)) `->` qualified(type($result))";
}
def Tile_RowsOp : Tile_Op<"rows", [RecursiveMemoryEffects]> {
  let summary = "a row map (attn.unit, attn.rope, ...) on every row of a tile";
  let description = [{
    Region: takes one `!attn.row` (the rows of `tile`, whose first axis counts them) and one
    scalar an extra input (tiles over the same first axis); yields rows and f32 scalars, a result tile each.
    Example: `%y = tile.rows %x(%i) : (!tile.tile<q96, d64, f32>, !tile.tile<q96, index>) -> !tile.tile<q96, d64, f32> { ... }`.
  }];
  let arguments = (ins Tile_TileType:$tile, Variadic<Tile_TileType>:$scalars);
  let results = (outs Variadic<Tile_TileType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$tile `(` $scalars `)` attr-dict `:` functional-type(operands, results) $body";
}
def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "ends a region of this dialect with its values";
  let description = [{ Example: `tile.yield %e : f32`. }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` qualified(type($values)))? attr-dict";
}

#endif // TILE_OPS_TD
