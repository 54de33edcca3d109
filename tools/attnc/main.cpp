//===- main.cpp - attnc ---------------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verbs.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>

using namespace attn;

/// Prints an error; text without a place of its own gets the program's name.
static int report(const std::string &text, int status) {
  bool placed = text.find("error:") != std::string::npos;
  // Where it cannot be written, the status has to say it.
  std::fputs(((placed ? "" : "attnc: error: ") + text + "\n").c_str(), stderr);
  return status;
}

/// What was printed and could not be written is an error, too.
static int finish(int status) {
  int error = std::fflush(stdout) ? errno : 0;
  std::cout.flush();
  if (status != 0 || (!error && !std::ferror(stdout) && std::cout))
    return status;
  return report(error ? fmt::format("cannot write to standard output: {}",
                                    std::strerror(error))
                      : "cannot write to standard output",
                1);
}

static int run(int argc, char **argv) {
  CLI::App app("attnc: a compiler for attention kernels");
  app.name("attnc");
  app.set_version_flag("--version",
                       "attnc " ATTN_VERSION " (LLVM " ATTN_LLVM_VERSION ")");
  app.require_subcommand(1);
  app.footer("attnc VERB --help says more, with an example.");
  Action action;
  addRun(app, action);
  addCheck(app, action);
  addBench(app, action);
  addExplain(app, action);
  addCompile(app, action);
  addCache(app, action);
  addMerge(app, action);
  try {
    app.parse(argc, argv);
    return action();
  } catch (const CLI::ParseError &error) {
    // Help and version are "errors" with status 0; all others are wrong usage.
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const UsageError &error) {
    return report(error.what(), 2);
  } catch (const Error &error) {
    return report(error.what(), 1);
  } catch (const std::bad_alloc &) {
    return report("out of memory", 1);
  } catch (const std::exception &error) {
    return report(error.what(), 1);
  }
}

int main(int argc, char **argv) {
  // A file that grows past the limit of its size is to be an error of the
  // write, which takes back what is half-written, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  return finish(run(argc, argv));
}
