//===- Picture.cpp - pictures in files ------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Picture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <stb/stb_image.h>
#include <stb/stb_image_write.h>
#include <stdexcept>
#include <unistd.h>

static unsigned char toByte(float value) {
  return static_cast<unsigned char>(
      std::lround(std::clamp(value, 0.0f, 1.0f) * 255));
}

void Picture::quantise() {
  for (float &value : values)
    value = static_cast<float>(toByte(value)) / 255;
}

Picture readPicture(const std::string &path) {
  int width, height, channels;
  std::unique_ptr<stbi_uc, void (*)(void *)> bytes(
      stbi_load(path.c_str(), &width, &height, &channels, 0), stbi_image_free);
  if (!bytes)
    throw std::runtime_error(
        path + ": cannot read the picture: " + stbi_failure_reason());
  Picture picture;
  picture.width = width;
  picture.height = height;
  picture.channels = channels >= 3 ? 3 : 1;
  picture.values.reserve(picture.pixels() * picture.channels);
  for (int64_t pixel = 0; pixel < picture.pixels(); ++pixel)
    for (int64_t channel = 0; channel < picture.channels; ++channel)
      picture.values.push_back(
          static_cast<float>(bytes.get()[pixel * channels + channel]) / 255);
  return picture;
}

static std::string extensionOf(const std::string &path) {
  size_t dot = path.find_last_of("./");
  std::string extension =
      dot == std::string::npos || path[dot] == '/' ? "" : path.substr(dot + 1);
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return extension;
}

PictureFile::PictureFile(std::string path, int64_t channels)
    : path(std::move(path)),
      temporary(this->path + "." + std::to_string(getpid())) {
  std::string extension = extensionOf(this->path);
  if (extension != "png" && extension != "ppm" && extension != "pgm")
    throw std::runtime_error(
        this->path +
        ": the name of a picture to write ends in .png, .ppm or .pgm");
  if (extension == "pgm" && channels != 1)
    throw std::runtime_error(
        this->path + ": a .pgm file holds no colours; choose .ppm or .png");
  if (FILE *file = std::fopen(temporary.c_str(), "wb"))
    std::fclose(file);
  else
    throw std::runtime_error(this->path + ": cannot write here");
  std::remove(temporary.c_str()); // who is interrupted leaves nothing
}

static void append(void *bytes, void *data, int size) {
  auto *begin = static_cast<unsigned char *>(data);
  static_cast<std::vector<unsigned char> *>(bytes)->insert(
      static_cast<std::vector<unsigned char> *>(bytes)->end(), begin,
      begin + size);
}

static std::vector<unsigned char> encode(const Picture &picture,
                                         const std::string &extension) {
  // A PPM has three channels always.
  int64_t channels = extension == "ppm" ? 3 : picture.channels;
  std::vector<unsigned char> pixels;
  pixels.reserve(picture.pixels() * channels);
  for (int64_t pixel = 0; pixel < picture.pixels(); ++pixel)
    for (int64_t channel = 0; channel < channels; ++channel)
      pixels.push_back(
          toByte(picture.values[pixel * picture.channels +
                                std::min(channel, picture.channels - 1)]));
  if (extension != "png") {
    std::string header = std::string(channels == 3 ? "P6" : "P5") + "\n" +
                         std::to_string(picture.width) + " " +
                         std::to_string(picture.height) + "\n255\n";
    pixels.insert(pixels.begin(), header.begin(), header.end());
    return pixels;
  }
  std::vector<unsigned char> bytes;
  if (!stbi_write_png_to_func(append, &bytes, static_cast<int>(picture.width),
                              static_cast<int>(picture.height),
                              static_cast<int>(channels), pixels.data(),
                              static_cast<int>(picture.width * channels)))
    bytes.clear();
  return bytes;
}

void PictureFile::write(const Picture &picture) {
  std::vector<unsigned char> bytes = encode(picture, extensionOf(path));
  FILE *file = std::fopen(temporary.c_str(), "wb");
  bool written =
      file && !bytes.empty() &&
      std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (file)
    written &= std::fclose(file) == 0;
  // The rename makes the whole picture appear at once.
  if (!written || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::remove(temporary.c_str());
    throw std::runtime_error(path + ": cannot write the picture");
  }
}

double psnr(const Picture &picture, const Picture &clean) {
  double sum = 0;
  for (size_t i = 0; i < clean.values.size(); ++i) {
    double difference =
        static_cast<double>(picture.values[i]) - clean.values[i];
    sum += difference * difference;
  }
  if (sum == 0)
    return std::numeric_limits<double>::infinity();
  return -10 * std::log10(sum / static_cast<double>(clean.values.size()));
}
