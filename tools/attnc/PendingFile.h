//===- PendingFile.h - files that appear when they are whole ----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_PENDINGFILE_H
#define ATTN_TOOLS_PENDINGFILE_H

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A file that appears under its name only when it is whole: it is written
/// where its place is and moved there by commit(). Until then it has no name,
/// where the file system can do that, and nothing is left of it however the
/// process ends. Devices and pipes are written directly.
class PendingFile {
public:
  explicit PendingFile(std::string path);
  ~PendingFile();
  PendingFile(PendingFile &&) noexcept;
  PendingFile &operator=(PendingFile &&) = delete;

  void write(std::string_view text);
  void commit();

  /// Puts all files in their places, or leaves all of them as they were.
  friend void commitAll(std::vector<PendingFile> &files);

private:
  /// Opens a file in the folder of `path`, with a name or without.
  void open();
  /// Gives it its temporary name, and closes it.
  void close();
  /// Moves the file to its place; takeBack() undoes it.
  void place();
  void takeBack();
  [[noreturn]] void fail(int error) const;
  /// All of `path` up to the name in its folder.
  std::string folder() const;
  /// The open file, as the system calls it.
  std::string openName() const;
  std::string path, temporary;
  int descriptor = -1;
  bool hasNoName = false;
  enum State {
    Written,  ///< the file is under its temporary name
    New,      ///< it is in its place, where nothing stood
    Replaced, ///< it is, and what stood there has the temporary name
  } state = Written;
};

void commitAll(std::vector<PendingFile> &files);

/// Whether two names are of one file, which one of two that are written would
/// be lost in. Devices and pipes take all.
bool isSameFile(const std::string &a, const std::string &b);

} // namespace attn

#endif // ATTN_TOOLS_PENDINGFILE_H
