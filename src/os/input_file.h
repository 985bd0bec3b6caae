#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"

namespace idleburn {
// Opens a file for reading; "-" is standard input.
// * gzip, xz and zstd are decompressed while they are read, also several members in a row. The first bytes decide.
// * Text arrives as UTF-8 without a byte order mark. UTF-16 with a mark is decoded.
// * A folder, a missing, unreadable or empty file is an error that says what to do.
// * Output beyond 1 GiB and 1000 times the input is refused as a decompression bomb.
// * Compressed data that ends early is delivered up to its end, and truncated() tells.
// `wrap`, if any, gets the file as it is on disk, and its result is read in its place.
using WrapFile = std::function<std::unique_ptr<ByteSource>(std::unique_ptr<ByteSource> file)>;
Result<std::unique_ptr<ByteSource>> OpenInput(const std::string& path, const WrapFile& wrap = {});

// The sizes of the files together, in bytes. 0 if one is a pipe or cannot be looked at.
std::uint64_t SizeOfFiles(std::span<const std::string> paths);

// A source that shows its first bytes before they are read, so that a format can be detected. Works on pipes, which
// cannot be rewound.
class PeekSource final : public ByteSource {
 public:
  explicit PeekSource(std::unique_ptr<ByteSource> in);
  // The first bytes of the input, at most `size`. Read still delivers them.
  Result<std::string_view> Peek(std::size_t size);
  Result<std::size_t> Read(std::span<char> out) override;
  [[nodiscard]] bool truncated() const override { return in_->truncated(); }
  [[nodiscard]] const std::string& name() const override { return in_->name(); }
  void Passed(std::uint64_t position) override { in_->Passed(position); }

 private:
  std::unique_ptr<ByteSource> in_;
  std::string head_;
  std::size_t taken_ = 0;
};

// A regular file held open, to be read by position or by a library that opens its input by path. Parquet needs its
// footer first, which a stream cannot give.
class SeekableFile {
 public:
  // Absent if `path` is no readable regular file.
  static std::optional<SeekableFile> Open(const std::string& path);
  ~SeekableFile();
  SeekableFile(SeekableFile&& other) noexcept : fd_(other.fd_), size_(other.size_) { other.fd_ = -1; }
  SeekableFile& operator=(SeekableFile&&) = delete;

  // A path of the open file (/proc/self/fd/N). It has no quotes or patterns, whatever the file is called, and stays
  // valid if the file is renamed.
  [[nodiscard]] std::string alias() const;
  // The first bytes of the file, at most `size`.
  [[nodiscard]] std::string Head(std::size_t size) const;
  // The size in bytes when the file was opened.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Fills `out` from position `at`. False if the file has fewer bytes.
  [[nodiscard]] bool ReadAt(std::uint64_t at, std::span<char> out) const;

 private:
  explicit SeekableFile(int fd) : fd_(fd) {}
  int fd_;
  std::uint64_t size_ = 0;
};

// Whether the bytes begin with a UTF-16 byte order mark. PowerShell's `>` writes UTF-16.
bool SniffUtf16(std::string_view head);

// Decodes UTF-16 that begins with such a mark to UTF-8 without one. A lone surrogate or a last odd byte becomes
// U+FFFD. The result is as truncated as `in`.
std::unique_ptr<ByteSource> DecodeUtf16(std::unique_ptr<ByteSource> in);

// Appends one code point as UTF-8. `point` is below 0x110000 and is no surrogate.
inline void AppendUtf8(std::string& out, char32_t point) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((point >> shift) & 0x3F)); };
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xC0 | (point >> 6));
    tail(0);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0 | (point >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | (point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

// Fails if the report at `output` would take the place of a file that it is made from, under whatever name:
// recordings and claims cannot be made again. An output that is no file ("-", "") and inputs that are none (ids of
// the history) are fine.
Result<void> SpareInputs(const std::string& output, const std::vector<std::string>& inputs);
// Fails if the folder of an output does not exist. Called before a long run, which would otherwise lose its report.
Result<void> CheckFolder(const std::string& output);

}  // namespace idleburn
