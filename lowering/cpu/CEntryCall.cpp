//===- CEntryCall.cpp - a prepared call, and running it -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CEntryBuilder.h"
#include "lowering/cpu/TargetLevel.h"

using namespace attn;
using namespace mlir;
using arith::CmpIPredicate;

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
    Value head = mul(rowsOf(w), word(w.row));
    Value all = mul(head, heads);
    SmallVector<Value> shape = {batch.value, heads, rowsOf(w)};
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
  storeWord(word(kCMarker + interface.level), prepared, CInterface::Marker);
}

/// Whoever uses AMX must ask Linux for its registers, once a process: again and
/// again is cheap (Documentation/arch/x86/xstate.rst).
void CEntryBuilder::askForTileRegisters() {
  std::optional<CpuLevel> level = targetLevel(module);
  if (!level || !level->hasMatrixUnit)
    return;
  constexpr int64_t archPrctl = 158, requestPermission = 0x1023, tileData = 18;
  Value result =
      make<LLVM::InlineAsmOp>(
          types.i64,
          ValueRange{word(archPrctl), word(requestPermission), word(tileData)},
          "syscall",
          "={rax},{rax},{rdi},{rsi},~{rcx},~{r11},~{memory},~{dirflag},"
          "~{fpsr},~{flags}",
          /*has_side_effects=*/true, /*is_align_stack=*/false,
          LLVM::TailCallKind::None,
          LLVM::AsmDialectAttr::get(getContext(), LLVM::AsmDialect::AD_ATT),
          ArrayAttr())
          .getResult(0);
  fail(differ(result, word(0)), CError::Machine, -1);
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
              askForTileRegisters();
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
  ValueRange claim = call(
      "attn.c.claim", {types.i32, types.i64},
      {prepared, word(kCMarker + interface.level), stages, stage, begin, end});
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
    Value marker = word(kCMarker + interface.level),
          kinds = word(interface.stages);
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
    marker = word(kCMarker + interface.level);
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
  // Sizes and counts come back as negated statuses.
  Value argument = made.getArgument(0), zero = status(CError::None);
  Value positive = select(is(CmpIPredicate::slt, argument, zero),
                          sub(zero, argument), argument);
  Value given = make<arith::ExtUIOp>(types.i64, positive);
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
