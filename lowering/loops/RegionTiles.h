//===- RegionTiles.h - kernel regions as tiles ------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place where kappa, mask and normaliser become tile operations. Every
// scalar is computed where its axes put it: once a work item, once a query,
// once a key, or once a pair; only the last stands in the inner loop.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_LOOPS_REGIONTILES_H
#define ATTN_LOWERING_LOOPS_REGIONTILES_H

#include "dialect/attn/Axes.h"
#include "lowering/loops/TileBuilder.h"
#include "mlir/IR/IRMapping.h"

namespace attn {

/// What `attn.index` stands for in a work item.
struct Coordinates {
  mlir::Value batch, head, kvHead, nq, nk;
  /// Where the queries of a tile are of several heads: a tile of their heads.
  /// The last argument of each region stands for the head then.
  mlir::Value heads;
};

/// The region `map` (empty: the identity) on every row of a tile.
mlir::Value emitRowMap(TileBuilder &b, mlir::Region &map, mlir::Value rows,
                       mlir::Value positions, const Coordinates &at);

/// Tiles for the values of one region of attention.
class RegionTiles {
public:
  RegionTiles(TileBuilder &b, mlir::Region &region, const Coordinates &at,
              int64_t tileQ, int64_t tileK,
              Products products = Products::Numbers);

  /// Computes, at the builder's place, what needs no key: uniform scalars, the
  /// query rows and scalars that pairs use. `rows` is the loaded tile of
  /// queries (null where the region has no rows), `queryMap` is f_Q,
  /// `positions` the tile of p_i.
  mlir::LogicalResult enterQuery(mlir::Value rows, mlir::Region *queryMap,
                                 mlir::Value positions);
  /// Computes what a tile of keys adds. `key` is the memory of block argument
  /// 1, whose derived rows were hoisted, or its tile; `j0` the first key,
  /// `positions` the tile of j. Rows are those of keys below `end`.
  mlir::LogicalResult enterKeys(mlir::Value key, mlir::Value j0,
                                mlir::Value positions, mlir::Value end);

  /// The uniform scalar v, computed by enterQuery.
  mlir::Value uniform(mlir::Value v) { return uniforms.lookupOrDefault(v); }
  AxesOf &axes() { return axesOf; }

  /// The tile of a value of pairs: one that is at hand, or a map.
  mlir::Value pairs(mlir::Value root);
  /// A tile.map over (q, k) of `result` element type: `roots` are evaluated at
  /// every pair, `extra` tiles are passed beside them, `finish` makes the
  /// result from both.
  mlir::Value
  mapPairs(mlir::ValueRange roots, mlir::ValueRange extra, mlir::Type element,
           llvm::function_ref<mlir::Value(mlir::ValueRange, mlir::ValueRange)>
               finish);

private:
  static bool readsRows(mlir::Operation *op);
  mlir::Value headArgument();
  bool isReadAtKey(mlir::ValueRange indices);
  // RegionMaps.cpp.
  bool isLeaf(mlir::Value v, Axes level);
  mlir::FailureOr<mlir::Value> leafTile(mlir::Value v);
  mlir::Value
  mapAt(Axes level, mlir::ValueRange roots, mlir::ValueRange extra,
        tile::TileType type,
        llvm::function_ref<mlir::Value(mlir::ValueRange, mlir::ValueRange)>
            finish);
  void emitScaled(mlir::Operation *op, mlir::IRMapping &map,
                  mlir::Operation *mapOp);
  // RegionTiles.cpp.
  mlir::LogicalResult makeRows(Axes side, mlir::Value rows,
                               mlir::Region *sideMap, mlir::Value positions);
  mlir::FailureOr<mlir::Value> keyRow(mlir::Value v);
  // RegionPairs.cpp.
  mlir::FailureOr<mlir::Value> pairTile(mlir::Operation *op);
  mlir::Value distanceAddend(SqDistOp op);
  mlir::Operation *uniformScaling(DotOp op);
  mlir::Value scaledRows(mlir::Value rows, mlir::Operation *scaling);
  mlir::Value storedRows(mlir::Value rows);

  TileBuilder &b;
  mlir::Region &region;
  Coordinates at;
  int64_t tileQ, tileK;
  Products products;
  AxesOf axesOf;
  mlir::IRMapping uniforms;
  /// Tiles of leaves; those of keys and pairs are made again for every key
  /// tile.
  llvm::DenseMap<mlir::Value, mlir::Value> queryTiles, keyTiles;
  llvm::DenseMap<mlir::Value, mlir::Value> queryNorms, keyNorms;
  /// Query rows that a scaling of their products was folded into.
  llvm::DenseMap<mlir::Operation *, mlir::Value> scaled;
  mlir::Value stored; ///< the query's rows in the type they came from
  mlir::Value queryPositions, keyPositions, keyMemory, firstKey, endOfKeys;
};

} // namespace attn

#endif // ATTN_LOWERING_LOOPS_REGIONTILES_H
