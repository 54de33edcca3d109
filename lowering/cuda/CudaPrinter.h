//===- CudaPrinter.h - tile loops as CUDA C++ -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints one stage, as LegalizeForCuda left it: tile operations as calls of
// prelude/Tiles.h, scalars as C expressions. Reads the IR and changes nothing;
// an operation that has no form is a diagnostic at its place.
//
// There is no EmitC in between: tile operations are calls already, and what
// makes the text readable (names from the roles of values, expressions, regions
// as lambdas at their place) is printing, which EmitC's values would only hide.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CUDA_CUDAPRINTER_H
#define ATTN_LOWERING_CUDA_CUDAPRINTER_H

#include "lowering/CudaTarget.h"
#include "lowering/cuda/Launch.h"
#include "lowering/cuda/ScalarText.h"

#include "llvm/ADT/StringSet.h"
#include <map>
#include <set>

namespace attn {

/// A product of four warps: 64 queries by groups of 8 columns.
struct GroupProduct {
  int64_t columnGroups;
  bool fromRegisters; ///< the left factor; else it is in shared memory
  bool half;          ///< f16; else bf16
  bool operator<(const GroupProduct &other) const {
    return std::tie(columnGroups, fromRegisters, half) <
           std::tie(other.columnGroups, other.fromRegisters, other.half);
  }
};
/// Its function, for the prelude's device half.
std::string groupProductText(const GroupProduct &product);

/// What the kernels of a file have in common.
struct CudaFile {
  const CudaLevel &level;
  llvm::StringSet<> reserved;      ///< names that are not used
  int64_t queries = 0;             ///< in a tile, which says how many threads
  llvm::StringSet<> tables;        ///< names of constants it has already
  std::set<GroupProduct> products; ///< that its kernels call
};

/// Prints one stage function.
class CudaPrinter {
public:
  CudaPrinter(mlir::func::FuncOp stage, CudaFile &file);
  /// How many queries the tiles of a stage have; 0 where there are none.
  static int64_t queriesOf(mlir::func::FuncOp stage);
  /// Appends the kernel to `source`; describes its launch.
  mlir::LogicalResult print(std::string &source, LaunchStage &launch);

private:
  using Values = llvm::SmallVector<mlir::Value>;

  // CudaPrinter.cpp: statements and control flow.
  mlir::LogicalResult printBlock(mlir::Block &block);
  mlir::LogicalResult printOp(mlir::Operation &op);
  mlir::LogicalResult printFor(mlir::scf::ForOp op);
  mlir::LogicalResult printIf(mlir::scf::IfOp op);
  mlir::LogicalResult printScalar(mlir::Operation &op);
  std::optional<Text> conditional(mlir::scf::IfOp op);
  std::optional<Text> expression(mlir::Operation &op);
  std::optional<Text> inlined(mlir::Block &block);
  void assign(llvm::ArrayRef<std::string> variables, mlir::ValueRange values);
  void line(const llvm::Twine &text);

  // CudaPrintKernel.cpp: the grid and the entry.
  mlir::LogicalResult printGrid(mlir::scf::ForallOp grid, LaunchStage &launch);
  std::optional<Formula> formula(mlir::Value v);

  // CudaIntegers.cpp: how wide whole numbers are.
  /// Where v, or the elements of a tile, lie; infinite where unknown.
  struct Range {
    double low, high;
  };
  Range rangeOf(mlir::Value v);
  Range rangeOf(mlir::Operation *op);
  bool isNarrow(mlir::Value v) {
    Range range = rangeOf(v);
    return range.low >= -2147483648. && range.high <= 2147483647.;
  }
  /// Whether every whole number of the region fits 32 bits.
  bool isNarrow(mlir::Region &region);
  /// The type of a tile's elements in C.
  llvm::StringRef elementType(mlir::Value tile);

  // CudaNames.cpp: names, parameters, memory.
  std::string unique(llvm::StringRef wanted);
  std::string nameFor(mlir::Value v);
  std::string nameForTile(mlir::Value v);
  ArgAttr argOf(mlir::Value memory);
  std::string arrayName(mlir::Value memory);
  std::string parameter(LaunchParameter::Kind kind, mlir::Value memory,
                        unsigned axis);
  Text extent(mlir::Value memory, unsigned axis);
  Text stride(mlir::Value memory, unsigned axis);
  /// The address of memory[indices], the last axes left at 0.
  std::string address(mlir::Value memory, mlir::ValueRange indices);
  std::string element(mlir::Value memory, mlir::ValueRange indices);
  /// The text of a scalar or of a tile that was printed.
  Text of(mlir::Value v);

  // CudaPrintTiles.cpp: tile operations.
  mlir::LogicalResult printTile(mlir::Operation &op);
  mlir::LogicalResult printContract(tile::ContractOp op);
  mlir::LogicalResult printMap(tile::MapOp op);
  mlir::LogicalResult printLambda(tile::MapOp op, const std::string &head,
                                  bool withInputs, llvm::StringRef tail);
  mlir::LogicalResult declareTile(mlir::Value v, const llvm::Twine &text);
  std::string typeText(mlir::Value tile);

