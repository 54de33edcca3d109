//===- Binder.h - from named arguments to normalised arrays -----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that a caller may get wrong is found here, before anything runs:
// what leaves the binder is one array a formal argument, of the rank that the
// function has, broadcast by strides of 0, inside its declared bounds.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BINDER_H
#define ATTN_RUNTIME_BINDER_H

#include "attn/attn.h"
#include "runtime/Signature.h"

namespace attn::runtime {

/// The sums over the tokens of a sequence, which a call in the recurrent order
/// takes and gives: f32 [B, heads, rows, row].
struct StateShape {
  int64_t rows = 0, row = 0; ///< 0: there is none
  bool perQueryHead = false; ///< Hq heads, not Hk
};

/// The arguments of one call.
struct Binding {
  /// One a formal, in order; outputs after `bindOutputs`, workspaces never.
  std::vector<Tensor> arrays;
  int64_t batch = 1, queryHeads = 1, keyHeads = 1, queries = 0, keys = 0;
  StaticSizes sizes;
  StateShape state;
  Type outputType = Type::f32; ///< of o: that of the input that q derives from

  /// A strided output and the packed array that stands in for it.
  struct CopyBack {
    Tensor packed, destination;
  };
  std::vector<CopyBack> copyBacks;
  /// The arrays as the caller gave them, by name: what outputs must not touch.
  std::vector<std::pair<std::string, Tensor>> sources;
  /// Memory of converted and packed arrays.
  std::vector<std::unique_ptr<char[]>> owned;

  /// Where inputs and outputs lie.
  Device place;
  /// The CUDA device that computes, and on which stream.
  int gpu = 0;
  void *stream = nullptr;
  /// A parameter or lengths on a device whose values the binder cannot see: the
  /// device checks them, and makes what the function takes of them.
  struct Unseen {
    size_t formal = 0;  ///< its place in `arrays`, where the shape is right
    Tensor source = {}; ///< as given
    bool isConverted = false; ///< else `arrays` has it as it is
    Type type = Type::f32;    ///< that the function takes
    /// Integers: what they lie between, and are brought between.
    int64_t low = 0, high = 0;
    std::string relop = {}; ///< of a declared bound
    double bound = 0;
    std::string rule; ///< all that is asked, for messages
  };
  std::vector<Unseen> unseen;

  /// Adds memory that lives as long as the binding.
  char *allocate(int64_t bytes);
  /// Copies strided outputs to their place; called after the kernel has run.
  void finish() const;

  /// The rank of the input that q derives from, which outputs may share.
  size_t queryRank = 4;
};

/// What the target asks of arrays.
struct BindRules {
  /// The reference takes f64 rows too, any strides, and keeps f64 parameters as
  /// they are. Compiled code takes rows of stride 1.
  bool reference = false;
  /// GPUs take f16 and bf16 rows too, and give o their type.
  bool gpu = false;
  /// Calls go on from a state; those of one token have code of their own.
  bool recurrent = false;
  /// Arrays may lie on a CUDA device.
  bool devices = false;
  std::string target = "cpu"; ///< for messages
};

/// Checks and normalises inputs, parameters, lengths and offset.
Binding bindInputs(const Signature &signature,
                   const std::vector<Argument> &arguments,
                   const BindRules &rules);

/// Checks and binds the state that a call begins with, the empty one where none
/// is given, and that the call gives the sequence's next tokens. Before
/// `bindOutputs`. The number of tokens in a state is checked where the host can
/// read it.
void bindState(Binding &binding, const Signature &signature,
               const std::vector<Argument> &arguments, const StateShape &state,
               const BindRules &rules);

/// Checks and binds outputs. `outputRow` is the length of the rows of o.
void bindOutputs(Binding &binding, const Signature &signature,
                 const std::vector<Output> &outputs, int64_t outputRow,
                 const BindRules &rules);

/// The shape of a result: [B, Hq, Nq, ...], without the leading axes that the
/// query input does not have either (where their extent is 1).
std::vector<int64_t> outputShape(const Binding &binding,
                                 std::string_view result, int64_t outputRow);

} // namespace attn::runtime

#endif // ATTN_RUNTIME_BINDER_H
