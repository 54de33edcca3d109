//===- StoredCode.cpp - compiled code as bytes ----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/StoredCode.h"

#include <sstream>

using namespace attn::runtime;

std::string StoredCode::encode() const {
  std::ostringstream text;
  text << outputRow << ' ' << workspaces.size() << ' ' << stages.size() << ' '
       << object.size() << '\n'
       << state.rows << ' ' << state.row << ' ' << state.perQueryHead << '\n';
  for (const Workspace &workspace : workspaces)
    text << workspace.row << ' ' << workspace.rows << ' ' << workspace.hasRow
         << ' ' << workspace.perQueryHead << '\n';
  for (const std::string &stage : stages)
    text << stage << '\n';
  return text.str() + object;
}

std::optional<StoredCode> StoredCode::decode(const std::string &bytes) {
  StoredCode code;
  std::istringstream text(bytes);
  size_t workspaces = 0, stages = 0, size = 0;
  text >> code.outputRow >> workspaces >> stages >> size;
  text >> code.state.rows >> code.state.row >> code.state.perQueryHead;
  if (!text || workspaces > bytes.size() || stages > bytes.size())
    return std::nullopt;
  for (size_t n = 0; n < workspaces && text; ++n) {
    Workspace workspace;
    text >> workspace.row >> workspace.rows >> workspace.hasRow >>
        workspace.perQueryHead;
    code.workspaces.push_back(workspace);
  }
  std::string line;
  std::getline(text, line); // the rest of the line before
  for (size_t n = 0; n < stages && std::getline(text, line); ++n)
    code.stages.push_back(line);
  if (!text || code.stages.empty() || code.outputRow < 1)
    return std::nullopt;
  code.object = bytes.substr(text.tellg());
  if (code.object.size() != size)
    return std::nullopt;
  return code;
}
