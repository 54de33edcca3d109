//===- BinderImpl.h - the state of binding one call -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared by Binder.cpp, which says what comes after what, and the files of its
// parts: BindRows.cpp, BindPositions.cpp, BindParameters.cpp. What an output or
// a state needs of it, too.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BINDERIMPL_H
#define ATTN_RUNTIME_BINDERIMPL_H

#include "runtime/Binder.h"

#include <map>

namespace attn::runtime {

/// `a, b, c`, or `none`.
std::string joinNames(const std::vector<std::string> &names);

/// Gives `tensor` the full shape where it lacks leading axes of extent 1, be it
/// batch, heads or both. Returns false where it does not fit.
bool expand(Tensor &tensor, const std::vector<int64_t> &full);

/// `the host`, `CUDA device 0`.
std::string toString(Device device);

/// Throws unless the target takes memory of where a tensor lies.
void checkPlace(const std::string &who, const Tensor &tensor,
                const BindRules &rules);

/// The full shape of the state of a call.
std::vector<int64_t> stateShape(const Binding &binding);

/// Throws where the rows of a state are not one behind the other.
void checkStateRows(const std::string &who, const Tensor &tensor);

/// An extent that several arrays must agree on.
struct Extent {
  std::string what; ///< "the batch", "D", ...
  int64_t value = 1;
  bool fixed = false;
  std::string source = {};

  /// Fixes the extent, or throws where it is fixed to another value.
  void require(int64_t extent, const std::string &by);
};

class InputBinder {
public:
  InputBinder(const Signature &signature,
              const std::vector<Argument> &arguments, const BindRules &rules);
  Binding bind();

private:
  const Argument *find(const std::string &name) const;
  std::string expectedNames() const;
  template <typename Fn>
  void forEach(FormalKind first, FormalKind last, Fn &&fn) {
    for (size_t i = 0; i < signature.formals.size(); ++i)
      if (signature.formals[i].kind >= first &&
          signature.formals[i].kind <= last)
        fn(i);
  }

  /// Parameters and lengths lie on the host or where rows do.
  void checkBeside(const std::string &who, const Tensor &tensor) const;
  void checkRows(size_t index);
  void resolveHeads();
  void broadcastRows(size_t index);
  void pack(Tensor &tensor, const int64_t *lengths);
  void bindPositions(size_t index);

  /// Type, rank, and the extents that the axes of a parameter fix.
  void checkParameter(size_t index);
  /// Size variables that only table edges mention; then all table extents.
  void resolveSizes();
  /// Values: bounds, conversion, broadcasting.
  void bindParameter(size_t index);
  /// Those of an array on a device, which are left to the device.
  void bindUnseen(size_t index, Type type);
  /// The value of an edge, or nothing while its size variable is unknown.
  bool evaluate(const Edge &edge, int64_t &value) const;
  bool solveTable(const std::string &who, const Axis &axis, int64_t extent);
  /// The extent that an axis has in this call.
  int64_t extentOf(const Formal &formal, const Axis &axis) const;
  Extent &variable(const std::string &name);

  const Signature &signature;
  const BindRules &rules;
  std::vector<const Argument *> given;
  Extent batch{"the batch"}, queryHeads{"the number of query heads"},
      keyHeads{"the number of key heads"}, queries{"the number of queries"},
      keys{"the number of keys"};
  std::map<std::string, Extent> sizes;
  std::string placed; ///< the first input, which says where all lie
  /// Checked key lengths, one a sequence, or null.
  const int64_t *lengthsOfKeys = nullptr;
  Binding binding;
};

} // namespace attn::runtime

#endif // ATTN_RUNTIME_BINDERIMPL_H
