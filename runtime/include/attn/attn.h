//===- attn.h - compile and call attention kernels --------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The public interface; standard headers only.
//
//     attn::Compiler compiler;
//     attn::Kernel kernel = compiler.compile(
//         "attention softmax(q, k, v) { kappa = exp(dot(q, k) / sqrt(dim)) }");
//     kernel({{"q", {q, {1, 8, 512, 64}}}, {"k", {k, {1, 8, 512, 64}}},
//             {"v", {v, {1, 8, 512, 64}}}},
//            {{"o", {o, {1, 8, 512, 64}}}});
//
// A spec is a text, a file, or an expression in C++ (attn/Builder.h). Errors
// are thrown as attn::Error, with the text that attnc would print.
//
// Shapes: rows are [B, H, N, n], [B, N, n] for one head, or [N, n]. q has B
// batches, Hq heads and Nq rows; k and v have Hk heads and Nk rows, and Hq is a
// multiple of Hk; an extent of 1 serves all batches or heads. o is [B, Hq, Nq,
// Dv], mass, lse, max, argmax and entropy [B, Hq, Nq], weights [B, Hq, Nq, Nk],
// less the axes that q lacks (Kernel::shapeOf).
//
// On an NVIDIA GPU, of arrays that lie there (pointers of any library, or
// tensors by DLPack), in the order of a stream and without waiting:
//
//     attn::Options options;
//     options.target = "cuda";
//     attn::Kernel kernel = attn::Compiler(options).compile(text);
//     attn::Device gpu = attn::Device::cuda(0);
//     auto rows = [&](void *p) {
//       return attn::Tensor(p, attn::Type::bf16, {1, 8, 512, 64}).on(gpu);
//     };
//     kernel({{"q", rows(q)}, {"k", rows(k)}, {"v", rows(v)}},
//            {{"o", rows(o)}}, stream);
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ATTN_H
#define ATTN_ATTN_H

#include "attn/Builder.h"
#include "attn/DLPack.h"
#include "attn/Error.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// Element types of arrays: rows and results are floating-point numbers (or, of
/// argmax, i32); parameters and lengths may have any type that holds them.
enum class Type {
  f32,
  f64,
  f16,
  bf16,
  i32,
  i64,
  i8,
  i16,
  u8,
  u16,
  u32,
  boolean ///< of a byte, 0 or 1
};

/// Where memory lies: on the host, or on a CUDA device.
struct Device {
  enum Kind { Host, Cuda };
  Kind kind = Host;
  int ordinal = 0; ///< of a CUDA device, as the driver counts

  static Device host() { return {}; }
  static Device cuda(int ordinal = 0) {
    Device device;
    device.kind = Cuda;
    device.ordinal = ordinal;
    return device;
  }
  bool operator==(const Device &other) const {
    return kind == other.kind && ordinal == other.ordinal;
  }
  bool operator!=(const Device &other) const { return !(*this == other); }
};

/// A view of the caller's memory: element type, extents, strides in elements.
/// No strides means row-major. Strides may be 0 or negative.
struct Tensor {
  void *data = nullptr; ///< an address of `device`, a CUdeviceptr, say
  Type type = Type::f32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  Device device;

  /// The same view, of memory of that device.
  Tensor on(Device where) const {
    Tensor tensor = *this;
    tensor.device = where;
    return tensor;
  }

  Tensor() = default;
  Tensor(void *data, Type type, std::vector<int64_t> shape,
         std::vector<int64_t> strides = {})
      : data(data), type(type), shape(std::move(shape)),
        strides(std::move(strides)) {}
  Tensor(float *data, std::vector<int64_t> shape,
         std::vector<int64_t> strides = {})
      : Tensor(static_cast<void *>(data), Type::f32, std::move(shape),
               std::move(strides)) {}
  Tensor(const float *data, std::vector<int64_t> shape,
         std::vector<int64_t> strides = {})
      : Tensor(const_cast<float *>(data), std::move(shape),
               std::move(strides)) {}
};

/// An input ([N, n], [B, N, n] or [B, H, N, n], of f32, f16 or bf16; o has the
/// type of the one that q derives from) or parameter (an array, or one number
/// for every index; converted to f32) by name; beside those of the spec,
/// key_lengths and query_lengths ([B], integers) and offset ([1], [B], or a
/// number).
///
/// Inputs and results of a call lie in one place: all on the host, or all on
/// one CUDA device (target cuda alone), where rows and the rows of o have
/// stride 1. Parameters, lengths and offset may lie on the host beside them;
/// they are small, and copied by every call.
struct Argument {
  std::string name;
  Tensor tensor;
  double number = 0;
  bool isNumber = false;

