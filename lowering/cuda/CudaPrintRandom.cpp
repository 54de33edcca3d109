//===- CudaPrintRandom.cpp - random features in CUDA C++ ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row with hundreds of random rows is too much for a thread a row: all
// threads make the features together, between the loops over rows.
//
//===----------------------------------------------------------------------===//

#include "dialect/attn/RandomRows.h"
#include "lowering/cuda/CudaPrinter.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

static int64_t lengthOf(Value row) {
  return cast<RowType>(row.getType()).getLength();
}

/// The random rows as the columns of a constant of the file.
std::string CudaPrinter::tableOf(RandomFeaturesOp random) {
  int64_t length = lengthOf(random.getRow());
  auto count = static_cast<int64_t>(random.getCount());
  std::string name = "randomRows" + std::to_string(length) + "x" +
                     std::to_string(count) + "_seed" +
                     std::to_string(random.getSeed());
  if (random.getStream())
    name += "_stream" + std::to_string(random.getStream());
  if (random.getOrthogonal())
    name += "_orthogonal";
  if (random.getKind() == RandomKind::Anchors)
    name += "_anchors";
  std::replace(name.begin(), name.end(), '-', 'm'); // of a seed below 0
  if (!file.tables.insert(name).second)
    return name;
  auto rows = randomRowsOf(random, length);
  std::string numbers;
  for (int64_t d = 0; d < length; ++d)
    for (int64_t r = 0; r < count; ++r)
      numbers += ((d || r) ? (r % 6 ? ", " : ",\n    ") : "") +
                 realText((*rows)[r * length + d], /*wide=*/false).code;
  tables += "// Row w_r stands in column r.\nATTN_TABLE float " + name +
            "[] = {\n    " + numbers + "};\n\n";
  return name;
}

/// Whether the value at a column depends on `from` at that column alone.
static bool isElementwise(Value v, Value from) {
  if (v == from)
    return true;
  auto map = v.getDefiningOp<MapOp>();
  return map && llvm::all_of(map.getRows(), [&](Value row) {
           return isElementwise(row, from);
         });
}

LogicalResult CudaPrinter::printRandom(tile::RowsOp op, RandomFeaturesOp random,
                                       ArrayRef<std::string> places) {
  Block &block = op.getBody().front();
  int64_t queries = cast<TileType>(op.getTile().getType()).getShape()[0];
  auto keepRows = [&](Value row, StringRef wanted) {
    std::string name = unique(wanted);
    int64_t at = keep(queries * ((lengthOf(row) + 15) / 16 * 64 + 16));
    line("const auto " + name + " = rowsAt<Rows<" + std::to_string(queries) +
         ", " + std::to_string(lengthOf(row)) + ", float>>(shared, " +
         std::to_string(at) + ");");
    return name;
  };
  // What is multiplied.
  Value row = random.getRow();
  std::string x = of(op.getTile()).code;
  if (row != block.getArgument(0)) {
    x = keepRows(row, "multiplied");
    if (failed(printRowLoop(
            op, row, [&] { line(x + ".fill(r, " + of(row).code + ");"); })))
      return failure();
  }
  // In the place of the result, if that is a function of the same column and
  // has the digits.
  std::string place;
  auto yield = cast<tile::YieldOp>(block.getTerminator());
  for (auto [value, result, known] :
       llvm::zip(yield.getValues(), op.getResults(), places)) {
    auto type = cast<TileType>(result.getType());
    if (type.rank() == 2 && isElementwise(value, random.getResult()) &&
        (type.getElementType().isF32() || type.getElementType().isTF32()) &&
        lengthOf(random.getResult()) % 16 == 0 && place.empty())
      place = known;
  }
  bool shares = llvm::count_if(yield.getValues(), [&](Value v) {
                  return isa<RowType>(v.getType());
                }) > 1;
  if (place.empty() || shares)
    place = keepRows(random.getResult(), "random");
  std::string count = std::to_string(random.getCount()),
              both = random.getHyperbolic() ? "true" : "false",
              arguments = "(" + place + ", " + x + ", " + tableOf(random);
  switch (random.getKind()) {
  case RandomKind::Positive:
    line("positiveFeatures<" + count + ", " + both + ">" + arguments + ", " +
         realText(kLargestFeatureExponent, /*wide=*/false).code + ");");
    break;
  case RandomKind::Stabilised:
    line("stabilisedFeatures<" + count + ", " + both + ">" + arguments + ");");
    break;
  case RandomKind::Trigonometric:
    line("trigonometricFeatures<" + count + ">" + arguments + ");");
    break;
  case RandomKind::Anchors:
    line("anchorFeatures<" + count + ">" + arguments + ");");
    break;
  }
  barrier();
  madeTogether[random.getResult()] = place;
  return success();
}
