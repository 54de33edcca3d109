//===- CHeader.cpp - the header of an ahead-of-time kernel ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CHeaderWriter.h"

#include <fmt/ranges.h>

#include <iterator>
#include <sstream>
#include <vector>

using namespace attn;
using namespace attn::runtime;

/// Text that ends no comment and begins none.
static std::string harmless(std::string text) {
  for (const char *bad : {"*/", "/*"})
    for (size_t at; (at = text.find(bad)) != std::string::npos;)
      text.insert(at + 1, " ");
  return text;
}

/// Lines of a comment, of 80 columns at most where words allow: the first one
/// begins with `first`, the others with `rest`; the last one ends with `last`.
void CHeaderWriter::comment(const std::string &text, const std::string &first,
                            const std::string &rest, const std::string &last) {
  std::istringstream stream(harmless(text));
  std::vector<std::string> words{std::istream_iterator<std::string>(stream),
                                 std::istream_iterator<std::string>()};
  if (!words.empty())
    words.back() += last;
  std::string current = first;
  bool empty = true;
  for (const std::string &word : words) {
    if (!empty && current.size() + 1 + word.size() > 80) {
      out += current + "\n";
      current = rest;
      empty = true;
    }
    current += (empty ? "" : " ") + word;
    empty = false;
  }
  out += current + "\n";
}

/// What all headers of this kind have in common.
void CHeaderWriter::shared() {
  line("#ifndef ATTN_C_INTERFACE");
  line("#define ATTN_C_INTERFACE 3");
  say("Arrays: the address of element [0, 0, ...], extents, and strides in "
      "elements (all 0: row-major). Of the 4 extents and strides the first "
      "ones "
      "count, as many as the array has axes.");
  auto array = [&](const char *type, const char *element) {
    line("typedef struct {} {{", type);
    line("  {}data;", element);
    line("  int64_t shape[{}], strides[{}];", kCRank, kCRank);
    line("}} {};", type);
  };
  array("attn_in_f32", "const float *");
  array("attn_in_i64", "const int64_t *");
  array("attn_out_f32", "float *");
  array("attn_out_i32", "int32_t *");
  say("bf16 (the upper half of a float) and f16 (IEEE binary16), as their "
      "bits.");
  for (const char *type : {"bf16", "f16"}) {
    array(fmt::format("attn_in_{}", type).c_str(), "const uint16_t *");
    array(fmt::format("attn_out_{}", type).c_str(), "uint16_t *");
  }
  line("");
  say("A status is 0, or one of these in its low 8 bits and above them 1 + the "
      "number of the member of the argument struct that is wrong (0: the call "
      "as a whole).");
  line("enum attn_status {{");
  for (int32_t n = 0; n < kCErrors; ++n) {
    auto error = static_cast<CError>(n);
    say(cErrorMeaning(error).str(), "  ");
    line("  {} = {},", cErrorName(error).str(), n);
  }
  line("  ATTN_STATUS_MASK = 255");
  line("}};");
  line("#elif ATTN_C_INTERFACE != 3");
  line("#error \"headers of different versions of attnc's C interface\"");
  line("#endif");
}

/// The sizes that the kernel was compiled for.
void CHeaderWriter::sizes() {
  line("/* The lengths of the rows of inputs and of o. */");
  line("enum {{");
  std::string last;
  for (const CField &f : interface.fields)
    if (f.isRows() || f.name == "o")
      last += fmt::format("{}  {}_ROW_{} = {}", last.empty() ? "" : ",\n",
                          upper, f.name, f.extents[3]);
  out += last + "\n";
  line("}};");
}

/// As in the names of the array structs.
static std::string elementName(CField::Element element) {
  switch (element) {
  case CField::F32:
    return "f32";
  case CField::BF16:
    return "bf16";
  case CField::F16:
    return "f16";
  case CField::I32:
    return "i32";
  case CField::I64:
    return "i64";
  }
  return "";
}

/// What a result is, beside its shape.
static std::string resultText(const std::string &name, bool mean) {
  if (name == "o")
    return mean ? "the mean of the values; 0 in a row that sees no key"
                : "the sum of the values";
  if (name == "mass")
    return "the sum of kappa over the visible keys";
  if (name == "lse")
    return "the natural logarithm of the mass; -inf where that is 0";
  if (name == "max")
    return "the largest kappa";
  if (name == "argmax")
    return "the key of the largest kappa, the first of equals; -1 if none";
  if (name == "entropy")
    return "the entropy of the weights, in nats";
  return "the weights, normalized as o is";
}

void CHeaderWriter::member(const CField &f) {
  std::string type, text;
  if (f.scalar)
    type = f.element == CField::I64 ? "int64_t" : "float";
  else
    type = (f.isOutput() ? "attn_out_" : "attn_in_") + elementName(f.element);
  std::string values = f.valueText();
  if (f.isRows())
    text = f.roles.size() > 1         ? "Input, rows of several roles: "
           : f.kind == ArgKind::Query ? "Input, rows of queries: "
           : f.kind == ArgKind::Key   ? "Input, rows of keys: "
                                      : "Input, rows of values: ";
  else if (f.isState())
    text =
        "Read and written: the state of each sequence after the calls so far. "
        "Zeros begin a sequence, and zero bytes are zeros. ";
  else if (f.isOutput())
    text = fmt::format("Output, {}: ",
                       resultText(f.name, facts.find("normalize") != "none"));
  else if (!f.isOptional())
    text = f.scalar ? "Parameter, one number" : "Parameter: ";
  text += f.shapeText();
  if (!values.empty())
    text += ", " + values;
  if (f.kind == ArgKind::KeyLengths && f.perToken)
    text += ": how many of the tokens are a sequence's. Not given: N";
  else if (f.kind == ArgKind::KeyLengths)
    text += "; keys from there on are never read. Not given: Nk";
  if (f.kind == ArgKind::QueryLengths)
    text += "; rows from there on are 0. Not given: all Nq are computed";
  if (f.kind == ArgKind::Offset)
    text += "; query i stands at position i + offset. Not given: the last "
            "query stands at the last key";
  if (f.field != f.name)
    text += fmt::format(" ({} in the spec)", f.name);
  say(text, "  ");
  line("  {} {};", type, f.field);
}

