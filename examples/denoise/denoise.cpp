//===- denoise.cpp - a photograph without its noise -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Non-local means is attention: every pixel attends to the pixels around it, by
// how alike the patches about the two are. So this program holds no loop over
// pairs of pixels, only the kernel below.
//
//===----------------------------------------------------------------------===//

#include "Picture.h"

#include <attn/attn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <unistd.h>

static const char *const nonLocalMeans = R"(
  attention nlm(p, v; W: int > 0, h > 0) {
    q = p
    k = p
    kappa = exp(-sqdist(q, k) / h^2)
    mask  = abs(i // W - j // W) <= 10 and abs(i % W - j % W) <= 10
  })";

static constexpr int64_t windowRadius = 10; // as in the mask above
static constexpr int64_t patchRadius = 3;
static constexpr int64_t patchPixels =
    (2 * patchRadius + 1) * (2 * patchRadius + 1);

/// The position inside [0, extent) that `i` is a reflection of.
static int64_t reflect(int64_t i, int64_t extent) {
  if (extent == 1)
    return 0;
  int64_t period = 2 * (extent - 1);
  i = std::abs(i) % period;
  return i < extent ? i : period - i;
}

/// The patches around the pixels of rows [begin, end), one a row of the result.
static std::vector<float> patchesOf(const Picture &picture, int64_t begin,
                                    int64_t end) {
  std::vector<float> patches;
  patches.reserve((end - begin) * picture.width * patchPixels *
                  picture.channels);
  for (int64_t y = begin; y < end; ++y)
    for (int64_t x = 0; x < picture.width; ++x)
      for (int64_t dy = -patchRadius; dy <= patchRadius; ++dy)
        for (int64_t dx = -patchRadius; dx <= patchRadius; ++dx)
          for (int64_t channel = 0; channel < picture.channels; ++channel)
            patches.push_back(picture.at(reflect(x + dx, picture.width),
                                         reflect(y + dy, picture.height),
                                         channel));
  return patches;
}

/// Denoises `noisy` with bandwidth `h`, in strips of rows so that the patches
/// of a large picture need not be in memory together.
static Picture denoise(const Picture &noisy, double h,
                       const attn::Options &options) {
  attn::Compiler compiler(options);
  attn::Kernel kernel = compiler.compile(nonLocalMeans);

  const int64_t patch = patchPixels * noisy.channels;
  const int64_t stripBytes = int64_t(1) << 29;
  const int64_t rowBytes = noisy.width * patch * int64_t(sizeof(float));
  const int64_t strip =
      std::max<int64_t>(stripBytes / rowBytes, 4 * windowRadius);
  const bool showProgress = strip < noisy.height && isatty(STDERR_FILENO);

  Picture result = noisy;
  for (int64_t y = 0; y < noisy.height; y += strip) {
    // Pixels at the edge of the strip see beyond it.
    const int64_t begin = std::max<int64_t>(y - windowRadius, 0);
    const int64_t end = std::min(y + strip + windowRadius, noisy.height);
    const int64_t pixels = (end - begin) * noisy.width;
    std::vector<float> patches = patchesOf(noisy, begin, end);
    std::vector<float> means(pixels * noisy.channels);
    const float *values =
        noisy.values.data() + begin * noisy.width * noisy.channels;
    kernel({{"p", {patches.data(), {1, 1, pixels, patch}}},
            {"v", {values, {1, 1, pixels, noisy.channels}}},
            {"W", double(noisy.width)},
            {"h", h}},
           {{"o", {means.data(), {1, 1, pixels, noisy.channels}}}});
    const int64_t rowValues = noisy.width * noisy.channels;
    std::copy(means.begin() + (y - begin) * rowValues,
              means.begin() +
                  (std::min(y + strip, noisy.height) - begin) * rowValues,
              result.values.begin() + y * rowValues);
    if (showProgress)
      std::fprintf(
          stderr, "\r%3lld%%",
          (long long)(100 * std::min(y + strip, noisy.height) / noisy.height));
  }
  if (showProgress)
    std::fprintf(stderr, "\r    \r");
  return result;
}

/// An estimate of the noise's standard deviation: the mean response to a mask
/// that smooth shades and straight edges do not excite (Immerkaer, Fast noise
/// variance estimation, 1996). Needs 3 x 3 pixels.
static std::optional<double> estimateNoise(const Picture &picture) {
  if (picture.width < 3 || picture.height < 3)
    return std::nullopt;
  double sum = 0;
  for (int64_t y = 1; y + 1 < picture.height; ++y)
    for (int64_t x = 1; x + 1 < picture.width; ++x)
      for (int64_t c = 0; c < picture.channels; ++c) {
        auto across = [&](int64_t row) {
          return picture.at(x - 1, row, c) - 2 * picture.at(x, row, c) +
                 picture.at(x + 1, row, c);
        };
        sum += std::abs(across(y - 1) - 2 * across(y) + across(y + 1));
      }
  const auto count =
      double((picture.width - 2) * (picture.height - 2) * picture.channels);
  return std::sqrt(std::acos(-1.0) / 2) / 6 * sum / count;
}

static void addNoise(Picture &picture, double deviation, uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal(0, deviation);
  for (float &value : picture.values)
    value += float(normal(generator));
  picture.quantise(); // as if it had come from a file
}

