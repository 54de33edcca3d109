//===- DeviceFixture.h - calls on the fake driver's devices -----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_DEVICEFIXTURE_H
#define ATTN_TEST_DEVICEFIXTURE_H

#include "attn/attn.h"

#include <gtest/gtest.h>

namespace attn {

/// The functions of the fake driver that tests call.
struct FakeDriver {
  const char *(*takeLog)();
  void (*fail)(const char *, int, int);
  int (*allocations)();
  void (*peek)(void *, const void *, unsigned long);
  static const FakeDriver &get();

  /// Memory of a device that holds these bytes, and its bytes when all that was
  /// enqueued is done.
  void *upload(const void *from, size_t bytes, int device) const;
  void download(void *to, const void *from, size_t bytes, int device) const;
  void *makeStream(int device) const;
  void synchronize(void *stream, int device) const;
  /// The log, where the kernel's stages are one launch, numbers of bytes and
  /// blocks are left out, and streams that are not the default one are S.
  std::string calls() const;
};

/// Devices 0 and 1 are alike, 2 is of another architecture, 3 has no pools.
class DeviceTest : public ::testing::Test {
protected:
  static constexpr int64_t N = 20, D = 16;

  DeviceTest();
  /// `b` is a parameter with a bound; o and mass are returned.
  static const char *spec();
  Kernel compile(const char *target, int device = -1) const;
  /// A copy of rows, of N x D, on a device.
  Tensor rowsOn(int device, const std::vector<float> &values) const;
  /// The arrays of a call on a device, for `b` whatever it is.
  std::vector<Argument> argumentsOn(int device, Argument b) const;
  std::vector<Output> outputsOn(int device);
  /// |o - expected| of what lies on the device now, or is enqueued.
  double errorOn(int device) const;
  /// The error of a call, or "".
  std::string errorOf(const Kernel &kernel,
                      const std::vector<Argument> &arguments,
                      const std::vector<Output> &outputs,
                      void *stream = nullptr) const;

  const FakeDriver &driver = FakeDriver::get();
  std::vector<float> q, k, v, o, mass;
  std::vector<double> expected; ///< of o, where b is 0.5
  void *deviceO = nullptr;
};

} // namespace attn

#endif // ATTN_TEST_DEVICEFIXTURE_H
