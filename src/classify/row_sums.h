#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace idleburn {

// Running sums of columns over the rows of one device: the sum over any stretch of rows is a difference. Stretches are
// short and end at random, and a loop that ends at random costs more than its steps.
class RowSums {
 public:
  // Sums those rows of every column.
  void Set(std::span<const std::int64_t* const> columns, std::span<const std::uint32_t> rows) {
    room_ = rows.size() + 1;
    if (sums_.size() < columns.size() * room_) sums_.resize(columns.size() * room_);
    const std::uint32_t* const row = rows.data();
    const std::size_t count = rows.size();
    for (std::size_t k = 0; k < columns.size(); ++k) {
      const std::int64_t* const values = columns[k];
      std::int64_t* const sums = &sums_[k * room_];
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < count; ++i) {
        sums[i] = sum;
        sum += values[row[i]];
      }
      sums[count] = sum;
    }
  }
  // Of the k-th column over rows [from, to).
  [[nodiscard]] std::int64_t Sum(std::size_t k, std::size_t from, std::size_t to) const {
    const std::int64_t* const sums = &sums_[k * room_];
    return sums[to] - sums[from];
  }

 private:
  std::size_t room_ = 0;            // for each column: the sum of no row, of the first, of the first two...
  std::vector<std::int64_t> sums_;  // perhaps more than is used
};

}  // namespace idleburn
