//===- CEntryBuilder.h - builds the C interface of a kernel -----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state that CEntryChecks.cpp (what a caller can get wrong), CEntryCall.cpp
// (a prepared call, and running it) and CpuCEntry.cpp (the pass) share.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_CENTRYBUILDER_H
#define ATTN_LOWERING_CPU_CENTRYBUILDER_H

#include "lowering/cpu/CInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <functional>

namespace attn {

/// The attribute of a function's linkage.
inline constexpr llvm::StringLiteral kLinkage = "llvm.linkage";

/// An extent that several arrays must agree on; `by` is the status without an
/// error of the member that fixed it.
struct CExtent {
  mlir::Value value, fixed, by;
};

/// A member of the struct, checked: its view, and whether it is given.
struct CMember {
  mlir::Value view, given;
};

/// Builds the functions of one interface.
class CEntryBuilder : public mlir::OpBuilder {
public:
  CEntryBuilder(mlir::ModuleOp module, const CInterface &interface)
      : mlir::OpBuilder(module.getContext()), module(module),
        interface(interface), loc(module.getLoc()),
        pointer(mlir::LLVM::LLVMPointerType::get(getContext())),
        types{getI1Type(), getI32Type(), getI64Type(), getF64Type()} {}
  void build();

private:
  // Shorthands.
  template <typename Op, typename... Args> Op make(Args &&...args) {
    return Op::create(*this, loc, std::forward<Args>(args)...);
  }
  mlir::Value flag(bool v) {
    return make<mlir::arith::ConstantOp>(getBoolAttr(v));
  }
  mlir::Value status(CError error, int member = -1) {
    int32_t v = static_cast<int32_t>(error) + 256 * (member + 1);
    return make<mlir::arith::ConstantOp>(getI32IntegerAttr(v));
  }
  mlir::Value word(int64_t v) {
    return make<mlir::arith::ConstantOp>(getI64IntegerAttr(v));
  }
  mlir::Value real(double v) {
    return make<mlir::arith::ConstantOp>(getF64FloatAttr(v));
  }
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::AddIOp>(a, b);
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::SubIOp>(a, b);
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::MulIOp>(a, b);
  }
  mlir::Value both(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::AndIOp>(a, b);
  }
  mlir::Value either(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::OrIOp>(a, b);
  }
  mlir::Value negate(mlir::Value a) {
    return make<mlir::arith::XOrIOp>(a, flag(true));
  }
  mlir::Value select(mlir::Value c, mlir::Value a, mlir::Value b) {
    return make<mlir::arith::SelectOp>(c, a, b);
  }
  mlir::Value is(mlir::arith::CmpIPredicate p, mlir::Value a, mlir::Value b) {
    return make<mlir::arith::CmpIOp>(p, a, b);
  }
  mlir::Value equal(mlir::Value a, mlir::Value b) {
    return is(mlir::arith::CmpIPredicate::eq, a, b);
  }
  mlir::Value differ(mlir::Value a, mlir::Value b) {
    return is(mlir::arith::CmpIPredicate::ne, a, b);
  }
  /// The address `bytes` behind `base`.
  mlir::Value at(mlir::Value base, int64_t bytes) {
    return make<mlir::LLVM::GEPOp>(
        pointer, getI8Type(), base,
        llvm::ArrayRef<mlir::LLVM::GEPArg>{static_cast<int32_t>(bytes)});
  }
  mlir::Value load(mlir::Type type, mlir::Value base, int64_t bytes = 0) {
    return make<mlir::LLVM::LoadOp>(type, at(base, bytes));
  }
  mlir::Value loadWord(mlir::Value base, int64_t n) {
    return load(getI64Type(), base, 8 * n);
  }
  void store(mlir::Value v, mlir::Value base, int64_t bytes = 0) {
    make<mlir::LLVM::StoreOp>(v, at(base, bytes));
  }
  void storeWord(mlir::Value v, mlir::Value base, int64_t n) {
    store(v, base, 8 * n);
  }
  mlir::Value address(mlir::Value p) {
    return make<mlir::LLVM::PtrToIntOp>(getI64Type(), p);
  }
  mlir::Value allocate(int64_t words) {
    return make<mlir::LLVM::AllocaOp>(pointer, getI64Type(), word(words));
  }
  mlir::ValueRange call(llvm::StringRef name,
                        llvm::ArrayRef<mlir::Type> results,
                        mlir::ValueRange operands) {
    return make<mlir::func::CallOp>(name, results, operands).getResults();
  }
  /// `if (condition) then() else otherwise()`, with one result.
  mlir::Value choose(mlir::Value condition, mlir::Type type,
                     const std::function<mlir::Value()> &then,
                     const std::function<mlir::Value()> &otherwise);
  void when(mlir::Value condition, const std::function<void()> &then);
  mlir::func::FuncOp function(llvm::StringRef name,
                              llvm::ArrayRef<mlir::Type> inputs,
                              llvm::ArrayRef<mlir::Type> results,
                              bool exported = false);

  // The parts of `prepare`, in the order in which they run.
  void fail(mlir::Value condition, CError error, int member) {
    mlir::Value bad = both(condition, equal(state, status(CError::None)));
    state = select(bad, status(error, member), state);
  }
  void readMembers(mlir::Value arguments);
  void shareExtents();
  void checkAxis(unsigned n, unsigned axis, CExtent &with, bool broadcasts);
  void checkRows(unsigned n);
  void checkParameter(unsigned n);
  void checkOptional(unsigned n);
  void checkOutput(unsigned n);
  void checkValues(mlir::Value arguments);
  mlir::Value valuesHold(unsigned n);
  void askForTileRegisters();
  mlir::Value countsHold(unsigned n);
  void checkOverlaps();
  mlir::Value rowsOf(const CWorkspace &w) {
    return w.rows ? word(w.rows) : keys.value;
  }
  void measureWorkspaces();
  void checkWorkspace(mlir::Value arguments, mlir::Value prepared);
  void writeCall(mlir::Value arguments, mlir::Value prepared);
  void writeDescriptor(mlir::Value call, unsigned argument, mlir::Value data,
                       llvm::ArrayRef<mlir::Value> shape,
                       llvm::ArrayRef<mlir::Value> strides);
  void writeMember(mlir::Value call, mlir::Value arguments, unsigned n,
                   unsigned argument, ArgKind role);
  void writeWorkspaces(mlir::Value call);

  void buildPrepare();
  mlir::Value pointersOf(mlir::Value call);
  void buildRange();
  void buildWhole();
  void buildForwarders();
  void buildStatusText();

  mlir::Value extentOf(llvm::StringRef axis);
  mlir::Value shapeOf(unsigned n, unsigned axis) {
    return loadWord(members[n].view, 1 + axis);
  }
  mlir::Value strideOf(unsigned n, unsigned axis) {
    return loadWord(members[n].view, 1 + kCRank + axis);
  }

  mlir::ModuleOp module;
  const CInterface &interface;
  mlir::Location loc;
  mlir::Type pointer;
  struct {
    mlir::Type i1, i32, i64, f64;
  } types;

  // While `prepare` is built.
  mlir::Value state; ///< the first error so far
  llvm::SmallVector<CMember> members;
  CExtent batch, queryHeads, keyHeads, queries, keys;
  mlir::Value fullBytes, slotBytes; ///< of the workspace
  mlir::Value isFull, workspaceBase;
};

} // namespace attn

#endif // ATTN_LOWERING_CPU_CENTRYBUILDER_H
