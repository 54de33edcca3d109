//===- BindOutputsTest.cpp - shapes, types and memory of outputs ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BinderFixture.h"

using namespace attn;
using namespace attn::runtime;

TEST_F(BinderTest, OutputErrors) {
  add(FormalKind::Output, "o");
  add(FormalKind::Output, "mass");
  std::vector<float> space(1000);
  Output o{"o", Tensor(space.data(), {2, 4, 3, 6})};
  Output mass{"mass", Tensor(space.data() + 144, {2, 4, 3})};
  EXPECT_EQ(errorOfOutputs({o, mass}), "no error");
  EXPECT_EQ(errorOfOutputs({o}),
            "output 'mass' is missing; test returns o, mass");
  EXPECT_EQ(errorOfOutputs({o, o}), "output 'o' is given twice");
  EXPECT_EQ(errorOfOutputs({o, mass, {"lse", mass.tensor}}),
            "there is no output 'lse'; test returns o, mass");

  Output bad = o;
  bad.tensor.shape[3] = 8;
  EXPECT_EQ(errorOfOutputs({bad, mass}),
            "output 'o' has shape [2, 4, 3, 8]; it must be [2, 4, 3, 6]");
  bad = o;
  bad.tensor.type = Type::f64;
  EXPECT_EQ(errorOfOutputs({bad, mass}),
            "output 'o' has type f64; it must be f32");
  bad = o;
  bad.tensor.strides = {72, 18, 0, 1};
  EXPECT_EQ(
      errorOfOutputs({bad, mass}),
      "output 'o' has strides [72, 18, 0, 1] that let its elements overlap");
  bad = mass;
  bad.tensor.data = space.data() + 143;
  EXPECT_EQ(errorOfOutputs({o, bad}),
            "output 'mass' shares memory with output 'o'");
  bad = o;
  bad.tensor.data = memory.data() + 100;
  EXPECT_EQ(errorOfOutputs({bad, mass}), "output 'o' shares memory with 'q'");
}

TEST_F(BinderTest, InterleavedSlicesDoNotOverlap) {
  // Rows of 8 and of 6 side by side in rows of 16; then one element too far.
  Tensor a(memory.data(), {5, 8}, {16, 1});
  Tensor b(memory.data() + 8, {5, 6}, {16, 1});
  EXPECT_FALSE(mayOverlap(a, b));
  EXPECT_FALSE(mayOverlap(b, a));
  b.data = memory.data() + 11;
  EXPECT_TRUE(mayOverlap(a, b));
  EXPECT_TRUE(mayOverlap(b, a));
  b.data = memory.data() + 7;
  EXPECT_TRUE(mayOverlap(a, b));
}

TEST_F(BinderTest, OutputsMayLackAxesThatTheQueriesLack) {
  add(FormalKind::Output, "o");
  std::vector<float> space(100);
  Binding binding = bind(inputs({3, 8}, {5, 8}, {5, 6}));
  EXPECT_EQ(outputShape(binding, "o", 6), (Extents{3, 6}));
  EXPECT_EQ(outputShape(binding, "mass", 6), (Extents{3}));
  EXPECT_EQ(outputShape(binding, "weights", 6), (Extents{3, 5}));
  for (Extents shape : {Extents{3, 6}, {1, 3, 6}, {1, 1, 3, 6}}) {
    bindOutputs(binding, signature, {{"o", Tensor(space.data(), shape)}}, 6,
                {});
    EXPECT_EQ(binding.arrays[3].shape, (Extents{1, 1, 3, 6}));
    EXPECT_EQ(binding.arrays[3].strides[2], 6);
  }
}

TEST_F(BinderTest, StridedOutputsAreCopiedBack) {
  add(FormalKind::Output, "o");
  std::vector<float> space(6 * 3, -1);
  Binding binding = bind(inputs({3, 8}, {5, 8}, {5, 6}));
  bindOutputs(binding, signature, {{"o", Tensor(space.data(), {3, 6}, {1, 3})}},
              6, {});
  auto *packed = static_cast<float *>(binding.arrays[3].data);
  ASSERT_NE(packed, space.data());
  for (int i = 0; i < 18; ++i)
    packed[i] = i;
  binding.finish();
  EXPECT_EQ(space[0 + 3 * 1], 1); // row 0, channel 1
  EXPECT_EQ(space[2 + 3 * 5], 17);
}
