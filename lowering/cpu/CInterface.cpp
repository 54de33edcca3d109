//===- CInterface.cpp - a kernel as C programmers see it ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CInterface.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <cstdio>
#include <cstdlib>

using namespace attn;
using namespace mlir;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Words that C99, C11 or C++20 keeps for itself, and macros of their headers.
static bool isKeyword(StringRef word) {
  static const llvm::StringSet<> words = {"alignas",
                                          "alignof",
                                          "and",
                                          "and_eq",
                                          "asm",
                                          "auto",
                                          "bitand",
                                          "bitor",
                                          "bool",
                                          "break",
                                          "case",
                                          "catch",
                                          "char",
                                          "char8_t",
                                          "char16_t",
                                          "char32_t",
                                          "class",
                                          "compl",
                                          "complex",
                                          "concept",
                                          "const",
                                          "consteval",
                                          "constexpr",
                                          "constinit",
                                          "const_cast",
                                          "continue",
                                          "co_await",
                                          "co_return",
                                          "co_yield",
                                          "decltype",
                                          "default",
                                          "delete",
                                          "do",
                                          "double",
                                          "dynamic_cast",
                                          "else",
                                          "enum",
                                          "explicit",
                                          "export",
                                          "extern",
                                          "false",
                                          "float",
                                          "for",
                                          "friend",
                                          "goto",
                                          "if",
                                          "imaginary",
                                          "inline",
                                          "int",
                                          "linux",
                                          "long",
                                          "mutable",
                                          "namespace",
                                          "new",
                                          "noexcept",
                                          "not",
                                          "not_eq",
                                          "nullptr",
                                          "operator",
                                          "or",
                                          "or_eq",
                                          "private",
                                          "protected",
                                          "public",
                                          "register",
                                          "requires",
                                          "restrict",
                                          "return",
                                          "short",
                                          "signed",
                                          "sizeof",
                                          "static",
                                          "static_assert",
                                          "static_cast",
                                          "struct",
                                          "switch",
                                          "template",
                                          "this",
                                          "thread_local",
                                          "throw",
                                          "true",
                                          "try",
                                          "typedef",
                                          "typeid",
                                          "typename",
                                          "typeof",
                                          "union",
                                          "unix",
                                          "unsigned",
                                          "using",
                                          "virtual",
                                          "void",
                                          "volatile",
                                          "wchar_t",
                                          "while",
                                          "xor",
                                          "xor_eq",
                                          "I",
                                          "NULL",
                                          "errno",
                                          "reinterpret_cast"};
  return words.contains(word);
}

/// Gives every member a name of its own in C: inputs and parameters make way
/// for the names that all kernels have.
static void nameFields(CInterface &interface) {
  llvm::StringSet<> taken = {"workspace", "workspace_size"};
  auto isFixed = [](const CField &f) { return f.isOptional() || f.isOutput(); };
  for (CField &f : interface.fields)
    if (isFixed(f)) {
      f.field = f.name;
      taken.insert(f.field);
    }
  for (CField &f : interface.fields)
    if (!isFixed(f)) {
      f.field = f.name;
      while (isKeyword(f.field) || !taken.insert(f.field).second)
        f.field += '_';
    }
}

/// Whether all the C names made from `name` can be used.
static LogicalResult checkName(ModuleOp module, StringRef name) {
  bool word =
      !name.empty() && llvm::isAlpha(name[0]) &&
      llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  if (!word)
    return module.emitError("'") << name << "' is no C identifier";
  // The object itself calls the last three.
  if (isKeyword(name) || name == "main" || name == "memcpy" ||
      name == "memset" || name == "memmove")
    return module.emitError("a C function cannot be called '") << name << "'";
  return success();
}

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
  };
  return words[static_cast<int32_t>(error)];
}

StringRef attn::cErrorName(CError error) { return wordsOf(error).name; }
StringRef attn::cErrorMeaning(CError error) { return wordsOf(error).meaning; }

/// The axis that a dimension of rows, lengths or an output is.
static std::string axisText(const CField &f, unsigned axis) {
  if (f.isOptional())
    return f.kind == ArgKind::Offset ? "B or 1" : "B";
  if (!ShapedType::isDynamic(f.extents[axis]))
    return std::to_string(f.extents[axis]);
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
    text += (axis ? ", " : "") + axisText(*this, axis);
  return text + "]";
}

