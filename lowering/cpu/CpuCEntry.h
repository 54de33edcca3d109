//===- CpuCEntry.h - what a C program calls ---------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_CPUCENTRY_H
#define ATTN_LOWERING_CPU_CPUCENTRY_H

#include "mlir/Pass/Pass.h"

#include <memory>

namespace attn {

/// `attn-cpu-c-entry`: from the module's `attn.c_interface` (see
/// `setCInterface`) makes the functions of the C header: NAME, NAME_workspace,
/// NAME_prepare, NAME_stages, NAME_items, NAME_range and NAME_error. They check
/// everything that a caller can get wrong before anything is written, and call
/// nothing outside of the module. All other functions become internal. Refuses
/// a name that C cannot use, and arrays of more than 4 axes.
std::unique_ptr<mlir::Pass> createCpuCEntryPass();

} // namespace attn

#endif // ATTN_LOWERING_CPU_CPUCENTRY_H
