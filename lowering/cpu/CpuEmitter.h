//===- CpuEmitter.h - tile operations as vector loops -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector lanes are queries, the axis that the grid owns. A tile with that axis
// and another one lies in panels, [panel][x][lane], with as many lanes as fill
// a register block; its neighbours in a contraction are read as they lie in
// memory, one scalar broadcast a time. No key or value is packed and nothing is
// reduced across lanes.
//
// Element-wise operations on pairs are not carried out where they stand: they
// are evaluated, vector by vector, where a reduction or a contraction needs
// them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_CPUEMITTER_H
#define ATTN_LOWERING_CPU_CPUEMITTER_H

#include "lowering/Passes.h"
#include "lowering/Target.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace attn {

/// Where queries are not the lanes, a tile is row-major and has lanes along its
/// last axis: features that no query owns, and all tiles of a row-major grid. A
/// row of a buffer is a whole number of vectors, so that a contraction can also
/// read it scalar by scalar.
///
/// How the value of a tile is at hand.
struct TileForm {
  enum Kind {
    Buffer,    ///< memory: [panels][x][lanes], [x * r], [tileQ] or [tileK]
    View,      ///< rows in the caller's memory: flat memory and a row stride
    Positions, ///< origin + index
    Splat,     ///< one scalar
    Deferred   ///< evaluated where it is needed
  };
  Kind kind = Deferred;
  mlir::Value memory;
  mlir::Value stride; ///< View: elements from row to row
  mlir::Value scalar; ///< Positions: origin (index); Splat: the scalar
  mlir::Value rows;   ///< rows of the key axis that exist, where that is known
  mlir::Value queryRows = {}; ///< the same of queries, where lanes are not
};

/// One vector of a tile.
struct Point {
  mlir::Value panel;  ///< which panel of lanes, or where on the last axis of
                      ///< row-major tiles; null where lanes are keys
  int64_t vector = 0; ///< which vector of the panel
  mlir::Value x;      ///< the coordinate on the other axis, or the first key
};

class RowProducts;

/// Emits one stage function.
class CpuEmitter {
public:
  /// `panels` panels make the tile of queries of a work item; integers in lanes
  /// have `integerBits` bits, 32 or 64.
  /// `level` has the register block of this tile of queries; `featureBlock` is
  /// that of row-major tiles: vectors, and rows of the other operand. Without
  /// panels all tiles are row-major. `matrixUnit`: see the grid's attribute.
  CpuEmitter(mlir::OpBuilder builder, mlir::Location loc, const CpuLevel &level,
             std::pair<int64_t, int64_t> featureBlock, int64_t panels,
             unsigned integerBits, bool matrixUnit, mlir::IRMapping &scalars,
             mlir::Block *entry);

  /// Emits the operations of a block of the tile level, without its terminator.
  mlir::LogicalResult emitBlock(mlir::Block &block);
  /// Unrolls the contraction loops; to be called once, last.
  void finish();

private:
  using Values = llvm::SmallVector<mlir::Value>;

  // CpuEmitter.cpp: operations and loops.
  mlir::LogicalResult emit(mlir::Operation &op);
  mlir::LogicalResult emitFor(mlir::scf::ForOp op);
  mlir::LogicalResult emitIf(mlir::scf::IfOp op);

