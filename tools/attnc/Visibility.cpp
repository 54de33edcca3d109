//===- Visibility.cpp - which query sees which key ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Visibility.h"

#include "runtime/Compile.h"
#include "runtime/Kernel.h"
#include "runtime/reference/Flatten.h"

#include <algorithm>

using namespace attn;
using namespace attn::runtime;

struct Visibility::Impl {
  std::shared_ptr<Compilation> compilation; ///< owns the context
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Binding binding;
  std::vector<reference::Memory> memories;
  std::optional<reference::Program> program;
  /// Lengths and offset, by formal; null where they are not given.
  const Tensor *keyLengths = nullptr, *queryLengths = nullptr,
               *offsets = nullptr;
  /// Whether the mask differs between heads, and between sequences.
  bool usesHead = false, usesBatch = false;

  ~Impl() {
    auto guard = compilation->lock();
    module = nullptr;
  }

  static int64_t at(const Tensor *tensor, int64_t b, int64_t otherwise) {
    if (!tensor)
      return otherwise;
    return static_cast<const int64_t *>(
        tensor->data)[tensor->shape[0] == 1 ? 0 : b];
  }
};

Visibility::~Visibility() = default;

Visibility::Visibility(const Kernel &kernel,
                       const std::vector<Argument> &arguments)
    : impl(std::make_unique<Impl>()) {
  Kernel::Impl &owner = kernel.getImpl();
  impl->compilation = owner.compilation;
  BindRules rules;
  rules.reference = true;
  impl->binding = bindInputs(owner.signature, arguments, rules);
  const std::vector<Formal> &formals = owner.signature.formals;
  for (size_t n = 0; n < formals.size(); ++n) {
    const Tensor &tensor = impl->binding.arrays[n];
    impl->memories.push_back({tensor, reference::stridesOf(tensor)});
    bool given = !tensor.shape.empty() && tensor.shape[0] > 0;
    if (formals[n].kind == FormalKind::KeyLengths && given)
      impl->keyLengths = &tensor;
    if (formals[n].kind == FormalKind::QueryLengths && given)
      impl->queryLengths = &tensor;
    if (formals[n].kind == FormalKind::Offset && given)
      impl->offsets = &tensor;
  }
  auto guard = impl->compilation->lock();
  impl->module = impl->compilation->specialisedModule(impl->binding.sizes);
  AttentionOp op;
  impl->module->walk([&](AttentionOp found) { op = found; });
  mlir::Region &mask = op.getMask();
  if (mask.empty())
    return;
  mask.walk([&](IndexOp index) {
    Position position = index.getPosition();
    impl->usesHead |=
        position == Position::Head || position == Position::KvHead;
    impl->usesBatch |= position == Position::Batch;
  });
  mlir::FailureOr<reference::Program> made =
      reference::flatten(mask, impl->memories, {});
  if (failed(made))
    throw Error("internal: the mask cannot be interpreted");
  impl->program = std::move(*made);
}

bool Visibility::isFull() const { return !impl->program; }
int64_t Visibility::batch() const { return impl->binding.batch; }
int64_t Visibility::queryHeads() const { return impl->binding.queryHeads; }
int64_t Visibility::keyHeads() const { return impl->binding.keyHeads; }
int64_t Visibility::queries() const { return impl->binding.queries; }
int64_t Visibility::keys() const { return impl->binding.keys; }

void Visibility::forEachRow(
    int64_t b, int64_t h,
    const std::function<void(int64_t, const std::vector<char> &)> &visit) {
  int64_t nq = queries(), nk = keys();
  int64_t seen = Impl::at(impl->keyLengths, b, nk);
  int64_t rows = Impl::at(impl->queryLengths, b, nq);
  int64_t length = impl->queryLengths ? rows : nq == nk ? seen : nq;
  int64_t offset = Impl::at(impl->offsets, b, seen - length);
  std::vector<char> flags(nk, 0), none(nk, 0);
  std::fill_n(flags.begin(), seen, 1);
  std::optional<reference::Evaluator> mask;
  if (impl->program) {
    mask.emplace(*impl->program, impl->memories);
    mask->enterHead(b, h, h / std::max<int64_t>(queryHeads() / keyHeads(), 1),
                    rows, seen);
    mask->prepareKeys(seen, nullptr);
  }
  for (int64_t i = 0; i < nq; ++i) {
    if (i < rows && mask) {
      mask->enterQuery(i + offset, nullptr);
      for (int64_t j = 0; j < seen; ++j) {
        mask->evaluatePair(j);
        flags[j] = mask->flag();
      }
    }
    visit(i, i < rows ? flags : none);
  }
}

double Visibility::count(const std::function<void(double)> &progress) {
  double heads = queryHeads(), total = 0;
  bool sameBatch = !impl->usesBatch && !impl->keyLengths &&
                   !impl->queryLengths && !impl->offsets;
  bool sameHead = !impl->usesHead || isFull();
  int64_t batches = sameBatch ? std::min<int64_t>(batch(), 1) : batch();
  int64_t evaluated =
      sameHead ? std::min<int64_t>(queryHeads(), 1) : queryHeads();
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t h = 0; h < evaluated; ++h) {
      double pairs = 0;
      if (isFull() && sameBatch)
        pairs = double(queries()) * keys();
      else
        forEachRow(b, h, [&](int64_t i, const std::vector<char> &flags) {
          pairs += std::count(flags.begin(), flags.end(), 1);
          if (progress && i % 256 == 0)
            progress((double(i) / queries() + b * evaluated + h) /
                     (batches * evaluated));
        });
      total += pairs * (sameHead ? heads : 1);
    }
  return sameBatch ? total * batch() : total;
}
