//===- TypeOption.cpp - the option --type ---------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TypeOption.h"
#include "runtime/Arrays.h"

#include <fmt/format.h>

#include <map>

using namespace attn;

const char *attn::typeName(Type type) { return runtime::nameOf(type); }

void attn::addTypeOption(CLI::App &verb, Type &type) {
  static const std::map<std::string, Type> types = {
      {"f32", Type::f32}, {"bf16", Type::bf16}, {"f16", Type::f16}};
  verb.add_option_function<std::string>(
          "--type", [&type](const std::string &name) { type = types.at(name); },
          "type in which inputs and o are stored: f32, bf16 or f16; arithmetic "
          "is in f32")
      ->check([](const std::string &name) {
        return types.count(name)
                   ? std::string()
                   : fmt::format("there is no type '{}'; known types are f32, "
                                 "bf16, f16",
                                 name);
      })
      ->default_str("f32");
}
