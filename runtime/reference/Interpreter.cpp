//===- Interpreter.cpp - what attention means, in float64 -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/Interpreter.h"
#include "runtime/reference/Flatten.h"
#include "runtime/reference/RowReadout.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace attn {
namespace {

using namespace reference;

/// The lengths and the offset of one sequence (S1).
struct Sequence {
  int64_t keys;    ///< true number of keys
  int64_t queries; ///< `nq`
  int64_t rows;    ///< rows that are computed; those after it are zero
  int64_t offset;
};

class Interpreter {
public:
  Interpreter(AttentionOp op, ArrayRef<ReferenceArray> arrays, Noise noise)
      : op(op), noise(noise) {
    for (const ReferenceArray &array : arrays)
      memories.push_back({array, stridesOf(array)});
  }
  LogicalResult run();

private:
  LogicalResult checkArrays();
  LogicalResult checkShapes();
  LogicalResult prepare();
  LogicalResult runHead(int64_t b, int64_t h, const Sequence &sequence);
  void writeRow(int64_t b, int64_t h, int64_t i, const RowResults &row,
                const std::vector<VisibleKey> &visible);
  FailureOr<Sequence> sequenceOf(int64_t b);
  FailureOr<Denominator> denominatorOf(int64_t position);

  Memory &memoryOf(Value value) {
    return memories[cast<BlockArgument>(value).getArgNumber()];
  }
  /// The array of a result, or null.
  Memory *outputOf(Result kind) {
    Value value = op.getOutput(kind);
    return value ? &memoryOf(value) : nullptr;
  }
  int64_t extent(Value value, unsigned axis) {
    return memoryOf(value).tensor.shape[axis];
  }
  /// Reads `n` rows of head `h` of an input and maps them.
  void readRows(Value input, std::optional<Evaluator> &map, int64_t b,
                int64_t h, int64_t n, int64_t firstPosition,
                std::vector<double> &out);
  LogicalResult checkFault();
  /// As if features, which are made of the rows, were rounded.
  void moveFeatures(std::vector<double> &rows) {
    for (double &x : rows)
      x *= movesFeatures() ? movedOne(noise.seed, noise.features) : 1;
  }
  bool movesFeatures() const { return noise.seed && noise.features > 0; }

