//===- CEntryChecks.cpp - what a C program can get wrong ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CEntryBuilder.h"

using namespace attn;
using namespace mlir;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

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
    Value size = word(f.elementBytes());
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
void CEntryBuilder::checkAxis(unsigned n, unsigned axis, CExtent &with,
                              bool broadcasts) {
  Value extent = shapeOf(n, axis);
  Value says = broadcasts ? differ(extent, word(1)) : flag(true);
  Value differs = both(with.fixed, differ(extent, with.value));
  fail(both(says, differs), CError::Shape, n);
  Value decides = both(says, negate(with.fixed));
  with.value = select(decides, extent, with.value);
  with.by = select(decides, status(CError::None, n), with.by);
  with.fixed = either(with.fixed, says);
}

void CEntryBuilder::checkRows(unsigned n) {
  const CField &f = interface.fields[n];
  checkAxis(n, 0, batch, true);
  for (ArgKind role : f.roles) {
    bool query = role == ArgKind::Query;
    checkAxis(n, 1, query ? queryHeads : keyHeads, true);
    checkAxis(n, 2, query || interface.isRecurrent ? queries : keys, false);
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
  for (CExtent *extent : {&batch, &queryHeads, &keyHeads, &queries, &keys})
    *extent = {word(1), flag(false), status(CError::None, 0)};
  for (auto [n, f] : llvm::enumerate(interface.fields))
    if (f.isRows())
      checkRows(n);
  if (interface.isRecurrent)
    keys = queries;
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
  Value bad = both(either(differ(rest, word(0)), none),
                   equal(state, status(CError::None)));
  state = select(bad, add(queryHeads.by, status(CError::Heads)), state);
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
  bool ofKeys = f.isState() && f.axes[1] != "head";
  Value expected[] = {batch.value, ofKeys ? keyHeads.value : queryHeads.value,
                      queries.value, keys.value};
  for (unsigned axis = 0; axis < f.rank; ++axis) {
    bool fixed = !ShapedType::isDynamic(f.extents[axis]);
    fail(differ(shapeOf(n, axis),
                fixed ? word(f.extents[axis]) : expected[axis]),
         CError::Shape, n);
  }
  if ((f.name == "o" && f.extents[3] != 1) || f.isState())
    fail(differ(strideOf(n, 3), word(1)), CError::Strides, n);
  if (f.isState())
    fail(differ(strideOf(n, 2), word(f.extents[3])), CError::Strides, n);
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

/// Whether the last row of every state begins with a number of tokens, n mod
/// 2^20 and n / 2^20; it must be readable.
Value CEntryBuilder::countsHold(unsigned n) {
  const CField &f = interface.fields[n];
  Value view = allocate(1 + 2 * kCRank), all = flag(true);
  for (int64_t axis = 0; axis < kCRank; ++axis) {
    storeWord(axis < 2 ? shapeOf(n, axis) : word(1), view, 1 + axis);
    storeWord(axis < 2 ? strideOf(n, axis) : word(0), view, 1 + kCRank + axis);
  }
  for (int64_t part : {0, 1}) {
    int64_t element = (f.extents[2] - 1) * f.extents[3] + part;
    storeWord(add(loadWord(members[n].view, 0), word(4 * element)), view, 0);
    auto holds = [&](double bound, bool less, bool notLess) {
      return call("attn.c.values", types.i1,
                  {view, flag(false), word(0), word(0), real(bound), flag(less),
                   flag(notLess), flag(notLess), flag(false)})[0];
    };
    all = both(all, holds(0, false, true));
    all = both(all, holds(part ? 1 << 10 : 1 << 20, true, false));
  }
  return all;
}

void CEntryBuilder::checkValues(Value arguments) {
  for (auto [n, f] : llvm::enumerate(interface.fields)) {
    if (f.isState()) {
      Value holds = choose(
          equal(state, status(CError::None)), types.i1,
          [&, n = n] { return countsHold(n); }, [&] { return flag(true); });
      fail(negate(holds), CError::Value, n);
    }
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
    return word(interface.fields[n].elementBytes());
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
    Value bytes = mul(rowsOf(w), word(4 * w.row));
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
    Value size = word(f.elementBytes());
    Value shared = call("attn.c.overlap", types.i1,
                        {members[n].view, size, view, word(1)})[0];
    fail(both(both(members[n].given, prepared), shared), CError::Overlap, n);
  }
}
