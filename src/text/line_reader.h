#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"

namespace idleburn {

// Lines of a byte source, without their terminator (\n or \r\n). Holds one block and at most one line over it.
class LineReader {
 public:
  static constexpr std::size_t kMaxLine = 1 << 20;

  explicit LineReader(ByteSource& in);

  // True and the next line (valid until the next call), or false at the end. A line longer than kMaxLine or a
  // failing source is an error.
  Result<bool> Next(std::string_view* line);

  // Of the line last returned, from 1.
  [[nodiscard]] std::int64_t number() const { return number_; }
  // False if the line last returned ran into the end of the input without a terminator.
  [[nodiscard]] bool terminated() const { return terminated_; }
  [[nodiscard]] const std::string& name() const { return in_.name(); }
  // "file:line" of the line last returned, for messages.
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

// A byte source over text in memory, for tests and small inputs.
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

// Reads all of `in`; more than `limit` bytes is an error that names the limit.
Result<std::string> ReadAll(ByteSource& in, std::size_t limit);

}  // namespace idleburn