  AttentionOp op;
  Noise noise;
  std::vector<Memory> memories;
  int64_t lengths[3]; ///< of the mapped rows of q, k and v
  std::optional<Program> mapPrograms[3], kappaProgram, maskProgram, termProgram;
  std::optional<Evaluator> maps[3], kappa, mask, terms;
  std::vector<double> queries, keys, values;
};

/// One array an argument, each with the rank, kind and static extents of its
/// type.
LogicalResult Interpreter::checkArrays() {
  auto function = op->getParentOfType<func::FuncOp>();
  if (memories.size() != function.getNumArguments())
    return op.emitError("the function takes ")
           << function.getNumArguments() << " arrays, got " << memories.size();
  for (auto [number, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    const Tensor &tensor = memories[number].tensor;
    if (!memref)
      return op.emitError("argument ") << number << " is not a memref";
    if (memref.getRank() != static_cast<int64_t>(tensor.shape.size()) ||
        memories[number].strides.size() != tensor.shape.size())
      return op.emitError("argument ")
             << number << " has " << memref.getRank() << " axes, its array has "
             << tensor.shape.size();
    for (auto [axis, extent] : llvm::enumerate(memref.getShape()))
      if (tensor.shape[axis] < 0 ||
          (extent != ShapedType::kDynamic && extent != tensor.shape[axis]))
        return op.emitError("argument ")
               << number << " has the extent " << extent << " on axis " << axis
               << ", its array has " << tensor.shape[axis];
    if (isa<IntegerType>(memref.getElementType()) !=
        reference::isInteger(tensor.type))
      return op.emitError("argument ")
             << number << " and its array differ in kind, integer and real";
  }
  return success();
}

/// The shapes fit to each other. Rows of unequal length are for flatten to
/// find.
LogicalResult Interpreter::checkShapes() {
  Value q = op.getQuery(), k = op.getKey(), v = op.getValue();
  for (Value operand : op->getOperands()) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
      return op.emitError(
          "takes memory that is not an argument of the function");
  }
  if (extent(q, 0) != extent(k, 0) || extent(k, 0) != extent(v, 0))
    return op.emitError("q, k and v have different batch sizes");
  if (extent(k, 1) != extent(v, 1) || extent(k, 2) != extent(v, 2))
    return op.emitError("k and v differ in heads or in length");
  if (extent(q, 1) != 0 &&
      (extent(k, 1) == 0 || extent(q, 1) % extent(k, 1) != 0))
    return op.emitError("the number of query heads, ")
           << extent(q, 1) << ", is not a multiple of that of key heads, "
           << extent(k, 1);
  for (Value lengths :
       {op.getKeyLengths(), op.getQueryLengths(), op.getOffset()})
    if (lengths && extent(lengths, 0) != 0 &&
        extent(lengths, 0) != extent(q, 0) &&
        !(lengths == op.getOffset() && extent(lengths, 0) == 1))
      return op.emitError("lengths and offsets are one a batch");
  for (auto [attr, output] : llvm::zip(op.getResults(), op.getOutputs())) {
    Result kind = cast<ResultAttr>(attr).getValue();
    int64_t expected[] = {extent(q, 0), extent(q, 1), extent(q, 2),
                          kind == Result::O ? lengths[2] : extent(k, 2)};
    for (auto [axis, actual] : llvm::enumerate(memoryOf(output).tensor.shape))
      if (actual != expected[axis])
        return op.emitError("result '")
               << stringifyResult(kind) << "' needs the extent "
               << expected[axis] << " on axis " << axis << ", its array has "
               << actual;
  }
  return success();
}

/// Flattens all regions.
LogicalResult Interpreter::prepare() {
  Region *regions[] = {&op.getQueryMap(), &op.getKeyMap(), &op.getValueMap()};
  Value inputs[] = {op.getQuery(), op.getKey(), op.getValue()};
  Level levels[] = {OnQuery, OnKey, OnKey};
  for (int role = 0; role < 3; ++role) {
    lengths[role] = extent(inputs[role], 3);
    if (regions[role]->empty())
      continue;
    FailureOr<Program> made =
        flatten(*regions[role], memories, {{lengths[role], levels[role]}});
    if (failed(made))
      return failure();
    mapPrograms[role] = std::move(*made);
    maps[role].emplace(*mapPrograms[role], memories);
    lengths[role] = maps[role]->rowLength();
  }
  FailureOr<Program> made = flatten(
      op.getKappa(), memories, {{lengths[0], OnQuery}, {lengths[1], OnKey}});
  if (failed(made))
    return failure();
  kappaProgram = std::move(*made);
  kappa.emplace(*kappaProgram, memories);

  for (std::optional<Evaluator> *evaluator :
       {&maps[0], &maps[1], &maps[2], &kappa})
    if (*evaluator && noise.seed) {
      (*evaluator)->addNoise(noise);
      ++noise.seed;
    }

  if (!op.getMask().empty()) {
    if (failed(made = flatten(op.getMask(), memories, {})))
      return failure();
    maskProgram = std::move(*made);
    mask.emplace(*maskProgram, memories);
  }
  if (!op.getNormalizer().empty()) {
    if (failed(made = flatten(op.getNormalizer(), memories, {})))
      return failure();
    termProgram = std::move(*made);
    terms.emplace(*termProgram, memories);
    for (Register result : termProgram->results)
      if (result.level & OnKey)
        return op.emitError("a term of the denominator depends on the key");
  }
  return success();
}

FailureOr<Sequence> Interpreter::sequenceOf(int64_t b) {
  auto given = [&](Value value, int64_t index) -> std::optional<int64_t> {
    if (!value || extent(value, 0) == 0)
      return std::nullopt;
    const Memory &memory = memoryOf(value);
    index = extent(value, 0) == 1 ? 0 : index;
    return readInteger(memory.tensor, index * memory.strides[0]);
  };
  int64_t nq = extent(op.getQuery(), 2), nk = extent(op.getKey(), 2);
  Sequence sequence;
  sequence.keys = given(op.getKeyLengths(), b).value_or(nk);
  std::optional<int64_t> queries = given(op.getQueryLengths(), b);
  sequence.queries = sequence.rows = queries.value_or(nq);
  // A derived query length sets the offset only (S1).
  int64_t length = queries.value_or(nq == nk ? sequence.keys : nq);
  sequence.offset = given(op.getOffset(), b).value_or(sequence.keys - length);
  if (sequence.keys < 0 || sequence.keys > nk)
    return op.emitError("key_lengths[")
           << b << "] is " << sequence.keys << ", there are " << nk << " keys";
  if (sequence.queries < 0 || sequence.queries > nq)
    return op.emitError("query_lengths[") << b << "] is " << sequence.queries
                                          << ", there are " << nq << " queries";
  return sequence;
}

LogicalResult Interpreter::checkFault() {
  for (std::optional<Evaluator> *evaluator :
       {&maps[0], &maps[1], &maps[2], &kappa, &mask, &terms})
    if (*evaluator && (*evaluator)->fault())
      return op.emitError((*evaluator)->fault());
  return success();
}

FailureOr<Denominator> Interpreter::denominatorOf(int64_t position) {
  Denominator denominator;
  denominator.divide = op.getNormalize() == Normalize::Mass;
  if (!terms)
    return denominator;
  terms->evaluateQuery(position);
  for (auto [number, attr] : llvm::enumerate(*op.getTerms())) {
    double value = plain(terms->real(number));
    switch (cast<NormalizerTermAttr>(attr).getValue()) {
    case NormalizerTerm::Delta:
      denominator.delta = value;
      break;
    case NormalizerTerm::Floor:
      denominator.floor = value;
      break;
    case NormalizerTerm::Sink:
      denominator.sink = value;
      break;
    }
  }
  return denominator;
}

void Interpreter::readRows(Value input, std::optional<Evaluator> &map,
                           int64_t b, int64_t h, int64_t n,
                           int64_t firstPosition, std::vector<double> &out) {
  const Memory &memory = memoryOf(input);
  int64_t length = extent(input, 3);
  int64_t mapped = map ? map->rowLength() : length;
  out.resize(n * mapped);
  std::vector<double> row(length);
  for (int64_t t = 0; t < n; ++t) {
    int64_t offset =
        b * memory.strides[0] + h * memory.strides[1] + t * memory.strides[2];
    double *target = out.data() + t * mapped;
    if (!map) {
      readReals(memory.tensor, offset, memory.strides[3], length, target);
      continue;
    }
    readReals(memory.tensor, offset, memory.strides[3], length, row.data());
    const double *result = map->mapRow(firstPosition + t, row.data());
    std::copy(result, result + mapped, target);
  }
}

void Interpreter::writeRow(int64_t b, int64_t h, int64_t i,
                           const RowResults &row,
                           const std::vector<VisibleKey> &visible) {
  auto at = [&](const Memory &memory) {
    return b * memory.strides[0] + h * memory.strides[1] +
           i * memory.strides[2];
  };
  std::pair<Result, double> scalars[] = {{Result::Mass, row.mass},
                                         {Result::Lse, row.lse},
                                         {Result::Max, row.max},
                                         {Result::Entropy, row.entropy}};
  for (auto [kind, value] : scalars)
    if (Memory *output = outputOf(kind))
      writeReal(output->tensor, at(*output), value);
  if (Memory *output = outputOf(Result::Argmax))
    writeInteger(output->tensor, at(*output), row.argmax);

  if (Memory *output = outputOf(Result::Weights)) {
    std::vector<double> dense(output->tensor.shape[3], 0.0);
    for (auto [key, weight] : llvm::zip(visible, row.weights))
      // Undivided, a weight is kappa, whatever the gauge of the row is.
      dense[key.j] =
          op.getNormalize() == Normalize::None ? plain(key.kappa) : weight;
    for (auto [j, weight] : llvm::enumerate(dense))
      writeReal(output->tensor, at(*output) + j * output->strides[3], weight);
  }
  if (Memory *output = outputOf(Result::O)) {
    std::vector<double> sum(lengths[2], 0.0);
    for (auto [key, weight] : llvm::zip(visible, row.weights))
      for (int64_t c = 0; !row.empty && c < lengths[2]; ++c)
        sum[c] += weight * values[key.j * lengths[2] + c];
    for (int64_t c = 0; c < lengths[2]; ++c)
      writeReal(output->tensor, at(*output) + c * output->strides[3],
                timesExp(sum[c], row.outer));
  }
}

LogicalResult Interpreter::runHead(int64_t b, int64_t h,
                                   const Sequence &sequence) {
  int64_t group = extent(op.getQuery(), 1) / extent(op.getKey(), 1);
  int64_t kv = h / group;
  for (std::optional<Evaluator> *evaluator :
       {&maps[0], &maps[1], &maps[2], &kappa, &mask, &terms})
    if (*evaluator)
      (*evaluator)->enterHead(b, h, kv, sequence.queries, sequence.keys);

  if (h % group == 0) { // the group shares its keys
    readRows(op.getKey(), maps[1], b, kv, sequence.keys, 0, keys);
    moveFeatures(keys);
    readRows(op.getValue(), maps[2], b, kv, sequence.keys, 0, values);
  }
  readRows(op.getQuery(), maps[0], b, h, sequence.rows, sequence.offset,
           queries);
  moveFeatures(queries);
  kappa->prepareKeys(sequence.keys, keys.data());
  if (mask)
    mask->prepareKeys(sequence.keys, nullptr);

  std::vector<VisibleKey> visible;
  for (int64_t i = 0; i < sequence.rows; ++i) {
    int64_t position = i + sequence.offset;
    kappa->enterQuery(position, queries.data() + i * lengths[0]);
    if (mask)
      mask->enterQuery(position, nullptr);
    visible.clear();
    for (int64_t j = 0; j < sequence.keys; ++j) {
      if (mask) {
        mask->evaluatePair(j);
        if (!mask->flag())
          continue;
      }
      kappa->evaluatePair(j);
      visible.push_back({j, kappa->real(0)});
      if (movesFeatures())
        visible.back().kappa.m *= movedOne(noise.seed, 2 * noise.features);
    }
    FailureOr<Denominator> denominator = denominatorOf(position);
    if (failed(denominator) || failed(checkFault()))
      return failure();
    writeRow(b, h, i, readOut(visible, *denominator, noise.weightDigits),
             visible);
  }
  for (int64_t i = sequence.rows; i < extent(op.getQuery(), 2); ++i)
    writeRow(b, h, i, RowResults(), {});
  return success();
}

LogicalResult Interpreter::run() {
  if (failed(checkArrays()) || failed(prepare()) || failed(checkShapes()))
    return failure();
  std::vector<Sequence> sequences;
  for (int64_t b = 0; b < extent(op.getQuery(), 0); ++b) {
    FailureOr<Sequence> sequence = sequenceOf(b);
    if (failed(sequence))
      return failure();
    sequences.push_back(*sequence);
  }
  for (auto [b, sequence] : llvm::enumerate(sequences))
    for (int64_t h = 0; h < extent(op.getQuery(), 1); ++h)
      if (failed(runHead(b, h, sequence)))
        return failure();
  return success();
}

} // namespace

LogicalResult interpret(func::FuncOp function, ArrayRef<ReferenceArray> arrays,
                        const Noise &noise) {
  SmallVector<AttentionOp> found;
  function.walk([&](AttentionOp op) { found.push_back(op); });
  if (found.size() != 1)
    return function.emitError("the reference interprets functions with one "
                              "attn.attention, this one has ")
           << found.size();
  return Interpreter(found.front(), arrays, noise).run();
}

} // namespace attn
