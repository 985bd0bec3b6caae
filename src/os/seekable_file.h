#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace idleburn {

// A regular file held open, for libraries that open their input by path. Its path here is an alias of the open file:
// it is free of quotes and patterns whatever the file is called, and stays right if the file is renamed.
class SeekableFile {
 public:
  // Absent if `path` is no regular file that can be read.
  static std::optional<SeekableFile> Open(const std::string& path);
  ~SeekableFile();
  SeekableFile(SeekableFile&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  SeekableFile& operator=(SeekableFile&&) = delete;

  [[nodiscard]] std::string alias() const;
  // The first bytes of the file, up to `size`.
  [[nodiscard]] std::string Head(std::size_t size) const;

 private:
  explicit SeekableFile(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace idleburn
