#include "telemetry/time_sorter.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "support/property.h"

namespace idleburn {
namespace {

class Collected final : public SampleSink {
 public:
  void OnSamples(std::span<const Sample> batch) override { samples.insert(samples.end(), batch.begin(), batch.end()); }
  std::vector<Sample> samples;
};

DeviceKey Key(int index) {
  DeviceKey key;
  key.index = index;
  return key;
}

Sample Make(std::int64_t time, DeviceId device) {
  Sample s;
  s.time = Instant::FromNanos(time);
  s.device = device;
  return s;
}

// Every reading of a sample as (time, device, signal) -> value; the reason, negative, where it has none.
using Readings = std::map<std::tuple<std::int64_t, DeviceId, std::size_t>, std::int64_t>;
Readings ReadingsOf(const std::vector<Sample>& samples) {
  Readings all;
  for (const Sample& s : samples) {
    for (std::size_t i = 0; i < kSignalCount; ++i) {
      const auto key = std::make_tuple(s.time.nanos(), s.device, i);
      if (s.Has(kSignals[i].id)) all[key] = s.Get(kSignals[i].id);
      if (s.Lacks(kSignals[i].id)) all[key] = -1;
    }
  }
  return all;
}

struct TwinCounts {
  std::int64_t repeats = 0;
  std::set<std::pair<std::int64_t, DeviceId>> differing;
};

// The same with a map: the largest of the valid values, else unavailable.
Readings Twin(const std::vector<Sample>& samples, TwinCounts* counts) {
  Readings all;
  for (const Sample& s : samples) {
    for (std::size_t i = 0; i < kSignalCount; ++i) {
      const Signal signal = kSignals[i].id;
      if (!s.Has(signal) && !s.Lacks(signal)) continue;
      const std::int64_t value = s.Has(signal) ? s.Get(signal) : -1;
      const auto [at, fresh] = all.emplace(std::make_tuple(s.time.nanos(), s.device, i), value);
      if (!fresh && at->second >= 0 && value >= 0) {
        ++counts->repeats;
        if (at->second != value) counts->differing.emplace(s.time.nanos(), s.device);
      }
      at->second = std::max(at->second, value);
    }
  }
  return all;
}

rc::Gen<Sample> AnySample() {
  return rc::gen::exec([] {
    Sample s = Make(*rc::gen::inRange(0, 40), *rc::gen::inRange<DeviceId>(0, 3));
    for (int n = *rc::gen::inRange(1, 5); n > 0; --n) {
      const Signal signal = kSignals[*rc::gen::inRange<std::size_t>(0, kSignalCount)].id;
      if (s.Has(signal) || s.Lacks(signal)) continue;
      if (*rc::gen::inRange(0, 4) == 0) {
        s.SetUnavailable(signal, Unobserved::kPermission);
      } else {
        s.Set(signal, *rc::gen::inRange(0, 5));
      }
    }
    return s;
  });
}

TEST(TimeSorterTest, AgreesWithAMapInAnyMemory) {
  test::ExpectProperty([] {
    DeviceTable devices;
    for (int i = 0; i < 3; ++i) devices.Enter(Key(i));
    const auto samples = *rc::gen::container<std::vector<Sample>>(AnySample());
    DataQuality quality;
    TimeSorter sorter(devices, quality, *rc::gen::element<std::size_t>(1, 64, 500, 1 << 20));
    sorter.OnSamples(samples);
    Collected out;
    RC_ASSERT(sorter.Deliver(out).has_value());
    TwinCounts want;
    RC_ASSERT(ReadingsOf(out.samples) == Twin(samples, &want));
    RC_ASSERT(quality.CountOf(QualityId::kSharedCopies) == want.repeats);
    RC_ASSERT(quality.CountOf(QualityId::kDifferingReadings) == std::ssize(want.differing));
    const auto strictly_ordered = [](const Sample& a, const Sample& b) {
      return std::make_tuple(a.time, a.device) >= std::make_tuple(b.time, b.device);
    };
    RC_ASSERT(std::adjacent_find(out.samples.begin(), out.samples.end(), strictly_ordered) == out.samples.end());
  });
}

TEST(TimeSorterTest, JoinsALongSeriesPerSignalFromDisk) {
  constexpr std::int64_t kTimes = 30'000;
  DeviceTable devices;
  const DeviceId gpu = devices.Enter(Key(0));
  DataQuality quality;
  TimeSorter sorter(devices, quality, 64 << 10);
  for (const Signal signal : {Signal::kPower, Signal::kUtilization, Signal::kSmClock}) {
    for (std::int64_t t = 0; t < kTimes; ++t) {
      Sample s = Make(t, gpu);
      s.Set(signal, t * 10 + static_cast<std::int64_t>(Index(signal)));
      sorter.OnSamples(std::span(&s, 1));
    }
  }
  Collected out;
  ASSERT_TRUE(sorter.Deliver(out));
  ASSERT_EQ(out.samples.size(), static_cast<std::size_t>(kTimes));
  for (std::int64_t t = 0; t < kTimes; ++t) {
    const Sample& s = out.samples[static_cast<std::size_t>(t)];
    ASSERT_EQ(s.time.nanos(), t);
    ASSERT_EQ(s.present, Bit(Signal::kPower) | Bit(Signal::kUtilization) | Bit(Signal::kSmClock));
    ASSERT_EQ(s.Get(Signal::kSmClock), t * 10 + static_cast<std::int64_t>(Index(Signal::kSmClock)));
  }
}

TEST(TimeSorterTest, AValidCopyOutweighsAMissingOneAndItsReason) {
  DeviceTable devices;
  const DeviceId gpu = devices.Enter(Key(0));
  DataQuality quality;
  TimeSorter sorter(devices, quality);
  Sample first = Make(1, gpu);
  first.SetUnavailable(Signal::kUtilization, Unobserved::kPermission);
  first.Set(Signal::kPower, 300);
  Sample second = Make(1, gpu);
  second.SetUnavailable(Signal::kPower, Unobserved::kSentinel);
  sorter.OnSamples(std::span(&second, 1));
  sorter.OnSamples(std::span(&first, 1));
  Collected out;
  ASSERT_TRUE(sorter.Deliver(out));
  ASSERT_EQ(out.samples.size(), 1U);
  EXPECT_EQ(out.samples[0].Get(Signal::kPower), 300);
  EXPECT_FALSE(out.samples[0].Lacks(Signal::kPower));
  EXPECT_TRUE(out.samples[0].Lacks(Signal::kUtilization));
  EXPECT_EQ(out.samples[0].reason, Unobserved::kPermission);
}

TEST(TimeSorterTest, WhatIsOldIsNoReading) {
  DeviceTable devices;
  const DeviceId gpu = devices.Enter(Key(0));
  DataQuality quality;
  TimeSorter sorter(devices, quality);
  Sample old = Make(1, gpu);
  old.SetUnavailable(Signal::kUtilization, Unobserved::kStale);
  Sample read = Make(1, gpu);
  read.Set(Signal::kUtilization, 300);
  read.Set(Signal::kPower, 300);
  for (const Sample& sample : {read, old, read}) sorter.OnSamples(std::span(&sample, 1));
  Collected out;
  ASSERT_TRUE(sorter.Deliver(out));
  ASSERT_EQ(out.samples.size(), 1U);
  EXPECT_FALSE(out.samples[0].Has(Signal::kUtilization));
  EXPECT_EQ(out.samples[0].reason, Unobserved::kStale);
  EXPECT_TRUE(out.samples[0].Has(Signal::kPower));
}

TEST(TimeSorterTest, BoardValuesOfInstancesCountOnce) {
  DeviceTable devices;
  DeviceKey key = Key(0);
  key.mig = MigInstance{"1", "3g.40gb", 3};
  const DeviceId first = devices.Enter(key);
  key.mig = MigInstance{"2", "4g.40gb", 4};
  const DeviceId second = devices.Enter(key);
  DataQuality quality;
  TimeSorter sorter(devices, quality);
  for (const DeviceId id : {first, second}) {
    Sample s = Make(5, id);
    s.Set(Signal::kPower, 400'000);
    s.Set(Signal::kGrEngineActive, 50 * kPercent);
    sorter.OnSamples(std::span(&s, 1));
  }
  Collected out;
  ASSERT_TRUE(sorter.Deliver(out));
  ASSERT_EQ(out.samples.size(), 3U);
  const auto board = std::find_if(out.samples.begin(), out.samples.end(),
                                  [&](const Sample& s) { return s.device == *devices[first].board; });
  ASSERT_NE(board, out.samples.end());
  EXPECT_EQ(board->Get(Signal::kPower), 400'000);
  EXPECT_FALSE(board->Has(Signal::kGrEngineActive));
  EXPECT_EQ(quality.CountOf(QualityId::kSharedCopies), 1);
}

// Rows of a log whose stamps are coarser than its readings: each is delivered, in any memory, so that their mean can be
// taken. Of a scrape, which repeats a reading for each owner, the largest is.
TEST(TimeSorterTest, EachRowOfALogIsAReadingAndOfAScrapeOne) {
  for (const auto& [counter, rows] : std::vector<std::pair<std::string, std::size_t>>{
           {"nvidia_smi.utilization.gpu", 300}, {"csv.util", 300}, {"dcgm.DCGM_FI_DEV_GPU_UTIL", 100}}) {
    DeviceTable devices;
    const DeviceId id = devices.Enter(Key(0));
    devices.NameCounter(id, Signal::kUtilization, counter);
    DataQuality quality;
    TimeSorter sorter(devices, quality, 24 * 100);
    for (int t = 0; t < 300; ++t) {
      Sample s = Make(t % 100, id);
      s.Set(Signal::kUtilization, t / 100 * kPercent);
      sorter.OnSamples(std::span(&s, 1));
    }
    Collected out;
    ASSERT_TRUE(sorter.Deliver(out));
    EXPECT_EQ(out.samples.size(), rows) << counter;
    std::int64_t sum = 0;
    for (const Sample& s : out.samples) sum += s.Get(Signal::kUtilization) / kPercent;
    EXPECT_EQ(sum, rows == 300 ? 300 : 200) << counter;
    EXPECT_EQ(quality.CountOf(QualityId::kDifferingReadings), rows == 300 ? 0 : 100) << counter;
  }
}

// What a sorter that must spill says, in a child that `prepare` changes.
std::string ErrorInChild(void (*prepare)()) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    prepare();
    DeviceTable devices;
    devices.Enter(Key(0));
    DataQuality quality;
    TimeSorter sorter(devices, quality, 24 * 100);
    for (int t = 0; t < 10'000; ++t) {
      Sample s = Make(t, 0);
      s.Set(Signal::kPower, t);
      sorter.OnSamples(std::span(&s, 1));
    }
    Collected out;
    const Result<void> delivered = sorter.Deliver(out);
    const std::string message = delivered ? "delivered" : delivered.error().message;
    _exit(write(ends[1], message.data(), message.size()) < 0 ? 1 : 0);
  }
  close(ends[1]);
  std::string message(1000, '\0');
  const ssize_t n = read(ends[0], message.data(), message.size());
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  message.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return message;
}

TEST(TimeSorterTest, SaysThatTheDiskIsFull) {
  EXPECT_EQ(ErrorInChild([] {}), "delivered");
  const std::string full = "the temporary folder is full or not writable; set TMPDIR to one with more space";
  EXPECT_EQ(ErrorInChild([] {
              std::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit = {50'000, 50'000};
              setrlimit(RLIMIT_FSIZE, &limit);
            }),
            full);
  EXPECT_EQ(ErrorInChild([] { setenv("TMPDIR", "/proc/nonexistent", 1); }), full);
}

}  // namespace
}  // namespace idleburn
