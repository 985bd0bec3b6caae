#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "base/result.h"

namespace idleburn {

// A file in memory, which is a plain file with a path.
class MemoryFile {
 public:
  MemoryFile(const unsigned char* data, std::size_t size) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    CHECK(fd_ >= 0 && write(fd_, data, size) == static_cast<ssize_t>(size));
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace idleburn
