//===- AheadOfTimeErrorsTest.cpp - what C programs get wrong --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a call that is right, one thing is changed at a time: the status names
// the thing and the member, and no output changes.
//
//===----------------------------------------------------------------------===//

#include "CKernel.h"
#include "dialect/attn/FewQueries.h"

#include <cfenv>
#include <climits>
#include <cmath>
#include <gtest/gtest.h>
#include <xmmintrin.h>

using namespace attn;
using namespace attn::runtime;

namespace {

constexpr const char *kSpec =
    "attention e(q, k, v; b[head] >= 0, w > 0, n: int, t[-2:2],\n"
    "            ids[batch, nk]: int, m[nk] != 1) {\n"
    "  k = k * 2\n"
    "  kappa = (dot(q, k) + b)^2 + w + t[i - j]^2 + m[j]^2\n"
    "  mask = j < n or ids[i] == ids[j]\n"
    "  return o, mass\n"
    "}";

class AheadOfTimeErrors : public ::testing::Test {
protected:
  static constexpr int64_t B = 2, Hq = 4, Hk = 2, Nq = 5, Nk = 6, D = 3, E = 2;

  void SetUp() override {
    static Kernel kernel = Compiler().compile(kSpec);
    static CKernel made(kernel.getImpl(),
                        StaticSizes{{{"k", D}, {"q", D}, {"v", E}},
                                    {},
                                    {},
                                    /*fewestQueries=*/kFewQueries + 1});
    c = &made;
    for (float *array : {q, k, v})
      std::fill_n(array, 1000, 0.5f);
    std::fill_n(o, 1000, -77.0f);
    std::fill_n(mass, 1000, -77.0f);
    std::fill(c->arguments.begin(), c->arguments.end(), '\0');
    c->set("q", {q, {B, Hq, Nq, D}});
    c->set("k", {k, {B, Hk, Nk, D}});
    c->set("v", {v, {B, Hk, Nk, E}});
    c->set("b", {b, {Hq}});
    c->set("w", {&w, {}});
    c->set("n", {&n, Type::i64, {}});
    c->set("t", {t, {5}});
    c->set("ids", {ids, Type::i64, {B, Nk}});
    c->set("m", {m, {Nk}});
    c->set("o", {o, {B, Hq, Nq, E}});
    c->set("mass", {mass, {B, Hq, Nq}});
    c->setWorkspace(workspace, sizeof workspace);
  }

  /// A call must fail with this error about this member, and write nothing.
  void expectError(CError error, const std::string &member,
                   const std::string &text) {
    int number = 0;
    for (const CField &f : c->made.interface.fields)
      if (f.name == member)
        number = 1 + (&f - c->made.interface.fields.data());
    int status = static_cast<int>(error) + 256 * number;
    EXPECT_EQ(c->run(), status) << c->error(c->run());
    EXPECT_EQ(c->prepare(), status);
    if (error != CError::Workspace) {
      EXPECT_EQ(c->workspace(), -status);
    }
    EXPECT_EQ(c->stages(), -static_cast<int>(CError::Range));
    EXPECT_NE(c->error(status).find(text), std::string::npos)
        << c->error(status);
    EXPECT_NE(c->error(status).find(member), std::string::npos);
    for (float *array : {o, mass})
      for (int n = 0; n < 1000; ++n)
        ASSERT_EQ(array[n], -77.0f);
  }

