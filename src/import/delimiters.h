#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace idleburn {

// Where the cells of a block of comma-separated text end: the positions of every ',' and '\n', in order. Found for a
// whole block at once (64 bytes a step), so that reading a cell need not wait for the one before it.
class Delimiters {
 public:
  // `text` holds `size` bytes and kPad more that may be read. Positions of the block before are forgotten.
  static constexpr std::size_t kPad = 64;
  void Find(const char* text, std::size_t size);

  // Before the first stands where the line before it would have ended: one less than 0.
  [[nodiscard]] std::uint32_t* begin() { return positions_.data() + 1; }
  [[nodiscard]] std::uint32_t* end() { return begin() + count_; }

 private:
  std::vector<std::uint32_t> positions_ = {UINT32_MAX};
  std::size_t count_ = 0;
};

}  // namespace idleburn
