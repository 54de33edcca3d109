//===- ParseAttention.cpp - either kind of text, and its diagnostics ------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/Importer.h"
#include "dialect/spec/Parser.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// DiagnosticText
//===----------------------------------------------------------------------===//

struct DiagnosticText::Impl {
  std::string text;
  llvm::raw_string_ostream stream{text};
  llvm::SourceMgr sources;
  std::unique_ptr<SourceMgrDiagnosticHandler> handler;
  MLIRContext *context = nullptr;
  bool printedOps = false;
};

DiagnosticText::DiagnosticText(StringRef text, StringRef file,
                               MLIRContext &context)
    : impl(std::make_unique<Impl>()) {
  // Columns do not count a byte order mark.
  std::string_view body = withoutByteOrderMark({text.data(), text.size()});
  impl->sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(StringRef(body.data(), body.size()),
                                           file),
      SMLoc());
  // The user wrote the source line, not the operation made from it.
  impl->context = &context;
  impl->printedOps = context.shouldPrintOpOnDiagnostic();
  context.printOpOnDiagnostic(false);
  impl->handler = std::make_unique<SourceMgrDiagnosticHandler>(
      impl->sources, &context, impl->stream);
}

DiagnosticText::~DiagnosticText() {
  impl->context->printOpOnDiagnostic(impl->printedOps);
}

std::string DiagnosticText::take() {
  impl->stream.flush();
  return std::exchange(impl->text, std::string());
}

//===----------------------------------------------------------------------===//
// parseAttention
//===----------------------------------------------------------------------===//

/// A spec starts with the word `attention`, which MLIR text never does. A line
/// that starts with # is a comment of the one and an alias of the other: the
/// first other line decides. What is neither gets the errors of a spec, the
/// plainer ones.
static bool isMlir(std::string_view text) {
  size_t at = 0;
  while (at < text.size() && text[at] != '\0' &&
         std::strchr(" \t\r\n#", text[at]))
    at = text[at] == '#' ? std::min(text.find('\n', at), text.size()) : at + 1;
  std::string_view rest = text.substr(at);
  for (std::string_view start :
       {"module", "func", "builtin.", "\"", "!", "//", "{-#"})
    if (rest.substr(0, start.size()) == start)
      return true;
  return false;
}

static ParsedAttention parseMlir(StringRef text, StringRef file,
                                 MLIRContext &context) {
  ParsedAttention parsed;
  loadImportDialects(context);
  DiagnosticText diagnostics(text, file, context);
  if (text.contains('\0')) {
    parsed.error = (file + ": error: the text contains a NUL byte\n").str();
    return parsed;
  }
  parsed.module = parseSourceString<ModuleOp>(text, &context, file);
  if (!parsed.module)
    parsed.error = diagnostics.take();
  return parsed;
}

ParsedAttention attn::parseAttention(StringRef text, StringRef file,
                                     MLIRContext &context) {
  std::string_view body = withoutByteOrderMark({text.data(), text.size()});
  if (isMlir(body))
    return parseMlir(StringRef(body.data(), body.size()), file, context);
  ParsedAttention parsed;
  std::vector<Spec> specs;
  std::optional<SpecError> error = parseSpecs(body, specs);
  if (!error && specs.empty())
    error =
        SpecError{"the text contains no spec; write 'attention name(q, k, v) "
                  "{ kappa = ... }'",
                  {}};
  if (!error)
    error = importSpecs(specs, file, context, parsed.module);
  if (error)
    parsed.error = renderError({file.data(), file.size()}, body, *error);
  return parsed;
}
