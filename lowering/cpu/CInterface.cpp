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
// Layout
//===----------------------------------------------------------------------===//

int64_t CInterface::descriptorWord(unsigned argument) const {
  int64_t word = Items + stages;
  for (unsigned n = 0; n < argument; ++n)
    // A scalar is kept by itself, and its descriptor made when it is needed.
    word += ranks[n] == 0 ? 1 : 3 + 2 * ranks[n];
  return word;
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
                         ArrayRef<std::pair<std::string, int64_t>> sizes,
                         int64_t level) {
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
           b.getNamedAttr("sizes", b.getDictionaryAttr(values)),
           b.getNamedAttr("level", b.getI64IntegerAttr(level))}));
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
                         type.isDynamicDim(2) ? 0 : type.getDimSize(2), false};
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
  // A state knows where its sequence stands; the code reads neither of these.
  if (interface.isRecurrent && (arg.getKind() == ArgKind::QueryLengths ||
                                arg.getKind() == ArgKind::Offset))
    return success();
  if (arg.getKind() == ArgKind::Output)
    for (CField &known : interface.fields)
      if (known.isState() && known.name == arg.getName().getValue()) {
        known.arguments.push_back(index);
        known.roles.push_back(arg.getKind());
        return success();
      }
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
  f.perToken =
      interface.isRecurrent && !f.isState() && f.kind != ArgKind::Param;
  f.rank = rank;
  f.scalar = f.kind == ArgKind::Param && rank == 0;
  f.element = type.getElementType().isF32()         ? CField::F32
              : type.getElementType().isBF16()      ? CField::BF16
              : type.getElementType().isF16()       ? CField::F16
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
  if (auto level = attribute.getAs<IntegerAttr>("level"))
    interface.level = level.getInt();
  for (Attribute argument : arguments)
    if (auto arg = dyn_cast<ArgAttr>(argument))
      interface.isRecurrent |= arg.getKind() == ArgKind::State;
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