  // CpuBuffers.cpp.
  /// Memory on the stack of the stage, allocated once.
  mlir::Value reserve(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  /// A buffer for a tile; for the tile `v` of an innermost block, of one panel.
  mlir::Value allocate(tile::TileType type, mlir::Value v = {});
  /// Where the panel lies in a buffer.
  mlir::Value panelIn(mlir::Value memory, mlir::Value panel) {
    return localBuffers.contains(memory) ? index(0) : panel;
  }
  bool isFinished(mlir::Operation *op, mlir::Operation *root,
                  const llvm::SetVector<mlir::Operation *> &tree);
  mlir::Value reusable(mlir::Value leaf, mlir::Value root,
                       const llvm::SetVector<mlir::Operation *> &tree);

  // CpuPanels.cpp.
  mlir::LogicalResult emitPanelByPanel(mlir::Block &block);
  mlir::Value seesAny(tile::MaskOp mask, mlir::Value panel);
  void copyPanel(tile::TileType type, mlir::Value from, mlir::Value to,
                 mlir::Value panel);
  void copy(tile::TileType type, mlir::Value from, mlir::Value to);
  void copyState(mlir::ValueRange next, mlir::ValueRange before,
                 mlir::Value panel);

  // CpuElementwise.cpp: evaluation of deferred operations.
  mlir::Value at(mlir::Value tile, const Point &p);
  mlir::Value evaluate(mlir::Region &body, mlir::ValueRange arguments);
  mlir::Value evaluateOp(mlir::Operation &op,
                         llvm::function_ref<mlir::Value(mlir::Value)> get);
  mlir::Value gather(mlir::memref::LoadOp op,
                     llvm::function_ref<mlir::Value(mlir::Value)> get);
  mlir::Value distance(tile::SqDistOp op, const Point &p);

  // CpuReduce.cpp: loops over vectors.
  struct Tree {
    llvm::SetVector<mlir::Operation *> ops; ///< deferred operations
    llvm::SetVector<mlir::Value> leaves;    ///< tiles at hand
    mlir::Value edge;                       ///< of the masks, or null
    mlir::Value rows;                       ///< keys that exist, or null
    mlir::Value queryRows;                  ///< see TileForm
  };
  Tree treeOf(mlir::ValueRange roots);
  /// A place for what is computed from a tree (CpuBuffers.cpp).
  mlir::Value targetOf(mlir::Value root, const Tree &tree);
  /// Runs `body` once under the masks, where `tree` has any, and once without.
  void underMasks(const Tree &tree, llvm::function_ref<void()> body);
  void preload(const Tree &tree, mlir::Value panel);
  mlir::Value materialize(mlir::Value tile);
  void materializeInto(mlir::Value tile, mlir::Value memory, const Tree &tree);
  mlir::LogicalResult emitReduce(tile::ReduceOp op);
  void emitSqNorm(tile::SqNormOp op);

  // CpuContract.cpp.
  mlir::LogicalResult emitContract(tile::ContractOp op);
  struct Scalars { ///< the operand that is broadcast
    mlir::Value memory, stride;
    bool xIsRow; ///< x counts its rows, the summed axis its columns
    mlir::Value rows;
  };
  using Accumulate = llvm::function_ref<mlir::Value(
      mlir::Value acc, mlir::Value lanes, mlir::Value scalar, mlir::Value c,
      const Point &p)>;
  // CpuAhead.cpp: what the next tile will touch is asked for in time.
  struct Ahead { ///< rows in the caller's memory, from the next tile's first on
    mlir::Value flat, start; ///< the first element of the first row
    mlir::Value stride;
    int64_t rows, width, lineElements;
    bool write;
  };
  struct AheadPlan {
    llvm::SmallVector<Ahead> rows;
    mlir::Value outer; ///< which of `outerCount` times the nest is run
    int64_t outerCount = 1;
    bool eachStep = false; ///< of the sum, else between runs of it
    bool sumsKeys = false; ///< of which there may be few in a tile
  };
  /// Of an operation that is done once in an iteration of an unrolled loop.
  static constexpr llvm::StringLiteral kOnceAttrName = "attn.once";
  /// The plan's share of a step of the sum of a block of rows.
  void askAtStep(const AheadPlan &plan, mlir::Value block, mlir::Value c,
                 int64_t blocks, int64_t extentC, int64_t unroll);
  Ahead rowsAt(mlir::Value memory, mlir::ValueRange at, tile::TileType type);
  AheadPlan planAhead(tile::ContractOp op);
  void askAhead(const AheadPlan &plan, mlir::Value share, int64_t shares);
  /// Rows of keys and values of the next tile, for a contraction that passes by
  /// this tile's.
  llvm::SmallVector<Ahead> keysAhead(tile::ContractOp op);
  /// The rows behind those, where the tile has `rows` keys.
  AheadPlan keysBehind(tile::ContractOp op, mlir::Value rows);
  /// The rows that this tile of queries writes, in the block of their load.
  llvm::SmallVector<Ahead> resultsOf(tile::LoadOp op);
  AheadPlan queriesAhead; ///< of a tile of few queries: the next one's rows
  /// Asks the second-level cache for `count` rows from row `first` on.
  void askForRows(const Ahead &ahead, mlir::Value first, int64_t count);
  /// The rows that lie soon behind those that are read.
  Ahead soonAfter(const Ahead &nextTile);
  /// Whether the vector at that column of a row asks for a line there; rows
  /// begin with lines, or nearly.
  bool asksAt(const Ahead &ahead, int64_t column);
  /// The line of a row that a vector from element `d` on is the first in.
  void askForLine(const Ahead &ahead, mlir::Value row, mlir::Value d);

  /// result[x] = initial(x) + sum_c lanes[c] scalars(x, c), for a panel;
  /// initial is null where it is 0. In blocks of at most `rowBlock` rows, with
  /// `unroll` steps of the sum in an iteration. `plan` is carried out on the
  /// way; c then has `extentC` values, or fewer with `unroll` 1.
  void
  contractPanel(llvm::function_ref<mlir::Value(mlir::Value, int64_t)> lanes,
                int64_t vectors, mlir::Value panel, mlir::Value limitC,
                mlir::Value limitX, int64_t extentX, const Scalars &s,
                llvm::function_ref<mlir::Value(const Point &)> initial,
                llvm::function_ref<void(const Point &, mlir::Value)> done,
                Accumulate accumulate, int64_t rowBlock, int64_t unroll,
                const AheadPlan *plan = nullptr, int64_t extentC = 0);
  mlir::Value isFinite(tile::TileType type, const TileForm &view);
  /// Whether a tile with an edge has numbers that are not finite.
  mlir::Value hidesOdd(mlir::Value edge, tile::TileType type,
                       const TileForm &view);

  // CpuMatrix.cpp, CpuMatrixPacking.cpp: products of bf16 tiles.
  bool isForMatrixUnit(tile::LoadOp load);
  mlir::Value tileBuffer(llvm::ArrayRef<int64_t> shape, bool isPadded);
  void forOverlapping(int64_t extent, int64_t size,
                      llvm::function_ref<void(mlir::Value)> body);
  mlir::Value interleave(mlir::Value first, mlir::Value second);
  void packRows(tile::LoadOp load, const TileForm &view);
  void packColumns(tile::LoadOp load, const TileForm &view);
  void transposeBlocks(mlir::Value packed, const TileForm &view, int64_t width,
                       mlir::Value keys);
  void transposeOneByOne(mlir::Value packed, const TileForm &view,
                         int64_t width, mlir::Value first, bool onlyFinite);
  mlir::Value isOdd(mlir::Value x);
  void packQueries(tile::LoadOp load, mlir::Value buffer);
  mlir::Value packWeights(mlir::Value weights, int64_t keys, mlir::Value panel,
                          mlir::Value existing);
  mlir::Value roundedPairs(mlir::Value first, mlir::Value second);
  void multiplyTiles(mlir::Value rows, mlir::Value pairs,
                     mlir::Value pairsPanel, mlir::Value out,
                     mlir::Value outPanel);
  void multiplyByVectors(
      mlir::Value rows, mlir::Value pairs, mlir::Value pairsPanel,
      mlir::Value count, mlir::Value steps,
      llvm::function_ref<void(mlir::Value x, int64_t v, mlir::Value sum)> done);
  void emitMatrixContract(
      tile::ContractOp op, mlir::Value lanes, mlir::Value rows,
      mlir::Value laneMemory, mlir::Value existing, const Tree &tree,
      mlir::Value target,
      llvm::function_ref<mlir::Value(const Point &)> initial,
      llvm::function_ref<void(const Point &, mlir::Value)> store);

  // CpuConvert.cpp.
  mlir::Value widen(mlir::Value stored);
  mlir::Value narrow(mlir::Value x, mlir::Type storage);
  // CpuRowMajor.cpp: tiles whose lanes run along their last axis.
  bool hasRowLanes(tile::TileType t) const {
    return panels == 0 || (t.has('r') && !t.has('q'));
  }
  /// Elements of a row in a buffer.
  int64_t paddedRow(tile::TileType type) const {
    return llvm::alignTo(type.getShape().back(), level.lanes);
  }
  mlir::Value strideOf(tile::TileType type, const TileForm &form) {
    return form.stride ? form.stride : index(paddedRow(type));
  }
  /// Rows of a tile that exist, as far as that is known.
  mlir::Value rowsOf(tile::TileType type, mlir::Value keys,
                     mlir::Value queries);
  /// Where the vector of a point begins in its row-major memory.
  mlir::Value alongRow(tile::TileType type, const TileForm &form,
                       const Point &p);
  /// The vector of a point of a tile at hand, in a row-major grid.
  mlir::Value atRowMajor(tile::TileType type, const TileForm &form,
                         const Point &p);
  /// A loop over blocks of vectors: first element, vectors.
  void forRowVectors(int64_t elements,
                     llvm::function_ref<void(mlir::Value, int64_t)> body);
  void materializeRows(mlir::Value tile, mlir::Value memory, const Tree &tree);
  mlir::LogicalResult storeRowMajor(tile::StoreOp op);
  void copyRowMajor(tile::TileType type, mlir::Value from, mlir::Value to);
  /// Folds the last axis.
  mlir::LogicalResult emitRowReduce(tile::ReduceOp op);

  // CpuRowContract.cpp, CpuRowDots.cpp, CpuRowSums.cpp: contractions of
  // row-major tiles.
  mlir::LogicalResult emitRowContract(tile::ContractOp op);
  void emitRowDots(tile::ContractOp op);
  void emitRowSums(tile::ContractOp op);
  void emitRowProducts(tile::ContractOp op);
  TileForm asView(mlir::Value tile);
  mlir::Value foldFour(llvm::ArrayRef<mlir::Value> rows);
  mlir::Value foldQuarters(Values rows);
  /// The squared distance of a row of queries and one of keys.
  mlir::Value directDistance(tile::SqDistOp op, mlir::Value query,
                             mlir::Value key);

  // CpuFeatures.cpp: features of keys, and of queries.
  void emitFeatureReduce(tile::ReduceOp op);
  mlir::LogicalResult emitFeatureContract(tile::ContractOp op,
                                          TileForm target = {});
  /// The store that is all that becomes of a sum of features, or null: they are
  /// summed where they are to be.
  tile::StoreOp onlyStore(tile::ContractOp op);
  mlir::LogicalResult emitMassContract(tile::ContractOp op);

  // CpuMemory.cpp.
  void emitLoad(tile::LoadOp op);
  TileForm copyRows(tile::TileType type, mlir::Value flat, mlir::Value stride,
                    mlir::Value rows);
  mlir::LogicalResult emitStore(tile::StoreOp op);
  /// The memory at `indices` as a flat memref, and the stride of its rows.
  std::pair<mlir::Value, mlir::Value>
  flatten(mlir::Value memory, mlir::ValueRange indices, int64_t innerAxes);
  void swapBlocks(Values &rows, int64_t from, int64_t to, int64_t apart);
  /// A matrix of lanes by lanes: row `l` is taken, column `l` is given.
  void transpose(mlir::Type element,
                 llvm::function_ref<mlir::Value(mlir::Value l)> take,
                 llvm::function_ref<void(mlir::Value l, mlir::Value)> give);
  void forLaneBlocks(
      llvm::function_ref<void(mlir::Value, mlir::Value, mlir::Value)> body);

  // CpuRows.cpp.
  mlir::LogicalResult emitRows(tile::RowsOp op);
  mlir::LogicalResult emitKeyRows(tile::RowsOp op);
  /// `lanes` rows from the first on, transposed: coordinates by lanes. Rows
  /// past the last repeat it.
  void transposeRows(
      mlir::Value flat, mlir::Value stride, mlir::Value first, mlir::Value last,
      int64_t depth, llvm::function_ref<void(mlir::Value, mlir::Value)> whole,
      llvm::function_ref<void(mlir::Value, mlir::Value, mlir::Value)> single);
  friend class RowEmitter;
  friend class RowProducts;

  // Sugar.
  template <typename Op, typename... Args> Op make(Args &&...args) {
    return Op::create(b, loc, std::forward<Args>(args)...);
  }
  /// One operation a number: most of what is emitted counts.
  mlir::Value index(int64_t v);
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return b.createOrFold<mlir::arith::AddIOp>(loc, x, y);
  }
  mlir::Value add(mlir::Value x, int64_t y) { return y ? add(x, index(y)) : x; }
  mlir::Value mul(mlir::Value x, mlir::Value y) {
    return b.createOrFold<mlir::arith::MulIOp>(loc, x, y);
  }
  mlir::Value min(mlir::Value x, mlir::Value y) {
    return make<mlir::arith::MinSIOp>(x, y);
  }
  mlir::Value max(mlir::Value x, mlir::Value y) {
    return make<mlir::arith::MaxSIOp>(x, y);
  }
  /// Integers of every width have one width in lanes.
  mlir::IntegerType laneInteger() { return b.getIntegerType(integerBits); }
  mlir::Type laneType(mlir::Type scalar);
  mlir::Value toLaneType(mlir::Value scalar);
  mlir::VectorType vectorOf(mlir::Type scalar);
  mlir::Value dense(double v);
  mlir::Value broadcast(mlir::Value scalar);
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value acc) {
    return make<mlir::vector::FMAOp>(x, y, acc);
  }
  mlir::Value loadVector(mlir::Value memory, mlir::ValueRange indices,
                         mlir::Type scalar = {});
  void storeVector(mlir::Value v, mlir::Value memory,
                   mlir::ValueRange indices) {
    make<mlir::vector::StoreOp>(v, memory, indices);
  }
  /// A loop that carries values; `body` returns the next ones.
  Values loop(mlir::Value lo, mlir::Value hi, int64_t step,
              mlir::ValueRange init,
              llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body,
              int64_t unrollBy = 1);
  void loop(mlir::Value lo, mlir::Value hi, int64_t step,
            llvm::function_ref<void(mlir::Value)> body);
  /// A loop over the panels that hold a query of this work item.
  void forPanels(llvm::function_ref<void(mlir::Value)> body);
  void ifThenElse(mlir::Value condition, llvm::function_ref<void()> then,
                  llvm::function_ref<void()> otherwise);

  static tile::TileType typeOf(mlir::Value v) {
    return mlir::cast<tile::TileType>(v.getType());
  }
  /// Whether the lanes of the tile are queries.
  bool hasLanes(tile::TileType t) const { return panels > 0 && t.has('q'); }
  /// The axis of a tile with lanes that is not the lanes'.
  static char other(tile::TileType t) {
    return t.getAxes()[0] == 'q' ? t.getAxes()[1] : t.getAxes()[0];
  }
  /// Tiles of few queries are soon done with their rows: what comes behind them
  /// in memory is asked for in time. Products with a state ask on the way.
  bool isSoonDone() const {
    return panels * panelLanes() <= 32 && !hasFeatures;
  }
  int64_t panelLanes() const { return level.lanes * level.panelVectors; }

  mlir::OpBuilder b;
  mlir::Location loc;
  const CpuLevel &level;
  std::pair<int64_t, int64_t> featureBlock;
  int64_t panels;
  unsigned integerBits;
  mlir::IRMapping &scalars;
  mlir::Block *entry;
  mlir::Value panelCount;
  mlir::Value currentPanel; ///< inside a loop over panels that is already there
  llvm::DenseSet<mlir::Value> localBuffers; ///< buffers of one panel
  llvm::DenseMap<int64_t, mlir::Value> indices;
  llvm::DenseMap<mlir::Value, TileForm> forms;
  llvm::DenseSet<mlir::Operation *> done;
  llvm::SmallVector<std::pair<mlir::scf::ForOp, int64_t>> unrolls;
  /// Whether products of bf16 rows go through the matrix unit: what it has as
  /// rows and, of (q, d) tiles, as pairs; and the weights of a panel.
  bool matrixUnit;
  llvm::DenseMap<mlir::Value, mlir::Value> matrixRows, matrixPairs;
  mlir::Value weightTiles;
  bool masked = false;
  bool hasFeatures = false; ///< whether the stage is one of the linear order
  char laneAxis = 0;        ///< of what is evaluated in a row-major grid
  /// Of the loads that no contraction has asked ahead for: the rows after.
  llvm::DenseMap<mlir::Operation *, Ahead> loadsAhead;
  /// Vectors of (q) tiles, loaded ahead of a loop over the other axis.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> preloaded;
};

} // namespace attn

#endif // ATTN_LOWERING_CPU_CPUEMITTER_H
