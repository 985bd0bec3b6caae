#include "telemetry/period.h"

#include <algorithm>
#include <numeric>

#include "base/int128.h"

namespace idleburn {
namespace {

// Of an even number of values the mean of the two in the middle. Sorts them.
std::int64_t Median(std::vector<std::int64_t>& values) {
  std::sort(values.begin(), values.end());
  const std::int64_t lower = values[(values.size() - 1) / 2];
  return lower + (values[values.size() / 2] - lower) / 2;
}

// Whether four fifths of the values lie within `percent` of `middle`, up or down.
bool AreAbout(const std::vector<std::int64_t>& values, std::int64_t middle, int percent) {
  const auto near = std::count_if(values.begin(), values.end(), [=](std::int64_t value) {
    return static_cast<Int128>(value) * 100 <= static_cast<Int128>(middle) * (100 + percent) &&
           static_cast<Int128>(middle) * 100 <= static_cast<Int128>(value) * (100 + percent);
  });
  return static_cast<std::size_t>(near) * 5 >= values.size() * 4;
}

}  // namespace

std::int64_t PeriodOf(const std::vector<std::int64_t>& intervals) {
  constexpr std::size_t kReaders = 4;
  constexpr std::size_t kRounds = 4;  // to call a pattern one
  constexpr int kLoose = 30;
  constexpr int kTight = 10;  // sums of whatever intervals become alike too, if more slowly
  std::vector<std::int64_t> values = intervals;
  const std::int64_t median = Median(values);
  if (AreAbout(values, median, kLoose)) return median;
  for (std::size_t readers = 2; readers <= kReaders && intervals.size() >= kRounds * readers; ++readers) {
    values.clear();
    for (auto from = intervals.begin(); intervals.end() - from >= static_cast<std::ptrdiff_t>(readers); ++from) {
      values.push_back(std::accumulate(from, from + static_cast<std::ptrdiff_t>(readers), std::int64_t{0}));
    }
    const std::int64_t round = Median(values);
    if (AreAbout(values, round, kTight)) return round;
  }
  return median;
}

}  // namespace idleburn
