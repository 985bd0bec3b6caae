#include "telemetry/counter_choice.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "support/property.h"
#include "telemetry/time_sorter.h"

namespace idleburn {
namespace {

constexpr Signal kBusy = Signal::kUtilization;

class Collected final : public SampleSink {
 public:
  void OnSamples(std::span<const Sample> batch) override { samples.insert(samples.end(), batch.begin(), batch.end()); }
  std::vector<Sample> samples;
};

struct Read {
  std::size_t source;
  std::int64_t time;
  std::int64_t value;
};

// In the order of preference.
const std::vector<std::string> kNames = {"nvml.utilization.gpu", "nvidia_smi.utilization.gpu",
                                         "dcgm.DCGM_FI_DEV_GPU_UTIL", "nvidia_smi_exporter.utilization_gpu_ratio"};

// The same by the words of the rule, over all readings at once: the series, and how many were left aside.
std::map<std::int64_t, std::int64_t> Twin(const std::vector<Read>& reads, std::size_t* chosen, std::int64_t* aside) {
  std::map<std::size_t, std::set<std::int64_t>> times;
  std::map<std::size_t, std::int64_t> readings;
  for (const Read& r : reads) {
    times[r.source].insert(r.time);
    ++readings[r.source];
  }
  std::int64_t longest = 0;
  for (const auto& [source, at] : times) longest = std::max(longest, *at.rbegin() - *at.begin());
  *chosen = kNames.size();
  for (const auto& [source, at] : times) {  // from the best down
    if (10 * (*at.rbegin() - *at.begin()) >= 9 * longest && *chosen == kNames.size()) *chosen = source;
  }
  std::map<std::int64_t, std::int64_t> series;
  *aside = 0;
  for (const Read& r : reads) {
    if (r.source != *chosen) {
      ++*aside;
      continue;
    }
    const auto [at, fresh] = series.emplace(r.time, r.value);
    if (!fresh) at->second = std::max(at->second, r.value);
  }
  return series;
}

// Readings of several counters, interleaved at will: one counter's series comes out, whole, and every other is counted.
TEST(CounterChoiceTest, OneCounterIsDeliveredAndTheOthersCounted) {
  test::ExpectProperty([] {
    std::vector<Read> reads;
    const int n = *rc::gen::inRange(1, 60);
    for (int i = 0; i < n; ++i) {
      reads.push_back({*rc::gen::inRange<std::size_t>(0, kNames.size()), *rc::gen::inRange<std::int64_t>(0, 100),
                       *rc::gen::inRange<std::int64_t>(0, 9)});
    }
    DeviceTable devices;
    DeviceKey key;
    key.index = 0;
    const DeviceId gpu = devices.Enter(key);
    DataQuality quality;
    TimeSorter sorter(devices, quality, *rc::gen::element<std::size_t>(1, 500, 1 << 20));
    for (const Read& r : reads) {
      devices.NameCounter(gpu, kBusy, kNames[r.source]);
      Sample s;
      s.time = Instant::FromNanos(r.time);
      s.device = gpu;
      s.Set(kBusy, r.value);
      sorter.OnSamples(std::span(&s, 1));
    }
    Collected out;
    RC_ASSERT(sorter.Deliver(out).has_value());
    std::map<std::int64_t, std::int64_t> series;
    for (const Sample& s : out.samples) {
      if (s.Has(kBusy)) series[s.time.nanos()] = s.Get(kBusy);
    }
    std::size_t chosen = 0;
    std::int64_t aside = 0;
    RC_ASSERT(series == Twin(reads, &chosen, &aside));
    // What is left aside still says from when to when the run lasted.
    const auto earlier = [](const Read& a, const Read& b) { return a.time < b.time; };
    const auto [first, last] = std::minmax_element(reads.begin(), reads.end(), earlier);
    RC_ASSERT(out.samples.front().time.nanos() == first->time);
    RC_ASSERT(out.samples.back().time.nanos() == last->time);
    const auto delivered = std::count_if(reads.begin(), reads.end(), [&](const Read& r) {
      if (r.source == chosen) return true;
      const auto other = [&](const Read& o) { return o.source != r.source; };
      std::vector<Read> own;
      std::remove_copy_if(reads.begin(), reads.end(), std::back_inserter(own), other);
      const auto [begin, end] = std::minmax_element(own.begin(), own.end(), earlier);
      return r.time == begin->time || r.time == end->time;
    });
    RC_ASSERT(out.samples.size() <= static_cast<std::size_t>(delivered));
    RC_ASSERT(quality.CountOf(QualityId::kMixedCounters) == aside);
    RC_ASSERT(devices[gpu].counter[Index(kBusy)] == kNames[chosen]);
  });
}

TEST(CounterChoiceTest, APreferredCounterThatWasReadForAMomentDoesNotReplaceTheRun) {
  DeviceTable devices;
  const DeviceId gpu = devices.Enter({});
  DataQuality quality;
  CounterChoice choice;
  for (std::int64_t t = 0; t <= 100; ++t) choice.Note(gpu, kBusy, "csv.util", t, true);
  choice.Note(gpu, kBusy, "nvml.utilization.gpu", 0, true);
  choice.Note(gpu, kBusy, "nvml.utilization.gpu", 89, true);
  choice.Note(gpu, kBusy, "nvml.utilization.gpu", 200, false);  // said that it had no value
  choice.Settle(devices, quality);
  EXPECT_TRUE(choice.Keeps(gpu, kBusy, 0));
  EXPECT_FALSE(choice.Keeps(gpu, kBusy, 1));
  EXPECT_EQ(quality.Get(QualityId::kMixedCounters).names,
            (std::set<std::string>{"nvml.utilization.gpu (csv.util is used)"}));
  EXPECT_EQ(quality.CountOf(QualityId::kMixedCounters), 2);
}

TEST(CounterChoiceTest, ARenamedCounterIsTheSame) {
  DeviceTable devices;
  const DeviceId gpu = devices.Enter({});
  DataQuality quality;
  CounterChoice choice;
  EXPECT_EQ(choice.Note(gpu, Signal::kSmClock, "nvidia_smi.clocks.sm", 0, true), 0);
  EXPECT_EQ(choice.Note(gpu, Signal::kSmClock, "nvidia_smi.clocks.current.sm", 1, true), 0);
  choice.Settle(devices, quality);
  EXPECT_EQ(quality.CountOf(QualityId::kMixedCounters), 0);
}

TEST(CounterChoiceTest, TheLongestFittingRowDecides) {
  EXPECT_LT(CounterRank("nvml.power"), CounterRank("nvidia_smi.power.draw"));
  EXPECT_LT(CounterRank("dcgm.DCGM_FI_DEV_POWER_USAGE"), CounterRank("dcgm.DCGM_FI_DEV_POWER_USAGE_INSTANT"));
  EXPECT_LT(CounterRank("dcgm.DCGM_FI_PROF_SM_CYCLES_ELAPSED_TOTAL"), CounterRank("dcgm.DCGM_FI_PROF_SM_ACTIVE"));
  EXPECT_LT(CounterRank("csv.util"), CounterRank("something else"));
}

}  // namespace
}  // namespace idleburn
