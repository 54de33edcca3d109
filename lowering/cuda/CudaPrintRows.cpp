//===- CudaPrintRows.cpp - row maps in CUDA C++ ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread a row: a row is a function of its column, evaluated where it is
// read; what is dear and read more than once is kept in shared memory.
//
//===----------------------------------------------------------------------===//

#include "lowering/cuda/CudaPrinter.h"

#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;
using namespace attn;
using tile::TileType;

static int64_t lengthOf(Value row) {
  return cast<RowType>(row.getType()).getLength();
}
static std::string lengthText(Value row) {
  return std::to_string(lengthOf(row));
}

/// Whether an element of the row is asked for at most once.
static bool isReadOnce(Value row) {
  if (!row.hasOneUse())
    return false;
  Operation *user = *row.getUsers().begin();
  return isa<tile::YieldOp, MapOp, ConcatOp>(user) &&
         (isa<tile::YieldOp>(user) || isReadOnce(user->getResult(0)));
}

/// Scratch for the time of a row map; the next one has it again.
int64_t CudaPrinter::keep(int64_t bytes) {
  for (; keptUsed < kept.size(); ++keptUsed)
    if (kept[keptUsed].second >= bytes)
      return kept[keptUsed++].first;
  kept.push_back({scratch(bytes), bytes});
  ++keptUsed;
  return kept.back().first;
}

