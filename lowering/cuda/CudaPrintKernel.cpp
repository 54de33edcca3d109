//===- CudaPrintKernel.cpp - the grid and the entry in CUDA C++ -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cuda/CudaPrinter.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

/// An extent of the grid, as the host computes it.
std::optional<Formula> CudaPrinter::formula(Value v) {
  APInt constant;
  if (matchPattern(v, m_ConstantInt(&constant)))
    return Formula{Formula::Constant, constant.getSExtValue(), 0, 0, "", {}};
  if (auto dim = v.getDefiningOp<memref::DimOp>()) {
    auto argument = dyn_cast<BlockArgument>(dim.getSource());
    if (!argument)
      return std::nullopt;
    auto axis = static_cast<unsigned>(*dim.getConstantIndex());
    Formula f{Formula::Extent,
              0,
              argument.getArgNumber(),
              axis,
              extent(argument, axis).code,
              {}};
    return f;
  }
  Operation *op = v.getDefiningOp();
  Formula f;
  if (isa_and_nonnull<arith::MulIOp>(op))
    f.kind = Formula::Multiply;
  else if (isa_and_nonnull<arith::DivSIOp>(op))
    f.kind = Formula::Divide;
  else if (isa_and_nonnull<arith::CeilDivSIOp>(op))
    f.kind = Formula::CeilDivide;
  else if (isa_and_nonnull<arith::MaxSIOp>(op))
    f.kind = Formula::Most;
  else if (isa_and_nonnull<arith::MinSIOp>(op))
    f.kind = Formula::Least;
  else
    return std::nullopt;
  for (Value operand : op->getOperands()) {
    std::optional<Formula> inner = formula(operand);
    if (!inner)
      return std::nullopt;
    f.operands.push_back(std::move(*inner));
  }
  return f;
}

/// Work items lie along x, the last axis fastest.
LogicalResult CudaPrinter::printGrid(scf::ForallOp grid, LaunchStage &launch) {
  static const char *names[] = {"batch", "kvHead", "member", "tile"};
  std::vector<Text> extents;
  Formula total{Formula::Constant, 1, 0, 0, "", {}};
  for (OpFoldResult bound : grid.getMixedUpperBound()) {
    Formula f{Formula::Constant, 0, 0, 0, "", {}};
    if (auto v = dyn_cast<Value>(bound)) {
      std::optional<Formula> made = formula(v);
      if (!made)
        return grid.emitOpError("has an extent that the host cannot compute");
      f = std::move(*made);
      extents.push_back(of(v));
    } else {
      f.value = cast<IntegerAttr>(cast<Attribute>(bound)).getInt();
      extents.push_back({std::to_string(f.value), Text::Primary, true});
    }
    if (total.kind == Formula::Constant && total.value == 1)
      total = std::move(f);
    else
      total = Formula{
          Formula::Multiply, 0, 0, 0, "", {std::move(total), std::move(f)}};
  }
  launch.grid = std::move(total);
  std::string rest = unique("item");
  line("i64 " + rest + " = blockOf();");
  for (size_t axis = extents.size(); axis-- > 0;) {
    bool isPart = axis >= 2 && extents[axis].constant;
    std::string name = unique(isPart     ? "part"
                              : axis < 4 ? names[axis]
                                         : "axis");
    texts[grid.getInductionVar(axis)] = {name};
    if (axis == 0) {
      line("const i64 " + name + " = " + rest + ";");
      break;
    }
    line("const i64 " + name + " = " + rest + " % " +
         extents[axis].in(Text::Unary) + ";");
    line(rest + " /= " + extents[axis].code + ";");
  }
  return printBlock(*grid.getBody());
}

int64_t CudaPrinter::queriesOf(func::FuncOp stage) {
  int64_t queries = 0;
  stage.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto t = dyn_cast<TileType>(type); t && t.has('q'))
        queries = t.size('q');
  });
  return queries;
}

LogicalResult CudaPrinter::print(std::string &source, LaunchStage &launch) {
  auto grids = llvm::to_vector(stage.getOps<scf::ForallOp>());
  if (grids.size() != 1 || grids[0].getNumResults() != 0)
    return stage.emitOpError("has not exactly one grid");
  if (int64_t own = queriesOf(stage))
    tileQ = own;
  if (tileQ % 16 || tileQ == 0)
    return stage.emitOpError("needs tiles of a multiple of 16 queries");
  findCores();
  for (Operation &op : stage.front().without_terminator())
    if (failed(isa<scf::ForallOp>(op)
                   ? printGrid(cast<scf::ForallOp>(op), launch)
                   : printOp(op)))
      return failure();

  // Arrays in the order of the function, then what is known of their shapes.
  std::vector<LaunchParameter> all;
  for (BlockArgument argument : stage.getArguments()) {
    if (argument.use_empty() || !arrays.count(argument))
      continue;
    bool output = argOf(argument).getKind() == ArgKind::Output ||
                  llvm::any_of(argument.getUsers(), [](Operation *user) {
                    return isa<tile::StoreOp>(user);
                  });
    StringRef element =
        cTypeOf(cast<MemRefType>(argument.getType()).getElementType());
    all.push_back({LaunchParameter::Array, arrays[argument],
                   (output ? "" : "const ") + element.str() + " *",
                   argument.getArgNumber(), 0});
  }
  llvm::sort(parameters,
             [](const LaunchParameter &a, const LaunchParameter &b) {
               return std::tie(a.kind, a.argument, a.axis) <
                      std::tie(b.kind, b.argument, b.axis);
             });
  all.insert(all.end(), parameters.begin(), parameters.end());

  launch.entry = stage.getName().str();
  std::replace(launch.entry.begin(), launch.entry.end(), '.', '_');
  launch.threads = tileQ / 16 * 32;
  launch.sharedBytes = sharedBytes;
  source += tables + "ATTN_KERNEL(kThreads) " + launch.entry + "(";
  size_t column = 0;
  for (auto [n, p] : llvm::enumerate(all)) {
    std::string text = p.type + (p.type.back() == '*' ? "" : " ") + p.name +
                       (n + 1 < all.size() ? "," : ") {");
    bool breaks = n == 0 || column + text.size() + 1 > 78;
    source += breaks ? "\n    " + text : " " + text;
    column = breaks ? 4 + text.size() : column + text.size() + 1;
  }
  source += "\n" +
            (sharedBytes ? std::string("  ATTN_SHARED(shared);\n") : "") +
            body + "}\n";
  launch.parameters = std::move(all);
  return success();
}