  // CudaPrintMemory.cpp: loads, stores, shared memory.
  mlir::LogicalResult printLoad(tile::LoadOp op);
  bool isAhead(tile::LoadOp op);
  mlir::LogicalResult printLoadAhead(tile::LoadOp op, const std::string &from);
  mlir::LogicalResult printStore(tile::StoreOp op);
  std::string rowsType(mlir::Value rows);
  int64_t rowsBytes(mlir::Value rows);
  std::string rows(mlir::Value v, llvm::StringRef wanted, mlir::Value memory);
  int64_t scratch(int64_t bytes, int64_t alignment = 16);
  /// Waits for what `op` reads and has not arrived yet.
  void arriveFor(mlir::Operation &op);
  /// Rows of queries that have arrived, as an operand of the matrix unit.
  void declareOperand(mlir::Value v);

  // CudaWarpGroups.cpp: which products four warps compute together.
  bool isGroupProduct(tile::ContractOp op);
  bool liesInCores(mlir::Value rows);
  void findCores();

  // CudaPrintFeatures.cpp: features of the linear order and sums of them.
  mlir::LogicalResult printFeatureMap(tile::MapOp op);
  mlir::LogicalResult printStateMap(tile::MapOp op);
  mlir::LogicalResult printKeyMap(tile::MapOp op);
  mlir::LogicalResult printFeatureMask(tile::MaskOp op);
  mlir::LogicalResult printStateLoad(tile::LoadOp op);
  mlir::LogicalResult printStateNumber(mlir::memref::StoreOp op);
  mlir::LogicalResult printAbsorb(tile::ContractOp op);
  mlir::LogicalResult printMassContract(tile::ContractOp op);
  void statePlace(mlir::Value v, mlir::Value memory);
  std::string featurePlace(mlir::Value v, mlir::Operation *op,
                           llvm::StringRef wanted);

  // CudaPrintMemory.cpp: what threads write into shared memory for one another.
  void barrier();
  void forgetTouched();
  void reads(mlir::Operation &op);
  void writes(llvm::StringRef place);

  // CudaPrintRows.cpp: row maps.
  mlir::LogicalResult printRows(tile::RowsOp op);
  mlir::LogicalResult printRowOp(mlir::Operation &op, int64_t queries);
  mlir::LogicalResult printRowLoop(tile::RowsOp op, mlir::ValueRange wanted,
                                   llvm::function_ref<void()> store);
  int64_t keep(int64_t bytes);

  // CudaPrintRandom.cpp: features that all threads make together.
  mlir::LogicalResult printRandom(tile::RowsOp op, RandomFeaturesOp random,
                                  llvm::ArrayRef<std::string> places);
  std::string tableOf(RandomFeaturesOp random);

  mlir::func::FuncOp stage;
  CudaFile &file;
  llvm::StringSet<> taken;
  llvm::DenseMap<mlir::Value, Text> texts;
  llvm::DenseMap<mlir::Value, std::string> arrays;
  std::vector<LaunchParameter> parameters;
  std::map<std::string, std::string> symbols; ///< extents that have a name
  std::string body, tables; ///< of the kernel; constants ahead of it
  bool narrow = false;      ///< inside a region of 32-bit numbers
  llvm::DenseMap<mlir::Value, Range> ranges;
  int indent = 1;
  bool tf32 = false; ///< for products of f32 rows
  /// Some rows lie in cores; and some of these are not copied but stored.
  bool hasCores = false, storesCores = false;
  int64_t tileQ = 0, sharedBytes = 0;
  /// Where the rows of a memory lie; tiles of disjoint loops share the place.
  std::map<std::pair<const void *, std::string>, std::string> places;
  size_t placesEnd = 0; ///< in `body`, where the next place is declared
  /// Rows whose copies were begun, in order.
  Values pending;
  llvm::DenseMap<mlir::Value, std::string> operands;
  bool copiesAhead = false; ///< some may be under way when the loops end
  /// Names of the places that values lie in; and of those, what was touched
  /// since the last barrier, and whether it was written.
  llvm::DenseMap<mlir::Value, std::string> placeOf;
  llvm::StringMap<bool> touched;
  llvm::StringSet<> readHere; ///< by this operation and no other
  bool isUnknown = false;     ///< what was touched; as where control flow joins
  /// Features that were made, in the order of their places.
  std::vector<std::pair<mlir::Value, std::string>> features;
  /// Scratch of row maps, (offset, bytes), and how many the present one took.
  std::vector<std::pair<int64_t, int64_t>> kept;
  size_t keptUsed = 0;
  /// Where the rows lie that all threads have made together.
  llvm::DenseMap<mlir::Value, std::string> madeTogether;
  /// Functions that a state is still to be passed through.
  llvm::DenseMap<mlir::Value, std::string> carried;
  /// What is printed once rows have arrived.
  llvm::DenseMap<mlir::Value, std::function<void()>> whenArrived;
};

/// Sums of keys' features times values: they lie in shared memory, too.
inline bool isState(tile::TileType t) { return t.has('r') && t.has('e'); }
/// Rows of features, of queries or keys.
inline bool isFeatures(tile::TileType t) {
  return t.rank() == 2 && t.has('r') && !t.has('e');
}
/// Whether a tile is rows, which lie in shared memory.
inline bool isRows(tile::TileType t) {
  return t.has('d') || (t.has('k') && t.has('e')) || isFeatures(t);
}
inline bool is16Bit(tile::TileType t) {
  return t.getElementType().isBF16() || t.getElementType().isF16();
}
/// Whether the weights of a product of weights and values are rounded to the
/// type of the values.
bool isRounded(tile::ContractOp op);
/// Elements of a row in shared memory, in groups of 8 columns.
inline int64_t columnGroups(int64_t length) { return (length + 15) / 16 * 2; }

} // namespace attn

#endif // ATTN_LOWERING_CUDA_CUDAPRINTER_H
