//===- CInterfaceText.cpp - what the C interface says to people -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CInterface.h"

#include "llvm/Support/FormatVariadic.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>

using namespace attn;
using namespace mlir;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

namespace {
struct ErrorWords {
  StringLiteral name, meaning;
};
} // namespace

static const ErrorWords &wordsOf(CError error) {
  static constexpr ErrorWords words[kCErrors] = {
      {"ATTN_OK", "success"},
      {"ATTN_NULL", "a pointer is null"},
      {"ATTN_ALIGNMENT", "a pointer is not a multiple of its element's size"},
      {"ATTN_EXTENT", "an extent is negative or above 2^30, or an array "
                      "spans more than 2^62 bytes"},
      {"ATTN_SHAPE", "an extent is not the one that the kernel is compiled "
                     "for or that other arguments have"},
      {"ATTN_STRIDES", "the elements of a row are not adjacent"},
      {"ATTN_HEADS", "the query heads are no multiple of the key heads"},
      {"ATTN_VALUE", "a value lies outside of its declared bound or range"},
      {"ATTN_OVERLAP", "an output shares memory with another argument, or "
                       "its elements with each other"},
      {"ATTN_WORKSPACE", "the workspace is missing or too small"},
      {"ATTN_RANGE", "a call that is not prepared, or has no such stage or "
                     "items"},
      {"ATTN_ORDER", "a stage was begun before the one before it was done"},
      {"ATTN_MACHINE", "the machine does not run the feature level, or none of "
                       "those that the kernel is compiled for"},
  };
  return words[static_cast<int32_t>(error)];
}

StringRef attn::cErrorName(CError error) { return wordsOf(error).name; }
StringRef attn::cErrorMeaning(CError error) { return wordsOf(error).meaning; }

std::string CField::axisText(unsigned axis) const {
  const CField &f = *this;
  if (f.isOptional())
    return f.kind == ArgKind::Offset ? "B or 1" : "B";
  if (!ShapedType::isDynamic(f.extents[axis]))
    return std::to_string(f.extents[axis]);
  if (f.perToken && axis == 2)
    return "N";
  if (f.isState())
    return axis == 0 ? "B" : f.axes[1] == "head" ? "Hq" : "Hk";
  if (f.isOutput()) {
    constexpr const char *names[] = {"B", "Hq", "Nq", "Nk"};
    return names[axis];
  }
  if (f.isRows()) {
    bool query = llvm::is_contained(f.roles, ArgKind::Query);
    bool key = f.roles.size() > 1 || !query;
    constexpr const char *names[2][3] = {{"B", "Hk", "Nk"}, {"B", "Hq", "Nq"}};
    if (query && key) // one array for both sides
      return axis == 0 ? "B" : axis == 1 ? "H" : "N";
    return names[query][axis];
  }
  if (f.tables[axis]) {
    const CTable &table = *f.tables[axis];
    std::string text;
    auto term = [&](int64_t factor, const char *name) {
      if (factor)
        text +=
            formatv("{0}{1}{2}{3}",
                    factor < 0     ? " - "
                    : text.empty() ? ""
                                   : " + ",
                    std::abs(factor) == 1 ? ""
                                          : std::to_string(std::abs(factor)),
                    std::abs(factor) == 1 || !*name ? "" : " ", name)
                .str();
    };
    term(table.nq, "Nq");
    term(table.nk, "Nk");
    if (table.constant || text.empty())
      text += text.empty() ? std::to_string(table.constant)
                           : formatv(" {0} {1}", table.constant < 0 ? '-' : '+',
                                     std::abs(table.constant))
                                 .str();
    return text;
  }
  StringRef name = f.axes[axis];
  return name == "head"      ? "Hq"
         : name == "kv_head" ? "Hk"
         : name == "batch"   ? "B"
         : name == "nq"      ? "Nq"
         : name == "nk"      ? "Nk"
                             : name.str();
}

/// The shortest decimal that reads back as `value`.
static std::string numberText(double value) {
  char text[32];
  for (int digits : {6, 9, 17}) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value)
      break;
  }
  return text;
}

