//===- BuildFeatures.cpp - the feature map that was derived ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// attn.linear: phi of the rows of q and of k beside kappa as it stands. Where
// kappa is hardly more than the dot of two rows, these are phi, and become the
// last steps of f_Q and f_K. The channels are those of the licence's
// derivation, and zeros up to whole vectors of the target.
//
//===----------------------------------------------------------------------===//

#include "lowering/Passes.h"
#include "lowering/analysis/FormEmitter.h"
#include "lowering/analysis/LinearLicence.h"
#include "lowering/schedule/CloneSlice.h"

namespace attn {
#define GEN_PASS_DEF_BUILDFEATURESPASS
#include "lowering/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// Emits the rows of a feature map at the end of kappa.
class FeatureBuilder {
public:
  FeatureBuilder(AttentionOp op, int64_t lanes)
      : loc(op.getLoc()), lanes(lanes), features(op),
        b(op.getKappa().front().getTerminator()), emit(*features.form, b, loc) {
  }

  /// phi(q) or phi(k), or null where an atom has no operation.
  Value row(bool query);
  /// e(i) - e(j) of kappa = exp(e(i) - e(j)) phi(q).phi(k); null without decay.
  FailureOr<Value> exponent();
  /// Whether phi is a row, or a multiple of one: their dot is kappa, and as
  /// cheap and exact.
  bool isPlain() const;

private:
  Value block(const FeatureBlock &block, bool query);
  Value scaled(Value row, Value factor);
  template <typename Op, typename... Args> Value make(Args &&...args) {
    return Op::create(b, loc, std::forward<Args>(args)...);
  }

  Location loc;
  int64_t lanes;
  DerivedFeatures features;
  OpBuilder b;
  FormEmitter emit;
};

} // namespace

static int64_t lengthOf(Value row) {
  return cast<RowType>(row.getType()).getLength();
}

Value FeatureBuilder::scaled(Value row, Value factor) {
  auto map = MapOp::create(b, loc, ValueRange{row});
  OpBuilder::InsertionGuard guard(b);
  Block *body = b.createBlock(&map.getBody(), {}, {b.getF32Type()}, {loc});
  Value product = make<arith::MulFOp>(body->getArgument(0), factor);
  YieldOp::create(b, loc, product);
  return map.getResult();
}

/// The scalars of a block times the outer product of its tensor powers.
Value FeatureBuilder::block(const FeatureBlock &block, bool query) {
  const Polynomial &scalar = query ? block.query : block.key;
  bool isOne = (scalar - NormalForm::number(1)).isZero();
  Value factor = emit.scalar(scalar), product;
  if (!factor)
    return {};
  for (auto [pair, degree] :
       llvm::zip(features.separable.map->rows, block.degrees)) {
    if (degree == 0)
      continue;
    Value row = emit.row(query ? pair.first : pair.second);
    if (!row)
      return {};
    if (degree > 1)
      row = make<PowerOp>(row, b.getI64IntegerAttr(degree));
    product = product ? make<OuterOp>(product, row) : row;
  }
  if (!product)
    return make<ChannelsOp>(ValueRange{factor});
  return isOne ? product : scaled(product, factor);
}

Value FeatureBuilder::row(bool query) {
  SmallVector<Value> rows;
  int64_t length = 0;
  for (const FeatureBlock &part : features.separable.map->blocks) {
    Value row = block(part, query);
    if (!row)
      return {};
    rows.push_back(row);
    length += lengthOf(row);
  }
  if (int64_t rest =
          llvm::alignTo(std::max<int64_t>(length, 1), lanes) - length) {
    Value zero = make<arith::ConstantOp>(b.getF32FloatAttr(0));
    rows.push_back(make<ChannelsOp>(SmallVector<Value>(rest, zero)));
  }
  return rows.size() == 1 ? rows[0] : make<ConcatOp>(rows);
}