std::string CField::valueText() const {
  switch (kind) {
  case ArgKind::KeyLengths:
    return "0 <= key_lengths <= Nk";
  case ArgKind::QueryLengths:
    return "0 <= query_lengths <= Nq";
  case ArgKind::Offset:
    return "-2^30 <= offset <= 2^30";
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
    return "its shape must be " + shapeText() +
           ", with the extents of the other arguments";
  case CError::Value:
    return "a value breaks " + valueText();
  case CError::Overlap:
    return "it shares memory with another argument, or its elements with each "
           "other";
  case CError::Heads:
    return "its heads are no multiple of the key heads";
  case CError::Strides:
    return "the elements of its rows must be adjacent: strides[3] is not 1";
  case CError::Null:
    return "its pointer is null";
  case CError::Alignment:
    return formatv("its address is no multiple of {0}", element == I64 ? 8 : 4);
  case CError::Extent:
    return "it has an extent that is negative or above 2^30, or spans more "
           "than 2^62 bytes";
  default:
    return cErrorMeaning(error).str();
  }
}

std::string CInterface::statusText(int field, CError error) const {
  if (error == CError::None)
    return cErrorMeaning(error).str();
  if (field >= 0)
    return name + ": " + fields[field].field + ": " +
           fields[field].errorText(error);
  if (error == CError::Workspace)
    return formatv("{0}: the workspace is missing or too small; {0}_workspace "
                   "says how large it must be",
                   name);
  return name + ": " + cErrorMeaning(error).str();
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

int64_t CInterface::descriptorWord(unsigned argument) const {
  int64_t word = Items + stages;
  for (unsigned n = 0; n < argument; ++n)
    // A scalar is kept by itself, and its descriptor made when it is needed.
    word += ranks[n] == 0 ? 1 : 3 + 2 * ranks[n];
  return word;
}

std::string CInterface::workspaceText() const {
  std::string text;
  for (const CWorkspace &w : workspaces)
    text +=
        (text.empty() ? "" : " + ") +
        formatv("B * {0} * Nk * {1}", w.perQueryHead ? "Hq" : "Hk", 4 * w.row)
            .str();
  return text;
}

static void layOut(CInterface &interface) {
  int64_t offset = 0;
  auto place = [&](int64_t bytes, int64_t alignment) {
    offset = llvm::alignTo(offset, alignment);
    int64_t here = offset;
    offset += bytes;
    return here;
  };
  for (CField &f : interface.fields)
    if (!f.scalar)
      f.offset = place(kCViewBytes, 8);
    else
      f.offset = f.element == CField::I64 ? place(8, 8) : place(4, 4);
  interface.workspaceOffset = place(8, 8);
  interface.workspaceSizeOffset = place(8, 8);
}

//===----------------------------------------------------------------------===//
// From the attribute
//===----------------------------------------------------------------------===//

void attn::setCInterface(ModuleOp module, func::FuncOp function, StringRef name,
                         ArrayRef<std::pair<std::string, int64_t>> sizes) {
  Builder b(module.getContext());
  SmallVector<NamedAttribute> values;
  for (const auto &[variable, size] : sizes)
    values.push_back(b.getNamedAttr(variable, b.getI64IntegerAttr(size)));
  SmallVector<Attribute> arguments;
  for (unsigned n = 0; n < function.getNumArguments(); ++n)
    arguments.push_back(function.getArgAttr(n, kArgAttrName));
  module->setAttr(
      kCInterfaceAttrName,
      b.getDictionaryAttr(
          {b.getNamedAttr("name", b.getStringAttr(name)),
           b.getNamedAttr("kernel", b.getStringAttr(function.getName())),
           b.getNamedAttr("type", TypeAttr::get(function.getFunctionType())),
           b.getNamedAttr("arguments", b.getArrayAttr(arguments)),
           b.getNamedAttr("sizes", b.getDictionaryAttr(values))}));
}

/// Adds `sign` times the edge of a table axis, as #attn.arg spells it.
static bool addEdge(StringRef edge, int64_t sign, DictionaryAttr sizes,
                    CTable &table) {
  if (edge.consume_front("-"))
    sign = -sign;
  int64_t number;
  if (!edge.getAsInteger(10, number))
    table.constant += sign * number;
  else if (edge == "nq")
    table.nq += sign;
  else if (edge == "nk")
    table.nk += sign;
  else if (auto size = sizes ? sizes.getAs<IntegerAttr>(edge) : nullptr)
    table.constant += sign * size.getInt();
  else
    return false;
  return true;
}

/// Adds argument `index` of the function to the interface.
static LogicalResult addArgument(ModuleOp module, CInterface &interface,
                                 unsigned index, MemRefType type, ArgAttr arg,
                                 DictionaryAttr sizes) {
  unsigned rank = type.getRank();
  interface.ranks.push_back(rank);
  if (arg.getKind() == ArgKind::Workspace) {
    CWorkspace workspace{index, rank, rank == 4 ? type.getDimSize(3) : 1,
                         false};
    if (ArrayAttr axes = arg.getAxes())
      workspace.perQueryHead =
          llvm::any_of(axes.getAsValueRange<StringAttr>(),
                       [](StringRef axis) { return axis == "head"; });
    interface.workspaces.push_back(workspace);
    return success();
  }
  if (rank > kCRank)
    return module.emitError("'")
           << arg.getName().getValue() << "' has " << rank
           << " axes; in C an array has at most " << kCRank;
  if (arg.getKind() <= ArgKind::Value)
    for (CField &known : interface.fields)
      if (known.isRows() && known.name == arg.getName().getValue()) {
        known.arguments.push_back(index);
        known.roles.push_back(arg.getKind());
        return success();
      }
  CField f;
  f.kind = arg.getKind();
  f.name = arg.getName().str();
  f.arguments = {index};
  f.roles = {f.kind};
  f.rank = rank;
  f.scalar = f.kind == ArgKind::Param && rank == 0;
  f.element = type.getElementType().isF32()         ? CField::F32
              : type.getElementType().isInteger(32) ? CField::I32
                                                    : CField::I64;
  f.extents.assign(type.getShape().begin(), type.getShape().end());
  if (ArrayAttr axes = arg.getAxes())
    for (StringRef axis : axes.getAsValueRange<StringAttr>()) {
      f.axes.push_back(axis.str());
      f.tables.emplace_back();
      auto [low, high] = axis.split(':');
      if (high.empty())
        continue;
      f.tables.back() = CTable{/*constant=*/1, 0, 0};
      if (!addEdge(high, 1, sizes, *f.tables.back()) ||
          !addEdge(low, -1, sizes, *f.tables.back()))
        return module.emitError("'")
               << arg.getName().getValue() << "': no size for axis " << axis;
    }
  f.integer = arg.getInteger();
  if (arg.getRelop() && arg.getBound()) {
    f.relop = arg.getRelop().str();
    f.bound = arg.getBound().getValueAsDouble();
  }
  interface.fields.push_back(std::move(f));
  return success();
}

FailureOr<CInterface> attn::readCInterface(ModuleOp module) {
  auto attribute = module->getAttrOfType<DictionaryAttr>(kCInterfaceAttrName);
  auto name = attribute ? attribute.getAs<StringAttr>("name") : nullptr;
  auto kernel = attribute ? attribute.getAs<StringAttr>("kernel") : nullptr;
  auto typeAttr = attribute ? attribute.getAs<TypeAttr>("type") : nullptr;
  auto arguments =
      attribute ? attribute.getAs<ArrayAttr>("arguments") : nullptr;
  auto type =
      typeAttr ? dyn_cast<FunctionType>(typeAttr.getValue()) : FunctionType();
  if (!name || !kernel || !type || !arguments ||
      arguments.size() != type.getNumInputs()) {
    module.emitError("the module has no '")
        << kCInterfaceAttrName << "' of name, kernel, type and arguments";
    return failure();
  }
  if (failed(checkName(module, name.getValue())))
    return failure();
  CInterface interface;
  interface.name = name.str();
  interface.kernel = kernel.str();
  for (auto [index, input] : llvm::enumerate(type.getInputs())) {
    auto memory = dyn_cast<MemRefType>(input);
    auto arg = dyn_cast<ArgAttr>(arguments[index]);
    if (!memory || !arg) {
      module.emitError("argument #")
          << index << " has no '" << kArgAttrName << "', or is no memref";
      return failure();
    }
    if (failed(addArgument(module, interface, index, memory, arg,
                           attribute.getAs<DictionaryAttr>("sizes"))))
      return failure();
  }
  // What is always given comes first; what may be left out, behind.
  llvm::stable_sort(interface.fields, [](const CField &a, const CField &b) {
    return a.isOptional() < b.isOptional();
  });
  nameFields(interface);
  layOut(interface);
  while (SymbolTable::lookupSymbolIn(
      module,
      formatv("{0}.stage{1}.run", interface.kernel, interface.stages).str()))
    ++interface.stages;
  return interface;
}
