//===- Npy.h - arrays in NumPy's file format --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format is one Python dictionary and the raw elements; see
// numpy.lib.format. Behind the dictionary may stand a comment of Python's,
// which NumPy reads over: the array's note. Whatever is in a file, reading it
// gives an array or throws attn::Error naming the file.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_NPY_H
#define ATTN_TOOLS_NPY_H

#include "Array.h"

#include <string>

namespace attn {

/// Parses the text of a `.npy` file; `file` is what errors call it. Elements
/// are those of a Type (bf16 as `V2`, as ml_dtypes writes them: NumPy has none
/// of its own), on at most four axes.
Array parseNpy(std::string_view text, const std::string &file);
/// Reads a `.npy` file.
Array readNpy(const std::string &path);

/// The text of a `.npy` file that holds `array`, row-major.
std::string formatNpy(const Array &array);

} // namespace attn

#endif // ATTN_TOOLS_NPY_H
