#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"

namespace idleburn {

// Reads lines of a byte source without their terminator (\n or \r\n). It holds one block and at most one line more,
// so memory does not grow with the input. Line numbers count every line, blank ones too, so that an error names the
// line that an editor shows.
class LineReader {
 public:
  // A longer line is an error. Binary input would otherwise be read as one endless line.
  static constexpr std::size_t kMaxLine = 1 << 20;

  // `in` must outlive the reader.
  explicit LineReader(ByteSource& in);

  // Reads the next line, valid until the next call; false at the end. Fails if a line is longer than kMaxLine or the
  // source fails.
  Result<bool> Next(std::string_view* line);

  // The number of the current line, from 1.
  [[nodiscard]] std::int64_t number() const { return number_; }
  // False if the input ended without a terminator after the current line.
  [[nodiscard]] bool terminated() const { return terminated_; }
  [[nodiscard]] const std::string& name() const { return in_.name(); }
  // "file:line" of the current line, for messages.
  [[nodiscard]] std::string Where() const;

 private:
  [[nodiscard]] tl::unexpected<Error> TooLong() const;

  ByteSource& in_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool at_end_ = false;
  bool terminated_ = true;
  std::int64_t number_ = 0;
};

// A byte source over text in memory, for embedded data, small inputs and tests. `name` appears in errors.
class StringSource final : public ByteSource {
 public:
  explicit StringSource(std::string text, std::string name = "input");
  Result<std::size_t> Read(std::span<char> out) override;
  [[nodiscard]] bool truncated() const override { return false; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::string text_;
  std::string name_;
  std::size_t at_ = 0;
};

// Reads all of `in`. More than `limit` bytes is an error that names the limit.
Result<std::string> ReadAll(ByteSource& in, std::size_t limit);

}  // namespace idleburn
