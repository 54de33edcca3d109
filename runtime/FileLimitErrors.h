//===- FileLimitErrors.h - writes past a limit are errors -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A write past the limit of a process's files (RLIMIT_FSIZE) sends SIGXFSZ to
// the thread that writes, which ends the process unless it ignores that. What
// signals do is for a program to say, not for a library in it.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_FILELIMITERRORS_H
#define ATTN_RUNTIME_FILELIMITERRORS_H

#include <cerrno>
#include <csignal>
#include <ctime>

namespace attn::runtime {

/// As long as it lives, such a write of this thread fails with EFBIG, and that
/// is all.
class FileLimitErrors {
public:
  FileLimitErrors() {
    sigset_t pending;
    ::sigemptyset(&signal);
    ::sigaddset(&signal, SIGXFSZ);
    wasPending =
        ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGXFSZ) == 1;
    ::pthread_sigmask(SIG_BLOCK, &signal, &before);
  }
  ~FileLimitErrors() {
    struct timespec now = {0, 0};
    while (!wasPending && ::sigtimedwait(&signal, nullptr, &now) < 0 &&
           errno == EINTR)
      ;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  FileLimitErrors(const FileLimitErrors &) = delete;
  FileLimitErrors &operator=(const FileLimitErrors &) = delete;

private:
  sigset_t signal, before;
  bool wasPending;
};

} // namespace attn::runtime

#endif // ATTN_RUNTIME_FILELIMITERRORS_H
