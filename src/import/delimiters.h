#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace idleburn {

// Where the cells and lines of a block of comma-separated text end: the positions of every ',' and '\n', in order.
// Found for a whole block at once (64 bytes a step), so that reading a cell need not wait for the one before it.
class Delimiters {
 public:
  // `text` holds `size` bytes and kPad more that may be read. What was found in the block before is forgotten.
  static constexpr std::size_t kPad = 64;
  void Find(const char* text, std::size_t size);

  [[nodiscard]] std::size_t lines() const { return lines_; }
  // The ends of the cells of one line, the last of them that of the line. Before the first stands the end of the
  // line before (one less than 0 for the first line).
  [[nodiscard]] std::span<std::uint32_t> Line(std::size_t number) {
    const std::uint32_t first = last_cell_[number] + 1;
    return {cell_end_.data() + first, last_cell_[number + 1] + 1 - first};
  }

 private:
  std::vector<std::uint32_t> cell_end_;   // after one that stands before the first
  std::vector<std::uint32_t> last_cell_;  // of each line, in cell_end_; likewise
  std::size_t lines_ = 0;
};

}  // namespace idleburn
