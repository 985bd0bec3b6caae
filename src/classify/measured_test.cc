// Mean, p95 and peak of every signal against a batch that sees all readings at once.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "classify/cell.h"
#include "classify/run_classifier.h"
#include "support/property.h"

namespace idleburn {
namespace {

constexpr std::int64_t kStart = 1'700'000'000 * kNanosPerSecond;

BoardFacts NoFacts(std::string_view /*gpu_name*/) { return {}; }

struct Naive {
  double mean = 0;
  double p95 = 0;
  std::int64_t peak = INT64_MIN;
  std::int64_t ns = 0;
};

// From the time and the sum of value x time of each second.
Naive Reduce(const std::map<std::int64_t, std::pair<std::int64_t, double>>& seconds) {
  Naive naive;
  double area = 0;
  std::vector<std::pair<double, std::int64_t>> means;
  for (const auto& [second, sum] : seconds) {
    naive.ns += sum.first;
    area += sum.second;
    means.emplace_back(sum.second / static_cast<double>(sum.first), sum.first);
  }
  naive.mean = area / static_cast<double>(naive.ns);
  std::sort(means.begin(), means.end());
  std::int64_t seen = 0;
  for (const auto& [mean, ns] : means) {
    seen += ns;
    naive.p95 = mean;
    if (static_cast<double>(seen) >= 0.95 * static_cast<double>(naive.ns)) break;
  }
  return naive;
}

// Read more than twice a second: a second is the mean of its readings. Else a reading lasts until the next.
Naive NaiveOf(const std::vector<Sample>& rows, Signal signal, bool fast) {
  std::map<std::int64_t, std::pair<std::int64_t, double>> seconds;
  std::int64_t peak = INT64_MIN;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t value = rows[i].Get(signal);
    peak = std::max(peak, value);
    const std::int64_t from = rows[i].time.nanos();
    if (fast) {
      auto& [count, sum] = seconds[from / kNanosPerSecond];
      ++count;
      sum += static_cast<double>(value);
      continue;
    }
    const std::int64_t to = i + 1 < rows.size() ? rows[i + 1].time.nanos() : from;
    for (std::int64_t at = from; at < to;) {
      const std::int64_t end = std::min(to, (at / kNanosPerSecond + 1) * kNanosPerSecond);
      auto& [ns, area] = seconds[at / kNanosPerSecond];
      ns += end - at;
      area += static_cast<double>(value) * static_cast<double>(end - at);
      at = end;
    }
  }
  if (fast) {
    for (auto& [second, sum] : seconds) sum = {kNanosPerSecond, sum.second / static_cast<double>(sum.first) * 1e9};
  }
  Naive naive = Reduce(seconds);
  naive.peak = peak;
  return naive;
}

DeviceTotals TotalsOf(const std::vector<Sample>& rows) {
  DeviceTable devices;
  devices.Enter({"GPU-00000000-0000-0000-0000-000000000001", "", 0, "", "", {}});
  const Thresholds thresholds;
  DataQuality quality;
  RunClassifier classifier(thresholds, devices, quality, NoFacts);
  classifier.OnSamples(rows);
  return classifier.Finish().devices.at(0).totals;
}

std::int64_t MostOf(Signal signal) {
  switch (Info(signal).unit) {
    case Unit::kMicroPercent:
      return kFull;
    case Unit::kByte:
      return std::int64_t{200} << 30;
    case Unit::kBytePerSecond:
      return 60'000'000'000;
    default:
      return 2'000'000;
  }
}

TEST(MeasuredTest, MeanP95AndPeakAreThoseOfABatch) {
  test::ExpectProperty([] {
    const bool fast = *rc::gen::arbitrary<bool>();
    const std::int64_t period = fast ? kNanosPerSecond / *rc::gen::inRange<std::int64_t>(3, 20)
                                     : *rc::gen::inRange<std::int64_t>(2, 40) * 500'000'001;
    const int count = *rc::gen::inRange(130, 400);
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    std::vector<Sample> rows;
    for (int i = 0; i < count; ++i) {
      Sample& s = rows.emplace_back();
      s.time = Instant::FromNanos(kStart + i * period);
      for (const Signal signal : kMeasured) {
        s.Set(signal, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(MostOf(signal) + 1)));
      }
    }
    const DeviceTotals totals = TotalsOf(rows);
    for (const Signal signal : kMeasured) {
      const Naive naive = NaiveOf(rows, signal, fast);
      const Integral& mean = totals.*kMeasuredMean[Slot(signal)];
      RC_ASSERT(mean.ns == naive.ns);
      RC_ASSERT(std::abs(mean.Mean().value() - naive.mean) <= 1e-6 * naive.mean + 2);
      RC_ASSERT(totals.Peak(signal).value() == naive.peak);
      const std::int64_t step = SpreadStep(Info(signal).unit);
      const auto p95 = static_cast<double>(totals.RangeOf(signal).seconds.Percentile(95).value() * step);
      RC_ASSERT(totals.RangeOf(signal).seconds.TotalNs() == naive.ns);
      RC_ASSERT(p95 <= naive.p95 + 1);
      RC_ASSERT(naive.p95 - p95 <= std::max(static_cast<double>(step) + 1, naive.p95 / 128 + 1));
    }
  });
}

// Steps of an exact mean, by a division of 128 bits.
std::int64_t StepsOf(const Integral& mean, Signal signal) {
  const Int128 step = SpreadStep(Info(signal).unit);
  return mean.area <= 0 ? 0 : static_cast<std::int64_t>(mean.area / (step * mean.ns));
}

