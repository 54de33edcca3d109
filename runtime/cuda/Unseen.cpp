//===- Unseen.cpp - values that only a device sees ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Unseen.h"
#include "lowering/cuda/Cuda.h"
#include "runtime/Arrays.h"
#include "runtime/cuda/CudaCache.h"

#include <algorithm>

using namespace attn;
using namespace attn::runtime;

namespace {
/// The kernel's parameter, as TakeUnseen.cu declares it.
struct UnseenArray {
  const void *from;
  void *to;
  int64_t count;
  int64_t extents[8], strides[8];
  double bound;
  int64_t low, high;
  int rank, fromType, toInteger, relation;
  int64_t place;
  int64_t *report;
};
} // namespace

static std::string source() {
  return "#ifdef " + kHostPreludeMacro.str() + "\n#include " +
         kHostPreludeMacro.str() + "\n#else\n" + cudaDevicePrelude().str() +
         "#endif\n" + takeUnseenSource().str();
}

const DeviceCode &UnseenChecks::code() {
  if (!made) {
    CudaCode compiled =
        compileCudaCached(Cache(cacheFolder), source(), "attn_take_unseen",
                          architecture, /*toPtx=*/false);
    made = std::make_unique<DeviceCode>(
        std::move(compiled.bytes),
        std::vector<DeviceCode::Entry>{{"attn_take_unseen", 0}});
  }
  if (!found) {
    constexpr unsigned portable = 1, mapped = 2;
    void *memory = nullptr;
    const Driver &driver = Driver::get();
    driver.check(
        driver.allocateHost(&memory, sizeof(int64_t), portable | mapped),
        "out of page-locked memory");
    found = static_cast<volatile int64_t *>(memory);
    *found = 0;
  }
  return *made;
}

UnseenChecks::~UnseenChecks() {
  made.reset(); // waits for what was enqueued
  if (found)
    Driver::get().freeHost(const_cast<int64_t *>(found));
}

void UnseenChecks::enqueue(const CudaDevice &device, void *stream,
                           const Binding::Unseen &unseen, DeviceAddress to) {
  const Tensor &source = unseen.source;
  UnseenArray array = {};
  if (source.shape.size() > std::size(array.extents))
    throw Error(unseen.rule + ": an array of more than 8 axes cannot be "
                              "checked on a GPU; give it on the host");
  array.from = source.data;
  array.to = reinterpret_cast<void *>(to);
  array.count = elementCount(source.shape);
  std::copy(source.shape.begin(), source.shape.end(), array.extents);
  std::copy(source.strides.begin(), source.strides.end(), array.strides);
  array.bound = unseen.bound;
  array.low = unseen.low;
  array.high = unseen.high;
  array.rank = static_cast<int>(source.shape.size());
  array.fromType = static_cast<int>(source.type);
  array.toInteger = unseen.type == Type::i64;
  const char *relations[] = {"", "<", "<=", ">", ">=", "==", "!="};
  array.relation = static_cast<int>(
      std::find(std::begin(relations), std::end(relations), unseen.relop) -
      relations);
  array.place = static_cast<int64_t>(unseen.formal) + 1;
  int64_t blocks = (array.count + 255) / 256;
  if (blocks > 0x7fffffff)
    throw Error(unseen.rule + ": an array of " + std::to_string(array.count) +
                " numbers cannot be checked on a GPU");

  std::lock_guard<std::mutex> lock(mutex);
  const Driver &driver = Driver::get();
  void *function = code().on(device)[0];
  array.report = const_cast<int64_t *>(found);
  rules[unseen.formal] = unseen.rule;
  void *parameters[] = {&array};
  driver.check(driver.launch(function, static_cast<unsigned>(blocks), 1, 1, 256,
                             1, 1, 0, stream, parameters, nullptr),
               "the check of a parameter cannot be launched");
}

void UnseenChecks::report() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!found || !*found)
    return;
  int64_t word = *found;
  *found = 0;
  size_t formal = static_cast<size_t>(word >> 32) - 1;
  throw Error("element " + std::to_string(word & 0xffffffff) +
              " of an array on a GPU is not as declared: " + rules[formal]);
}
