//===- Picture.h - pictures in files ----------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXAMPLES_DENOISE_PICTURE_H
#define ATTN_EXAMPLES_DENOISE_PICTURE_H

#include <cstdint>
#include <string>
#include <vector>

/// A picture of 1 (grey) or 3 (colour) channels, values from 0 to 1, row by
/// row.
struct Picture {
  int64_t width = 0;
  int64_t height = 0;
  int64_t channels = 1;
  std::vector<float> values;

  int64_t pixels() const { return width * height; }
  float &at(int64_t x, int64_t y, int64_t channel) {
    return values[(y * width + x) * channels + channel];
  }
  float at(int64_t x, int64_t y, int64_t channel) const {
    return values[(y * width + x) * channels + channel];
  }
  /// Rounds the values to the 256 levels that a file holds.
  void quantise();
};

/// Reads a PNG, PPM or PGM (or JPEG) file; transparency is dropped. Throws
/// std::runtime_error.
Picture readPicture(const std::string &path);

/// A file for a picture. The constructor finds out whether it can be written,
/// before the work is done; until `write` the file `path` is left as it is.
class PictureFile {
public:
  PictureFile(std::string path, int64_t channels);
  void write(const Picture &picture);

private:
  std::string path;
  std::string temporary;
};

/// The peak signal-to-noise ratio in dB of pictures of one size.
double psnr(const Picture &picture, const Picture &clean);

#endif // ATTN_EXAMPLES_DENOISE_PICTURE_H
