//===- EmulatedSequence.cpp - several calls, emulated ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedSequence.h"
#include "lowering/cuda/Cuda.h"
#include "runtime/Arrays.h"
#include "runtime/Compile.h"
#include "runtime/Kernel.h"
#include "runtime/cuda/EmitCuda.h"
#include "runtime/emulator/Emulator.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

using namespace attn;
using namespace attn::runtime;

Kernel runtime::compileFor(const std::string &text, const char *target,
                           const char *schedule) {
  Options options;
  options.target = target;
  options.schedule = schedule;
  return Compiler(options).compile(text);
}

namespace {
/// Rows [B, H, N, n] of a type.
struct Rows {
  int64_t heads, count, row;
  Type type;
  std::vector<char> bytes;
  Rows(int64_t batch, int64_t heads, int64_t count, int64_t row, Type type,
       char fill = 0)
      : heads(heads), count(count), row(row), type(type),
        bytes(batch * heads * count * row * sizeOf(type), fill) {}
  char *at(int64_t b, int64_t h, int64_t n) {
    return bytes.data() + ((b * heads + h) * count + n) * row * sizeOf(type);
  }
  int64_t rowBytes() const { return row * sizeOf(type); }
  Tensor view(int64_t batch) {
    return {bytes.data(), type, {batch, heads, count, row}};
  }
};
} // namespace

double runtime::relativeError(const std::vector<double> &got,
                              const std::vector<double> &expected) {
  double difference = 0, norm = 1e-300;
  for (size_t n = 0; n < got.size(); ++n) {
    if (!std::isfinite(got[n]))
      return INFINITY;
    difference += (got[n] - expected[n]) * (got[n] - expected[n]);
    norm += expected[n] * expected[n];
  }
  return std::sqrt(difference / norm);
}

/// Calls of other lengths are the same text, which takes seconds to compile.
static void run(const CudaProgram &program, const Binding &binding) {
  static std::map<std::string, std::shared_ptr<const GpuKernel>> known;
  std::shared_ptr<const GpuKernel> &made = known[program.source];
  if (!made)
    made = emulate(program);
  made->run(binding);
  binding.finish();
}