  CKernel *c = nullptr;
  float q[1000], k[1000], v[1000], o[1000], mass[1000];
  float b[Hq] = {0, 1, 2, 3}, w = 1, t[5] = {1, 2, 3, 4, 5}, m[Nk] = {};
  int64_t n = 2, ids[B * Nk] = {}, lengths[B] = {6, 0}, offset[1] = {3};
  char workspace[4096];
};

TEST_F(AheadOfTimeErrors, TheRightCallIsRight) {
  EXPECT_GT(c->workspace(), 0);
  EXPECT_LE(c->workspace(), static_cast<int64_t>(sizeof workspace));
  c->set("key_lengths", {lengths, Type::i64, {B}});
  c->set("query_lengths", {lengths + 1, Type::i64, {B}, {-1}}); // 0, 6
  EXPECT_EQ(c->run(),
            static_cast<int>(CError::Value) + 256 * 13); // 6 of 5 queries
  lengths[0] = 5;
  c->set("offset", {offset, Type::i64, {1}});
  ASSERT_EQ(c->run(), 0);
  EXPECT_EQ(c->error(0), "success");
  // The first sequence has no queries, the second sees no keys.
  for (int64_t at = 0; at < B * Hq * Nq; ++at)
    EXPECT_EQ(mass[at], 0);
  EXPECT_EQ(mass[B * Hq * Nq], -77);
}

/// An extent of 1 says the same as one array repeated.
TEST_F(AheadOfTimeErrors, ExtentsOfOneBroadcast) {
  for (int n = 0; n < 1000; ++n) {
    q[n] = std::sin(n);
    k[n] = std::cos(n % (Nk * D));
    v[n] = std::sin(n % (Hk * Nk * E) + 0.5f);
  }
  std::fill_n(b, Hq, 0.25f);
  ASSERT_EQ(c->run(), 0);
  std::vector<float> first(o, o + 1000);
  EXPECT_NE(first[0], first[E]);
  std::fill_n(o, 1000, -77.0f);
  c->set("k", {k, {1, 1, Nk, D}});
  c->set("v", {v, {1, Hk, Nk, E}});
  c->set("b", {b, {1}});
  c->set("ids", {ids, Type::i64, {1, Nk}});
  ASSERT_EQ(c->run(), 0);
  EXPECT_EQ(0, std::memcmp(first.data(), o, sizeof o));
}

TEST_F(AheadOfTimeErrors, NullAndAlignment) {
  c->set("k", {static_cast<float *>(nullptr), {B, Hk, Nk, D}});
  expectError(CError::Null, "k", "null");
  SetUp();
  c->set("ids", {static_cast<void *>(nullptr), Type::i64, {B, Nk}});
  expectError(CError::Null, "ids", "null");
  SetUp();
  c->set("o", {reinterpret_cast<float *>(reinterpret_cast<char *>(o) + 1),
               {B, Hq, Nq, E}});
  expectError(CError::Alignment, "o", "no multiple of 4");
  SetUp();
  c->set("ids", {reinterpret_cast<char *>(ids) + 4, Type::i64, {B, Nk}});
  expectError(CError::Alignment, "ids", "no multiple of 8");
  EXPECT_EQ((c->invoke<int, void *>("", nullptr)), 1);
  EXPECT_EQ((c->invoke<int64_t, void *>("_workspace", nullptr)), -1);
  EXPECT_EQ((c->invoke<int, void *, void *>("_prepare", c->arguments.data(),
                                            nullptr)),
            1);
  EXPECT_EQ((c->invoke<int64_t, void *>("_stages", nullptr)), -1);
}

TEST_F(AheadOfTimeErrors, Extents) {
  c->set("q", {q, {B, Hq, -5, D}});
  expectError(CError::Extent, "q", "negative");
  SetUp();
  c->set("q", {q, {B, Hq, (int64_t(1) << 30) + 1, D}});
  expectError(CError::Extent, "q", "2^30");
  SetUp();
  c->set("k", {k, {int64_t(1) << 30, int64_t(1) << 30, Nk, D}});
  expectError(CError::Extent, "k", "2^62");
  SetUp();
  c->set("k", {k, {B, Hk, Nk, D}, {INT64_MAX, D * Nk, D, 1}});
  expectError(CError::Extent, "k", "2^62");
}

TEST_F(AheadOfTimeErrors, Shapes) {
  struct {
    const char *member;
    void *data;
    Type type;
    std::vector<int64_t> shape;
    const char *text;
  } wrong[] = {
      {"q", q, Type::f32, {B, Hq, Nq, D + 1}, "[B, Hq, Nq, 3]"},
      {"k", k, Type::f32, {B, Hk, Nk, D - 1}, "[B, Hk, Nk, 3]"},
      {"k", k, Type::f32, {B + 1, Hk, Nk, D}, "[B, Hk, Nk, 3]"},
      {"v", v, Type::f32, {B, Hk, Nk + 1, E}, "[B, Hk, Nk, 2]"},
      {"v", v, Type::f32, {B, Hk + 1, Nk, E}, "[B, Hk, Nk, 2]"},
      {"b", b, Type::f32, {Hq - 1}, "[Hq]"},
      {"t", t, Type::f32, {4}, "[5]"},
      {"ids", ids, Type::i64, {B, Nk + 1}, "[B, Nk]"},
      {"m", m, Type::f32, {1}, "[Nk]"},
      {"o", o, Type::f32, {B, Hq, Nq, E + 1}, "[B, Hq, Nq, 2]"},
      {"o", o, Type::f32, {B, Hk, Nq, E}, "[B, Hq, Nq, 2]"},
      {"mass", mass, Type::f32, {1, Hq, Nq}, "[B, Hq, Nq]"},
      {"key_lengths", lengths, Type::i64, {B + 1}, "[B]"},
      {"query_lengths", lengths, Type::i64, {1}, "[B]"},
      {"offset", lengths, Type::i64, {B + 1}, "[B or 1]"},
  };
  for (const auto &w : wrong) {
    SCOPED_TRACE(w.member);
    SetUp();
    c->set(w.member, Tensor(w.data, w.type, w.shape));
    expectError(CError::Shape, w.member, w.text);
  }
}

/// The later one of two that disagree is wrong, and is told of the earlier
/// ones.
TEST_F(AheadOfTimeErrors, WhoseExtents) {
  c->set("q", {q, {B + 1, Hq, Nq, D}});
  expectError(CError::Shape, "k",
              "e: k: its shape must be [B, Hk, Nk, 3]; B as in q");
  SetUp();
  c->set("v", {v, {B, Hk, Nk + 1, E}});
  expectError(CError::Shape, "v",
              "[B, Hk, Nk, 2]; B as in q, k; Hk as in k; Nk as in k");
  SetUp();
  c->set("ids", {ids, Type::i64, {B, Nk + 1}});
  expectError(CError::Shape, "ids", "[B, Nk]; B as in q, k, v; Nk as in k, v");
  SetUp();
  c->set("o", {o, {B, Hq + 1, Nq, E}});
  expectError(CError::Shape, "o",
              "; B as in q, k, v, ids; Hq as in q, b; Nq as in q");
  // q is the same for all heads: b says how many there are.
  SetUp();
  c->set("q", {q, {B, 1, Nq, D}});
  c->set("b", {b, {3}});
  expectError(CError::Heads, "b", "no multiple of the key heads");
}

TEST_F(AheadOfTimeErrors, HeadsAndStrides) {
  c->set("q", {q, {B, 3, Nq, D}});
  c->set("b", {b, {3}});
  expectError(CError::Heads, "q", "no multiple of the key heads");
  SetUp();
  c->set("q", {q, {B, Hq, Nq, D}, {Hq * Nq * D, Nq * D, 1, Nq}});
  expectError(CError::Strides, "q", "strides[3]");
  SetUp();
  c->set("o", {o, {B, Hq, Nq, E}, {Hq * Nq * E * 2, Nq * E * 2, E * 2, 2}});
  expectError(CError::Strides, "o", "strides[3]");
}

TEST_F(AheadOfTimeErrors, Values) {
  b[2] = -0.5f;
  expectError(CError::Value, "b", "b >= 0");
  b[2] = NAN;
  expectError(CError::Value, "b", "b >= 0");
  b[2] = 2;
  w = 0;
  SetUp();
  expectError(CError::Value, "w", "w > 0");
  w = 1;
  n = (int64_t(1) << 30) + 1;
  SetUp();
  expectError(CError::Value, "n", "|n| <= 2^30");
  n = 2;
  SetUp();
  ids[B * Nk - 1] = -(int64_t(1) << 31);
  expectError(CError::Value, "ids", "2^30");
  ids[B * Nk - 1] = 0;
  m[3] = 1;
  expectError(CError::Value, "m", "m != 1");
  m[3] = 0;
  lengths[1] = -1;
  c->set("key_lengths", {lengths, Type::i64, {B}});
  expectError(CError::Value, "key_lengths", "0 <= key_lengths <= Nk");
  lengths[1] = Nk + 1;
  expectError(CError::Value, "key_lengths", "0 <= key_lengths <= Nk");
  SetUp();
  offset[0] = -(int64_t(1) << 30) - 1;
  c->set("offset", {offset, Type::i64, {1}});
  expectError(CError::Value, "offset", "2^30");
}

TEST_F(AheadOfTimeErrors, Overlaps) {
  c->set("o", {q + 1, {B, Hq, Nq, E}});
  c->set("q", {q, {B, Hq, Nq, D}});
  int status = c->run();
  EXPECT_EQ(status & 255, static_cast<int>(CError::Overlap));
  EXPECT_EQ(q[1], 0.5f);
  SetUp();
  c->set("mass", {o + 3, {B, Hq, Nq}});
  expectError(CError::Overlap, "mass", "shares memory");
  SetUp();
  c->set("mass", {mass, {B, Hq, Nq}, {0, Nq, 1}});
  expectError(CError::Overlap, "mass", "shares memory");
  SetUp();
  c->set("mass", {reinterpret_cast<float *>(workspace), {B, Hq, Nq}});
  EXPECT_EQ(c->run() & 255, static_cast<int>(CError::Overlap));
  // Rows of o between the rows of v: apart, though their spans cross.
  SetUp();
  float both[B * Hq * Nq * 4];
  std::fill_n(both, B * Hq * Nq * 4, 0.5f);
  c->set("v", {both, {B, Hk, Nk, E}, {Hk * Nk * 4, Nk * 4, 4, 1}});
  c->set("o", {both + E, {B, Hq, Nq, E}, {Hq * Nq * 4, Nq * 4, 4, 1}});
  EXPECT_EQ(c->run(), 0);
  c->set("o", {both + E - 1, {B, Hq, Nq, E}, {Hq * Nq * 4, Nq * 4, 4, 1}});
  EXPECT_EQ(c->run() & 255, static_cast<int>(CError::Overlap));
}

TEST_F(AheadOfTimeErrors, WorkspaceAndRanges) {
  c->setWorkspace(nullptr, 0);
  expectError(CError::Workspace, "", "e_workspace says how large");
  c->setWorkspace(workspace, sizeof workspace);
  ASSERT_EQ(c->prepare(), 0);
  EXPECT_EQ(c->stages(), 2);
  EXPECT_EQ(c->items(2), -10);
  EXPECT_EQ(c->items(-1), -10);
  EXPECT_EQ(c->range(0, -1, 0), 10);
  EXPECT_EQ(c->range(0, 0, c->items(0) + 1), 10);
  EXPECT_EQ(c->range(0, 1, 0), 10);
  EXPECT_EQ(c->range(2, 0, 0), 10);
  EXPECT_EQ(c->range(1, 0, 1), static_cast<int>(CError::Order));
  EXPECT_EQ(o[0], -77.0f);
  EXPECT_EQ(c->range(0, 0, c->items(0) - 1), 0);
  EXPECT_EQ(c->range(1, 0, 1), static_cast<int>(CError::Order));
  EXPECT_EQ(c->range(0, c->items(0) - 1, c->items(0)), 0);
  EXPECT_EQ(c->range(1, 0, c->items(1)), 0);
  EXPECT_NE(o[0], -77.0f);
  for (int status : {13, -13, 255, 15 << 8 | 1, 1 << 30, INT_MIN, INT_MAX})
    EXPECT_EQ(c->error(status), "e: no such status");
  // As NAME_items and its like return them.
  EXPECT_EQ(c->error(c->items(2)),
            "e: a call that is not prepared, or has no such stage or items");
  for (int status : {1, 8, 2 << 8 | 4, 5 << 8 | 7})
    EXPECT_EQ(c->error(-status), c->error(status));
}

/// The caller's floating-point mode is neither used nor lost (S4, S8).
TEST_F(AheadOfTimeErrors, FloatingPointMode) {
  q[0] = 1.0f / 3;
  ASSERT_EQ(c->run(), 0);
  std::vector<float> first(o, o + 1000);
  // Not looked up while exceptions trap: that is code of others.
  auto *run = reinterpret_cast<int (*)(void *)>(c->code->find("e"));
  unsigned before = _mm_getcsr();
  for (int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(rounding);
    // Exceptions that would trap, were they not masked.
    unsigned mode = (_mm_getcsr() & ~0x1f80u) | 0x8040u;
    _mm_setcsr(mode);
    int status = run(c->arguments.data());
    unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(after & ~0x3fu, mode & ~0x3fu);
    EXPECT_EQ(0, std::memcmp(first.data(), o, sizeof o));
  }
  EXPECT_EQ(_mm_getcsr() & ~0x3fu, before & ~0x3fu);
}

} // namespace
