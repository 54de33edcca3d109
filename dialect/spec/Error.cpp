//===- Error.cpp - an error in a specification ----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/Error.h"

#include <algorithm>

using namespace attn;

std::string_view attn::withoutByteOrderMark(std::string_view text) {
  return text.substr(0, 3) == "\xEF\xBB\xBF" ? text.substr(3) : text;
}

/// Line `number` (from 1) without its end.
static std::string_view lineOf(std::string_view text, uint32_t number) {
  size_t begin = 0;
  for (uint32_t line = 1; line < number; ++line) {
    size_t end = text.find('\n', begin);
    if (end == std::string_view::npos)
      return {};
    begin = end + 1;
  }
  std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  while (!line.empty() && line.back() == '\r')
    line.remove_suffix(1);
  return line;
}

std::string attn::renderError(std::string_view file, std::string_view text,
                              const SpecError &error) {
  const Spec::Place &place = error.place;
  std::string out(file);
  if (place.line == 0)
    return out + ": error: " + error.message + "\n";
  out += ":" + std::to_string(place.line) + ":" + std::to_string(place.column) +
         ": error: " + error.message + "\n";

  // A line may be a megabyte long: show what stands around the place.
  constexpr size_t kBefore = 60, kShown = 120;
  std::string_view line = lineOf(withoutByteOrderMark(text), place.line);
  size_t column = std::min<size_t>(place.column - 1, line.size());
  size_t begin = column > kShown - 20 ? column - kBefore : 0;
  std::string_view shown = line.substr(begin, kShown);
  std::string source, caret;
  for (size_t t = 0; t < shown.size(); ++t) {
    unsigned char c = shown[t];
    source += c >= 0x20 || c == '\t' ? shown[t] : '?';
    // Only the first byte of a UTF-8 sequence takes room on the screen.
    if (begin + t < column && (c & 0xC0) != 0x80)
      caret += c == '\t' ? '\t' : ' ';
  }
  size_t room = shown.size() - std::min(shown.size(), column - begin);
  size_t length = std::max<size_t>(1, std::min<size_t>(place.length, room));
  return out + source + "\n" + caret + "^" + std::string(length - 1, '~') +
         "\n";
}