namespace {
struct Arguments {
  std::string in, out;
  std::optional<double> sigma, h, addedNoise;
  std::optional<std::string> clean, noisy;
  uint64_t seed = 1;
  attn::Options options;
};

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
} // namespace

static const char *const usage = R"(Usage: denoise IN OUT [OPTION...]

Takes the noise out of a photograph by non-local means, compiled as attention over
its 7 x 7 patches. IN is a PNG, PPM, PGM or JPEG file, grey or colour; OUT is named
.png, .ppm or .pgm. Noise is in units of the range from black to white.

  --sigma S        the noise's standard deviation (default: estimated from IN,
                   0.1 where IN is smaller than 3 x 3)
  --h H            the kernel's bandwidth itself (default: from sigma)
  --clean FILE     the picture without noise, to report the PSNR against
  --add-noise S    IN is the clean picture: add Gaussian noise first
  --seed K         another sample of that noise (default: 1)
  --noisy FILE     write the picture with the added noise there
  --threads T      (default: one a core)
  --target TARGET  cpu, or reference: slow and plain (default: cpu)

Example: denoise photo.png better.png
)";

static double numberOf(const std::string &option, const std::string &text,
                       double least, double most) {
  char *end;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !(number >= least && number <= most))
    throw UsageError(option + " " + text + ": not a number from " +
                     std::to_string(least) + " to " + std::to_string(most));
  return number;
}

static Arguments parse(int argc, char **argv) {
  Arguments arguments;
  int positional = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option[0] != '-') {
      if (++positional > 2)
        throw UsageError(option + ": a third file name");
      (positional == 1 ? arguments.in : arguments.out) = option;
      continue;
    }
    if (i + 1 == argc)
      throw UsageError(option + ": not an option, or its value is missing");
    const std::string value = argv[++i];
    if (option == "--sigma")
      arguments.sigma = numberOf(option, value, 1e-4, 10);
    else if (option == "--h")
      arguments.h = numberOf(option, value, 1e-6, 1e6);
    else if (option == "--add-noise")
      arguments.addedNoise = numberOf(option, value, 0, 10);
    else if (option == "--seed")
      arguments.seed = uint64_t(numberOf(option, value, 0, 1e15));
    else if (option == "--threads")
      arguments.options.threads = int(numberOf(option, value, 1, 1024));
    else if (option == "--clean")
      arguments.clean = value;
    else if (option == "--noisy")
      arguments.noisy = value;
    else if (option == "--target")
      arguments.options.target = value;
    else
      throw UsageError(option + ": no such option");
  }
  if (positional != 2)
    throw UsageError("a picture to read and one to write are needed");
  if (arguments.clean && arguments.addedNoise)
    throw UsageError("--add-noise takes IN as the clean picture: no --clean");
  if (arguments.noisy && !arguments.addedNoise)
    throw UsageError("--noisy is where --add-noise puts its picture");
  auto place = [](const std::string &path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path));
  };
  if (arguments.noisy && place(*arguments.noisy) == place(arguments.out))
    throw UsageError("--noisy " + *arguments.noisy +
                     ": the result goes there, too");
  return arguments;
}

static void run(const Arguments &arguments) {
  Picture noisy = readPicture(arguments.in);
  std::optional<Picture> clean;
  if (arguments.clean)
    clean = readPicture(*arguments.clean);
  if (clean && (clean->width != noisy.width || clean->height != noisy.height ||
                clean->channels != noisy.channels))
    throw std::runtime_error(
        *arguments.clean + ": not of the size and colours of " + arguments.in);
  PictureFile file(arguments.out, noisy.channels);
  if (arguments.addedNoise) {
    clean = noisy;
    addNoise(noisy, *arguments.addedNoise, arguments.seed);
    if (arguments.noisy)
      PictureFile(*arguments.noisy, noisy.channels).write(noisy);
  }

  double sigma = 0.1;
  if (arguments.sigma)
    sigma = *arguments.sigma;
  else if (arguments.addedNoise)
    sigma = std::max(*arguments.addedNoise, 1e-3);
  else if (std::optional<double> estimate = estimateNoise(noisy))
    sigma = std::max(*estimate, 1e-3);
  // Two noisy patches of one clean one lie sigma * sqrt(2 patch) apart; 0.87
  // was the best of a sweep over three photographs and three levels of noise.
  const auto patch = double(patchPixels * noisy.channels);
  const double h = arguments.h.value_or(0.87 * sigma * std::sqrt(patch));

  const auto start = std::chrono::steady_clock::now();
  Picture result = denoise(noisy, h, arguments.options);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  result.quantise();
  file.write(result);

  std::printf("%s: %lld x %lld %s, ", arguments.out.c_str(),
              (long long)noisy.width, (long long)noisy.height,
              noisy.channels == 3 ? "colour" : "grey");
  if (clean)
    std::printf("PSNR %.2f dB before, %.2f dB after, ", psnr(noisy, *clean),
                psnr(result, *clean));
  std::printf("sigma %.3f, %.2f s\n", sigma, seconds);
}

int main(int argc, char **argv) {
  std::signal(SIGXFSZ, SIG_IGN); // a limit on files is an error of the write
  if (argc == 2 &&
      (argv[1] == std::string("--help") || argv[1] == std::string("-h"))) {
    std::fputs(usage, stdout);
    return 0;
  }
  try {
    run(parse(argc, argv));
  } catch (const UsageError &error) {
    std::fprintf(stderr, "error: %s\n\n%s", error.what(), usage);
    return 2;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
