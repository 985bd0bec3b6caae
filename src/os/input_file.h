#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/byte_source.h"

namespace idleburn {

// Opens a file for reading ("-": standard input). gzip, xz and zstd contents are decompressed on the way, told by their
// first bytes, several members in a row included. Text is UTF-8 without a byte order mark: one is dropped, and UTF-16
// that begins with its own is decoded. A directory, a missing or unreadable file and an empty file are errors that say
// what to do. Compressed data that would unpack to more than 1000 times its size beyond 1 GiB is refused as a
// decompression bomb; data that ends early is delivered up to there.
Result<std::unique_ptr<ByteSource>> OpenInput(const std::string& path);

// A source whose first bytes can be looked at before they are read.
class PeekSource final : public ByteSource {
 public:
  explicit PeekSource(std::unique_ptr<ByteSource> in);
  // Up to `size` first bytes of the input; the same bytes are still delivered by Read.
  Result<std::string_view> Peek(std::size_t size);
  Result<std::size_t> Read(std::span<char> out) override;
  [[nodiscard]] bool truncated() const override { return in_->truncated(); }
  [[nodiscard]] const std::string& name() const override { return in_->name(); }

 private:
  std::unique_ptr<ByteSource> in_;
  std::string head_;
  std::size_t taken_ = 0;
};

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

// True if the bytes begin with a UTF-16 byte-order mark: what PowerShell's `>` writes.
bool SniffUtf16(std::string_view head);

// The text of `in`, which begins with such a mark, as UTF-8 without it. Half a character (a lone surrogate, a last odd
// byte) becomes U+FFFD.
std::unique_ptr<ByteSource> DecodeUtf16(std::unique_ptr<ByteSource> in);

}  // namespace idleburn
