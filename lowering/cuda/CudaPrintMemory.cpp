//===- CudaPrintMemory.cpp - loads, stores, shared memory in CUDA C++ -----===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of the roles lie in shared memory. Copies are begun where they are
// loaded and waited for where they are first read.
//
//===----------------------------------------------------------------------===//

#include "lowering/CudaAttrs.h"
#include "lowering/CudaTarget.h"
#include "lowering/cuda/CudaPrinter.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

static TileType typeOf(Value v) { return cast<TileType>(v.getType()); }
/// Of cores; rows that lie apart need less.
static constexpr int64_t kRowsAlignment = 128;
/// Rows of the query, once they are there, wait in registers for the matrix
/// unit, unless they are too long.
static bool isOperand(Value v) {
  TileType t = typeOf(v);
  return isRows(t) && t.has('q') && is16Bit(t) && t.getShape()[1] <= 128 &&
         llvm::any_of(v.getUsers(), [&](Operation *user) {
           auto contract = dyn_cast<tile::ContractOp>(user);
           return contract && typeOf(contract.getResult()).has('k') &&
                  typeOf(contract.getB()).getElementType() ==
                      t.getElementType();
         });
}

std::string CudaPrinter::rowsType(Value v) {
  TileType t = typeOf(v);
  return "Rows<" + std::to_string(t.getShape()[0]) + ", " +
         std::to_string(t.getShape()[1]) + ", " +
         cTypeOf(t.getElementType()).str() +
         (liesInCores(v) ? ", Cores>" : ">");
}

void CudaPrinter::barrier() {
  line(storesCores ? "Cores::publish();" : "barrier();");
  forgetTouched();
}
void CudaPrinter::forgetTouched() {
  touched.clear();
  isUnknown = false;
}
/// What `op` reads, before it is printed.
void CudaPrinter::reads(Operation &op) {
  readHere.clear();
  llvm::SmallVector<StringRef> all;
  for (Value v : op.getOperands())
    if (auto it = placeOf.find(v); it != placeOf.end())
      all.push_back(it->second);
  if (!all.empty() && (isUnknown || llvm::any_of(all, [&](StringRef place) {
                         return touched.lookup(place);
                       })))
    barrier();
  for (StringRef place : all)
    if (touched.try_emplace(place, false).second)
      readHere.insert(place);
}
/// What the operation writes: element by element where it reads it, too.
void CudaPrinter::writes(StringRef place) {
  if (isUnknown || (touched.contains(place) && !readHere.contains(place)))
    barrier();
  touched[place] = true;
}

int64_t CudaPrinter::rowsBytes(Value v) {
  TileType t = typeOf(v);
  int64_t bytes = is16Bit(t) ? 2 : 4; // the 19 bits of tf32 take 32
  if (liesInCores(v))
    return t.getShape()[0] * columnGroups(t.getShape()[1]) * 8 * bytes;
  return t.getShape()[0] * cudaRowBytes(t.getShape()[1], bytes);
}

int64_t CudaPrinter::scratch(int64_t bytes, int64_t alignment) {
  int64_t at = llvm::alignTo(sharedBytes, alignment);
  sharedBytes = llvm::alignTo(at + bytes, 16);
  return at;
}

/// A place for rows in shared memory, declared where it is first used.
std::string CudaPrinter::rows(Value v, StringRef wanted, Value memory) {
  TileType t = typeOf(v);
  auto key = std::make_pair(memory ? memory.getAsOpaquePointer()
                                   : v.getAsOpaquePointer(),
                            rowsType(v) + t.getAxes().str());
  std::string &name = places[key];
  if (name.empty()) {
    name = unique(wanted);
    // At the top of the kernel, where every loop sees it.
    std::string at = std::to_string(scratch(rowsBytes(v), kRowsAlignment));
    std::string text = "  const auto " + name + " = rowsAt<" + rowsType(v) +
                       ">(shared, " + at + ");\n";
    body.insert(placesEnd, text);
    placesEnd += text.size();
  }
  placeOf[v] = name;
  return name;
}

void CudaPrinter::declareOperand(Value v) {
  if (!isOperand(v) || liesInCores(v))
    return;
  std::string name = unique(of(v).code + "Operand");
  line("const auto " + name + " = operand(" + of(v).code + ");");
  operands[v] = name;
}

