#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace idleburn {

// A regular file held open, to be read by position, here or by a library that opens its input by path. Its path here is
// an alias of the open file: free of quotes and patterns whatever the file is called, and right if the file is renamed.
class SeekableFile {
 public:
  // Absent if `path` is no regular file that can be read.
  static std::optional<SeekableFile> Open(const std::string& path);
  ~SeekableFile();
  SeekableFile(SeekableFile&& other) noexcept : fd_(other.fd_), size_(other.size_) { other.fd_ = -1; }
  SeekableFile& operator=(SeekableFile&&) = delete;

  [[nodiscard]] std::string alias() const;
  // The first bytes of the file, up to `size`.
  [[nodiscard]] std::string Head(std::size_t size) const;
  // In bytes, when it was opened.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Fills `out` with the bytes from position `at` on; false if the file has fewer.
  [[nodiscard]] bool ReadAt(std::uint64_t at, std::span<char> out) const;

 private:
  explicit SeekableFile(int fd) : fd_(fd) {}
  int fd_;
  std::uint64_t size_ = 0;
};

}  // namespace idleburn
