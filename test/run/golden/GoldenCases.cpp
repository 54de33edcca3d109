//===- GoldenCases.cpp - reads the cases ----------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GoldenCases.h"
#include "llvm/Support/JSON.h"
#include <cstring>
#include <fstream>
#include <sstream>

using namespace attn;
using namespace attn::golden;

namespace {

std::string readText(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw Error(path + ": cannot be read");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

StoredArray arrayOf(const llvm::json::Object &json) {
  static const std::map<std::string, Type> types = {{"f32", Type::f32},
                                                    {"f64", Type::f64},
                                                    {"i32", Type::i32},
                                                    {"i64", Type::i64}};
  StoredArray array;
  array.type = types.at(json.getString("type")->str());
  for (const llvm::json::Value &extent : *json.getArray("shape"))
    array.shape.push_back(*extent.getAsInteger());
  array.offset = *json.getInteger("offset");
  return array;
}

Expected expectedOf(const llvm::json::Object &json) {
  Expected expected;
  expected.array = arrayOf(json);
  expected.tolerance = *json.getNumber("tolerance");
  expected.mayVanish = json.getBoolean("may_vanish").value_or(false);
  if (const llvm::json::Object *condition = json.getObject("condition"))
    expected.condition = arrayOf(*condition);
  return expected;
}

Case caseOf(const llvm::json::Object &json) {
  Case c;
  c.id = json.getString("id")->str();
  c.spec = json.getString("spec")->str();
  for (const auto &[name, value] : *json.getObject("arguments")) {
    if (const llvm::json::Object *array = value.getAsObject())
      c.arrays[name.str()] = arrayOf(*array);
    else
      c.numbers[name.str()] = *value.getAsNumber();
  }
  for (const auto &[name, value] : *json.getObject("expected"))
    c.expected[name.str()] = expectedOf(*value.getAsObject());
  return c;
}

} // namespace

int64_t StoredArray::size() const {
  int64_t size = 1;
  for (int64_t extent : shape)
    size *= extent;
  return size;
}

Suite::Suite(const std::string &folder) : folder(folder) {
  llvm::Expected<llvm::json::Value> json =
      llvm::json::parse(readText(folder + "/cases.json"));
  if (!json)
    throw Error(folder + "/cases.json: " + llvm::toString(json.takeError()));
  for (const llvm::json::Value &value : *json->getAsArray())
    all.push_back(caseOf(*value.getAsObject()));

  // One spec a piece: an error in one must not fail the others' cases.
  std::string text = readText(folder + "/specs.attn"), keyword = "\nattention ";
  for (size_t at = text.find(keyword); at != std::string::npos;) {
    size_t next = text.find(keyword, at + 1), name = at + keyword.size();
    specs[text.substr(name, text.find('(', name) - name)] =
        text.substr(at + 1, next - at - 1);
    at = next;
  }
}

const std::string &Suite::spec(const std::string &name) const {
  auto found = specs.find(name);
  if (found == specs.end())
    throw Error("there is no spec '" + name + "'");
  return found->second;
}

std::vector<char> Suite::read(const StoredArray &array) const {
  bool wide = array.type == Type::f64 || array.type == Type::i64;
  std::vector<char> bytes(array.size() * (wide ? 8 : 4));
  std::ifstream in(folder + "/arrays.bin", std::ios::binary);
  in.seekg(array.offset);
  if (!in.read(bytes.data(), bytes.size()))
    throw Error(folder + "/arrays.bin: is too short");
  return bytes;
}

std::vector<double> Suite::readDoubles(const StoredArray &array) const {
  std::vector<char> bytes = read(array);
  std::vector<double> out(array.size());
  for (size_t t = 0; t < out.size(); ++t) {
    if (array.type == Type::f64) {
      std::memcpy(&out[t], bytes.data() + 8 * t, 8);
      continue;
    }
    int32_t whole;
    float real;
    std::memcpy(&whole, bytes.data() + 4 * t, 4);
    std::memcpy(&real, bytes.data() + 4 * t, 4);
    out[t] = array.type == Type::i32 ? whole : real;
  }
  return out;
}
