//===- Passes.td - every pass, declared once --------------------*- tablegen -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===---------------------------------------------------------------------------===//

#ifndef ATTN_PASSES_TD
#define ATTN_PASSES_TD

include "mlir/Pass/PassBase.td"

// In the order in which Pipelines.cpp runs them.

def SimplifyPass : Pass<"attn-simplify", "::mlir::func::FuncOp"> {
  let summary = "write kernels in the form that keeps digits";
  let description = [{
    `expm1(y) + 1`, as in elu(x) + 1, becomes `exp(y)`: where y is far below 0 the sum
    loses the digits that kappa is made of. `log(1 + exp(x))` becomes softplus,
    `max(x, 0) + log1p(exp(-|x|))`, which does not overflow. `floor(x)` used as a real makes
    no integer on its way, which might not hold it.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def ApplyFeaturesPass : Pass<"attn-apply-features", "::mlir::func::FuncOp"> {
  let summary = "rewrite kappa by the feature map that `features` asks for";
  let description = [{
    kappa becomes a sum of products of one side each, in the operations of the kernel language:
    whatever comes after needs to know nothing of feature maps. Refuses, with the reason and what
    would work, features for a kernel that they do not fit, and more channels than a state can hold.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def IssueLicencePass : Pass<"attn-issue-licence", "::mlir::func::FuncOp"> {
  let summary = "prove what kappa is and record it as #attn.licence";
  let description = [{
    Sign (S7) and gauge (S6) of kappa by interval analysis under the declared bounds of
    parameters. Refuses, with the reason and the culprit's place, a kernel not proven
    non-negative under `normalize<mass>` without `allow_signed`, `lse` of such a kernel, and
    a real power whose base is not proven non-negative.
  }];
}

def ChooseOrderPass : Pass<"attn-choose-order", "::mlir::func::FuncOp"> {
  let summary = "decide which sum is done first, at compile time or by nq and nk";
  let description = [{
    Writes the order of `schedule`. Where the licence allows both orders and the module does
    not ask for one (`attn.order`), the operation is doubled, with the costs that decide between
    the two when lengths are known. An unlicensed `attn.order` is an error with the refusal.
  }];
}

def BuildFeaturesPass : Pass<"attn-build-features", "::mlir::func::FuncOp"> {
  let summary = "append the derived feature map to f_Q and f_K: attn.attention to attn.linear";
  let description = [{
    For operations whose schedule has the linear order. Adds a workspace argument for the
    state where all queries of a sequence read the same one.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
      "::mlir::math::MathDialect"];
}

def HoistRowMapsPass : Pass<"attn-hoist-row-maps", "::mlir::func::FuncOp"> {
  let summary = "compute key-side rows once a row, into a workspace (attn.rows)";
  let description = [{
    f_K, f_V and the key-side row expressions inside kappa become one `attn.rows` ahead of
    attention; attention then reads plain rows. Adds workspace arguments to the function.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def ChooseSchedulePass : Pass<"attn-choose-schedule", "::mlir::func::FuncOp"> {
  let summary = "choose the tiles: attn.attention to attn.quadratic";
  let description = [{ Tile sizes come from the row of the target's table that `attn.target` names. }];
}

def ToTileLoopsPass : Pass<"attn-to-tile-loops", "::mlir::ModuleOp"> {
  let summary = "attn.quadratic and attn.rows to loops over tile operations";
  let description = [{
    Every attention function `NAME` becomes stages `NAME.stage0`, `NAME.stage1`, ..., to be
    run one after the other. Within a stage the iterations of its `scf.forall` are independent.
  }];
  let dependentDialects = ["::attn::tile::TileDialect", "::mlir::scf::SCFDialect",
      "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect"];
}

def TileToCpuPass : Pass<"tile-to-cpu", "::mlir::ModuleOp"> {
  let summary = "tile operations to vector, scf, memref and amx";
  let dependentDialects = ["::mlir::amx::AMXDialect", "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect",
      "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
      "::mlir::memref::MemRefDialect"];
}

def ExpandVectorMathPass : Pass<"attn-expand-vector-math", "::mlir::ModuleOp"> {
  let summary = "math functions on f32 to polynomials: no libm call, no scalarisation";
  let description = [{
    exp, exp2, expm1, log, log2, log1p, tanh, sin, cos, powf, fpowi on f32 and vectors of f32,
    to at most 4 ulp at the function's own argument; special values right. Refuses what would
    still call the math library. Where the target's level has AVX-512, exp2 is made with its
    instructions for it (vreduceps, vscalefps).

    Where the target's `fast_math` is set: exponentials of what is at most 0 have a polynomial
    of one degree less, with a relative error of 3e-6; a division by what has no exponential
    is a multiplication by an estimated reciprocal, refined once, within 3 ulp, and nothing is
    promised of infinities: x / 0 and x / inf are NaN.
  }];
  let dependentDialects = ["::mlir::vector::VectorDialect", "::mlir::arith::ArithDialect",
      "::mlir::LLVM::LLVMDialect"];
}

def CpuEntryPass : Pass<"attn-cpu-entry", "::mlir::ModuleOp"> {
  let summary = "entries with a C calling convention around the stages";
  let description = [{
    For every stage adds `NAME.stageK.run(void **args, i64 begin, i64 end)`, which sets FTZ and
    DAZ (S4), runs work items [begin, end) and restores MXCSR, and `NAME.stageK.items.run(void **args) -> i64`.
    `args[t]` points to the memref descriptor of function argument t.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def CpuCEntryPass : Pass<"attn-cpu-c-entry", "::mlir::ModuleOp"> {
  let summary = "the C interface of an ahead-of-time kernel around its entries";
  let description = [{
    From the module's `attn.c_interface` (see `setCInterface`) makes the functions of the C
    header: NAME, NAME_workspace, NAME_prepare, NAME_stages, NAME_items, NAME_range and
    NAME_error. They check everything that a caller can get wrong before anything is written,
    and call nothing outside of the module. All other functions become internal. Refuses a
    name that C cannot use, and arrays of more than 4 axes.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::func::FuncDialect",
      "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def CpuDispatchPass : Pass<"attn-cpu-dispatch", "::mlir::ModuleOp"> {
  let summary = "one kernel at several feature levels, picked when it runs";
  let description = [{
    The module holds one module a level, the most capable first, each with the functions of the
    C header and its level in `attn.target`; `attn.dispatch` is the kernel's name. They become
    one: functions of a level are internal, get the level's name as a tail and its instructions
    as `target_cpu`, and NAME, NAME_prepare and NAME_workspace call those of the most capable
    level that CPUID and XGETBV report, asked once; NAME_stages, NAME_items and NAME_range those
    of the level that prepared the call. NAME_level asks for a level or sets one.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::func::FuncDialect",
      "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect"];
}

def LegalizeForCudaPass : Pass<"attn-legalize-for-cuda", "::mlir::ModuleOp"> {
  let summary = "tile loops in the form that is printed as CUDA C++";
  let description = [{
    Rows get the storage type of the module (`attn.storage`), or tf32 where that has 16 bits and
    a map made them of q or k; copies begin as early as their addresses are known, a scaling of
    queries becomes one of products. What the printer needs changed is changed here.
  }];
  let dependentDialects = ["::attn::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

#endif // ATTN_PASSES_TD
