#include "os/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace idleburn {
namespace {

bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

Result<void> WriteFileWhole(const std::string& path, std::string_view text) {
  struct stat info {};
  const bool special = stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  const std::string target = special ? path : path + ".part";
  const int fd = open(target.c_str(), O_WRONLY | O_CLOEXEC | (special ? 0 : O_CREAT | O_TRUNC), 0644);
  if (fd < 0) return Fail(path + ": cannot be written: " + std::strerror(errno) + "; choose another place with -o");
  const bool written = WriteAll(fd, text);
  const int write_error = errno;
  const bool closed = close(fd) == 0;
  const bool done = written && closed && (special || std::rename(target.c_str(), path.c_str()) == 0);
  if (done) return {};
  const int error = written ? errno : write_error;
  if (!special) unlink(target.c_str());
  return Fail(path + ": cannot be written: " + std::strerror(error));
}

Result<void> WriteFileOnce(const std::string& path, std::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, 0444);
  if (fd < 0 && errno == EEXIST) return Fail(path + ": is there already and is never overwritten; name another file");
  if (fd < 0) return Fail(path + ": cannot be written: " + std::strerror(errno) + "; choose another place with -o");
  const bool written = WriteAll(fd, text) && fsync(fd) == 0;
  const int error = errno;
  if (close(fd) == 0 && written) return {};
  unlink(path.c_str());
  return Fail(path + ": cannot be written: " + std::strerror(error));
}

}  // namespace idleburn
