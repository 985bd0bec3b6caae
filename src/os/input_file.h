#pragma once

#include <memory>
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

}  // namespace idleburn
