#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"

namespace idleburn {

// Keeps other programs that ask for it out of a folder's common work, until this is gone; a kill gives it back. Where
// the file system has no such locks it is held by nobody and holds nobody up.
class FolderLock {
 public:
  // Waits for another holder at most `patience`.
  static Result<FolderLock> Take(const std::string& folder, Nanos patience);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace idleburn
