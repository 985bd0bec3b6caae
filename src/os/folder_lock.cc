#include "os/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace idleburn {

Result<FolderLock> FolderLock::Take(const std::string& folder, Nanos patience) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Fail(folder + ": cannot be opened: " + std::strerror(errno));
  FolderLock lock(fd);
  const auto until = std::chrono::steady_clock::now() + patience;
  while (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (std::chrono::steady_clock::now() >= until) {
      return Fail(folder + ": is in use by another idleburn; try again when that has finished");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return lock;
}

FolderLock::FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FolderLock::~FolderLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace idleburn
