#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace idleburn {

// Rows of a number that is not known before, collected in the memory of the rows: a vector that grows holds them twice
// while it moves. Large blocks go back to the system one by one when they are put together.
template <typename T>
class RowBlocks {
 public:
  void Add(const T& row) {
    if (blocks_.empty()) {
      blocks_.emplace_back();  // most devices have few rows
    } else if (blocks_.back().size() == kBlockRows) {
      blocks_.emplace_back().reserve(kBlockRows);
    }
    blocks_.back().push_back(row);
    ++size_;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

  // All rows in order; none remain.
  std::vector<T> Take() {
    std::vector<T> rows;
    if (blocks_.size() == 1) {
      rows = std::move(blocks_.front());
    } else {
      rows.reserve(size_);
      for (std::vector<T>& block : blocks_) {
        rows.insert(rows.end(), block.begin(), block.end());
        std::vector<T>().swap(block);
      }
    }
    blocks_.clear();
    size_ = 0;
    return rows;
  }

 private:
  static constexpr std::size_t kBlockRows = (std::size_t{16} << 20) / sizeof(T);
  std::vector<std::vector<T>> blocks_;
  std::size_t size_ = 0;
};

}  // namespace idleburn
