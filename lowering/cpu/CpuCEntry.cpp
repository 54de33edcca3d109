//===- CpuCEntry.cpp - what a C program calls -----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Around the stages' entries: a function that checks a struct of arguments and
// makes descriptors of it, functions that run a prepared call in one piece or
// by ranges, and one that says what a status means. Written in func, scf and
// arith, which the passes behind lower. What is the same for all kernels is
// MLIR text in CEntryLibrary.inc.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuCEntry.h"
#include "lowering/cpu/CInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"

#include <functional>

using namespace mlir;
using namespace attn;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

static constexpr StringLiteral kLibrary =
#include "lowering/cpu/CEntryLibrary.inc"
    ;

namespace {

/// Marks the words of a prepared call.
constexpr int64_t kMarker = 0x6174746e63616c6c; // "attncall"
constexpr StringLiteral kLinkage = "llvm.linkage";

/// An extent that several arrays must agree on.
struct Extent {
  Value value, fixed;
};

/// A member of the struct, checked: its view, and whether it is given.
struct Member {
  Value view, given;
};

/// Builds the functions of one interface.
class CEntryBuilder : public OpBuilder {
public:
  CEntryBuilder(ModuleOp module, const CInterface &interface)
      : OpBuilder(module.getContext()), module(module), interface(interface),
        loc(module.getLoc()),
        pointer(LLVM::LLVMPointerType::get(getContext())), types{getI1Type(),
                                                                 getI32Type(),
                                                                 getI64Type(),
                                                                 getF64Type()} {
  }
  void build();

private:
  // Shorthands.
  template <typename Op, typename... Args> Op make(Args &&...args) {
    return Op::create(*this, loc, std::forward<Args>(args)...);
  }
  Value flag(bool v) { return make<arith::ConstantOp>(getBoolAttr(v)); }
  Value status(CError error, int member = -1) {
    int32_t v = static_cast<int32_t>(error) + 256 * (member + 1);
    return make<arith::ConstantOp>(getI32IntegerAttr(v));
  }
  Value word(int64_t v) {
    return make<arith::ConstantOp>(getI64IntegerAttr(v));
  }
  Value real(double v) { return make<arith::ConstantOp>(getF64FloatAttr(v)); }
  Value add(Value a, Value b) { return make<arith::AddIOp>(a, b); }
  Value sub(Value a, Value b) { return make<arith::SubIOp>(a, b); }
  Value mul(Value a, Value b) { return make<arith::MulIOp>(a, b); }
  Value both(Value a, Value b) { return make<arith::AndIOp>(a, b); }
  Value either(Value a, Value b) { return make<arith::OrIOp>(a, b); }
  Value negate(Value a) { return make<arith::XOrIOp>(a, flag(true)); }
  Value select(Value c, Value a, Value b) {
    return make<arith::SelectOp>(c, a, b);
  }
  Value is(CmpIPredicate p, Value a, Value b) {
    return make<arith::CmpIOp>(p, a, b);
  }
  Value equal(Value a, Value b) { return is(CmpIPredicate::eq, a, b); }
  Value differ(Value a, Value b) { return is(CmpIPredicate::ne, a, b); }
  /// The address `bytes` behind `base`.
  Value at(Value base, int64_t bytes) {
    return make<LLVM::GEPOp>(
        pointer, getI8Type(), base,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
  }
  Value load(Type type, Value base, int64_t bytes = 0) {
    return make<LLVM::LoadOp>(type, at(base, bytes));
  }
  Value loadWord(Value base, int64_t n) {
    return load(getI64Type(), base, 8 * n);
  }
  void store(Value v, Value base, int64_t bytes = 0) {
    make<LLVM::StoreOp>(v, at(base, bytes));
  }
  void storeWord(Value v, Value base, int64_t n) { store(v, base, 8 * n); }
  Value address(Value p) { return make<LLVM::PtrToIntOp>(getI64Type(), p); }
  Value allocate(int64_t words) {
    return make<LLVM::AllocaOp>(pointer, getI64Type(), word(words));
  }
  ValueRange call(StringRef name, ArrayRef<Type> results, ValueRange operands) {
    return make<func::CallOp>(name, results, operands).getResults();
  }
  /// `if (condition) then() else otherwise()`, with one result.
  Value choose(Value condition, Type type, const std::function<Value()> &then,
               const std::function<Value()> &otherwise);
  void when(Value condition, const std::function<void()> &then);
  func::FuncOp function(StringRef name, ArrayRef<Type> inputs,
                        ArrayRef<Type> results, bool exported = false);

  // The parts of `prepare`, in the order in which they run.
  void fail(Value condition, CError error, int member) {
    Value bad = both(condition, equal(state, status(CError::None)));
    state = select(bad, status(error, member), state);
  }
  void readMembers(Value arguments);
  void shareExtents();
  void checkAxis(unsigned n, unsigned axis, Extent &with, bool broadcasts);
  void checkRows(unsigned n);
  void checkParameter(unsigned n);
  void checkOptional(unsigned n);
  void checkOutput(unsigned n);
  void checkValues(Value arguments);
  Value valuesHold(unsigned n);
  void checkOverlaps();
  void measureWorkspaces();
  void checkWorkspace(Value arguments, Value prepared);
  void writeCall(Value arguments, Value prepared);
  void writeDescriptor(Value call, unsigned argument, Value data,
                       ArrayRef<Value> shape, ArrayRef<Value> strides);
  void writeMember(Value call, Value arguments, unsigned n, unsigned argument,
                   ArgKind role);
  void writeWorkspaces(Value call);

  void buildPrepare();
  Value pointersOf(Value call);
  void buildRange();
  void buildWhole();
  void buildForwarders();
  void buildStatusText();

  Value extentOf(StringRef axis);
  Value shapeOf(unsigned n, unsigned axis) {
    return loadWord(members[n].view, 1 + axis);
  }
  Value strideOf(unsigned n, unsigned axis) {
    return loadWord(members[n].view, 1 + kCRank + axis);
  }

  ModuleOp module;
  const CInterface &interface;
  Location loc;
  Type pointer;
  struct {
    Type i1, i32, i64, f64;
  } types;

  // While `prepare` is built.
  Value state; ///< the first error so far
  SmallVector<Member> members;
  Extent batch, queryHeads, keyHeads, queries, keys;
  Value fullBytes, slotBytes; ///< of the workspace
  Value isFull, workspaceBase;
};

} // namespace

//===----------------------------------------------------------------------===//
// Shorthands
//===----------------------------------------------------------------------===//

Value CEntryBuilder::choose(Value condition, Type type,
                            const std::function<Value()> &then,
                            const std::function<Value()> &otherwise) {
  auto choice = make<scf::IfOp>(TypeRange{type}, condition, true, true);
  InsertionGuard guard(*this);
  setInsertionPointToStart(&choice.getThenRegion().front());
  make<scf::YieldOp>(ValueRange{then()});
  setInsertionPointToStart(&choice.getElseRegion().front());
  make<scf::YieldOp>(ValueRange{otherwise()});
  return choice.getResult(0);
}

void CEntryBuilder::when(Value condition, const std::function<void()> &then) {
  auto choice = make<scf::IfOp>(condition, /*withElseRegion=*/false);
  InsertionGuard guard(*this);
  setInsertionPointToStart(&choice.getThenRegion().front());
  then();
}

func::FuncOp CEntryBuilder::function(StringRef name, ArrayRef<Type> inputs,
                                     ArrayRef<Type> results, bool exported) {
  setInsertionPointToEnd(module.getBody());
  auto made = make<func::FuncOp>(name, getFunctionType(inputs, results));
  if (!exported)
    made->setAttr(kLinkage, LLVM::LinkageAttr::get(getContext(),
                                                   LLVM::Linkage::Internal));
  setInsertionPointToStart(made.addEntryBlock());
  return made;
}

//===----------------------------------------------------------------------===//
// Reading the struct
//===----------------------------------------------------------------------===//

void CEntryBuilder::readMembers(Value arguments) {
  // Of all members at once, so that the stack grows by a known amount.
  Value views = allocate(interface.fields.size() * (1 + 2 * kCRank));
  for (auto [n, f] : llvm::enumerate(interface.fields)) {
    members.push_back({at(views, n * kCViewBytes), flag(true)});
    if (f.scalar)
      continue;
    Value from = at(arguments, f.offset);
    Value size = word(f.element == CField::I64 ? 8 : 4);
    Value error = call("attn.c.view", types.i32,
                       {from, word(f.rank), size, members[n].view})[0];
    Value good = status(CError::None);
    if (f.isOptional())
      members[n].given = differ(loadWord(members[n].view, 0), word(0));
    Value bad = both(members[n].given, differ(error, good));
    bad = both(bad, equal(state, good));
    state = select(bad, add(error, status(CError::None, n)), state);
  }
}

/// Requires that an axis has the extent that others have; the first that has
/// one decides. Where `broadcasts`, an extent of 1 says nothing.
void CEntryBuilder::checkAxis(unsigned n, unsigned axis, Extent &with,
                              bool broadcasts) {
  Value extent = shapeOf(n, axis);
  Value says = broadcasts ? differ(extent, word(1)) : flag(true);
  Value differs = both(with.fixed, differ(extent, with.value));
  fail(both(says, differs), CError::Shape, n);
  with.value = select(both(says, negate(with.fixed)), extent, with.value);
  with.fixed = either(with.fixed, says);
}

void CEntryBuilder::checkRows(unsigned n) {
  const CField &f = interface.fields[n];
  checkAxis(n, 0, batch, true);
  for (ArgKind role : f.roles) {
    bool query = role == ArgKind::Query;
    checkAxis(n, 1, query ? queryHeads : keyHeads, true);
    checkAxis(n, 2, query ? queries : keys, false);
  }
  fail(differ(shapeOf(n, 3), word(f.extents[3])), CError::Shape, n);
  if (f.extents[3] != 1)
    fail(differ(strideOf(n, 3), word(1)), CError::Strides, n);
}

void CEntryBuilder::checkParameter(unsigned n) {
  const CField &f = interface.fields[n];
  for (unsigned axis = 0; axis < f.rank; ++axis) {
    StringRef name = f.axes[axis];
    if (name == "head")
      checkAxis(n, axis, queryHeads, true);
    else if (name == "kv_head")
      checkAxis(n, axis, keyHeads, true);
    else if (name == "batch")
      checkAxis(n, axis, batch, true);
    else if (name == "nq" || name == "nk")
      checkAxis(n, axis, name == "nq" ? queries : keys, false);
    else if (!f.tables[axis])
      fail(differ(shapeOf(n, axis), word(f.extents[axis])), CError::Shape, n);
  }
}

/// What all arrays say of the extents. Rows first: they fix Nq and Nk.
void CEntryBuilder::shareExtents() {
  for (Extent *extent : {&batch, &queryHeads, &keyHeads, &queries, &keys})
    *extent = {word(1), flag(false)};
  for (auto [n, f] : llvm::enumerate(interface.fields))
    if (f.isRows())
      checkRows(n);
  for (auto [n, f] : llvm::enumerate(interface.fields))
    if (f.kind == ArgKind::Param && !f.scalar)
      checkParameter(n);
  // Where no query-side array has heads, q is the same for all key heads.
  queryHeads.value = select(both(negate(queryHeads.fixed), keyHeads.fixed),
                            keyHeads.value, queryHeads.value);
  Value rest = make<arith::RemSIOp>(
      queryHeads.value, make<arith::MaxSIOp>(keyHeads.value, word(1)));
  Value none =
      both(equal(keyHeads.value, word(0)), differ(queryHeads.value, word(0)));
  fail(either(differ(rest, word(0)), none), CError::Heads, 0);
  for (auto [n, f] : llvm::enumerate(interface.fields)) {
    if (f.isOptional())
      checkOptional(n);
    if (f.isOutput())
      checkOutput(n);
    for (unsigned axis = 0; axis < f.tables.size(); ++axis)
      if (const auto &table = f.tables[axis]) {
        Value extent = word(table->constant);
        extent = add(extent, mul(word(table->nq), queries.value));
        extent = add(extent, mul(word(table->nk), keys.value));
        extent = make<arith::MaxSIOp>(extent, word(0));
        fail(differ(shapeOf(n, axis), extent), CError::Shape, n);
      }
  }
}

void CEntryBuilder::checkOptional(unsigned n) {
  Value extent = shapeOf(n, 0);
  Value bad = differ(extent, batch.value);
  if (interface.fields[n].kind == ArgKind::Offset)
    bad = both(bad, differ(extent, word(1)));
  fail(both(members[n].given, bad), CError::Shape, n);
}

void CEntryBuilder::checkOutput(unsigned n) {
  const CField &f = interface.fields[n];
  Value expected[] = {batch.value, queryHeads.value, queries.value, keys.value};
  for (unsigned axis = 0; axis < f.rank; ++axis) {
    bool fixed = !ShapedType::isDynamic(f.extents[axis]);
    fail(differ(shapeOf(n, axis),
                fixed ? word(f.extents[axis]) : expected[axis]),
         CError::Shape, n);
  }
  if (f.name == "o" && f.extents[3] != 1)
    fail(differ(strideOf(n, 3), word(1)), CError::Strides, n);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Whether the values of an array are in range; it must be readable.
Value CEntryBuilder::valuesHold(unsigned n) {
  const CField &f = interface.fields[n];
  bool integer = f.element == CField::I64;
  Value low = word(-kCExtentLimit), high = word(kCExtentLimit);
  if (f.kind == ArgKind::KeyLengths || f.kind == ArgKind::QueryLengths) {
    low = word(0);
    high = f.kind == ArgKind::KeyLengths ? keys.value : queries.value;
  }
  // Of less, equal, greater, NaN.
  StringRef op = f.relop;
  bool any = op.empty();
  Value allowed[] = {flag(any || op == "<" || op == "<=" || op == "!="),
                     flag(any || op == "<=" || op == "==" || op == ">="),
                     flag(any || op == ">" || op == ">=" || op == "!="),
                     flag(any || op == "!=")};
  return call("attn.c.values", types.i1,
              {members[n].view, flag(integer), low, high, real(f.bound),
               allowed[0], allowed[1], allowed[2], allowed[3]})[0];
}

void CEntryBuilder::checkValues(Value arguments) {
  for (auto [n, f] : llvm::enumerate(interface.fields)) {
    bool checked = f.isOptional() || f.integer || !f.relop.empty();
    if (f.isOutput() || f.isRows())
      continue;
    if (f.scalar) { // a view of one element, the struct's own
      storeWord(address(at(arguments, f.offset)), members[n].view, 0);
      for (int64_t axis = 0; axis < kCRank; ++axis) {
        storeWord(word(1), members[n].view, 1 + axis);
        storeWord(word(0), members[n].view, 1 + kCRank + axis);
      }
    }
    if (!checked)
      continue;
    Value readable = both(members[n].given, equal(state, status(CError::None)));
    Value holds = choose(
        readable, types.i1, [&, n = n] { return valuesHold(n); },
        [&] { return flag(true); });
    fail(negate(holds), CError::Value, n);
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Outputs share no byte with each other or with anything that is read. All
/// extents must have been found right.
void CEntryBuilder::checkOverlaps() {
  auto sizeOf = [&](unsigned n) {
    return word(interface.fields[n].element == CField::I64 ? 8 : 4);
  };
  for (auto [n, f] : llvm::enumerate(interface.fields)) {
    if (!f.isOutput())
      continue;
    fail(call("attn.c.overlaps_itself", types.i1, {members[n].view})[0],
         CError::Overlap, n);
    for (auto [m, other] : llvm::enumerate(interface.fields)) {
      if (other.scalar || n == m || (other.isOutput() && m > n))
        continue;
      Value shared =
          call("attn.c.overlap", types.i1,
               {members[n].view, sizeOf(n), members[m].view, sizeOf(m)})[0];
      fail(both(members[m].given, shared), CError::Overlap, n);
    }
  }
}

/// Bytes of the workspace for everything at once, and for one (batch, key head)
/// at a time; each array begins at a multiple of 64, wherever the user's memory
/// begins.
void CEntryBuilder::measureWorkspaces() {
  fullBytes = slotBytes = word(0);
  if (interface.workspaces.empty())
    return;
  Value bytesOfAll = real(0);
  auto asReal = [&](Value v) -> Value {
    return make<arith::SIToFPOp>(types.f64, v);
  };
  for (const CWorkspace &w : interface.workspaces) {
    Value heads = w.perQueryHead ? queryHeads.value : keyHeads.value;
    Value bytes = mul(keys.value, word(4 * w.row));
    Value slot = w.perQueryHead ? mul(bytes, heads) : bytes;
    Value pairs = mul(batch.value, heads); // 2^60 at most
    Value large = make<arith::MulFOp>(asReal(bytes), asReal(pairs));
    bytesOfAll = make<arith::AddFOp>(bytesOfAll, large);
    auto rounded = [&](Value v) {
      return make<arith::AndIOp>(add(v, word(63)), word(~int64_t(63)));
    };
    fullBytes = add(fullBytes, rounded(mul(bytes, pairs)));
    slotBytes = add(slotBytes, rounded(slot));
  }
  auto slack = [&](Value v) {
    return select(equal(v, word(0)), v, add(v, word(63)));
  };
  fullBytes = slack(fullBytes);
  slotBytes = slack(slotBytes);
  Value wide = make<arith::CmpFOp>(CmpFPredicate::OGT, bytesOfAll,
                                   real(double(int64_t(1) << 61)));
  fail(wide, CError::Extent, 0);
}

void CEntryBuilder::checkWorkspace(Value arguments, Value prepared) {
  if (interface.workspaces.empty()) {
    isFull = flag(true);
    return;
  }
  Value base = loadWord(at(arguments, interface.workspaceOffset), 0);
  Value size = loadWord(at(arguments, interface.workspaceSizeOffset), 0);
  isFull = is(CmpIPredicate::sge, size, fullBytes);
  workspaceBase = make<arith::AndIOp>(add(base, word(63)), word(~int64_t(63)));
  Value needed = differ(slotBytes, word(0));
  Value missing =
      either(equal(base, word(0)), is(CmpIPredicate::slt, size, slotBytes));
  fail(both(both(needed, missing), prepared), CError::Workspace, -1);
  // As an array of bytes, of as many as are used.
  Value view = allocate(1 + 2 * kCRank);
  storeWord(base, view, 0);
  storeWord(select(isFull, fullBytes, slotBytes), view, 1);
  storeWord(word(1), view, 1 + kCRank);
  for (int64_t axis = 1; axis < kCRank; ++axis) {
    storeWord(word(1), view, 1 + axis);
    storeWord(word(0), view, 1 + kCRank + axis);
  }
  for (auto [n, f] : llvm::enumerate(interface.fields)) {
    if (f.scalar)
      continue;
    Value size = word(f.element == CField::I64 ? 8 : 4);
    Value shared = call("attn.c.overlap", types.i1,
                        {members[n].view, size, view, word(1)})[0];
    fail(both(both(members[n].given, prepared), shared), CError::Overlap, n);
  }
}

//===----------------------------------------------------------------------===//
// The prepared call
//===----------------------------------------------------------------------===//

void CEntryBuilder::writeDescriptor(Value call, unsigned argument, Value data,
                                    ArrayRef<Value> shape,
                                    ArrayRef<Value> strides) {
  int64_t word0 = interface.descriptorWord(argument);
  storeWord(data, call, word0);
  storeWord(data, call, word0 + 1);
  storeWord(word(0), call, word0 + 2);
  for (auto [axis, extent] : llvm::enumerate(shape))
    storeWord(extent, call, word0 + 3 + axis);
  for (auto [axis, stride] : llvm::enumerate(strides))
    storeWord(stride, call, word0 + 3 + shape.size() + axis);
}

Value CEntryBuilder::extentOf(StringRef axis) {
  return axis == "head"      ? queryHeads.value
         : axis == "kv_head" ? keyHeads.value
         : axis == "batch"   ? batch.value
                             : Value();
}

/// One argument of the function, in one of the roles that its member has.
void CEntryBuilder::writeMember(Value call, Value arguments, unsigned n,
                                unsigned argument, ArgKind role) {
  const CField &f = interface.fields[n];
  if (f.scalar) {
    Type type = f.element == CField::I64 ? types.i64 : getF32Type();
    store(load(type, arguments, f.offset), call,
          8 * interface.descriptorWord(argument));
    return;
  }
  SmallVector<Value> shape, strides;
  Value data = loadWord(members[n].view, 0);
  for (unsigned axis = 0; axis < f.rank; ++axis) {
    Value given = shapeOf(n, axis), stride = strideOf(n, axis), extent = given;
    if (f.isRows() && axis < 2)
      extent = axis == 0                ? batch.value
               : role == ArgKind::Query ? queryHeads.value
                                        : keyHeads.value;
    else if (f.kind == ArgKind::Param)
      if (Value shared = extentOf(f.axes[axis]))
        extent = shared;
    if (!f.isOutput() && !f.isOptional())
      stride = select(equal(given, word(1)), word(0), stride);
    if (f.isOptional())
      extent = select(members[n].given, given, word(0));
    // The code counts on it, and an axis of extent 1 may have come with any.
    if ((f.isRows() || f.name == "o") && axis == 3)
      stride = word(1);
    shape.push_back(extent);
    strides.push_back(stride);
  }
  if (f.kind == ArgKind::Param) {
    // Indices clamp to their axis. Where an axis is empty they clamp to an
    // element that is not there: let it be this one, whatever the index.
    Value count = word(1);
    for (Value extent : shape)
      count = select(equal(extent, word(0)), word(0), count);
    Value empty = equal(count, word(0));
    Value zero =
        address(make<LLVM::AddressOfOp>(pointer, interface.name + ".zero"));
    data = select(empty, zero, data);
    for (Value &stride : strides)
      stride = select(empty, word(0), stride);
  }
  writeDescriptor(call, argument, data, shape, strides);
}

void CEntryBuilder::writeWorkspaces(Value call) {
  Value next = workspaceBase;
  for (const CWorkspace &w : interface.workspaces) {
    Value heads = w.perQueryHead ? queryHeads.value : keyHeads.value;
    Value head = mul(keys.value, word(w.row));
    Value all = mul(head, heads);
    SmallVector<Value> shape = {batch.value, heads, keys.value};
    SmallVector<Value> strides = {
        select(isFull, all, word(0)),
        w.perQueryHead ? head : select(isFull, head, word(0)), word(w.row)};
    if (w.rank == 4) {
      shape.push_back(word(w.row));
      strides.push_back(word(1));
    }
    writeDescriptor(call, w.argument, next, shape, strides);
    Value count =
        select(isFull, mul(all, batch.value), w.perQueryHead ? all : head);
    Value bytes = add(mul(count, word(4)), word(63));
    next = add(next, make<arith::AndIOp>(bytes, word(~int64_t(63))));
  }
}

void CEntryBuilder::writeCall(Value arguments, Value prepared) {
  for (auto [n, f] : llvm::enumerate(interface.fields))
    for (auto [argument, role] : llvm::zip(f.arguments, f.roles))
      writeMember(prepared, arguments, n, argument, role);
  writeWorkspaces(prepared);
  Value pairs = mul(batch.value, keyHeads.value);
  // In one slot, a pair's stages run before the next pair overwrites it.
  Value parts = select(either(isFull, equal(pairs, word(0))),
                       select(equal(pairs, word(0)), word(0), word(1)), pairs);
  storeWord(parts, prepared, CInterface::Parts);
  storeWord(word(0), prepared, CInterface::Done);
  Value pointers = pointersOf(prepared);
  for (int64_t stage = 0; stage < interface.stages; ++stage) {
    std::string name =
        interface.kernel + ".stage" + std::to_string(stage) + ".items.run";
    Value items =
        make<LLVM::CallOp>(TypeRange{types.i64}, name, ValueRange{pointers})
            .getResult();
    items = make<arith::DivSIOp>(items, make<arith::MaxSIOp>(parts, word(1)));
    storeWord(items, prepared, CInterface::Items + stage);
  }
  storeWord(word(kMarker), prepared, CInterface::Marker);
}

/// NAME.prepare(args, call, bytes) -> status: checks everything, then makes the
/// call. Without a call it says how many bytes the workspace needs.
void CEntryBuilder::buildPrepare() {
  func::FuncOp made = function(interface.name + ".prepare",
                               {pointer, pointer, pointer}, {types.i32});
  Value arguments = made.getArgument(0), prepared = made.getArgument(1),
        bytes = made.getArgument(2);
  Value wantsCall = differ(address(prepared), word(0));
  when(wantsCall, [&] { storeWord(word(0), prepared, CInterface::Marker); });
  Value result = choose(
      equal(address(arguments), word(0)), types.i32,
      [&] { return status(CError::Null); },
      [&]() -> Value {
        state = status(CError::None);
        readMembers(arguments);
        shareExtents();
        checkValues(arguments);
        Value sound = equal(state, status(CError::None));
        return choose(
            sound, types.i32,
            [&] {
              checkOverlaps();
              measureWorkspaces();
              Value small =
                  is(CmpIPredicate::sle, fullBytes, word(kCWorkspaceLimit));
              storeWord(select(small, fullBytes, slotBytes), bytes, 0);
              checkWorkspace(arguments, wantsCall);
              Value ready = both(wantsCall, equal(state, status(CError::None)));
              when(ready, [&] { writeCall(arguments, prepared); });
              return state;
            },
            [&, before = state] { return before; });
      });
  make<func::ReturnOp>(result);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// The array of pointers to descriptors that the stages' entries take.
Value CEntryBuilder::pointersOf(Value call) {
  Value pointers = allocate(interface.ranks.size());
  for (auto [argument, rank] : llvm::enumerate(interface.ranks)) {
    Value place = at(call, 8 * interface.descriptorWord(argument));
    if (rank == 0) { // the number is in the call, wherever that is now
      Value descriptor = allocate(3);
      store(place, descriptor, 0);
      store(place, descriptor, 8);
      storeWord(word(0), descriptor, 2);
      place = descriptor;
    }
    store(place, pointers, 8 * argument);
  }
  return pointers;
}

/// NAME.range(call, stage, begin, end) -> status.
void CEntryBuilder::buildRange() {
  func::FuncOp made =
      function(interface.name + ".range",
               {pointer, types.i64, types.i64, types.i64}, {types.i32});
  Value prepared = made.getArgument(0), stage = made.getArgument(1),
        begin = made.getArgument(2), end = made.getArgument(3);
  Value stages = word(interface.stages);
  ValueRange claim = call("attn.c.claim", {types.i32, types.i64},
                          {prepared, word(kMarker), stages, stage, begin, end});
  Value error = claim[0], first = claim[1];
  when(equal(error, status(CError::None)), [&] {
    Value pointers = pointersOf(prepared);
    Value kind = make<arith::RemSIOp>(stage, stages);
    Value from = add(first, begin), to = add(first, end);
    for (int64_t n = 0; n < interface.stages; ++n)
      when(equal(kind, word(n)), [&] {
        make<LLVM::CallOp>(TypeRange{},
                           interface.kernel + ".stage" + std::to_string(n) +
                               ".run",
                           ValueRange{pointers, from, to});
      });
    make<LLVM::AtomicRMWOp>(LLVM::AtomicBinOp::add,
                            at(prepared, 8 * CInterface::Done), sub(end, begin),
                            LLVM::AtomicOrdering::acq_rel);
  });
  make<func::ReturnOp>(error);
}

/// NAME(args) -> status: all stages, in order, on this thread.
void CEntryBuilder::buildWhole() {
  func::FuncOp made =
      function(interface.name, {pointer}, {types.i32}, /*exported=*/true);
  Value prepared = allocate(interface.callWords()), bytes = allocate(1);
  std::string prefix = interface.name;
  Value error = call(prefix + ".prepare", types.i32,
                     {made.getArgument(0), prepared, bytes})[0];
  when(equal(error, status(CError::None)), [&] {
    Value marker = word(kMarker), kinds = word(interface.stages);
    Value stages =
        call("attn.c.stages", types.i64, {prepared, marker, kinds})[0];
    auto loop = make<scf::ForOp>(word(0), stages, word(1));
    setInsertionPointToStart(loop.getBody());
    Value stage = loop.getInductionVar();
    Value items =
        call("attn.c.items", types.i64, {prepared, marker, kinds, stage})[0];
    call(prefix + ".range", types.i32, {prepared, stage, word(0), items});
  });
  make<func::ReturnOp>(error);
}

/// The other functions of the header, each by one call.
void CEntryBuilder::buildForwarders() {
  Value marker, kinds;
  auto begin = [&](StringRef suffix, ArrayRef<Type> inputs, Type result) {
    func::FuncOp made = function(interface.name + suffix.str(), inputs, result,
                                 /*exported=*/true);
    marker = word(kMarker);
    kinds = word(interface.stages);
    return made;
  };
  {
    // A call that is given no place to be made in is an error, not a question
    // for the workspace.
    func::FuncOp made = begin("_prepare", {pointer, pointer}, types.i32);
    Value bytes = allocate(1);
    Value missing = equal(address(made.getArgument(1)), word(0));
    make<func::ReturnOp>(choose(
        missing, types.i32, [&] { return status(CError::Null); },
        [&] {
          return call(interface.name + ".prepare", types.i32,
                      {made.getArgument(0), made.getArgument(1), bytes})[0];
        }));
  }
  {
    func::FuncOp made = begin("_workspace", {pointer}, types.i64);
    Value bytes = allocate(1);
    Value none = make<LLVM::ZeroOp>(pointer);
    Value error = call(interface.name + ".prepare", types.i32,
                       {made.getArgument(0), none, bytes})[0];
    Value negated = sub(word(0), make<arith::ExtSIOp>(types.i64, error));
    make<func::ReturnOp>(choose(
        equal(error, status(CError::None)), types.i64,
        [&] { return loadWord(bytes, 0); }, [&] { return negated; }));
  }
  {
    func::FuncOp made = begin("_stages", {pointer}, types.i64);
    make<func::ReturnOp>(
        call("attn.c.stages", types.i64, {made.getArgument(0), marker, kinds}));
  }
  {
    func::FuncOp made = begin("_items", {pointer, types.i64}, types.i64);
    make<func::ReturnOp>(
        call("attn.c.items", types.i64,
             {made.getArgument(0), marker, kinds, made.getArgument(1)}));
  }
  {
    func::FuncOp made =
        begin("_range", {pointer, types.i64, types.i64, types.i64}, types.i32);
    make<func::ReturnOp>(
        call(interface.name + ".range", types.i32, made.getArguments()));
  }
}

/// NAME_error(status) -> text, from a table of offsets into one string.
void CEntryBuilder::buildStatusText() {
  std::string texts;
  SmallVector<int32_t> offsets;
  int members = interface.fields.size();
  for (int n = -1; n < members; ++n)
    for (int32_t error = 0; error < kCErrors; ++error) {
      offsets.push_back(texts.size());
      texts += interface.statusText(n, static_cast<CError>(error));
      texts += '\0';
    }
  int64_t unknown = texts.size(), count = offsets.size();
  texts += interface.name + ": no such status";
  texts += '\0';

  setInsertionPointToStart(module.getBody());
  auto global = [&](StringRef name, Type type, Attribute value) {
    make<LLVM::GlobalOp>(type, /*isConstant=*/true, LLVM::Linkage::Internal,
                         name, value);
  };
  global(interface.name + ".texts",
         LLVM::LLVMArrayType::get(getI8Type(), texts.size()),
         getStringAttr(texts));
  global(interface.name + ".offsets",
         LLVM::LLVMArrayType::get(types.i32, offsets.size()),
         getI32TensorAttr(offsets));
  global(interface.name + ".zero", types.i64, getI64IntegerAttr(0));

  func::FuncOp made = function(interface.name + "_error", {types.i32},
                               {pointer}, /*exported=*/true);
  Value given = make<arith::ExtUIOp>(types.i64, made.getArgument(0));
  Value member = make<arith::ShRUIOp>(given, word(8));
  Value error = make<arith::AndIOp>(given, word(255));
  Value index = add(mul(member, word(kCErrors)), error);
  Value known = both(is(CmpIPredicate::ult, error, word(kCErrors)),
                     is(CmpIPredicate::ult, index, word(count)));
  auto global_ = [&](StringRef suffix) -> Value {
    return make<LLVM::AddressOfOp>(pointer, interface.name + suffix.str());
  };
  Value offset = choose(
      known, types.i64,
      [&]() -> Value {
        Value slot = make<LLVM::GEPOp>(pointer, types.i32, global_(".offsets"),
                                       ArrayRef<LLVM::GEPArg>{index});
        return make<arith::ExtUIOp>(types.i64, load(types.i32, slot));
      },
      [&] { return word(unknown); });
  make<func::ReturnOp>(make<LLVM::GEPOp>(pointer, getI8Type(),
                                         global_(".texts"),
                                         ArrayRef<LLVM::GEPArg>{offset})
                           .getResult());
}

void CEntryBuilder::build() {
  // What was there is not for the linker's eyes any more.
  auto internal = LLVM::LinkageAttr::get(getContext(), LLVM::Linkage::Internal);
  for (auto stage : module.getOps<LLVM::LLVMFuncOp>())
    if (!stage.isExternal())
      stage.setLinkageAttr(internal);
  buildStatusText();
  buildPrepare();
  buildRange();
  buildWhole();
  buildForwarders();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct CpuCEntry : PassWrapper<CpuCEntry, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CpuCEntry)

  StringRef getArgument() const override { return "attn-cpu-c-entry"; }
  StringRef getDescription() const override {
    return "the C interface of an ahead-of-time kernel around its stages";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect, func::FuncDialect, scf::SCFDialect,
                    arith::ArithDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<CInterface> interface = readCInterface(module);
    if (failed(interface))
      return signalPassFailure();
    if (interface->stages == 0) {
      module.emitError("the module has no entries ")
          << interface->kernel << ".stage0.run; run attn-cpu-entry first";
      return signalPassFailure();
    }
    ParserConfig config(&getContext());
    OwningOpRef<ModuleOp> library =
        parseSourceString<ModuleOp>(kLibrary, config);
    if (!library) {
      module.emitError("internal: the library of the C entries does not parse");
      return signalPassFailure();
    }
    auto linkage =
        LLVM::LinkageAttr::get(&getContext(), LLVM::Linkage::Internal);
    for (auto function :
         llvm::make_early_inc_range(library->getOps<func::FuncOp>())) {
      function->setAttr(kLinkage, linkage);
      function->moveBefore(module.getBody(), module.getBody()->end());
    }
    CEntryBuilder(module, *interface).build();
    module->removeAttr(kCInterfaceAttrName); // all that it said is code now
  }
};
} // namespace

std::unique_ptr<Pass> attn::createCpuCEntryPass() {
  return std::make_unique<CpuCEntry>();
}