std::string CField::shapeText() const {
  if (scalar)
    return {};
  std::string text = "[";
  for (unsigned axis = 0; axis < rank; ++axis)
    text += (axis ? ", " : "") + axisText(axis);
  return text + "]";
}

std::string CField::valueText() const {
  switch (kind) {
  case ArgKind::KeyLengths:
    return perToken ? "0 <= key_lengths <= N" : "0 <= key_lengths <= Nk";
  case ArgKind::QueryLengths:
    return "0 <= query_lengths <= Nq";
  case ArgKind::Offset:
    return "-2^30 <= offset <= 2^30";
  case ArgKind::State:
    return "0 <= tokens < 2^30";
  case ArgKind::Param: {
    std::string text;
    if (!relop.empty())
      text = name + " " + relop + " " + numberText(bound);
    if (integer)
      text += (text.empty() ? "" : ", ") + formatv("|{0}| <= 2^30", name).str();
    return text;
  }
  default:
    return {};
  }
}

std::string CField::errorText(CError error) const {
  switch (error) {
  case CError::Shape:
    return "its shape must be " + shapeText();
  case CError::Value:
    return "a value breaks " + valueText();
  case CError::Overlap:
    return "it shares memory with another argument, or its elements with each "
           "other";
  case CError::Heads:
    return "its heads are no multiple of the key heads";
  case CError::Strides:
    if (isState())
      return "the numbers of a head must stand one behind the other: "
             "strides[2] "
             "is not " +
             axisText(3) + ", or strides[3] not 1";
    return "the elements of its rows must be adjacent: strides[3] is not 1";
  case CError::Null:
    return "its pointer is null";
  case CError::Alignment:
    return formatv("its address is no multiple of {0}", elementBytes());
  case CError::Extent:
    return "it has an extent that is negative or above 2^30, or spans more "
           "than 2^62 bytes";
  default:
    return cErrorMeaning(error).str();
  }
}

/// Where else the extents of a member stand: `; B as in q, k; Nk as in k`. Only
/// what is looked at before it, rows first, then parameters.
std::string CInterface::othersText(int field) const {
  auto turn = [&](int n) {
    constexpr int many = 1 << 16;
    return fields[n].isRows()                                      ? n
           : fields[n].kind == ArgKind::Param && !fields[n].scalar ? n + many
                                                                   : 2 * many;
  };
  auto says = [](const CField &f, const std::string &extent) {
    for (unsigned axis = 0; axis < f.rank; ++axis) {
      std::string own = f.axisText(axis);
      if (own == extent || // or of the rows of both sides
          ((own == "H" || own == "N") && own[0] == extent[0]))
        return true;
    }
    return false;
  };
  std::string text, last;
  for (unsigned axis = 0; axis < fields[field].rank; ++axis) {
    std::string extent = fields[field].axisText(axis), others;
    if (std::isdigit(static_cast<unsigned char>(extent[0])) || extent == last)
      continue;
    for (int n = 0; n < static_cast<int>(fields.size()); ++n)
      if (!fields[n].scalar && turn(n) < turn(field) && says(fields[n], extent))
        others += (others.empty() ? "" : ", ") + fields[n].field;
    if (!others.empty())
      text += "; " + extent + " as in " + others;
    last = extent;
  }
  return text;
}

std::string CInterface::statusText(int field, CError error) const {
  if (error == CError::None)
    return cErrorMeaning(error).str();
  if (field >= 0)
    return name + ": " + fields[field].field + ": " +
           fields[field].errorText(error) +
           (error == CError::Shape ? othersText(field) : "");
  if (error == CError::Workspace)
    return formatv("{0}: the workspace is missing or too small; {0}_workspace "
                   "says how large it must be",
                   name);
  return name + ": " + cErrorMeaning(error).str();
}

std::string CInterface::workspaceText() const {
  std::string text;
  for (const CWorkspace &w : workspaces)
    text += (text.empty() ? "" : " + ") +
            formatv("B * {0} * {1} * {2}", w.perQueryHead ? "Hq" : "Hk",
                    w.rows ? std::to_string(w.rows) : "Nk", 4 * w.row)
                .str();
  return text;
}
