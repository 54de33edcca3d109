//===- AccuracyTest.cpp - every function within 4 ulp ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Against the C library in double, on a dense deterministic sample of all f32.
//
//===----------------------------------------------------------------------===//

#include "JitMath.h"
#include "Ulp.h"

#include <cstdio>
#include <gtest/gtest.h>

namespace {

struct Case {
  const char *function;
  double (*reference)(double);
  float lowest, highest;     ///< what the function is defined for, or infinite
  float from, to;            ///< where it is neither flat nor its argument
  std::vector<float> places; ///< where something changes
  double bound = 4;          ///< in ulp
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

const Case cases[] = {
    {"exp",
     std::exp,
     -kInfinity,
     kInfinity,
     -89,
     89,
     {-88.02969f, -88, -87.33655f, -0.34657f, 0.34657f, 88.72284f, 89}},
    {"exp_nonpositive",
     std::exp,
     -kInfinity,
     0,
     -89,
     0,
     {-88.02969f, -88, -87.33655f, -0.34657f}},
    {"exp2",
     std::exp2,
     -kInfinity,
     kInfinity,
     -128,
     129,
     {-127, -126.5f, -126, -125.5f, -1, -0.5f, 0.5f, 1, 127, 127.5f, 128}},
    {"exp2_nonpositive",
     std::exp2,
     -kInfinity,
     0,
     -128,
     0,
     {-127, -126.5f, -126, -125.5f, -1, -0.5f}},
    {"expm1",
     std::expm1,
     -kInfinity,
     kInfinity,
     -20,
     89,
     {-18, -17.32868f, -1.03972f, -0.34657f, 0.34657f, 1.03972f, 88.37626f,
      88.72284f, 89}},
    {"tanh",
     std::tanh,
     -kInfinity,
     kInfinity,
     -11,
     11,
     {-10, -9.01091f, -0.17329f, 0.17329f, 9.01091f, 10}},
    {"log",
     std::log,
     -kInfinity,
     kInfinity,
     0,
     4,
     {0.5f, 0.70710677f, 1, 1.4142135f, 2}},
    {"log2",
     std::log2,
     -kInfinity,
     kInfinity,
     0,
     4,
     {0.5f, 0.70710677f, 1, 1.4142135f, 2}},
    {"log1p",
     std::log1p,
     -kInfinity,
     kInfinity,
     -1,
     4,
     {-1, -0.5f, -0.29289323f, 0.41421354f, 1, 0x1p24f, 0x1p127f}},
    {"sin",
     std::sin,
     -0x1p24f,
     0x1p24f,
     -20,
     20,
     {0.78539816f, 1.57079633f, 3.14159265f, 6.28318531f, 0x1p24f}},
    {"cos",
     std::cos,
     -0x1p24f,
     0x1p24f,
     -20,
     20,
     {0.78539816f, 1.57079633f, 3.14159265f, 6.28318531f, 0x1p24f}},
    // Where x^3 is below 2^-126, its inverse is infinite.
    {"pow_m3",
     [](double x) {
       double cube = x * x * x;
       return 1 / (std::fabs(cube) < 0x1p-126 ? std::copysign(0, x) : cube);
     },
     -kInfinity,
     kInfinity,
     -9,
     9,
     {}},
    {"pow_m1",
     [](double x) { return 1 / x; },
     -kInfinity,
     kInfinity,
     -9,
     9,
     {}},
    {"pow_0", [](double) { return 1.0; }, -kInfinity, kInfinity, -9, 9, {}},
    {"pow_1", [](double x) { return x; }, -kInfinity, kInfinity, -9, 9, {}},
    {"pow_2", [](double x) { return x * x; }, -kInfinity, kInfinity, -9, 9, {}},
    {"pow_3",
     [](double x) { return x * x * x; },
     -kInfinity,
     kInfinity,
     -9,
     9,
     {}},
    // Six multiplications: one unit each at most.
    {"pow_7",
     [](double x) { return std::pow(x, 7); },
     -kInfinity,
     kInfinity,
     -9,
     9,
     {},
     6},
    {"pow_half", std::sqrt, -kInfinity, kInfinity, 0, 9, {}},
    {"pow_m2half",
     [](double x) {
       double power = std::pow(x, 2.5);
       return 1 / (power < 0x1p-126 ? 0 : power);
     },
     0,
     kInfinity,
     0,
     9,
     {}},
    {"pow_4half",
     [](double x) { return std::pow(x, 4.5); },
     0,
     kInfinity,
     0,
     9,
     {}},
    {"floor", std::floor, -kInfinity, kInfinity, -9, 9, {0.5f, 0x1p23f}},
};

/// Every 2039th f32 in the domain, a million more where the function moves, and
/// the neighbours of the places where it changes.
std::vector<float> sample(const Case &c) {
  std::vector<float> points;
  auto add = [&](float x) {
    if (!(x < c.lowest || x > c.highest)) // NaN too
      points.push_back(x);
  };
  for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 2039)
    add(fromBits(bits));
  constexpr int inside = 1000000;
  for (int i = 0; i <= inside; ++i)
    add(c.from + (c.to - c.from) * (i / float(inside)));
  std::vector<float> places = {0, 0x1p-126f, 0x1p-24f,
                               1, kInfinity, std::numeric_limits<float>::max()};
  places.insert(places.end(), c.places.begin(), c.places.end());
  for (float place : places)
    for (int i = -64; i <= 64; ++i) {
      add(fromBits(toBits(place) + i));
      add(-fromBits(toBits(place) + i));
    }
  return points;
}

/// Or GoogleTest prints the bytes.
void PrintTo(const Case &c, std::ostream *os) { *os << c.function; }

class Accuracy : public testing::TestWithParam<std::tuple<std::string, Case>> {
};

void report(const std::string &level, const std::string &function, double worst,
            float where, size_t points) {
  std::printf("%-10s %-17s %5.3f ulp, worst at %.9g (%a), %zu points\n",
              level.c_str(), function.c_str(), worst, where, where, points);
  testing::Test::RecordProperty("max_ulp", std::to_string(worst));
}

} // namespace

