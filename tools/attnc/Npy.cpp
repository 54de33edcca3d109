//===- Npy.cpp - arrays in NumPy's file format ----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

using namespace attn;

//===----------------------------------------------------------------------===//
// The dictionary
//===----------------------------------------------------------------------===//

/// As it may stand in a message or a header.
static std::string printable(std::string_view text) {
  std::string value(text);
  for (char &c : value)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f' || (c & 0x80))
      c = '?';
  return value;
}

namespace {

/// The three entries of the dictionary.
struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran;
  std::optional<std::vector<int64_t>> shape;
  std::string note;
};

/// Reads the subset of Python's literals that NumPy writes.
class HeaderParser {
public:
  HeaderParser(std::string_view text, const std::string &file)
      : text(text), file(file) {}

  Header parse() {
    Header header;
    expect('{');
    while (!accept('}')) {
      std::string key = parseString();
      expect(':');
      if (key == "descr" && !header.descr) {
        skipSpace();
        if (peek() == '[')
          fail("it holds records; save each field as an array of its own");
        header.descr = parseString();
      } else if (key == "fortran_order" && !header.fortran) {
        header.fortran = parseBool();
      } else if (key == "shape" && !header.shape) {
        header.shape = parseShape();
      } else {
        fail("the header's entry '" + key + "' is unknown or repeated");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (accept('#'))
      header.note = parseComment();
    skipSpace();
    if (position != text.size())
      fail("the header goes on after its dictionary");
    if (!header.descr || !header.fortran || !header.shape)
      fail("the header lacks descr, fortran_order or shape");
    return header;
  }

  [[noreturn]] void fail(const std::string &what) {
    throw Error(
        fmt::format("{}: error: not a readable .npy file: {}", file, what));
  }

private:
  char peek() const { return position < text.size() ? text[position] : '\0'; }
  void skipSpace() {
    while (position < text.size() && std::strchr(" \t\n\r", text[position]) &&
           text[position])
      ++position;
  }
  bool accept(char c) {
    skipSpace();
    if (position >= text.size() || text[position] != c)
      return false;
    ++position;
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      fail(fmt::format("the header is damaged: '{}' expected at byte {}", c,
                       position));
  }
  std::string parseString() {
    skipSpace();
    char quote = peek();
    if (quote != '\'' && quote != '"')
      fail(fmt::format("the header is damaged: a string expected at byte {}",
                       position));
    size_t end = text.find(quote, position + 1);
    if (end == std::string_view::npos || end - position > 64)
      fail("the header is damaged: a string does not end");
    std::string value =
        printable(text.substr(position + 1, end - position - 1));
    position = end + 1;
    return value;
  }
  /// To the end of the line, less spaces around it.
  std::string parseComment() {
    std::string_view line = text.substr(position);
    line = line.substr(0, line.find('\n'));
    position += line.size();
    line = line.substr(0, line.find_last_not_of(' ') + 1);
    return printable(
        line.substr(std::min(line.find_first_not_of(' '), line.size())));
  }
  bool parseBool() {
    skipSpace();
    for (bool value : {false, true}) {
      std::string_view word = value ? "True" : "False";
      if (text.substr(position, word.size()) == word) {
        position += word.size();
        return value;
      }
    }
    fail("the header is damaged: True or False expected");
  }
  int64_t parseExtent() {
    skipSpace();
    int64_t value = 0;
    size_t begin = position;
    for (; position < text.size() && text[position] >= '0' &&
           text[position] <= '9';
         ++position)
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text[position] - '0', &value))
        fail("its shape overflows 64 bits");
    if (position == begin)
      fail("the header is damaged: an extent expected");
    if (peek() == 'L') // Python 2 wrote long integers so
      ++position;
    return value;
  }
  std::vector<int64_t> parseShape() {
    std::vector<int64_t> shape;
    expect('(');
    while (!accept(')')) {
      shape.push_back(parseExtent());
      if (shape.size() > 32)
        fail("it has more than 32 axes");
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::string_view text;
  const std::string &file;
  size_t position = 0;
};

/// What NumPy calls a type; bf16, which it lacks, is what ml_dtypes makes it.
struct Storage {
  std::string_view descr;
  Type type;
};

} // namespace

static const Storage storages[] = {
    {"f4", Type::f32},     {"f8", Type::f64}, {"f2", Type::f16},
    {"V2", Type::bf16},    {"i4", Type::i32}, {"i8", Type::i64},
    {"b1", Type::boolean}, {"u1", Type::u8},  {"i1", Type::i8},
    {"u2", Type::u16},     {"i2", Type::i16}, {"u4", Type::u32},
};

static Type findType(const std::string &descr, HeaderParser &parser) {
  if (descr.find('O') != std::string::npos)
    parser.fail(
        "it holds Python objects, not numbers; save it with a number type");
  if (!descr.empty() && descr[0] == '>')
    parser.fail("its elements are big-endian ('" + descr +
                "'); save it with .astype('<" + descr.substr(1) + "')");
  std::string_view kind = descr;
  if (!kind.empty() && (kind[0] == '<' || kind[0] == '|' || kind[0] == '='))
    kind.remove_prefix(1);
  for (const Storage &storage : storages)
    if (storage.descr == kind)
      return storage.type;
  parser.fail(
      "its element type '" + descr +
      "' is not supported; use float16, bfloat16 (V2), float32, float64, "
      "an integer type but uint64, or bool");
}

Array attn::parseNpy(std::string_view text, const std::string &file) {
  HeaderParser outside({}, file);
  constexpr std::string_view magic = "\x93NUMPY";
  if (text.substr(0, magic.size()) != magic)
    outside.fail(text.empty() ? "it is empty"
                              : "it does not start with \\x93NUMPY");
  if (text.size() < 10)
    outside.fail("it is truncated in the header");
  auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  int major = byte(6);
  size_t start = major == 1 ? 10 : 12, length;
  if (major < 1 || major > 3 || byte(7) != 0)
    outside.fail(
        fmt::format("format version {}.{} is unknown", major, byte(7)));
  if (text.size() < start)
    outside.fail("it is truncated in the header");
  length = byte(8) | byte(9) << 8;
  if (major > 1)
    length |= static_cast<size_t>(byte(10)) << 16 |
              static_cast<size_t>(byte(11)) << 24;
  if (length > text.size() - start)
    outside.fail("it is truncated in the header");
  HeaderParser parser(text.substr(start, length), file);
  Header header = parser.parse();

  Array array;
  array.type = findType(*header.descr, parser);
  std::vector<int64_t> &shape = *header.shape;
  std::optional<int64_t> count = countOf(shape);
  int64_t stored;
  if (!count || __builtin_mul_overflow(*count, sizeOf(array.type), &stored))
    parser.fail(fmt::format("its shape ({}) overflows 64 bits",
                            fmt::join(shape, ", ")));
  if (shape.size() > 4)
    parser.fail(
        fmt::format("it has {} axes; at most 4 are used", shape.size()));
  std::string_view elements = text.substr(start + length);
  if (static_cast<uint64_t>(stored) > elements.size())
    parser.fail(fmt::format(
        "it is truncated: shape ({}) of {} needs {} bytes, {} are there",
        fmt::join(shape, ", "), *header.descr, stored, elements.size()));
  if (static_cast<uint64_t>(stored) < elements.size())
    parser.fail(fmt::format("{} bytes follow its last element",
                            elements.size() - stored));

  array.shape = shape;
  array.note = header.note;
  array.bytes.resize(stored);
  if (stored)
    std::memcpy(array.bytes.data(), elements.data(), stored);
  if (*header.fortran && shape.size() > 1) {
    int64_t stride = 1;
    for (int64_t extent : shape) {
      array.strides.push_back(stride);
      stride *= extent ? extent : 1;
    }
  }
  return array;
}

Array attn::readNpy(const std::string &path) {
  auto fail = [&](const char *what) {
    throw Error(fmt::format("{}: error: cannot read: {}", path, what));
  };
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    fail(std::strerror(errno));
  std::string text;
  struct stat status;
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))
    text.reserve(status.st_size + 1);
  ssize_t got;
  do {
    size_t used = text.size();
    text.resize(std::max(text.capacity(), used + (1 << 16)));
    got = ::read(descriptor, text.data() + used, text.size() - used);
    text.resize(used + (got > 0 ? got : 0));
  } while (got > 0 || (got < 0 && errno == EINTR));
  int error = errno;
  ::close(descriptor);
  if (got < 0)
    fail(std::strerror(error));
  return parseNpy(text, path);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

std::string attn::formatNpy(const Array &array) {
  std::string descr = sizeOf(array.type) == 1 ? "|" : "<";
  for (const Storage &storage : storages)
    if (storage.type == array.type)
      descr += storage.descr;
  std::string header = fmt::format(
      "{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
      fmt::join(array.shape, ", "), array.shape.size() == 1 ? "," : "");
  if (!array.note.empty())
    header += " # " + printable(array.note);
  // The elements start at a multiple of 64 bytes, the header ends with a new
  // line.
  header.append(64 - (10 + header.size() + 1) % 64, ' ');
  header.push_back('\n');
  std::string text("\x93NUMPY\x01\x00", 8);
  text.push_back(static_cast<char>(header.size() & 0xff));
  text.push_back(static_cast<char>(header.size() >> 8));
  text += header;
  text.append(reinterpret_cast<const char *>(array.bytes.data()),
              array.bytes.size());
  return text;
}
