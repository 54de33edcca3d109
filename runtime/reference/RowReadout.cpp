//===- RowReadout.cpp - from the weights of a row to its results ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/RowReadout.h"
#include "runtime/reference/Elements.h"

using namespace attn::reference;

/// The gauge of S6: the largest exponent. An exact zero has none.
static double gaugeOf(const std::vector<VisibleKey> &keys, double sink) {
  double gauge = sink;
  for (const VisibleKey &key : keys)
    if (key.kappa.m != 0)
      gauge = std::max(gauge, key.kappa.e);
  return std::isfinite(gauge) ? gauge : 0;
}

/// What the sum is divided by, in units of exp(gauge).
static double denominatorOf(const Denominator &d, double mass, double gauge) {
  if (timesExp(std::abs(mass), gauge) < d.floor)
    return std::copysign(timesExp(d.floor, -gauge), mass);
  return mass + timesExp(d.delta, -gauge);
}

RowResults attn::reference::readOut(const std::vector<VisibleKey> &keys,
                                    const Denominator &denominator,
                                    int weightDigits) {
  RowResults row;
  row.weights.resize(keys.size());
  double gauge = gaugeOf(keys, denominator.sink);

  double mass =
      std::isfinite(denominator.sink) ? std::exp(denominator.sink - gauge) : 0;
  Scaled largest;
  for (size_t t = 0; t < keys.size(); ++t) {
    const Scaled &kappa = keys[t].kappa;
    row.weights[t] = plain({kappa.m, kappa.e - gauge});
    mass += row.weights[t];
    if (t == 0 || largest < kappa) { // the lowest key on ties
      largest = kappa;
      row.argmax = keys[t].j;
    }
  }
  if (!keys.empty())
    row.max = plain(largest);

  if (weightDigits)
    for (double &weight : row.weights)
      if (std::isfinite(weight) && weight != 0)
        weight = roundedTo(weight, weightDigits);

  row.empty = denominator.divide && std::abs(mass) < 0x1p-126;
  if (row.empty) {
    std::fill(row.weights.begin(), row.weights.end(), 0.0);
    return row;
  }
  if (!denominator.divide)
    row.outer = gauge;
  if (mass == 0) // the terms cancel, or there are none; the sum stays
    return row;

  row.mass = timesExp(mass, gauge);
  row.lse = std::log(mass) + gauge;
  for (double weight : row.weights) {
    double p = weight / mass;
    if (!(p <= 0)) // NaN shows
      row.entropy -= p * std::log(p);
  }
  if (!denominator.divide)
    return row;
  double divisor = denominatorOf(denominator, mass, gauge);
  for (double &weight : row.weights)
    weight /= divisor;
  return row;
}