TEST_P(Accuracy, WithinFourUlp) {
  const auto &[level, c] = GetParam();
  std::vector<float> x = sample(c);
  std::vector<float> result = JitMath::at(level).run(c.function, x);
  double worst = -1;
  float where = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double error = ulpError(result[i], c.reference(flush(x[i])));
    if (error > worst)
      worst = error, where = x[i];
  }
  report(level, c.function, worst, where, x.size());
  EXPECT_LE(worst, c.bound);
}

INSTANTIATE_TEST_SUITE_P(All, Accuracy,
                         testing::Combine(testing::ValuesIn(JitMath::levels()),
                                          testing::ValuesIn(cases)),
                         [](const auto &info) {
                           return identifier(std::get<0>(info.param)) + "_" +
                                  std::get<1>(info.param).function;
                         });

class PowAccuracy : public testing::TestWithParam<std::string> {};

TEST_P(PowAccuracy, WithinFourUlp) {
  std::vector<float> x, y;
  uint64_t state = 1;
  auto random = [&] { // MMIX's linear congruential generator
    state = state * 6364136223846793005u + 1442695040888963407u;
    return uint32_t(state >> 32);
  };
  while (x.size() < 2000000) {
    // Half of the bases anywhere, half around 1, where the exponents are large.
    bool near = x.size() & 1;
    float base = near ? fromBits(toBits(1.0f) +
                                 (int32_t(random()) >> (8 + random() % 20)))
                      : fromBits(random() >> 1);
    if (!(base > 0))
      continue;
    double logarithm = std::log2(double(base));
    double target = (int32_t(random()) / 0x1p31) * 132;
    x.push_back(base);
    y.push_back(logarithm != 0 && std::isfinite(logarithm) ? target / logarithm
                                                           : target);
  }
  // Exponents as kernels have them.
  for (uint32_t bits = toBits(0x1p-40f); bits < toBits(0x1p40f); bits += 10007)
    for (float exponent :
         {-2.5f, -1.0f, -0.5f, 0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f}) {
      x.push_back(fromBits(bits));
      y.push_back(exponent);
    }
  std::vector<float> result = JitMath::at(GetParam()).run("powf", x, y);
  double worst = -1;
  size_t where = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double error =
        ulpError(result[i], std::pow(double(flush(x[i])), double(flush(y[i]))));
    if (error > worst)
      worst = error, where = i;
  }
  std::printf("exponent %.9g: ", y[where]);
  report(GetParam(), "powf", worst, x[where], x.size());
  EXPECT_LE(worst, 4);
}

INSTANTIATE_TEST_SUITE_P(All, PowAccuracy, testing::ValuesIn(JitMath::levels()),
                         [](const auto &info) {
                           return identifier(info.param);
                         });