void CudaPrinter::arriveFor(Operation &op) {
  // The last of the pending copies that this operation needs.
  int last = -1;
  op.walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      for (auto [n, v] : llvm::enumerate(pending))
        if (v == operand)
          last = std::max<int>(last, n);
  });
  if (last < 0)
    return;
  line("arrive<" + std::to_string(pending.size() - 1 - last) +
       (hasCores ? ", Cores>();" : ">();"));
  forgetTouched();
  Values arrived(pending.begin(), pending.begin() + last + 1);
  pending.erase(pending.begin(), pending.begin() + last + 1);
  for (Value v : arrived) {
    if (!v)
      continue;
    declareOperand(v);
    if (auto it = whenArrived.find(v); it != whenArrived.end())
      it->second();
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Whether the next keys are copied while these are used: the schedule says so,
/// and no other loop reads the same memory.
bool CudaPrinter::isAhead(tile::LoadOp op) {
  auto stages = stage->getAttrOfType<IntegerAttr>(kStagesAttrName);
  TileType t = typeOf(op.getResult());
  return stages && stages.getInt() > 1 && t.has('k') && t.has('d') &&
         op->getParentOfType<scf::ForOp>() && pending.empty() &&
         llvm::count_if(op.getMemory().getUsers(), [](Operation *user) {
           return isa<tile::LoadOp>(user);
         }) == 1;
}

/// Two places take turns. The keys after these need not be the next that are
/// seen: then their copy was in vain, and the right ones go to the other place.
LogicalResult CudaPrinter::printLoadAhead(tile::LoadOp op,
                                          const std::string &from) {
  TileType t = typeOf(op.getResult());
  Value row = op.getIndices().back();
  std::string step = stride(op.getMemory(), op.getIndices().size() - 1).code,
              limit = of(op.getLimit()).code, j = of(row).code;
  std::string turn = unique("turn"),
              ahead = unique(arrayName(op.getMemory()) + "Ahead"),
              name = unique(arrayName(op.getMemory()) + "Rows");
  int64_t bytes = rowsBytes(op.getResult()),
          at = scratch(2 * bytes, kRowsAlignment);
  std::string top = "  int " + turn + " = 0;\n  i64 " + ahead + " = -1;\n";
  body.insert(placesEnd, top);
  placesEnd += top.size();
  std::string type = rowsType(op.getResult());
  auto place = [=](StringRef which) {
    return "rowsAt<" + type + ">(shared, " + std::to_string(at) + " + " +
           which.str() + " * " + std::to_string(bytes) + ")";
  };
  barrier();
  line("if (" + ahead + " != " + j + ")");
  ++indent;
  line(turn + " = 1 - " + turn + ";");
  --indent;
  line("const auto " + name + " = " + place(turn) + ";");
  line("if (" + ahead + " != " + j + ")");
  ++indent;
  line("stage(" + name + ", " + from + ", " + step + ", " + j + ", " + limit +
       ");");
  --indent;
  texts[op.getResult()] = {name};
  pending.push_back(op.getResult());
  // Once these have arrived.
  whenArrived[op.getResult()] = [=] {
    line(ahead + " = " + j + " + " + std::to_string(t.size('k')) + ";");
    line(turn + " = 1 - " + turn + ";");
    line("stage(" + place(turn) + ", " + from + ", " + step + ", " + ahead +
         ", " + limit + ");");
    pending.push_back(Value());
    copiesAhead = true;
  };
  return success();
}

LogicalResult CudaPrinter::printLoad(tile::LoadOp op) {
  TileType t = typeOf(op.getResult());
  Value memory = op.getMemory();
  if (!argOf(memory))
    return op.emitOpError("loads from what is no argument");
  ValueRange indices = op.getIndices();
  unsigned rowAxis = indices.size() - 1;
  std::string from = address(memory, indices.drop_back());
  std::string where = stride(memory, rowAxis).code + ", " +
                      of(indices.back()).code + ", " + of(op.getLimit()).code;
  if (t.has('r') && !isRows(t))
    return printStateLoad(op);
  if (t.getAxes() == "q" && t.getElementType().isF32())
    return declareTile(op.getResult(),
                       "loadQueries(" + from + ", " + where + ")");
  if (t.getAxes() == "qe" && indices.size() == 4) {
    std::string rowsHere = stride(memory, rowAxis - 1).code + ", " +
                           of(indices[rowAxis - 1]).code + ", " +
                           of(op.getLimit()).code;
    return declareTile(
        op.getResult(),
        "loadPairs<" + std::to_string(columnGroups(t.size('e'))) + ", " +
            std::to_string(t.size('e')) + ">(" +
            address(memory, indices.drop_back(2)) + ", " + rowsHere + ")");
  }
  if (t.rank() == 1) {
    if (!t.has('k'))
      return op.emitOpError("loads one value a query");
    std::string name = nameForTile(op.getResult());
    line("const auto " + name + " = loadKeys<" +
         std::to_string(t.size('k') / 8) + ", " + elementType(op.getResult()) +
         ">(" + from + ", " + where + ");");
    texts[op.getResult()] = {name};
    return success();
  }
  if (!isRows(t))
    return op.emitOpError("loads something else than rows");
  if (isAhead(op))
    return printLoadAhead(op, from);
  std::string name = rows(op.getResult(), arrayName(memory) + "Rows", memory);
  // Other warps may still read what is about to be written over.
  if (op->getParentOfType<scf::ForOp>() && pending.empty())
    barrier();
  else if (!isUnknown)
    writes(name);
  line("stage(" + name + ", " + from + ", " + where + ");");
  texts[op.getResult()] = {name};
  pending.push_back(op.getResult());
  return success();
}

LogicalResult CudaPrinter::printStore(tile::StoreOp op) {
  TileType t = typeOf(op.getTile());
  Value memory = op.getMemory();
  if (!argOf(memory))
    return op.emitOpError("stores to what is no argument");
  auto type = cast<MemRefType>(memory.getType());
  ValueRange indices = op.getIndices();
  if (t.has('r') && t.rank() == 1) {
    line("storeFeatures(" + of(op.getTile()).code + ", " +
         address(memory, indices) + ");");
    return success();
  }
  bool corner =
      t.rank() == 2 && static_cast<int64_t>(indices.size()) == type.getRank();
  size_t rowAxis = indices.size() - (corner ? 2 : 1);
  std::string where = address(memory, indices.take_front(rowAxis)) + ", " +
                      stride(memory, rowAxis).code + ", " +
                      of(indices[rowAxis]).code + ", " + of(op.getLimit()).code;
  std::string what = of(op.getTile()).code;
  if (corner)
    line("storeCorner(" + what + ", " + where + ", " + of(indices.back()).code +
         ", " + extent(memory, rowAxis + 1).code + ", " +
         stride(memory, rowAxis + 1).code + ");");
  else if (isRows(t) || isState(t))
    line((isState(t) ? "storeState(" : "storeRows(") + what + ", " + where +
         ");");
  else if (t.rank() == 2)
    line("store<" + std::to_string(t.size('e')) + ">(" + what + ", " + where +
         ");");
  else
    line("store(" + what + ", " + where + ");");
  return success();
}