/// What is linear in the position becomes a multiple of i - j, which is exact:
/// e(i) and e(j) themselves are large where the sequence is long.
FailureOr<Value> FeatureBuilder::exponent() {
  NormalForm &form = *features.form;
  Polynomial rest = features.separable.map->decay;
  if (rest.isZero())
    return Value();
  Value sum;
  Polynomial i = form.position(Position::I);
  std::vector<Polynomial> powers =
      rest.inPowersOf(i.terms().begin()->first[0].first);
  if (powers.size() == 2 && form.axesOf(powers[1]) == Uniform) {
    Value distance = make<arith::SubIOp>(make<IndexOp>(Position::I),
                                         make<IndexOp>(Position::J));
    distance = make<arith::IndexCastOp>(b.getI64Type(), distance);
    distance = make<arith::SIToFPOp>(b.getF32Type(), distance);
    Value rate = emit.scalar(powers[1]);
    if (!rate)
      return failure();
    sum = make<arith::MulFOp>(distance, rate);
    rest = powers[0];
  }
  if (form.axesOf(rest) == Uniform)
    return sum;
  Value query = emit.scalar(rest), key = emit.scalar(form.mirrored(rest));
  if (!query || !key)
    return failure();
  Value difference = make<arith::SubFOp>(query, key);
  return sum ? make<arith::AddFOp>(sum, difference) : difference;
}

bool FeatureBuilder::isPlain() const {
  const FeatureMap &map = *features.separable.map;
  unsigned degree = 0;
  for (unsigned power : map.blocks[0].degrees)
    degree += power;
  return map.blocks.size() == 1 && degree == 1;
}

/// Makes `row`, a value of kappa, the result of a row map.
static void appendTo(Region &map, Value row, Region &kappa, unsigned argument,
                     Value memory) {
  OpBuilder b(row.getContext());
  Location loc = row.getLoc();
  Block *block;
  Value last;
  if (map.empty()) {
    auto type = cast<MemRefType>(memory.getType());
    block = b.createBlock(
        &map, {},
        {RowType::get(b.getContext(), type.getDimSize(type.getRank() - 1),
                      b.getF32Type())},
        {loc});
    last = block->getArgument(0);
    YieldOp::create(b, loc, ValueRange{last});
  } else {
    block = &map.front();
    last = cast<YieldOp>(block->getTerminator()).getValues()[0];
  }
  auto yield = cast<YieldOp>(block->getTerminator());
  b.setInsertionPoint(yield);
  IRMapping mapping;
  mapping.map(kappa.getArgument(argument), last);
  yield.getValuesMutable().assign(cloneSlice(b, row, kappa, mapping));
}

/// A region that yields `v`, a value of kappa, from the argument of kappa that
/// it reads, if that is one.
static void cloneInto(Region &into, Value v, Region &kappa,
                      std::optional<unsigned> argument) {
  OpBuilder b(v.getContext());
  SmallVector<Type> types;
  SmallVector<Location> locations;
  if (argument) {
    types.push_back(kappa.getArgument(*argument).getType());
    locations.push_back(v.getLoc());
  }
  Block *block = b.createBlock(&into, {}, types, locations);
  IRMapping mapping;
  if (argument)
    mapping.map(kappa.getArgument(*argument), block->getArgument(0));
  Value made = cloneSlice(b, v, kappa, mapping);
  YieldOp::create(b, v.getLoc(), ValueRange{mapping.lookupOrDefault(made)});
}

/// An argument of `rows` rows of sums over keys a head: a workspace, or the
/// caller's.
static Value addState(func::FuncOp function, ArgKind kind, int64_t rows,
                      int64_t rank, bool perQueryHead) {
  MLIRContext *context = function.getContext();
  Builder b(context);
  int64_t open = ShapedType::kDynamic;
  auto memory = MemRefType::get(
      {open, open, rows, rank}, b.getF32Type(),
      StridedLayoutAttr::get(context, open, {open, open, rank, 1}));
  unsigned position = function.getNumArguments();
  SmallVector<std::string> axes{"batch", perQueryHead ? "head" : "kv_head",
                                std::to_string(rows)};
  if (kind != ArgKind::Workspace)
    axes.push_back(std::to_string(rank));
  auto arg = ArgAttr::get(
      context, kind,
      b.getStringAttr(kind == ArgKind::Workspace
                          ? "w" + std::to_string(position)
                          : kStateName.str()),
      b.getStrArrayAttr(SmallVector<StringRef>(axes.begin(), axes.end())),
      /*integer=*/false, StringAttr(), FloatAttr());
  (void)function.insertArgument(
      position, memory, b.getDictionaryAttr(b.getNamedAttr(kArgAttrName, arg)),
      function.getLoc());
  return function.getArgument(position);
}

