//===- Machine.cpp - what this machine can do -----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "lowering/Target.h"

#include <atomic>
#include <fstream>
#include <functional>
#include <malloc.h>
#include <string_view>
#include <thread>
#include <time.h>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

using namespace attn;

static clockid_t timer = CLOCK_MONOTONIC;

double attn::now() {
  timespec time;
  clock_gettime(timer, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * time.tv_nsec;
}

void attn::countOwnTime() { timer = CLOCK_PROCESS_CPUTIME_ID; }

//===----------------------------------------------------------------------===//
// The peak
//===----------------------------------------------------------------------===//

// Twelve independent chains hide a latency of 4 cycles at 2 (or 3) operations a
// cycle, and 12 + 2 registers fit every level. The assembly keeps the compiler
// from merging or dropping them.
#define CHAINS(STEP)                                                           \
  STEP(0)                                                                      \
  STEP(1)                                                                      \
  STEP(2)                                                                      \
  STEP(3) STEP(4) STEP(5) STEP(6) STEP(7) STEP(8) STEP(9) STEP(10) STEP(11)

static constexpr int64_t kChains = 12;

#if defined(__x86_64__)

#define DECLARE512(n) __m512 c##n = _mm512_set1_ps(1.0f);
#define FMA512(n)                                                              \
  asm volatile("vfmadd213ps %2, %1, %0" : "+v"(c##n) : "v"(scale), "v"(shift));
__attribute__((target("avx512f"))) static void chains512(int64_t steps) {
  __m512 scale = _mm512_set1_ps(0.5f), shift = _mm512_set1_ps(0.5f);
  CHAINS(DECLARE512)
  for (int64_t n = 0; n < steps; ++n) {
    CHAINS(FMA512)
  }
}

#define PAIRS512(n)                                                            \
  asm volatile("vdpbf16ps %2, %1, %0" : "+v"(c##n) : "v"(scale), "v"(shift));
__attribute__((target("avx512f"))) static void pairChains512(int64_t steps) {
  __m512 scale = _mm512_set1_ps(0), shift = _mm512_set1_ps(0);
  CHAINS(DECLARE512)
  for (int64_t n = 0; n < steps; ++n) {
    CHAINS(PAIRS512)
  }
}

#define DECLARE256(n) __m256 c##n = _mm256_set1_ps(1.0f);
#define FMA256(n)                                                              \
  asm volatile("vfmadd213ps %2, %1, %0" : "+x"(c##n) : "x"(scale), "x"(shift));
__attribute__((target("avx2,fma"))) static void chains256(int64_t steps) {
  __m256 scale = _mm256_set1_ps(0.5f), shift = _mm256_set1_ps(0.5f);
  CHAINS(DECLARE256)
  for (int64_t n = 0; n < steps; ++n) {
    CHAINS(FMA256)
  }
}

#define DECLARE128(n) __m128 c##n = _mm_set1_ps(1.0f);
#define FMA128(n)                                                              \
  asm volatile("mulps %1, %0\n\taddps %2, %0"                                  \
               : "+x"(c##n)                                                    \
               : "x"(scale), "x"(shift));
static void chains128(int64_t steps) {
  __m128 scale = _mm_set1_ps(0.5f), shift = _mm_set1_ps(0.5f);
  CHAINS(DECLARE128)
  for (int64_t n = 0; n < steps; ++n) {
    CHAINS(FMA128)
  }
}

#elif defined(__aarch64__)

#define DECLARE128(n) float32x4_t c##n = vdupq_n_f32(1.0f);
#define FMA128(n)                                                              \
  asm volatile("fmla %0.4s, %1.4s, %2.4s"                                      \
               : "+w"(c##n)                                                    \
               : "w"(scale), "w"(shift));
static void chains128(int64_t steps) {
  float32x4_t scale = vdupq_n_f32(0.5f), shift = vdupq_n_f32(-1e-9f);
  CHAINS(DECLARE128)
  for (int64_t n = 0; n < steps; ++n) {
    CHAINS(FMA128)
  }
}

#else

#define DECLARE1(n) float c##n = 1.0f;
#define FMA1(n)                                                                \
  c##n = c##n * scale + shift;                                                 \
  asm volatile("" : "+m"(c##n));
static void chains128(int64_t steps) {
  float scale = 0.5f, shift = 0.5f;
  CHAINS(DECLARE1)
  for (int64_t n = 0; n < steps; ++n) {
    CHAINS(FMA1)
  }
}

#endif

namespace {
struct Level {
  void (*run)(int64_t);
  int64_t lanes;
  const char *name;
};
} // namespace

static Level widest(int64_t lanes = 0) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && (lanes == 0 || lanes >= 16))
    return {chains512, 16, "AVX-512"};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      (lanes == 0 || lanes >= 8))
    return {chains256, 8, "AVX2"};
  return {chains128, 4, "SSE"};
#elif defined(__aarch64__)
  (void)lanes;
  return {chains128, 4, "NEON"};
#else
  (void)lanes;
  return {chains128, 1, "scalar"};
#endif
}

std::string attn::peakInstructions() { return widest().name; }

/// The sum of what each of the threads returns for its number, begun together.
static double together(int threads, const std::function<double(int)> &work) {
  std::atomic<int> ready{0};
  std::vector<double> rates(threads);
  auto start = [&](int me) {
    ready.fetch_add(1);
    while (ready.load() < threads)
      std::this_thread::yield();
    rates[me] = work(me);
  };
  std::vector<std::thread> others;
  for (int n = 1; n < threads; ++n)
    others.emplace_back(start, n);
  start(0);
  for (std::thread &other : others)
    other.join();
  double sum = 0;
  for (double rate : rates)
    sum += rate;
  return sum;
}

/// How often a second `work` is done, over about `seconds` and at least once.
template <typename Work>
static double ratePerSecond(double seconds, Work work) {
  int64_t times = 0;
  double begin = now(), end;
  do {
    work();
    ++times;
    end = now();
  } while (end - begin < seconds);
  return times / (end - begin);
}

double attn::measurePeak(int threads, double seconds, int64_t lanes) {
  Level level = widest(lanes);
  constexpr int64_t block = 10000;
  level.run(block); // wakes the wide units
  // Every thread counts the blocks it finishes before the time is over.
  return together(threads, [&](int) {
    return 2e-9 * kChains * level.lanes * block *
           ratePerSecond(seconds, [&] { level.run(block); });
  });
}

#if defined(__x86_64__)

/// Four products of 16 x 32 by 32 x 16 a step; the operands are eight tiles of
/// 1 KiB.
__attribute__((target("amx-tile,amx-bf16"))) static void
multiplyTiles(const char *operands, int64_t steps) {
  struct alignas(64) {
    uint8_t palette = 1, startRow = 0, reserved[14] = {};
    uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } shape;
  _tile_loadconfig(&shape);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t n = 0; n < steps; ++n) {
    const char *from = operands + 4096 * (n % 2);
    _tile_loadd(4, from, 64);
    _tile_loadd(5, from + 1024, 64);
    _tile_loadd(6, from + 2048, 64);
    _tile_loadd(7, from + 3072, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
}

double attn::measureBf16Peak(double seconds) {
  constexpr int64_t block = 10000;
  // Asking for the level asks the system for the registers.
  if (!hostCpuLevel().hasMatrixUnit) {
    if (!hostCpuLevel().hasPairProducts)
      return 0;
    pairChains512(block);
    return 2e-9 * kChains * 32 * block *
           ratePerSecond(seconds, [&] { pairChains512(block); });
  }
  alignas(64) static char operands[8192] = {};
  multiplyTiles(operands, block);
  return 4 * 2e-9 * 16 * 16 * 32 * block *
         ratePerSecond(seconds, [&] { multiplyTiles(operands, block); });
}

#else

double attn::measureBf16Peak(double) { return 0; }

#endif

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

// The assembly keeps the compiler from leaving loads out; eight lines at a time
// keep the loop out of the way.
#if defined(__x86_64__)

__attribute__((target("avx512f"))) static void readLines512(const char *from,
                                                            int64_t blocks) {
  for (int64_t n = 0; n < blocks; ++n, from += 512) {
#define READ512(k)                                                             \
  {                                                                            \
    __m512i line = _mm512_loadu_si512(from + 64 * k);                          \
    asm volatile("" : : "v"(line));                                            \
  }
    READ512(0)
    READ512(1) READ512(2) READ512(3) READ512(4) READ512(5) READ512(6) READ512(7)
  }
}

#endif

static void readLines(const char *from, int64_t blocks) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return readLines512(from, blocks);
#endif
  typedef float Quad __attribute__((vector_size(16), aligned(4)));
  for (int64_t n = 0; n < 32 * blocks; ++n, from += 16) {
    Quad quad = *reinterpret_cast<const Quad *>(from);
#if defined(__x86_64__)
    asm volatile("" : : "x"(quad));
#else
    asm volatile("" : : "m"(quad));
#endif
  }
}

double attn::measureRead(const std::vector<Span> &arrays, int threads,
                         double seconds) {
  constexpr int64_t block = 512, stretch = 2048;
  int64_t total = 0, longest = 0;
  // A thread's share of each, in whole stretches.
  auto shareOf = [&](const Span &array) {
    return array.bytes / stretch / threads * stretch;
  };
  for (const Span &array : arrays) {
    total += shareOf(array);
    longest = std::max(longest, shareOf(array));
  }
  if (total == 0)
    return 0;
  auto rate = [&](auto read) {
    return together(threads, [&](int me) {
      return 1e-9 * total * ratePerSecond(seconds, [&] { read(me); });
    });
  };
  auto begin = [&](const Span &array, int me) {
    return static_cast<const char *>(array.memory) + me * shareOf(array);
  };
  double oneByOne = rate([&](int me) {
    for (const Span &array : arrays)
      readLines(begin(array, me), shareOf(array) / block);
  });
  double inTurns = rate([&](int me) {
    for (int64_t at = 0; at < longest; at += stretch)
      for (const Span &array : arrays) {
        if (at >= shareOf(array))
          continue;
        const char *from = begin(array, me) + at;
        for (int64_t line = 0; line < stretch; line += 64)
          __builtin_prefetch(from + stretch + line, 0, 2);
        readLines(from, stretch / block);
      }
  });
  return std::max(oneByOne, inTurns);
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static void updateLines512(char *at,
                                                              int64_t lines) {
  for (int64_t n = 0; n < lines; ++n, at += 64) {
    __m512i line = _mm512_loadu_si512(at);
    asm volatile("" : "+v"(line));
    _mm512_storeu_si512(at, line);
  }
}
#endif

static void updateLines(char *at, int64_t lines) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return updateLines512(at, lines);
#endif
  for (int64_t n = 0; n < 8 * lines; ++n, at += 8) {
    auto *word = reinterpret_cast<volatile int64_t *>(at);
    *word = *word;
  }
}

double attn::measureUpdate(void *memory, int64_t bytes) {
  double begin = now();
  updateLines(static_cast<char *>(memory), bytes / 64);
  return now() - begin;
}

//===----------------------------------------------------------------------===//
// Memory and name
//===----------------------------------------------------------------------===//

/// The bytes of an entry of /proc/self/status, which are in kB there.
static int64_t statusEntry(std::string_view name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.compare(0, name.size(), name) == 0)
      return std::stoll(line.substr(name.size() + 1)) * 1024;
  return 0;
}

int64_t attn::resetPeakMemory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
  std::ofstream("/proc/self/clear_refs") << "5";
  return statusEntry("VmRSS");
}

int64_t attn::peakMemory() { return statusEntry("VmHWM"); }

std::string attn::machineName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.compare(0, 10, "model name") == 0)
      if (size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "unknown";
}