LogicalResult CudaPrinter::printRowOp(Operation &op, int64_t queries) {
  Value result = op.getNumResults() ? op.getResult(0) : Value();
  bool isRow = result && isa<RowType>(result.getType());
  auto declare = [&](StringRef wanted, const Twine &text) {
    std::string name = unique(wanted);
    line("const auto " + name + " = " + text + ";");
    texts[result] = {name};
    return success();
  };
  // Keeps the row's values.
  auto kept = [&](StringRef wanted, const Twine &text) {
    if (isReadOnce(result))
      return declare(wanted, text);
    std::string place = unique((wanted + "Kept").str());
    std::string type = "Rows<" + std::to_string(queries) + ", " +
                       lengthText(result) + ", float>";
    int64_t at = keep(queries * ((lengthOf(result) + 15) / 16 * 64 + 16));
    line("const auto " + place + " = rowsAt<" + type + ">(shared, " +
         std::to_string(at) + ");");
    line(place + ".fill(r, " + text + ");");
    return declare(wanted, "[=](int at) { return " + place + ".at(r, at); }");
  };
  auto codeOf = [&](Value v) { return of(v).code; };
  if (auto map = dyn_cast<MapOp>(op)) {
    std::string name = unique("mapped");
    line("const auto " + name + " = [=](int at) {");
    ++indent;
    for (auto [row, argument] :
         llvm::zip(map.getRows(), map.getBody().getArguments())) {
      std::string x = unique("x");
      line("const float " + x + " = " + codeOf(row) + "(at);");
      texts[argument] = {x};
    }
    if (failed(printBlock(map.getBody().front())))
      return failure();
    line("return " +
         codeOf(map.getBody().front().getTerminator()->getOperand(0)) + ";");
    --indent;
    line("};");
    texts[result] = {name};
    return success();
  }
  if (auto param = dyn_cast<ParamRowOp>(op)) {
    unsigned last = param.getIndices().size();
    Text step = stride(param.getMemory(), last);
    return declare("given",
                   "[=](int at) { return (" +
                       address(param.getMemory(), param.getIndices()) + ")[at" +
                       (step.code == "1" ? "" : " * " + step.code) + "]; }");
  }
  if (auto unit = dyn_cast<UnitOp>(op))
    return declare("onSphere", "unit<" + lengthText(result) + ">(" +
                                   codeOf(unit.getRow()) + ")");
  if (auto rope = dyn_cast<RopeOp>(op)) {
    // The same frequencies as on any target, rounded once.
    double base = rope.getBase().convertToDouble();
    int64_t half = lengthOf(result) / 2;
    std::string entry = stage.getName().str(), numbers;
    std::replace(entry.begin(), entry.end(), '.', '_');
    std::string table = unique(entry + "_frequencies"); // of the whole file
    for (int64_t t = 0; t < half; ++t)
      numbers +=
          (t ? t % 4 ? ", " : ",\n    " : "") +
          realText(std::pow(base, -static_cast<double>(t) / half), true).code;
    tables +=
        "ATTN_CONSTANT double " + table + "[] = {\n    " + numbers + "};\n\n";
    // Whole positions as they are: f32 does not hold all of them.
    Value position = rope.getPosition();
    if (auto whole = position.getDefiningOp<arith::SIToFPOp>())
      position = whole.getIn();
    return kept("rotated", "rope<" + lengthText(result) + ", " +
                               (rope.getInterleaved() ? "true" : "false") +
                               ">(" + codeOf(rope.getRow()) + ", " +
                               codeOf(position) + ", " + table + ")");
  }
  if (auto project = dyn_cast<ProjectOp>(op)) {
    unsigned axis = project.getIndices().size();
    Value matrix = project.getMatrix();
    return kept("projected", "project<" + lengthText(project.getRow()) + ">(" +
                                 codeOf(project.getRow()) + ", " +
                                 address(matrix, project.getIndices()) + ", " +
                                 stride(matrix, axis).code + ", " +
                                 stride(matrix, axis + 1).code + ")");
  }
  if (auto channels = dyn_cast<ChannelsOp>(op)) {
    std::string text;
    for (auto [n, v] : llvm::enumerate(channels.getValues())) {
      if (llvm::all_of(channels.getValues().drop_front(n),
                       [&](Value other) { return other == v; })) {
        text += codeOf(v);
        break;
      }
      text += "at == " + std::to_string(n) + " ? " + codeOf(v) + " : ";
    }
    return declare("channels", "[=](int at) { return " + text + "; }");
  }
  if (auto concat = dyn_cast<ConcatOp>(op)) {
    std::string text;
    int64_t start = 0;
    for (auto [n, row] : llvm::enumerate(concat.getRows())) {
      int64_t end = start + lengthOf(row);
      if (n + 1 < concat.getRows().size())
        text += "at < " + std::to_string(end) + " ? ";
      text += codeOf(row) + "(at" +
              (start ? " - " + std::to_string(start) : "") + ")";
      if (n + 1 < concat.getRows().size())
        text += " : ";
      start = end;
    }
    return declare("joined", "[=](int at) { return " + text + "; }");
  }
  if (auto outer = dyn_cast<OuterOp>(op)) {
    std::string m = lengthText(outer.getRhs());
    return declare("product", "[=](int at) { return " + codeOf(outer.getLhs()) +
                                  "(at / " + m + ") * " +
                                  codeOf(outer.getRhs()) + "(at % " + m +
                                  "); }");
  }
  if (auto power = dyn_cast<PowerOp>(op)) {
    std::string place = unique("powerKept");
    int64_t at = keep(queries * ((lengthOf(result) + 15) / 16 * 64 + 16));
    line("const auto " + place + " = rowsAt<Rows<" + std::to_string(queries) +
         ", " + lengthText(result) + ", float>>(shared, " + std::to_string(at) +
         ");");
    line("powerRow<" + std::to_string(power.getDegree()) + ", " +
         lengthText(power.getRow()) + ">(" + codeOf(power.getRow()) + ", " +
         place + ", r);");
    return declare("power_", "[=](int at) { return " + place + ".at(r, at); }");
  }
  if (auto dot = dyn_cast<DotOp>(op))
    return declare("product", "dotOf<" + lengthText(dot.getLhs()) + ">(" +
                                  codeOf(dot.getLhs()) + ", " +
                                  codeOf(dot.getRhs()) + ")");
  if (auto distance = dyn_cast<SqDistOp>(op))
    return declare("distance", "sqdistOf<" + lengthText(distance.getLhs()) +
                                   ">(" + codeOf(distance.getLhs()) + ", " +
                                   codeOf(distance.getRhs()) + ")");
  if (auto norm = dyn_cast<SqNormOp>(op))
    return declare("norm", "dotOf<" + lengthText(norm.getRow()) + ">(" +
                               codeOf(norm.getRow()) + ", " +
                               codeOf(norm.getRow()) + ")");
  if (isRow || isa<AttnDialect>(op.getDialect()))
    return op.emitOpError("has no form in CUDA");
  return printOp(op);
}

