#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace idleburn {

// Running sums of columns over the rows of one device: the sum over any stretch of rows is a difference. Stretches are
// short and end at random, and a loop that ends at random costs more than its steps.
class RowSums {
 public:
  // Sums those rows of every column, and notes the highest value of each.
  void Set(std::span<const std::int64_t* const> columns, std::span<const std::uint32_t> rows) {
    room_ = rows.size() + 1;
    const std::size_t needed = (columns.size() + 1) / 2 * room_;
    if (sums_.size() < needed) sums_.resize(needed);
    highest_.resize((columns.size() + 1) / 2);
    for (std::size_t k = 0; k < columns.size(); k += 2) {
      highest_[k / 2] = SumPair(columns[k], columns[std::min(k + 1, columns.size() - 1)], rows, &sums_[k / 2 * room_]);
    }
  }
  // Of the k-th column over all rows; INT64_MIN of none.
  [[nodiscard]] std::int64_t Highest(std::size_t k) const { return highest_[k / 2][k % 2]; }
  // Of every column over rows [from, to), in their order. `into` has room for an even number of them.
  void SumsOf(std::size_t from, std::size_t to, std::int64_t* into) const {
    const Pair* sums = sums_.data();
    for (std::size_t pair = 0; pair < highest_.size(); ++pair, sums += room_) {
      *into++ = sums[to][0] - sums[from][0];
      *into++ = sums[to][1] - sums[from][1];
    }
  }

 private:
  using Pair = std::array<std::int64_t, 2>;  // of two columns, which costs little more than of one

  // Returns the highest values.
  static Pair SumPair(const std::int64_t* first, const std::int64_t* second, std::span<const std::uint32_t> rows,
                      Pair* sums) {
    Pair sum{};
    Pair highest = {INT64_MIN, INT64_MIN};
    for (const std::uint32_t row : rows) {
      *sums++ = sum;
      sum[0] += first[row];
      sum[1] += second[row];
      highest[0] = std::max(highest[0], first[row]);
      highest[1] = std::max(highest[1], second[row]);
    }
    *sums = sum;
    return highest;
  }

  std::size_t room_ = 0;    // for each pair: the sums of no row, of the first, of the first two...
  std::vector<Pair> sums_;  // perhaps more than are used
  std::vector<Pair> highest_;
};

}  // namespace idleburn
