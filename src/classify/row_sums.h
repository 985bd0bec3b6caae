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
  // One signal of all devices, and the highest value of it that the device at hand had before.
  struct Column {
    const std::int64_t* values = nullptr;
    std::int64_t peak = 0;
  };
  // Sums those rows of every column. Returns whether a value is beyond the peak before.
  bool Set(std::span<const Column> columns, std::span<const std::uint32_t> rows) {
    pairs_ = (columns.size() + 1) / 2;
    room_ = rows.size() + 1;
    if (sums_.size() < pairs_ * room_) sums_.resize(pairs_ * room_);
    bool beyond = false;
    for (std::size_t k = 0; k < columns.size(); k += 4) {
      const auto at = [&](std::size_t i) { return columns[std::min(k + i, columns.size() - 1)]; };
      Pair* const sums = &sums_[k / 2 * room_];
      const bool four = columns.size() - k > 2;
      beyond |= four ? SumFour(at(0), at(1), at(2), at(3), rows, sums) : SumPair(at(0), at(1), rows, sums);
    }
    return beyond;
  }
  // Of every column over rows [from, to), in their order. `into` has room for an even number of them.
  void SumsOf(std::size_t from, std::size_t to, std::int64_t* into) const {
    const Pair* sums = sums_.data();
    for (std::size_t pair = 0; pair < pairs_; ++pair, sums += room_) {
      *into++ = sums[to][0] - sums[from][0];
      *into++ = sums[to][1] - sums[from][1];
    }
  }

 private:
  // Of two columns: with two to a register one costs half.
  using Pair __attribute__((vector_size(2 * sizeof(std::int64_t)))) = std::int64_t;

  // Two columns while their rows are added up.
  struct Run {
    Run(const Column& first, const Column& second)
        : firsts(first.values), seconds(second.values), peak{first.peak, second.peak} {}
    void Add(std::uint32_t row, Pair* before) {
      const Pair value = {firsts[row], seconds[row]};
      *before = sum;
      sum += value;
      beyond |= value > peak;
    }
    [[nodiscard]] bool IsBeyond() const { return (beyond[0] | beyond[1]) != 0; }

    const std::int64_t* firsts;
    const std::int64_t* seconds;
    Pair peak;
    Pair sum = {0, 0};
    Pair beyond = {0, 0};
  };

  static bool SumPair(const Column& first, const Column& second, std::span<const std::uint32_t> rows, Pair* sums) {
    Run run(first, second);
    for (const std::uint32_t row : rows) run.Add(row, sums++);
    *sums = run.sum;
    return run.IsBeyond();
  }
  // Two pairs in one loop, which share its steps: these are a third of what a pair costs.
  bool SumFour(const Column& first, const Column& second, const Column& third, const Column& fourth,
               std::span<const std::uint32_t> rows, Pair* sums) const {
    Run one(first, second);
    Run other(third, fourth);
    Pair* others = sums + room_;
    for (const std::uint32_t row : rows) {
      one.Add(row, sums++);
      other.Add(row, others++);
    }
    *sums = one.sum;
    *others = other.sum;
    return one.IsBeyond() || other.IsBeyond();
  }

  std::size_t pairs_ = 0;
  std::size_t room_ = 0;    // for each pair: the sums of no row, of the first, of the first two...
  std::vector<Pair> sums_;  // perhaps more than are used
};

}  // namespace idleburn
