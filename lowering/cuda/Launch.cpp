//===- Launch.cpp - how a CUDA kernel is launched -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cuda/Launch.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace attn;

std::string Formula::toString() const {
  auto call = [&](const char *function) {
    return std::string(function) + "(" + operands[0].toString() + ", " +
           operands[1].toString() + ")";
  };
  switch (kind) {
  case Constant:
    return std::to_string(value);
  case Extent:
    return name;
  case Multiply:
    return operands[0].toString() + " * " + operands[1].toString();
  case Divide:
    return call("floordiv");
  case CeilDivide:
    return call("ceildiv");
  case Most:
    return call("max");
  case Least:
    return call("min");
  }
  return "";
}

int64_t Formula::evaluate(
    const std::function<int64_t(unsigned, unsigned)> &extent) const {
  if (kind == Constant)
    return value;
  if (kind == Extent)
    return extent(argument, axis);
  int64_t x = operands[0].evaluate(extent), y = operands[1].evaluate(extent);
  switch (kind) {
  case Multiply:
    return x * y;
  case Divide:
    return y ? x / y : 0;
  case CeilDivide:
    return y ? (x + y - 1) / y : 0;
  case Most:
    return std::max(x, y);
  default:
    return std::min(x, y);
  }
}

int64_t LaunchArgument::rowsFor(int64_t queries, int64_t keys) const {
  if (parts)
    return parts * (std::min(queries, partQueries) + 2);
  return rows ? rows : keys;
}

std::string LaunchArgument::rowsText() const {
  if (parts)
    return std::to_string(parts) + " * (min(Nq, " +
           std::to_string(partQueries) + ") + 2)";
  return rows ? std::to_string(rows) : "Nk";
}

std::string attn::launchJson(const CudaProgram &program) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream, 2);
  json.object([&] {
    json.attribute("name", program.name);
    json.attribute("architecture", program.architecture);
    json.attributeArray("arguments", [&] {
      for (const LaunchArgument &argument : program.arguments)
        json.object([&] {
          json.attribute("name", argument.name);
          json.attribute("role", argument.role);
          json.attribute("type", argument.type);
          if (argument.row)
            json.attribute("row", argument.row);
          if (argument.role == "workspace" || argument.isState())
            json.attribute("shape",
                           (argument.perQueryHead ? "B Hq " : "B Hk ") +
                               argument.rowsText());
        });
    });
    json.attributeArray("kernels", [&] {
      for (const LaunchStage &stage : program.stages)
        json.object([&] {
          json.attribute("entry", stage.entry);
          json.attribute("grid", stage.grid.toString());
          json.attribute("block", stage.threads);
          json.attribute("shared_bytes", stage.sharedBytes);
          json.attributeArray("parameters", [&] {
            for (const LaunchParameter &parameter : stage.parameters)
              json.object([&] {
                const LaunchArgument &of =
                    program.arguments[parameter.argument];
                json.attribute("name", parameter.name);
                json.attribute("type", parameter.type);
                switch (parameter.kind) {
                case LaunchParameter::Array:
                  json.attribute("role", of.role);
                  json.attribute("of", of.name);
                  break;
                case LaunchParameter::Extent:
                case LaunchParameter::Stride:
                  json.attribute("role",
                                 parameter.kind == LaunchParameter::Extent
                                     ? "extent"
                                     : "stride");
                  json.attribute("of", of.name);
                  json.attribute("of_role", of.role);
                  json.attribute("axis", static_cast<int64_t>(parameter.axis));
                  break;
                }
              });
          });
        });
    });
  });
  return text + "\n";
}
