//===- Jit.cpp - object code made callable --------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Jit.h"
#include "attn/attn.h"
#include "runtime/CodeGen.h"

#include "llvm/TargetParser/Host.h"

#include <cstring>

using namespace attn;
using namespace attn::runtime;

template <typename T> static T unwrap(llvm::Expected<T> value) {
  if (!value)
    throw Error("internal: " + llvm::toString(value.takeError()));
  return std::move(*value);
}

static void unwrap(llvm::Error error) {
  if (error)
    throw Error("internal: " + llvm::toString(std::move(error)));
}

Code::Code(std::unique_ptr<llvm::MemoryBuffer> object) {
  using namespace llvm::orc;
  initialiseNativeTarget();
  // Without a platform: generated code has no constructors to run, and the
  // platform's own helper module would have to be compiled first.
  jit = unwrap(LLJITBuilder()
                   .setJITTargetMachineBuilder(JITTargetMachineBuilder(
                       llvm::Triple(llvm::sys::getProcessTriple())))
                   .setLinkProcessSymbolsByDefault(false)
                   .setPlatformSetUp(setUpInactivePlatform)
                   .create());
  // What goes wrong while linking is part of the Error, not printed.
  jit->getExecutionSession().setErrorReporter([this](llvm::Error error) {
    message += ": " + llvm::toString(std::move(error));
  });
  SymbolMap symbols;
  auto offer = [&](const char *name, auto *function) {
    symbols[jit->mangleAndIntern(name)] = {ExecutorAddr::fromPtr(function),
                                           llvm::JITSymbolFlags::Exported |
                                               llvm::JITSymbolFlags::Callable};
  };
  offer("memcpy",
        static_cast<void *(*)(void *, const void *, size_t)>(std::memcpy));
  offer("memmove",
        static_cast<void *(*)(void *, const void *, size_t)>(std::memmove));
  offer("memset", static_cast<void *(*)(void *, int, size_t)>(std::memset));
  unwrap(jit->getMainJITDylib().define(absoluteSymbols(std::move(symbols))));
  unwrap(jit->addObjectFile(std::move(object)));
}

void *Code::find(const std::string &symbol) const {
  llvm::Expected<llvm::orc::ExecutorAddr> address = jit->lookup(symbol);
  if (!address) {
    llvm::consumeError(address.takeError());
    throw Error("internal: cannot link " + symbol + message);
  }
  return address->toPtr<void *>();
}
