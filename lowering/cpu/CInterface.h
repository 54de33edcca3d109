//===- CInterface.h - a kernel as C programmers see it ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C interface of an ahead-of-time kernel: the members of its argument
// struct with their places, and what can be wrong with each. Two read it and
// must agree: attn-cpu-c-entry, which makes the code, and the header's writer.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_CINTERFACE_H
#define ATTN_LOWERING_CPU_CINTERFACE_H

#include "dialect/attn/Attn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// The name under which the signature stands on a module, see `setCInterface`.
inline constexpr llvm::StringLiteral kCInterfaceAttrName = "attn.c_interface";
/// The name of a kernel whose module holds modules of levels, see
/// attn-cpu-dispatch.
inline constexpr llvm::StringLiteral kDispatchAttrName = "attn.dispatch";
/// Marks the words of a prepared call; plus the number of the level, from 0.
inline constexpr int64_t kCMarker = 0x6174746e63616c6c; // "attncall"

/// What is wrong with an argument; the low 8 bits of a status. The others are
/// 1 + the number of the member, or 0 for the call as a whole.
enum class CError : int32_t {
  None,
  Null,
  Alignment,
  Extent,
  Shape,
  Strides,
  Heads,
  Value,
  Overlap,
  Workspace,
  Range,
  Order,
  Machine
};
inline constexpr int32_t kCErrors = 13;
/// ATTN_NULL, ... and what it means in a sentence.
llvm::StringRef cErrorName(CError error);
llvm::StringRef cErrorMeaning(CError error);

/// Every array of the interface: { data, shape[4], strides[4] }.
inline constexpr int64_t kCRank = 4;
inline constexpr int64_t kCViewBytes = 8 * (1 + 2 * kCRank);
/// The largest extent and the largest position, so that positions fit 32 bits.
inline constexpr int64_t kCExtentLimit = int64_t(1) << 30;
/// A workspace of more bytes is asked for one (batch, key head) at a time.
inline constexpr int64_t kCWorkspaceLimit = int64_t(16) << 20;

/// The extent of a table axis: constant + nq * Nq + nk * Nk, at least 0.
struct CTable {
  int64_t constant = 0, nq = 0, nk = 0;
};

/// A member of the argument struct.
struct CField {
  enum Element { F32, BF16, F16, I32, I64 } element = F32;
  ArgKind kind = ArgKind::Param;         ///< of the first of `arguments`
  std::string name;                      ///< as in the spec
  std::string field;                     ///< as in C
  llvm::SmallVector<unsigned> arguments; ///< of the function; roles may share
  llvm::SmallVector<ArgKind> roles;      ///< their kinds
  unsigned rank = 0;
  bool scalar = false;                             ///< a number, no array
  llvm::SmallVector<std::string> axes;             ///< of a parameter
  llvm::SmallVector<int64_t> extents;              ///< static ones, or kDynamic
  llvm::SmallVector<std::optional<CTable>> tables; ///< of table axes
  bool integer = false;
  std::string relop;
  double bound = 0;
  int64_t offset = 0; ///< in bytes

  int64_t elementBytes() const {
    return element == I64 ? 8 : element == BF16 || element == F16 ? 2 : 4;
  }
  /// Of a kernel that goes on from a state: axis 2 counts the call's tokens.
  bool perToken = false;

  /// A state is read and written in place.
  bool isState() const { return kind == ArgKind::State; }
  bool isOutput() const { return kind == ArgKind::Output || isState(); }
  bool isOptional() const {
    return kind == ArgKind::KeyLengths || kind == ArgKind::QueryLengths ||
           kind == ArgKind::Offset;
  }
  bool isRows() const { return kind <= ArgKind::Value; }
  /// `[B, Hk, Nk, 64]`; empty for a scalar.
  std::string shapeText() const;
  /// `B`, `Hk`, `64`: one of them.
  std::string axisText(unsigned axis) const;
  /// The declared bound and range as words, or empty.
  std::string valueText() const;
  /// What an error of this kind says about this member.
  std::string errorText(CError error) const;
};

/// A workspace argument: f32 [B, Hk, Nk, row], or [B, Hk, Nk] without a row;
/// Hq instead of Hk where it depends on the query head.
struct CWorkspace {
  unsigned argument = 0, rank = 0;
  int64_t row = 1;
  int64_t rows = 0; ///< instead of Nk; 0: Nk
  bool perQueryHead = false;
};

/// The interface of one kernel.
struct CInterface {
  std::string name;   ///< the prefix of all C names
  std::string kernel; ///< the prefix of the stages' entries
  std::vector<CField> fields;
  llvm::SmallVector<CWorkspace> workspaces;
  llvm::SmallVector<unsigned> ranks; ///< of all arguments of the function
  bool isRecurrent = false; ///< has a state, and a query and a key a token
  int64_t stages = 0;
  int64_t level = 0; ///< the place among the levels of the object
  int64_t workspaceOffset = 0, workspaceSizeOffset = 0; ///< in the struct

  /// The words of a prepared call: marker, parts, items done, items of a part a
  /// stage, the scalars, the descriptors of the arrays.
  enum Word { Marker, Parts, Done, Items };
  int64_t descriptorWord(unsigned argument) const;
  int64_t callWords() const { return descriptorWord(ranks.size()); }

  /// `head_stride * heads ...`: the formula of the full workspace, for people.
  std::string workspaceText() const;
  std::string othersText(int field) const;
  /// The text of a status of member `field` (-1: of the call as a whole).
  std::string statusText(int field, CError error) const;
};

/// The attribute that keeps what a function is called with, until the stages'
/// C entries are made: { name, kernel, type, arguments, sizes, level }. `sizes`
/// are the values of the size variables, `level` is CInterface's.
void setCInterface(mlir::ModuleOp module, mlir::func::FuncOp function,
                   llvm::StringRef name,
                   llvm::ArrayRef<std::pair<std::string, int64_t>> sizes,
                   int64_t level = 0);

/// Reads the attribute, and the number of stages of a lowered module; a
/// diagnostic where the function cannot be called from C.
mlir::FailureOr<CInterface> readCInterface(mlir::ModuleOp module);

} // namespace attn

#endif // ATTN_LOWERING_CPU_CINTERFACE_H
