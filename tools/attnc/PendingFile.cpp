//===- PendingFile.cpp - files that appear when they are whole ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PendingFile.h"

#include "attn/attn.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace attn;

PendingFile::PendingFile(std::string place) : path(std::move(place)) {
  struct stat status;
  bool exists = ::stat(path.c_str(), &status) == 0;
  if (!exists && errno != ENOENT)
    fail(errno);
  if (exists && S_ISDIR(status.st_mode))
    fail(EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
      fail(errno);
    return;
  }
  if (exists && ::access(path.c_str(), W_OK) != 0)
    fail(errno);
  // A link's target is replaced, not the link.
  if (char *resolved = exists ? ::realpath(path.c_str(), nullptr) : nullptr) {
    path = resolved;
    ::free(resolved);
  }
  open();
  mode_t mask = ::umask(0);
  ::umask(mask);
  (void)::fchmod(descriptor, exists ? status.st_mode & 07777 : 0666 & ~mask);
}

PendingFile::PendingFile(PendingFile &&other) noexcept
    : path(std::move(other.path)), temporary(std::move(other.temporary)),
      descriptor(other.descriptor), hasNoName(other.hasNoName),
      state(other.state) {
  other.descriptor = -1;
  other.temporary.clear();
}

PendingFile::~PendingFile() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

std::string PendingFile::folder() const {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "./" : path.substr(0, slash + 1);
}

std::string PendingFile::openName() const {
  return fmt::format("/proc/self/fd/{}", descriptor);
}

void PendingFile::open() {
  descriptor =
      ::open(folder().c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, S_IRUSR);
  hasNoName = descriptor >= 0 && ::access(openName().c_str(), F_OK) == 0;
  if (hasNoName)
    return;
  if (descriptor >= 0)
    ::close(descriptor);
  // The file system wants a name, or there is no way to give one later.
  temporary = folder() + ".attnc.XXXXXX";
  descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) {
    int error = errno;
    temporary.clear();
    fail(error);
  }
}

void PendingFile::fail(int error) const {
  if (!temporary.empty())
    ::unlink(temporary.c_str());
  throw Error(
      fmt::format("{}: error: cannot write: {}", path, std::strerror(error)));
}

void PendingFile::write(std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR)
      fail(errno);
    if (written > 0)
      text.remove_prefix(written);
  }
}

void PendingFile::close() {
  if (descriptor < 0)
    return;
  for (int n = 0; hasNoName; ++n) {
    temporary = fmt::format("{}.attnc.{}.{}", folder(), ::getpid(), n);
    if (::linkat(AT_FDCWD, openName().c_str(), AT_FDCWD, temporary.c_str(),
                 AT_SYMLINK_FOLLOW) == 0)
      hasNoName = false;
    else if (int error = errno; error != EEXIST) {
      temporary.clear(); // it is not ours
      fail(error);
    }
  }
  int failed = ::close(descriptor);
  descriptor = -1;
  if (failed)
    fail(errno);
}

void PendingFile::place() {
  close();
  if (temporary.empty())
    return; // was written directly
  // What stood there lies under the temporary name until all is well.
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(),
                  RENAME_EXCHANGE) == 0) {
    state = Replaced;
    return;
  }
  // Nothing stood there, or the file system knows no exchange.
  if (::rename(temporary.c_str(), path.c_str()))
    fail(errno);
  state = New;
}

void PendingFile::takeBack() {
  if (state == Replaced)
    (void)::rename(temporary.c_str(), path.c_str());
  if (state == New)
    ::unlink(path.c_str());
  if (state != Written)
    temporary.clear();
  state = Written;
}

void PendingFile::commit() {
  place();
  if (state == Replaced)
    ::unlink(temporary.c_str());
  temporary.clear();
}

void attn::commitAll(std::vector<PendingFile> &files) {
  // What can fail late, as on a full disk, fails here.
  for (PendingFile &file : files)
    file.close();
  try {
    for (PendingFile &file : files)
      file.place();
  } catch (const Error &) {
    // A folder was taken away in the meantime: half of the result is none.
    for (PendingFile &file : files)
      file.takeBack();
    throw;
  }
}

bool attn::isSameFile(const std::string &a, const std::string &b) {
  namespace fs = std::filesystem;
  std::error_code code;
  fs::path places[2];
  for (int n = 0; n < 2; ++n) {
    const std::string &name = n ? b : a;
    if (fs::exists(name, code) && !fs::is_regular_file(name, code))
      return false;
    // The files need not be there.
    places[n] = fs::weakly_canonical(fs::absolute(name, code), code);
    if (code) // nor their folders: opening them says what is wrong
      return a == b;
  }
  return places[0] == places[1];
}
