#include "os/seekable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace idleburn {

std::optional<SeekableFile> SeekableFile::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  SeekableFile file(fd);
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  file.size_ = static_cast<std::uint64_t>(info.st_size);
  return file;
}

SeekableFile::~SeekableFile() {
  if (fd_ >= 0) close(fd_);
}

std::string SeekableFile::alias() const { return "/proc/self/fd/" + std::to_string(fd_); }

std::string SeekableFile::Head(std::size_t size) const {
  std::string head(size, '\0');
  const ssize_t got = pread(fd_, head.data(), size, 0);
  head.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return head;
}

bool SeekableFile::ReadAt(std::uint64_t at, std::span<char> out) const {
  while (!out.empty()) {
    const ssize_t got = pread(fd_, out.data(), out.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out = out.subspan(static_cast<std::size_t>(got));
    at += static_cast<std::uint64_t>(got);
  }
  return true;
}

}  // namespace idleburn