void CHeaderWriter::arguments() {
  line("typedef struct {}_args {{", name);
  for (const CField &f : interface.fields)
    if (!f.isOptional())
      member(f);
  line("");
  say("Optional; not given where `data` is null.", "  ");
  for (const CField &f : interface.fields)
    if (f.isOptional())
      member(f);
  line("");
  if (interface.workspaces.empty())
    say("This kernel needs no workspace.", "  ");
  else
    say(fmt::format("Memory for what is computed once a key, of any contents "
                    "and alignment: at least {}_workspace(args) bytes. With {} "
                    "+ {} bytes{} all heads are computed at once; with fewer, "
                    "one after the other, in more stages.",
                    name, fmt::join(kernel.workspaces, " (or "),
                    63 + 63 * interface.workspaces.size(),
                    kernel.workspaces.size() > 1
                        ? std::string(kernel.workspaces.size() - 1, ')') +
                              ", as the level needs,"
                        : ""),
        "  ");
  line("  void *workspace;");
  line("  int64_t workspace_size; /* in bytes */");
  line("}} {}_args;", name);
}

void CHeaderWriter::functions() {
  say("Computes the outputs on the calling thread. Returns 0, or a status: "
      "then "
      "nothing has been written.");
  line("int {0}(const {0}_args *args);", name);
  line("");
  say("The bytes of workspace that these arguments need (0: none), or a "
      "negated "
      "status. Whatever workspace they have is not looked at.");
  line("int64_t {0}_workspace(const {0}_args *args);", name);
  line("");
  say("A call whose arguments have been checked. The arrays must stay as they "
      "are until it is done; the struct of arguments need not.");
  line("typedef struct {}_call {{", name);
  line("  int64_t words[{}];", kernel.callWords);
  line("}} {}_call;", name);
  line("");
  say("Checks the arguments and prepares a call, to be computed once. Returns "
      "0 "
      "or a status.");
  line("int {0}_prepare(const {0}_args *args, {0}_call *call);", name);
  line("");
  say("The number of stages of a prepared call, or a negated status.");
  line("int64_t {0}_stages(const {0}_call *call);", name);
  line("");
  say("The number of work items of a stage, or a negated status.");
  line("int64_t {0}_items(const {0}_call *call, int64_t stage);", name);
  line("");
  say("Computes items [begin, end) of a stage; each item once. Returns 0 or a "
      "status.");
  line("int {0}_range({0}_call *call, int64_t stage, int64_t begin, int64_t "
       "end);",
       name);
  line("");
  say("What a status means, in words; also a negated one, as the functions "
      "above return it. The text is constant.");
  line("const char *{}_error(int status);", name);
  if (isFat())
    choosing();
}

/// `x86_64_v4`, as in names of C.
static std::string identifierOf(std::string level) {
  for (char &c : level)
    c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return level;
}

void CHeaderWriter::choosing() {
  line("");
  say("The levels that there is code for.");
  line("enum {{");
  for (size_t n = 0; n < kernel.levels.size(); ++n)
    line("  {}_LEVEL_{} = {}{}", upper, identifierOf(kernel.levels[n]), n + 1,
         n + 1 < kernel.levels.size() ? "," : "");
  line("}};");
  line("");
  say(fmt::format(
      "The level of calls from now on, of all threads: `level`, or with 0 what "
      "it was or the machine has, which this leaves so. Returns it, or "
      "-ATTN_MACHINE where the machine does not run it: then nothing changes. "
      "Nobody has to call this; it is for tests and measurements. A prepared "
      "call stays with the level that prepared it. A level has its own last "
      "digits, and its own need of workspace. Where the machine runs none, "
      "{0}, {0}_prepare and {0}_workspace say ATTN_MACHINE.",
      name));
  line("int {}_level(int level);", name);
}

std::string CHeaderWriter::write() {
  introduction();
  line("#ifndef {}_ATTN_H", upper);
  line("#define {}_ATTN_H", upper);
  line("");
  line("#include <stdint.h>");
  line("");
  line("#ifdef __cplusplus");
  line("extern \"C\" {{");
  line("#endif");
  line("");
  shared();
  line("");
  sizes();
  line("");
  arguments();
  line("");
  functions();
  line("");
  line("#ifdef __cplusplus");
  line("}}");
  line("#endif");
  line("");
  line("#endif /* {}_ATTN_H */", upper);
  return std::move(out);
}

std::string attn::cHeader(const AheadOfTime &kernel, const Facts &facts,
                          const std::string &level, const std::string &file) {
  return CHeaderWriter(kernel, facts, level, file).write();
}