// Any cell: of a whole second or a part, once or several times, at whole steps, beside them, or beyond 64 bits.
Cell AnyCell() {
  using Numbers = std::vector<std::int64_t>;
  Cell cell;
  cell.count = *rc::gen::elementOf(Numbers{1, 1, 1, 2, 3'000});
  cell.covered_ns = *rc::gen::elementOf(Numbers{kNanosPerSecond, kNanosPerSecond, 1, 999'999'999, 345'678'912});
  cell.area = *rc::gen::inRange<std::int64_t>(1, kFull + 1) * cell.covered_ns;  // at 0 the cell could be suspect
  for (std::size_t slot = 0; slot < kAveragedCount; ++slot) {
    if (*rc::gen::inRange(0, 4) == 0) continue;
    const std::int64_t step = SpreadStep(Info(kMeasured[slot]).unit);
    Integral& side = cell.side[slot];
    side.ns = *rc::gen::elementOf(Numbers{kNanosPerSecond, cell.covered_ns});
    const auto steps = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << *rc::gen::inRange(1, 40));
    const auto beside = *rc::gen::inRange<std::int64_t>(-2, 2) * *rc::gen::elementOf(Numbers{1, side.ns});
    side.area = static_cast<Int128>(steps) * step * side.ns + beside;
    cell.sides |= std::uint32_t{1} << slot;
  }
  return cell;
}

TEST(MeasuredTest, SpreadsCountWholeStepsOfExactMeans) {
  test::ExpectProperty([] {
    const Thresholds thresholds;
    CellAccumulator cells(thresholds, false);
    DeviceTotals totals;
    std::array<Integral, kMeasured.size()> mean{};
    std::array<ValueSpread, kMeasured.size()> seconds;
    for (int i = 0; i < 20; ++i) {
      Cell cell = AnyCell();
      cell.second = 1'700'000'000 + i * 5'000;
      Integral& power = cell.side[Slot(Signal::kPower)];
      if (power.ns > 0) power.area %= static_cast<Int128>(1'000'000) * power.ns;  // each watt takes memory elsewhere
      cells.Add(cell, 0, totals);
      for (std::size_t slot = 0; slot < kMeasured.size(); ++slot) {
        const bool busy = slot == Slot(Signal::kUtilization);
        if (!busy && ((cell.sides >> slot) & 1) == 0) continue;
        const Integral one = busy ? Integral{cell.covered_ns, cell.area} : cell.side[slot];
        mean[slot].ns += one.ns * cell.count;
        mean[slot].area += one.area * cell.count;
        seconds[slot].Add(StepsOf(one, kMeasured[slot]), one.ns * cell.count);
      }
    }
    cells.Flush(totals);
    for (std::size_t slot = 0; slot < kMeasured.size(); ++slot) {
      const Integral& added = totals.*kMeasuredMean[slot];
      RC_ASSERT(added == mean[slot]);
      RC_ASSERT(totals.range[slot].seconds == seconds[slot]);
    }
  });
}

// 19 seconds at 10 GiB and one at 70: the second is the peak, and not in the p95.
TEST(MeasuredTest, OneSecondInTwentyIsBeyondTheP95) {
  std::vector<Sample> rows;
  for (int i = 0; i < 200; ++i) {
    Sample& s = rows.emplace_back();
    s.time = Instant::FromNanos(kStart + i * (kNanosPerSecond / 10));
    s.Set(Signal::kUtilization, 50 * kPercent);
    s.Set(Signal::kMemoryUsed, std::int64_t{i / 10 == 7 ? 70 : 10} << 30);
    s.Set(Signal::kMemoryTotal, std::int64_t{80} << 30);
  }
  const DeviceTotals totals = TotalsOf(rows);
  EXPECT_EQ(totals.Peak(Signal::kMemoryUsed), std::int64_t{70} << 30);
  EXPECT_DOUBLE_EQ(totals.PeakMemoryShare().value(), 0.875);
  EXPECT_EQ(totals.RangeOf(Signal::kMemoryUsed).seconds.Percentile(95).value() << 20, std::int64_t{10} << 30);
  EXPECT_DOUBLE_EQ(totals.memory_used.Mean().value(), 13.0 * (std::int64_t{1} << 30));
  EXPECT_EQ(totals.Peak(Signal::kTemperature), std::nullopt);
}

// A chart shows the highest second of a bucket, since that one decides whether a batch fits. A bucket without a reading
// has no value.
TEST(MeasuredTest, ABucketOfTheTimelineHasItsHighestSecondOfMemory) {
  std::vector<Sample> rows;
  constexpr std::int64_t kSeconds = 2 * static_cast<std::int64_t>(Timeline::kMaxBuckets);
  for (std::int64_t i = 0; i < kSeconds; ++i) {
    Sample& s = rows.emplace_back();
    s.time = Instant::FromNanos(kStart + i * kNanosPerSecond);
    s.Set(Signal::kUtilization, 50 * kPercent);
    if (i < kSeconds / 2) s.Set(Signal::kMemoryUsed, std::int64_t{i == 101 ? 70 : 10} << 30);
  }
  const Timeline timeline = TotalsOf(rows).timeline;
  ASSERT_EQ(timeline.bucket_seconds, 2);
  const auto at = [&](std::int64_t second) {
    const std::int64_t bucket = (kStart / kNanosPerSecond + second) / timeline.bucket_seconds - timeline.first;
    return timeline.buckets[static_cast<std::size_t>(bucket)].memory_mib;
  };
  EXPECT_EQ(at(98), 10 << 10);
  EXPECT_EQ(at(101), 70 << 10);
  EXPECT_EQ(at(104), 10 << 10);
  EXPECT_EQ(at(kSeconds - 100), std::nullopt);
}

}  // namespace
}  // namespace idleburn
