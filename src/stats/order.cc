#include "stats/order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace idleburn {

double SortedQuantile(std::span<const double> ascending, double p) {
  CHECK(!ascending.empty() && p >= 0 && p <= 1);
  const double position = p * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, ascending.size() - 1);
  const double part = position - static_cast<double>(below);
  return ascending[below] + part * (ascending[above] - ascending[below]);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return SortedQuantile(values, 0.5);
}

namespace {

// Smaller values are counted one by one, in 256 KiB.
constexpr std::int64_t kSmall = std::int64_t{1} << 16;

// The size class of a value that is not small: its leading bits, nine of them, and its magnitude. A class is 1/256 of
// its values wide at most.
std::size_t SizeOf(std::int64_t value) {
  if (value < 0) return 0;  // all of them: durations and byte counts have none
  constexpr int kBits = 8;
  const int shift = 63 - std::countl_zero(static_cast<std::uint64_t>(value)) - kBits;
  return (static_cast<std::size_t>(shift) << (kBits + 1)) + static_cast<std::size_t>(value >> shift);
}

bool IsSmall(std::int64_t value) { return value >= 0 && value < kSmall; }

}  // namespace

void WalkedMedian::Count(std::int64_t value) {
  ++count_;
  if (IsSmall(value)) {
    if (small_.empty()) small_.resize(kSmall);
    ++small_[static_cast<std::size_t>(value)];
    return;
  }
  Size& size = large_[SizeOf(value)];
  size.least = size.count == 0 ? value : std::min(size.least, value);
  size.most = size.count == 0 ? value : std::max(size.most, value);
  ++size.count;
}

// Visits the counts in the order of the values. It keeps the classes that contain one of the two middle values.
bool WalkedMedian::Narrow() {
  std::int64_t passed = 0;
  bool found = false;
  const auto pass = [&](std::int64_t n) {
    const bool middle = passed + n > (count_ - 1) / 2 && passed <= count_ / 2;
    if (middle && !std::exchange(found, true)) before_ = passed;
    passed += n;
    return middle;
  };
  const auto pass_size = [&](std::size_t at, const Size& size) {
    if (!pass(size.count)) return;
    if (size.least == size.most) {
      middle_[size.least] += size.count;
      return;
    }
    first_size_ = collect_ ? first_size_ : at;
    last_size_ = at;
    collect_ = true;
  };
  const auto negative = large_.find(0);
  if (negative != large_.end()) pass_size(0, negative->second);
  for (std::size_t value = 0; value < small_.size(); ++value) {
    if (small_[value] > 0 && pass(small_[value])) middle_[static_cast<std::int64_t>(value)] += small_[value];
  }
  for (const auto& [at, size] : large_) {
    if (at > 0) pass_size(at, size);
  }
  std::vector<std::uint32_t>().swap(small_);
  large_.clear();
  return collect_;
}

// Small values were counted exactly in the first visit.
void WalkedMedian::Collect(std::int64_t value) {
  if (!collect_ || IsSmall(value)) return;
  const std::size_t size = SizeOf(value);
  if (size == first_size_ || size == last_size_) ++middle_[value];
}

double WalkedMedian::Value() const {
  CHECK(count_ > 0 && !middle_.empty());
  std::int64_t passed = before_;
  auto at = middle_.begin();
  while (passed + at->second <= (count_ - 1) / 2) passed += (at++)->second;
  const std::int64_t low = at->first;
  if (passed + at->second <= count_ / 2) ++at;
  return static_cast<double>(low) + 0.5 * (static_cast<double>(at->first) - static_cast<double>(low));
}

}  // namespace idleburn
