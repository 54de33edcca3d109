//===- NpyTest.cpp - tests of the .npy reader and writer ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

using namespace attn;
using testing::ElementsAre;
using testing::HasSubstr;

/// A file's text, put together byte by byte as numpy.lib.format describes it.
static std::string makeFile(const std::string &dictionary,
                            const std::string &data, int major = 1) {
  std::string text("\x93NUMPY", 6);
  text += static_cast<char>(major);
  text += '\0';
  size_t length = dictionary.size();
  for (int n = 0; n < (major == 1 ? 2 : 4); ++n)
    text += static_cast<char>(length >> (8 * n) & 0xff);
  return text + dictionary + data;
}

static std::string dictionary(const std::string &descr,
                              const std::string &shape,
                              const char *fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran +
         ", 'shape': " + shape + ", }\n";
}

template <typename T>
static std::string bytesOf(std::initializer_list<T> values) {
  return std::string(reinterpret_cast<const char *>(values.begin()),
                     values.size() * sizeof(T));
}

/// The message that parsing ends with.
static std::string errorOf(const std::string &text) {
  try {
    parseNpy(text, "x.npy");
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(Npy, ReadsWhatNumpyWrites) {
  // numpy.save of numpy.arange(6, dtype='<f4').reshape(2, 3), byte for byte.
  std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  header.resize(117, ' ');
  header += '\n';
  Array array =
      parseNpy(makeFile(header, bytesOf<float>({0, 1, 2, 3, 4, 5})), "x.npy");
  EXPECT_EQ(array.type, Type::f32);
  EXPECT_THAT(array.shape, ElementsAre(2, 3));
  EXPECT_TRUE(array.strides.empty());
  EXPECT_EQ(array.data<float>()[4], 4);
}

TEST(Npy, ReadsEveryType) {
  EXPECT_EQ(
      parseNpy(makeFile(dictionary("<f8", "(1,)"), bytesOf<double>({2.5})), "")
          .data<double>()[0],
      2.5);
  EXPECT_EQ(
      parseNpy(makeFile(dictionary("<i4", "(1,)"), bytesOf<int32_t>({-7})), "")
          .data<int32_t>()[0],
      -7);
  EXPECT_EQ(
      parseNpy(makeFile(dictionary("<i8", "(1,)"), bytesOf<int64_t>({-7})), "")
          .data<int64_t>()[0],
      -7);
  Array half = parseNpy(
      makeFile(dictionary("<f2", "(1,)"), bytesOf<uint16_t>({0x3c00})), "");
  EXPECT_EQ(half.type, Type::f16);
  EXPECT_EQ(half.data<uint16_t>()[0], 0x3c00);
}

TEST(Npy, BooleansAndSmallIntegersKeepTheirTypes) {
  auto read = [](const char *descr, const std::string &data, Type type) {
    std::string text = makeFile(dictionary(descr, "(2,)"), data);
    Array array = parseNpy(text, "");
    EXPECT_EQ(array.type, type);
    Array again = parseNpy(formatNpy(array), "");
    EXPECT_EQ(again.type, type);
    EXPECT_EQ(again.bytes, array.bytes);
    EXPECT_THAT(formatNpy(array), HasSubstr(descr));
    return std::vector<double>{array.real(0), array.real(1)};
  };
  EXPECT_THAT(read("|b1", bytesOf<uint8_t>({0, 1}), Type::boolean),
              ElementsAre(0, 1));
  EXPECT_THAT(read("|u1", bytesOf<uint8_t>({3, 255}), Type::u8),
              ElementsAre(3, 255));
  EXPECT_THAT(read("|i1", bytesOf<int8_t>({-3, 5}), Type::i8),
              ElementsAre(-3, 5));
  EXPECT_THAT(read("<u2", bytesOf<uint16_t>({1, 65535}), Type::u16),
              ElementsAre(1, 65535));
  EXPECT_THAT(read("<i2", bytesOf<int16_t>({-32768, 5}), Type::i16),
              ElementsAre(-32768, 5));
  EXPECT_THAT(read("<u4", bytesOf<uint32_t>({1, 4294967295u}), Type::u32),
              ElementsAre(1, 4294967295));
}

TEST(Npy, FortranOrderBecomesStrides) {
  // The elements 0..5 of a 2 x 3 matrix, column by column: a[1][2] is the last.
  Array array = parseNpy(makeFile(dictionary("<f4", "(2, 3)", "True"),
                                  bytesOf<float>({0, 1, 2, 3, 4, 5})),
                         "");
  EXPECT_THAT(array.strides, ElementsAre(1, 2));
  EXPECT_EQ(array.data<float>()[1 * array.strides[0] + 2 * array.strides[1]],
            5);
  EXPECT_EQ(array.data<float>()[0 * array.strides[0] + 2 * array.strides[1]],
            4);
}

TEST(Npy, ReadsVersionsTwoAndThree) {
  for (int major : {2, 3}) {
    Array array = parseNpy(
        makeFile(dictionary("<f4", "()"), bytesOf<float>({9}), major), "");
    EXPECT_TRUE(array.shape.empty());
    EXPECT_EQ(array.data<float>()[0], 9);
  }
}

TEST(Npy, ReadsEmptyArrays) {
  Array array = parseNpy(makeFile(dictionary("<f4", "(0, 5)"), ""), "");
  EXPECT_THAT(array.shape, ElementsAre(0, 5));
  EXPECT_EQ(array.size(), 0);
}

TEST(Npy, RefusesWithTheReason) {
  std::string four = bytesOf<float>({1});
  EXPECT_THAT(errorOf(""),
              HasSubstr("x.npy: error: not a readable .npy file: it is empty"));
  EXPECT_THAT(errorOf("PK\x03\x04 a zip file"),
              HasSubstr("does not start with"));
  EXPECT_THAT(errorOf(std::string("\x93NUMPY\x01\x00", 8)),
              HasSubstr("truncated in the header"));
  EXPECT_THAT(errorOf(makeFile(dictionary("<f4", "(1,)"), four, 9)),
              HasSubstr("version 9.0"));
  EXPECT_THAT(errorOf(makeFile(dictionary("|O", "(1,)"), four)),
              HasSubstr("Python objects"));
  EXPECT_THAT(errorOf(makeFile(dictionary(">f4", "(1,)"), four)),
              HasSubstr("big-endian"));
  EXPECT_THAT(errorOf(makeFile(dictionary("<c8", "(1,)"), four)),
              HasSubstr("'<c8' is not supported"));
  EXPECT_THAT(
      errorOf(makeFile(
          "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
          four)),
      HasSubstr("records"));
  EXPECT_THAT(
      errorOf(makeFile(dictionary("<f4", "(2,)"), four)),
      HasSubstr("truncated: shape (2) of <f4 needs 8 bytes, 4 are there"));
  EXPECT_THAT(errorOf(makeFile(dictionary("<f4", "(1,)"), four + "xyz")),
              HasSubstr("3 bytes follow its last element"));
  EXPECT_THAT(errorOf(makeFile(dictionary("<f4", "(1, 1, 1, 1, 1)"), four)),
              HasSubstr("5 axes; at most 4"));
  EXPECT_THAT(errorOf(makeFile(dictionary("<f4", "(-1,)"), four)),
              HasSubstr("damaged"));
  EXPECT_THAT(errorOf(makeFile("{'descr': '<f4', 'shape': (1,)}", four)),
              HasSubstr("lacks"));
  EXPECT_THAT(errorOf(makeFile("{'descr': '<f4', 'descr': '<f4'}", four)),
              HasSubstr("repeated"));
  EXPECT_THAT(errorOf(makeFile("[1, 2]", four)), HasSubstr("'{' expected"));
}

TEST(Npy, RefusesShapesThatOverflow) {
  for (const char *shape :
       {"(99999999999999999999,)", "(4294967296, 4294967296)",
        "(4611686018427387904,)", "(0, 4294967296, 4294967296)",
        "(4294967296, 4294967296, 0)"})
    EXPECT_THAT(errorOf(makeFile(dictionary("<f4", shape), "")),
                HasSubstr("overflows 64 bits"))
        << shape;
}

TEST(Npy, RefusesHeadersLongerThanTheFile) {
  std::string text("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
  EXPECT_THAT(errorOf(text + dictionary("<f4", "(1,)")),
              HasSubstr("truncated in the header"));
}

TEST(Npy, EveryPrefixIsRefused) {
  std::string text =
      makeFile(dictionary("<f4", "(2, 2)"), bytesOf<float>({1, 2, 3, 4}));
  for (size_t n = 0; n < text.size(); ++n)
    EXPECT_THAT(errorOf(text.substr(0, n)), HasSubstr("x.npy: error:")) << n;
}

TEST(Npy, MessagesArePrintable) {
  std::string message =
      errorOf(makeFile(dictionary("<\x01\x1b[2J", "(1,)"), "abcd"));
  for (char c : message)
    EXPECT_TRUE(c >= ' ') << message;
}

TEST(Npy, WritesWhatItReads) {
  Array array(Type::f64, {2, 0, 3});
  EXPECT_THAT(parseNpy(formatNpy(array), "").shape, ElementsAre(2, 0, 3));
  Array line(Type::i32, {3});
  line.data<int32_t>()[2] = 41;
  std::string text = formatNpy(line);
  EXPECT_EQ((text.size() - 12) % 64, 0u); // elements are aligned
  EXPECT_THAT(text, HasSubstr("'shape': (3,), }"));
  EXPECT_EQ(parseNpy(text, "").data<int32_t>()[2], 41);
  Array number(Type::f32, {});
  number.data<float>()[0] = -2;
  EXPECT_EQ(parseNpy(formatNpy(number), "").data<float>()[0], -2);
}

TEST(Npy, NotesAreComments) {
  Array array(Type::f32, {3});
  array.note = "made by hand";
  std::string text = formatNpy(array);
  EXPECT_THAT(text, HasSubstr("'shape': (3,), } # made by hand "));
  EXPECT_EQ((text.size() - 12) % 64, 0u);
  EXPECT_EQ(parseNpy(text, "").note, "made by hand");
  array.note = "of two\nlines";
  EXPECT_EQ(parseNpy(formatNpy(array), "").note, "of two?lines");
  // numpy.lib.format ends a header by spaces and a new line; all but that is
  // Python's.
  std::string four = bytesOf<float>({1}),
              plain = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}";
  auto noteOf = [&](const std::string &rest) {
    return parseNpy(makeFile(plain + rest, four), "").note;
  };
  EXPECT_EQ(noteOf("  \n"), "");
  EXPECT_EQ(noteOf("#\n"), "");
  EXPECT_THAT(errorOf(makeFile(plain + "#\na", four)),
              HasSubstr("the header goes on after its dictionary"));
  EXPECT_EQ(noteOf(" #  a # b  "), "a # b");
  EXPECT_EQ(noteOf("# \x1b[2J\n"), "?[2J");
  EXPECT_THAT(errorOf(makeFile(plain + " # a\nb\n", four)),
              HasSubstr("the header goes on after its dictionary"));
}