  Argument(std::string name, Tensor tensor)
      : name(std::move(name)), tensor(std::move(tensor)) {}
  Argument(std::string name, double number)
      : name(std::move(name)), number(number), isNumber(true) {}
};

/// An output by the name of its result; Kernel::shapeOf gives its shape.
struct Output {
  std::string name;
  Tensor tensor;
};

/// How to compile.
struct Options {
  /// "cpu"; "cuda", an NVIDIA GPU; "cuda-emulator", the GPU's kernel executed
  /// by the CPU; "reference": float64, O(N^2), plain.
  std::string target = "cpu";
  /// Feature level or GPU architecture; empty: the best that this machine, or
  /// the GPU of a call, has.
  std::string level;
  int threads = 0; ///< threads of a call; 0: one a core
  /// The folder of compiled code. Empty: the environment's ATTN_CACHE_DIR, else
  /// attnc in XDG_CACHE_HOME or ~/.cache; "off", or ATTN_CACHE=off there: none.
  std::string cache = {};
  /// Faster arithmetic that gives up digits and special values: exponentials
  /// with a running maximum have a relative error of 3e-6, not 2e-7; divisions
  /// are within 3 ulp, and nothing is promised of what is infinite, nor where
  /// something is divided by 0 or by more than 2^125.
  bool fastMath = false;
  /// The order of the sums: "quadratic", weights first; "linear", sums over
  /// keys first, an error where that is not proven to be right; empty:
  /// whichever is less work for the lengths of a sequence. "recurrent": the
  /// linear order, of calls that go on where the last one ended. q, k and v are
  /// the next tokens, output "state" (f32; shapeOf has its shape) is what the
  /// next call takes as argument "state", also in place; without one, or with
  /// zeros, a sequence begins. The number of tokens that a state in device
  /// memory holds is taken on trust.
  std::string schedule = {};
  /// The CUDA device that computes; -1: that of the inputs, and for inputs on
  /// the host the one of the environment's ATTN_CUDA_DEVICE, or the first.
  int device = -1;
};

/// A compiled kernel: cheap to copy, callable from many threads on different
/// outputs. Machine code is made at the first call for a set of row lengths
/// (and, of a GPU, for each device) and kept.
class Kernel {
public:
  /// Computes the outputs, and returns when they are there. Checks names,
  /// types, shapes and declared bounds first; throws Error and writes nothing
  /// if one does not fit. (Values that lie on a GPU are checked there: see
  /// `synchronize`.)
  void operator()(const std::vector<Argument> &arguments,
                  const std::vector<Output> &outputs) const;
  /// The same for the target cuda on a stream (a CUstream, with
  /// CU_STREAM_LEGACY for the default one), behind what was enqueued there.
  /// With results on the device it returns when the work is enqueued: arrays of
  /// the device must live until it is done; those of the host may go at once,
  /// unless they are page-locked. A null stream is the default one, waited for.
  void operator()(const std::vector<Argument> &arguments,
                  const std::vector<Output> &outputs, void *stream) const;
  /// Waits until the GPUs have done what calls enqueued. Throws where a value
  /// that lay on one broke what is declared of it (a bound, lengths between 0
  /// and N), in any call since the last time; results of that call are
  /// meaningless. The kernel's next call throws the same, once it is known.
  void synchronize() const;
  /// The spec's name.
  const std::string &name() const;
  /// The names after `return`.
  const std::vector<std::string> &results() const;
  /// The shape of a result: [B, Hq, Nq, ...], less the axes that q lacks.
  std::vector<int64_t> shapeOf(std::string_view result,
                               const std::vector<Argument> &arguments) const;

  struct Impl;
  explicit Kernel(std::shared_ptr<Impl> impl) : impl(std::move(impl)) {}
  /// For the project's own tools.
  Impl &getImpl() const { return *impl; }

private:
  std::shared_ptr<Impl> impl;
};

namespace runtime {
class Cache;
}

/// Turns specs into kernels. What was compiled once, by any process, comes from
/// the cache on disk.
class Compiler {
public:
  explicit Compiler(Options options = {});
  /// Compiles a spec from its text; `name` picks one where the text has
  /// several; `file` is what errors call the text.
  Kernel compile(std::string_view text, std::string_view name = {},
                 std::string_view file = "<text>") const;
  /// Compiles a spec that C++ built; errors point into its text, toText(spec).
  Kernel compile(const Spec &spec) const;
  /// Compiles a spec from a `.attn` or `.mlir` file.
  Kernel compileFile(const std::string &path, std::string_view name = {}) const;

private:
  Options options;
  std::shared_ptr<const runtime::Cache> cache;
};

} // namespace attn

#endif // ATTN_ATTN_H
