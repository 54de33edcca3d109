//===- Noise.cpp - what a target can promise ------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Apart from Check.cpp, so that only this file needs the compiler's headers.
//
//===----------------------------------------------------------------------===//

#include "Noise.h"

#include "runtime/Compile.h"

using namespace attn;

void attn::runWithNoise(const runtime::Prepared &prepared, const Noise &noise) {
  prepared.code->interpret(prepared.binding, noise);
  prepared.binding.finish();
}