/// What a thread a row computes: the operations that `wanted` needs, but for
/// those that all threads make together, and then `store`.
LogicalResult CudaPrinter::printRowLoop(tile::RowsOp op, ValueRange wanted,
                                        llvm::function_ref<void()> store) {
  Block &block = op.getBody().front();
  llvm::SetVector<Operation *> needed;
  SmallVector<Value> work(wanted);
  while (!work.empty()) {
    Operation *def = work.pop_back_val().getDefiningOp();
    if (!def || def->getBlock() != &block || !needed.insert(def) ||
        isa<RandomFeaturesOp>(def))
      continue;
    def->walk([&](Operation *nested) {
      work.append(nested->operand_begin(), nested->operand_end());
    });
  }
  int64_t queries = cast<TileType>(op.getTile().getType()).getShape()[0];
  line("for (int r = threadOf(); r < " + std::to_string(queries) +
       "; r += kThreads) {");
  ++indent;
  std::string x = unique("row");
  line("const auto " + x + " = [=](int at) { return " + of(op.getTile()).code +
       ".at(r, at); };");
  texts[block.getArgument(0)] = {x};
  for (auto [scalar, argument] :
       llvm::zip(op.getScalars(), block.getArguments().drop_front())) {
    auto iota = scalar.getDefiningOp<tile::IotaOp>();
    if (!iota)
      return op.emitOpError("takes a value a row that is no position");
    if (argument.use_empty())
      continue;
    std::string position = unique("position");
    line("const i64 " + position + " = " + of(iota.getOrigin()).code + " + r;");
    texts[argument] = {position};
  }
  for (Operation &nested : block.without_terminator()) {
    if (isa<arith::ConstantOp>(nested) || !needed.contains(&nested))
      continue;
    if (isa<RandomFeaturesOp>(nested)) {
      std::string name = unique("random");
      line("const auto " + name + " = [=](int at) { return " +
           madeTogether[nested.getResult(0)] + ".at(r, at); };");
      texts[nested.getResult(0)] = {name};
    } else if (failed(printRowOp(nested, queries))) {
      return failure();
    }
  }
  store();
  --indent;
  line("}");
  barrier();
  return success();
}

LogicalResult CudaPrinter::printRows(tile::RowsOp op) {
  auto source = cast<TileType>(op.getTile().getType());
  Block &block = op.getBody().front();
  int64_t queries = source.getShape()[0];
  keptUsed = 0;
  std::string from = of(op.getTile()).code;
  // Where results go.
  std::vector<std::string> places;
  for (Value result : op.getResults()) {
    auto type = cast<TileType>(result.getType());
    if (isFeatures(type))
      places.push_back(featurePlace(
          result, op, type.has('q') ? "queryFeatures" : "keyFeatures"));
    else if (type.rank() == 2)
      places.push_back(rows(result, from + "Mapped", {}));
    else
      places.push_back("floatsAt(shared, " +
                       std::to_string(scratch(4 * queries)) + ")");
  }
  for (Value result : op.getResults())
    if (auto it = placeOf.find(result); it != placeOf.end())
      writes(it->second);
  auto yield = cast<tile::YieldOp>(block.getTerminator());
  for (RandomFeaturesOp random : block.getOps<RandomFeaturesOp>())
    if (failed(printRandom(op, random, places)))
      return failure();
  // What was made together in its place is there.
  SmallVector<Value> wanted;
  for (auto [value, place] : llvm::zip(yield.getValues(), places)) {
    auto made = madeTogether.find(value);
    if (made == madeTogether.end() || made->second != place)
      wanted.push_back(value);
  }
  auto store = [&] {
    for (auto [value, place] : llvm::zip(yield.getValues(), places)) {
      if (!llvm::is_contained(wanted, value))
        continue;
      line(isa<RowType>(value.getType())
               ? place + ".fill(r, " + of(value).code + ");"
               : place + "[r] = " + of(value).code + ";");
    }
  };
  if (!wanted.empty() && failed(printRowLoop(op, wanted, store)))
    return failure();
  for (auto [result, place] : llvm::zip(op.getResults(), places)) {
    auto type = cast<TileType>(result.getType());
    if (type.rank() == 1 && type.has('k')) {
      std::string name = unique("keyValue");
      line("const SharedPerKey " + name + "{" + place + "};");
      texts[result] = {name};
    } else if (type.rank() == 1) {
      std::string name = unique("rowValue");
      line("const auto " + name + " = perQuery(" + place + ");");
      texts[result] = {name};
    } else {
      texts[result] = {place};
      declareOperand(result);
    }
  }
  return success();
}
