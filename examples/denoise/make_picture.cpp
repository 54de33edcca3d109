//===- make_picture.cpp - a picture to try things on ----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Draws what photographs are made of: smooth shades, sharp edges, fine stripes
// and something like print. Always the same picture for the same size.
//
//===----------------------------------------------------------------------===//

#include "Picture.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace {
struct Colour {
  float red, green, blue;
};
} // namespace

static Colour mix(Colour a, Colour b, float share) {
  share = std::clamp(share, 0.0f, 1.0f);
  return {a.red + share * (b.red - a.red),
          a.green + share * (b.green - a.green),
          a.blue + share * (b.blue - a.blue)};
}

/// Whether a stroke of the "print" covers the cell (column, row) of a letter.
static bool isInk(int64_t letter, int64_t column, int64_t row) {
  uint64_t bits = static_cast<uint64_t>(letter) * 0x9E3779B97F4A7C15u;
  bits ^= bits >> 29;
  bool isSpace = bits % 6 == 0, isGap = column == 4 || row == 6;
  return !isSpace && !isGap && ((bits >> (8 + (row / 2) * 4 + column)) & 1);
}

/// The colour at (x, y), both from 0 to 1; `cell` is a cell of print.
static Colour colourAt(float x, float y, float cell) {
  Colour colour = mix({0.55f, 0.70f, 0.90f}, {0.95f, 0.85f, 0.70f},
                      y + 0.1f * std::sin(7 * x));
  auto disc = [&](float centreX, float centreY, float radius, Colour light,
                  Colour dark) {
    float distance = std::hypot(x - centreX, y - centreY);
    // Lit from the upper left; the edge is as wide as a pixel of 512.
    float shade =
        std::hypot(x - centreX + radius / 3, y - centreY + radius / 3) /
        (1.4f * radius);
    colour =
        mix(colour, mix(light, dark, shade), (radius - distance) * 512 + 0.5f);
  };
  disc(0.28f, 0.30f, 0.20f, {0.98f, 0.80f, 0.55f}, {0.60f, 0.20f, 0.10f});
  disc(0.47f, 0.42f, 0.11f, {0.75f, 0.90f, 0.75f}, {0.10f, 0.35f, 0.25f});
  disc(0.16f, 0.50f, 0.07f, {0.85f, 0.85f, 0.95f}, {0.20f, 0.20f, 0.40f});
  if (x > 0.64f && x < 0.94f && y > 0.08f &&
      y < 0.50f) { // stripes that get finer
    float phase = 30 * (x - 0.64f) * (1 + 3 * (x - 0.64f));
    colour = mix({0.15f, 0.15f, 0.20f}, {0.90f, 0.90f, 0.85f},
                 0.5f + 2 * std::sin(6.2832f * phase));
  }
  if (x > 0.06f && x < 0.94f && y > 0.62f && y < 0.94f) { // a page
    colour = {0.96f, 0.95f, 0.90f};
    auto column = static_cast<int64_t>((x - 0.09f) / cell),
         row = static_cast<int64_t>((y - 0.65f) / cell);
    bool inside = x > 0.09f && x < 0.91f && y > 0.65f && y < 0.91f;
    if (inside && row % 8 < 7 &&
        isInk(row / 8 * 977 + column / 5 + 1, column % 5, row % 8))
      colour = {0.12f, 0.12f, 0.15f};
  }
  return colour;
}

static int usage(FILE *where, int status) {
  std::fputs("Usage: make_picture OUT [WIDTHxHEIGHT] [--grey]\n\n"
             "Draws a test picture, 512x512 and in colour unless said "
             "otherwise, as OUT\n"
             "(.png, .ppm or .pgm).\n\n"
             "Example: make_picture clean.png 640x480\n",
             where);
  return status;
}

int main(int argc, char **argv) {
  std::signal(SIGXFSZ, SIG_IGN); // a limit on files is an error of the write
  std::string path;
  Picture picture;
  picture.width = picture.height = 512;
  picture.channels = 3;
  for (int i = 1; i < argc; ++i) {
    long long width, height;
    char end;
    if (!std::strcmp(argv[i], "--help") || !std::strcmp(argv[i], "-h"))
      return usage(stdout, 0);
    if (!std::strcmp(argv[i], "--grey"))
      picture.channels = 1;
    else if (path.empty() && argv[i][0] != '-')
      path = argv[i];
    else if (std::sscanf(argv[i], "%lldx%lld%c", &width, &height, &end) == 2 &&
             width > 0 && height > 0 && width <= 32768 && height <= 32768)
      picture.width = width, picture.height = height;
    else
      return usage(stderr, 2);
  }
  if (path.empty())
    return usage(stderr, 2);

  try {
    PictureFile file(path, picture.channels);
    picture.values.resize(picture.pixels() * picture.channels);
    auto scale = static_cast<float>(std::min(picture.width, picture.height));
    float cell =
        std::max(2.0f, std::floor(scale / 200)) / scale; // whole pixels
    for (int64_t y = 0; y < picture.height; ++y)
      for (int64_t x = 0; x < picture.width; ++x) {
        Colour colour = colourAt(
            (static_cast<float>(x) + 0.5f) / static_cast<float>(picture.width),
            (static_cast<float>(y) + 0.5f) / static_cast<float>(picture.height),
            cell);
        if (picture.channels == 1) {
          picture.at(x, y, 0) =
              0.30f * colour.red + 0.59f * colour.green + 0.11f * colour.blue;
          continue;
        }
        picture.at(x, y, 0) = colour.red;
        picture.at(x, y, 1) = colour.green;
        picture.at(x, y, 2) = colour.blue;
      }
    file.write(picture);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