double Sequences::error() {
  std::string text = std::string("attention t(q, k, v") + parameters + ") { " +
                     body + "; return o, mass }";
  std::vector<int64_t> totals(B, 0), begin(B, 0);
  for (const auto &counts : turns)
    for (int64_t b = 0; b < B; ++b)
      totals[b] += counts[b];
  int64_t most = *std::max_element(totals.begin(), totals.end());
  Rows q(B, Hq, most, D, type), k(B, Hk, most, D, type),
      v(B, Hk, most, Dv, type), made(B, Hq, most, Dv, type);
  std::mt19937 random(7);
  std::normal_distribution<double> normal(0, 0.7);
  for (Rows *rows : {&q, &k, &v})
    for (size_t n = 0; n < rows->bytes.size(); n += sizeOf(type))
      storeReal(type, rows->bytes.data() + n, normal(random));
  for (Rows *rows : {&k, &v})
    for (int64_t b = 0; b < B && oddFrom >= 0; ++b)
      for (int64_t h = 0; h < Hk; ++h)
        for (int64_t n = oddFrom; n < most; ++n)
          std::memset(rows->at(b, h, n), 0xff, rows->rowBytes());
  std::vector<float> masses(B * Hq * most);
  std::vector<float> decays(Hq);
  for (int64_t h = 0; h < Hq; ++h)
    decays[h] = decay * (1 + 0.1f * h);
  std::vector<Argument> given;
  if (*parameters)
    given.push_back({"g", {decays.data(), {Hq}}});

  Kernel kernel = compileFor(text, "cuda-emulator", "recurrent");
  state.clear();
  for (const auto &counts : turns) {
    int64_t count =
        extent ? extent : *std::max_element(counts.begin(), counts.end());
    // What is past the end of a sequence is not looked at.
    Rows qNow(B, Hq, count, D, type, '\xff'),
        kNow(B, Hk, count, D, type, '\xff'),
        vNow(B, Hk, count, Dv, type, '\xff'), oNow(B, Hq, count, Dv, type);
    std::vector<float> massNow(B * Hq * count);
    for (auto [from, to] : {std::pair(&q, &qNow), {&k, &kNow}, {&v, &vNow}})
      for (int64_t b = 0; b < B; ++b)
        for (int64_t h = 0; h < from->heads; ++h)
          if (counts[b])
            std::copy_n(from->at(b, h, begin[b]), counts[b] * from->rowBytes(),
                        to->at(b, h, 0));
    std::vector<Argument> arguments = given;
    arguments.insert(
        arguments.end(),
        {{"q", qNow.view(B)}, {"k", kNow.view(B)}, {"v", vNow.view(B)}});
    std::vector<int64_t> lengths = counts;
    if (llvm::any_of(counts, [&](int64_t n) { return n != count; }))
      arguments.push_back({"key_lengths", {lengths.data(), Type::i64, {B}}});
    // What a call does, but with the text in between.
    Kernel::Impl &impl = kernel.getImpl();
    Binding binding = bindInputs(impl.signature, arguments, impl.rules);
    CudaOptions options;
    options.level = &cudaLevel("sm_80");
    options.storage = type;
    CudaProgram program = impl.compilation->emitCuda(binding.sizes, options);
    if (mutate)
      mutate(program.source);
    StateShape shape;
    for (const LaunchArgument &argument : program.arguments)
      if (argument.isState())
        shape = {argument.rows, argument.row, argument.perQueryHead};
    std::vector<int64_t> extents{B, shape.perQueryHead ? Hq : Hk, shape.rows,
                                 shape.row};
    std::vector<float> before;
    if (state.empty()) {
      state.assign(elementCount(extents), NAN);
    } else {
      if (!inPlace) {
        before = state;
        state.assign(state.size(), NAN);
      }
      arguments.push_back(
          {"state", {inPlace ? state.data() : before.data(), extents}});
    }
    bindState(binding, impl.signature, arguments, shape, impl.rules);
    bindOutputs(binding, impl.signature,
                {{"o", oNow.view(B)},
                 {"mass", {massNow.data(), {B, Hq, count}}},
                 {"state", {state.data(), extents}}},
                Dv, impl.rules);
    run(program, binding);
    for (int64_t b = 0; b < B; ++b) {
      for (int64_t h = 0; h < Hq && counts[b]; ++h) {
        std::copy_n(oNow.at(b, h, 0), counts[b] * made.rowBytes(),
                    made.at(b, h, begin[b]));
        std::copy_n(&massNow[(b * Hq + h) * count], counts[b],
                    &masses[(b * Hq + h) * most + begin[b]]);
      }
      begin[b] += counts[b];
    }
  }
  o = made.bytes;

  Kernel reference = compileFor(text, "reference", "");
  double worst = 0;
  for (int64_t b = 0; b < B; ++b) {
    int64_t total = totals[b];
    auto of = [&](Rows &rows) {
      int64_t row = rows.row;
      return Tensor(rows.at(b, 0, 0), type, {1, rows.heads, total, row},
                    {0, most * row, row, 1});
    };
    std::vector<double> exact(Hq * total * Dv), exactMass(Hq * total), got,
        gotMass;
    std::vector<Argument> arguments = given;
    arguments.insert(arguments.end(),
                     {{"q", of(q)}, {"k", of(k)}, {"v", of(v)}});
    reference(arguments,
              {{"o", {exact.data(), Type::f64, {1, Hq, total, Dv}}},
               {"mass", {exactMass.data(), Type::f64, {1, Hq, total}}}});
    for (int64_t h = 0; h < Hq; ++h)
      for (int64_t n = 0; n < total; ++n) {
        for (int64_t e = 0; e < Dv; ++e)
          got.push_back(loadReal(type, made.at(b, h, n) + e * sizeOf(type)));
        gotMass.push_back(masses[(b * Hq + h) * most + n]);
      }
    worst = std::max(
        {worst, relativeError(got, exact), relativeError(gotMass, exactMass)});
  }
  return worst;
}
