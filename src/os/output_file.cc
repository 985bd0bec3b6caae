#include "os/output_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace idleburn {

int WriteAll(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(to, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {  // somebody else's open file is set not to wait
      pollfd ready{to, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

Result<void> WriteFileWhole(const std::string& path, std::string_view text) {
  struct stat info {};
  const bool there = stat(path.c_str(), &info) == 0;
  const bool special = there && !S_ISREG(info.st_mode);
  std::error_code unresolved;
  const std::filesystem::path resolved = std::filesystem::canonical(path, unresolved);
  const std::string whole = there && !unresolved ? resolved.string() : path;  // a link stays one
  const std::string target = special ? path : whole + ".part";
  const mode_t mode = there ? info.st_mode & 0777 : 0644;
  const int fd = open(target.c_str(), O_WRONLY | O_CLOEXEC | (special ? 0 : O_CREAT | O_TRUNC), mode);
  if (fd < 0) return Fail(path + ": cannot be written: " + std::strerror(errno) + "; choose another place with -o");
  int error = there && !special && fchmod(fd, mode) != 0 ? errno : 0;
  if (error == 0) error = WriteAll(fd, text);
  if (close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && !special && std::rename(target.c_str(), whole.c_str()) != 0) error = errno;
  if (error == 0) return {};
  if (!special) unlink(target.c_str());
  return Fail(path + ": cannot be written: " + std::strerror(error));
}

Result<void> WriteFileOnce(const std::string& path, std::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, 0444);
  if (fd < 0 && errno == EEXIST) return Fail(path + ": is there already and is never overwritten; name another file");
  if (fd < 0) return Fail(path + ": cannot be written: " + std::strerror(errno) + "; choose another place with -o");
  int error = WriteAll(fd, text);
  if (error == 0 && fsync(fd) != 0) error = errno;
  if (close(fd) != 0 && error == 0) error = errno;
  if (error == 0) return {};
  unlink(path.c_str());
  return Fail(path + ": cannot be written: " + std::strerror(error));
}

}  // namespace idleburn