namespace {

struct BuildFeatures : attn::impl::BuildFeaturesPassBase<BuildFeatures> {
  void runOnOperation() override {
    SmallVector<AttentionOp> ops;
    getOperation().walk([&](AttentionOp op) {
      if (op.getSchedule() && op.getSchedule()->getOrder() != Order::Quadratic)
        ops.push_back(op);
    });
    auto target =
        getOperation()->getParentOfType<ModuleOp>()->getAttrOfType<TargetAttr>(
            kTargetAttrName);
    if (!ops.empty() && !target) {
      getOperation().emitError("the module names no known target; set ")
          << kTargetAttrName;
      return signalPassFailure();
    }
    for (AttentionOp op : ops)
      if (failed(build(op, target.getLanes())))
        return signalPassFailure();
  }

  LogicalResult build(AttentionOp op, int64_t lanes) {
    Region &kappa = op.getKappa();
    Value query, key;
    FailureOr<Value> exponent = failure();
    bool plain = false;
    {
      FeatureBuilder features(op, lanes);
      query = features.row(true);
      key = features.row(false);
      exponent = features.exponent();
      plain = features.isPlain();
    }
    if (!query || !key || failed(exponent))
      return giveUp(op);
    int64_t rank = lengthOf(query);
    Region ownRegions[3]; // features of q and of k, decay
    if (*exponent)
      cloneInto(ownRegions[2], *exponent, kappa, std::nullopt);
    if (plain) {
      appendTo(op.getQueryMap(), query, kappa, 0, op.getQuery());
      appendTo(op.getKeyMap(), key, kappa, 1, op.getKey());
      makeDot(kappa, rank, *exponent);
    } else {
      cloneInto(ownRegions[0], query, kappa, 0);
      cloneInto(ownRegions[1], key, kappa, 1);
      dropUnused(kappa);
    }

    OpBuilder b(op);
    SmallVector<Value> operands(op->getOperands());
    OperationState state(op.getLoc(), LinearOp::getOperationName());
    state.addAttributes(op->getAttrs());
    auto segments = llvm::to_vector(op.getProperties().operandSegmentSizes);
    int64_t width = op.getMappedRow(2).getLength();
    state.addOperands(operands);
    state.attributes.set("operandSegmentSizes",
                         b.getDenseI32ArrayAttr(segments));
    for (Region &region : op->getRegions())
      state.addRegion()->takeBody(region);
    for (Region &region : ownRegions)
      state.addRegion()->takeBody(region);
    b.setInsertionPoint(op);
    auto linear = cast<LinearOp>(b.create(state));
    op.erase();
    auto add = [&](ArgKind kind, int64_t rows) {
      linear.getStateMutable().append(addState(getOperation(), kind, rows, rank,
                                               linear.hasStatePerQueryHead()));
    };
    if (linear.isRecurrent()) {
      add(ArgKind::State, stateRows(width));
      add(ArgKind::Output, stateRows(width));
    } else if (linear.getLicence()->getLinear() == LinearScan::Whole) {
      add(ArgKind::Workspace, kStateParts * (width + 1));
    }
    return success();
  }

  /// kappa anew: the dot of the rows that f_Q and f_K end in, under the decay.
  static void makeDot(Region &kappa, int64_t rank, Value exponent) {
    Location loc = kappa.front().getTerminator()->getLoc();
    OpBuilder b(kappa.getContext());
    Region made;
    RowType row = RowType::get(b.getContext(), rank, b.getF32Type());
    b.createBlock(&made, {}, {row, row}, {loc, loc});
    Value weight =
        DotOp::create(b, loc, made.getArgument(0), made.getArgument(1));
    if (exponent) {
      IRMapping mapping;
      Value power =
          math::ExpOp::create(b, loc, cloneSlice(b, exponent, kappa, mapping));
      weight = arith::MulFOp::create(b, loc, weight, power);
    }
    YieldOp::create(b, loc, ValueRange{weight});
    kappa.takeBody(made);
  }

  /// What was made for the features only, at the end of kappa.
  static void dropUnused(Region &kappa) {
    for (Operation &nested :
         llvm::make_early_inc_range(llvm::reverse(kappa.front())))
      if (isOpTriviallyDead(&nested))
        nested.erase();
  }

  /// An atom has no operation: the other order does all, if there is one.
  LogicalResult giveUp(AttentionOp op) {
    ScheduleAttr schedule = *op.getSchedule();
    if (schedule.getPairCost() == 0)
      return op.emitOpError(
          "has features that no operation of the kernel language makes");
    getOperation().walk([&](AttentionOp other) {
      if (other != op && other.getSchedule() == op.getSchedule())
        return;
      if (other != op)
        other.setScheduleAttr(ScheduleAttr::get(
            op.getContext(), other.getSchedule()->getOrder()));
    });
    op.erase();
    return success();
  }
};

} // namespace
