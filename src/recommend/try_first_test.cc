#include "recommend/try_first.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "price/cost_report.h"
#include "recommend/lever_table.h"
#include "support/advice_on.h"
#include "support/property.h"

namespace idleburn {
namespace {

constexpr std::int64_t kSecond = kNanosPerSecond;
constexpr double kEpsilon = 1e-9;

// What a GPU does for a while.
struct Spell {
  std::int64_t seconds = 0;
  std::int64_t utilization = 0;  // percent
  std::int64_t watts = -1;       // -1: not read
};

struct Gpu {
  std::vector<Spell> spells;
  std::string name = "NVIDIA H100 80GB HBM3";
  std::int64_t memory = -1;  // percent of its memory at the peak; -1: not read
  bool spins = false;        // all time at 90 % or more
};

std::size_t BandOf(std::int64_t percent) { return percent < 10 ? 0 : percent < 70 ? 1 : percent < 90 ? 2 : 3; }

// A run second by second, as the classifier would leave it; and what a few lines of arithmetic say of it.
struct Bench {
  explicit Bench(const std::vector<Gpu>& gpus) {
    for (const Gpu& gpu : gpus) Add(gpu);
    run.start = Instant::FromNanos(1'000'000 * kSecond);
    Rate rate;
    rate.kind = RateKind::kGiven;
    rate.per_gpu_hour = Money::Parse("8").value();
    cost = PriceRun(run, devices, OwnerLedger(), RateCard(rate), WorkDone(), EnergyPrice(), 720).value();
    advice = testing::AdviceOn({run, devices, cost});
  }

  void Add(const Gpu& gpu) {
    DeviceKey key;
    key.index = static_cast<int>(run.devices.size());
    key.host = "node";
    key.name = gpu.name;
    DeviceResult d;
    d.device = devices.Enter(key);
    devices.NameCounter(d.device, Signal::kUtilization, "nvidia_smi.utilization.gpu");
    d.counter = Signal::kUtilization;
    if (gpu.memory >= 0) {
      d.totals.memory_total = 1'000'000'000;
      d.totals.range[Slot(Signal::kMemoryUsed)].peak = 10'000'000 * gpu.memory;
      devices.NameCounter(d.device, Signal::kMemoryUsed, "nvidia_smi.memory.used");
    }
    std::int64_t second = 1'000'000;
    for (const Spell& s : gpu.spells) {
      for (std::int64_t i = 0; i < s.seconds; ++i) AddSecond(s, second++, d.totals);
    }
    if (gpu.spins) {
      d.spin.evidence = SpinVerdict::Evidence::kActivity;
      for (const Timeline::Bucket& b : d.totals.timeline.buckets) {
        if (b.phase_ns[3] > 0) d.spin.time.Merge(b.utilization);
      }
    }
    observed += static_cast<double>(d.totals.ObservedNs());
    const double used = static_cast<double>(d.totals.utilization.area) / static_cast<double>(kFull);
    busy += used - static_cast<double>(d.spin.time.area) / static_cast<double>(kFull);
    waste += static_cast<double>(d.totals.ObservedNs()) - used;
    run.devices.push_back(std::move(d));
  }

  static void AddSecond(const Spell& s, std::int64_t second, DeviceTotals& t) {
    const std::size_t band = BandOf(s.utilization);
    Timeline::Bucket& bucket = t.timeline.At(second);
    t.phase_ns[band] += kSecond;
    bucket.phase_ns[band] += kSecond;
    t.utilization.Add(kSecond, s.utilization * kPercent);
    bucket.utilization.Add(kSecond, s.utilization * kPercent);
    if (band == 0) {
      t.idle_held_ns += kSecond;
      bucket.held_ns += kSecond;
    }
    if (s.watts < 0) return;
    t.power.Add(kSecond, s.watts * 1000);
    bucket.power.Add(kSecond, s.watts * 1000);
    if (band == 3) bucket.busy_power.Add(kSecond, s.watts * 1000);
  }

  [[nodiscard]] const TryFirst* Try(std::string_view id) const {
    const auto at =
        std::find_if(advice.try_first.begin(), advice.try_first.end(), [&](const TryFirst& t) { return t.id == id; });
    return at == advice.try_first.end() ? nullptr : &*at;
  }
  [[nodiscard]] std::set<std::string_view> Tries() const {
    std::set<std::string_view> ids;
    for (const TryFirst& t : advice.try_first) ids.insert(t.id);
    return ids;
  }

  RunResult run;
  DeviceTable devices;
  CostReport cost;
  Advice advice;
  double observed = 0;
  double waste = 0;
  double busy = 0;
};

std::vector<Spell> Repeated(const std::vector<Spell>& spells, int times) {
  std::vector<Spell> all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), spells.begin(), spells.end());
  return all;
}

// --- each range stays within what its lever can reach -------------------------------------------------------------

TEST(TryFirstTest, RangesStayWithinReachAndOutOfTheSavings) {
  test::ExpectProperty("try_first", [] {
    const auto spell = [] {
      const auto band = *rc::gen::inRange(0, 4);
      const std::int64_t percent = band == 0   ? *rc::gen::inRange(0, 10)
                                   : band == 1 ? *rc::gen::inRange(10, 70)
                                   : band == 2 ? *rc::gen::inRange(70, 90)
                                               : *rc::gen::inRange(90, 101);
      return Spell{*rc::gen::inRange(1, 200), percent, *rc::gen::inRange(-1, 700)};
    };
    std::vector<Gpu> gpus(static_cast<std::size_t>(*rc::gen::inRange(1, 4)));
    for (Gpu& gpu : gpus) {
      gpu.memory = *rc::gen::inRange(-1, 101);
      gpu.spins = *rc::gen::inRange(0, 5) == 0;
      gpu.name =
          *rc::gen::element<std::string>("NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "Tesla T4", "AMD X", "");
      std::vector<Spell> cycle;
      for (int i = *rc::gen::inRange(1, 5); i > 0; --i) cycle.push_back(spell());
      gpu.spells = Repeated(cycle, *rc::gen::inRange(1, 20));
    }
    const Bench bench(gpus);
    const double waste = bench.waste / bench.observed;
    const double busy = bench.busy / bench.observed;
    for (const TryFirst& t : bench.advice.try_first) {
      RC_ASSERT(t.saving.low == 0.0);
      RC_ASSERT(t.saving.expected >= t.saving.low);
      RC_ASSERT(t.saving.high >= t.saving.expected);
      RC_ASSERT(t.saving.high > 0.0);
      RC_ASSERT(t.reachable + kEpsilon >= t.saving.high);
      RC_ASSERT(t.reachable <= (t.reaches == "busy" ? busy : waste) + kEpsilon);
      RC_ASSERT(!t.how.empty() && !t.evidence.empty() && !t.against.empty() && !t.confirm.empty());
      RC_ASSERT(std::none_of(bench.advice.recommendations.begin(), bench.advice.recommendations.end(),
                             [&](const Recommendation& r) { return r.id == t.id; }));
    }
    RC_ASSERT(bench.Tries().size() == bench.advice.try_first.size());
    double sum = 0;
    for (const Recommendation& r : bench.advice.recommendations) sum += r.saving ? r.saving->expected : 0;
    RC_ASSERT(std::fabs(bench.advice.savings.naive_sum - sum) < kEpsilon);
    RC_ASSERT(bench.advice.savings.waste_fraction.value_or(0) <= waste + kEpsilon);
  });
}

// 10 s at 100 % and 10 s at 0 %, fifty times, then an hour in which nothing runs: loaders reach the pauses between the
// bursts, 490 s, and not the hour, which somebody could have used.
TEST(TryFirstTest, ALoaderReachesThePausesAndNotTheIdleHour) {
  std::vector<Spell> spells = Repeated({{10, 100}, {10, 0}}, 50);
  spells.push_back({3600, 0});
  const Bench bench({{spells}});
  const TryFirst* prefetch = bench.Try("prefetch");
  ASSERT_NE(prefetch, nullptr);
  EXPECT_EQ(prefetch->pattern, "bursts");
  EXPECT_EQ(prefetch->reaches, "pauses");
  EXPECT_NEAR(prefetch->saving.high, 490.0 / 4600, 0.011 * 490 / 4600);
  EXPECT_NE(bench.Try("mps"), nullptr);
}

// All of 1,000 s at 100 %: half of the work at most is saved by work that is twice as fast.
TEST(TryFirstTest, CheaperWorkSavesAtMostWhatItsSpeedUpLeavesOver) {
  const Bench bench({{{{1000, 100, 600}}}});
  for (const char* id : {"mixed_precision", "fused_kernels"}) {
    ASSERT_NE(bench.Try(id), nullptr) << id;
    EXPECT_NEAR(bench.Try(id)->saving.high, 0.5, 1e-9) << id;
    EXPECT_NEAR(bench.Try(id)->saving.expected, 0.5 * 0.8 * 0.5, 1e-9) << id;
    EXPECT_NEAR(bench.Try(id)->reachable, 1, 1e-9) << id;
  }
  EXPECT_NEAR(bench.Try("fp8")->saving.high, 1 - 989.0 / 1979, 1e-9);
  EXPECT_EQ(FormatMoney(bench.Try("mixed_precision")->most.value(), 2), "1.11");  // half of 1,000 s at $8 an hour
}

// --- what is not offered --------------------------------------------------------------------------------------------

TEST(TryFirstTest, LowerPrecisionNeedsASignOfWork) {
  const std::set<std::string_view> cheaper = {"mixed_precision", "fp8"};
  const auto offers = [&](const Gpu& gpu) {
    const Bench bench({gpu});
    const std::set<std::string_view> tries = bench.Tries();
    return std::any_of(cheaper.begin(), cheaper.end(), [&](std::string_view id) { return tries.contains(id); });
  };
  EXPECT_TRUE(offers({{{1000, 100, 600}}}));
  EXPECT_FALSE(offers({{{1000, 100, 140}}}));                                     // 20 % of the limit
  EXPECT_FALSE(offers({{{1000, 100}}}));                                          // nothing but utilization
  EXPECT_FALSE(offers({{{1000, 100, 600}}, "NVIDIA H100 80GB HBM3", -1, true}));  // spin-wait
  EXPECT_FALSE(offers({Repeated({{2, 100, 600}, {2, 0, 90}}, 200)}));             // it waits, in bursts
}

TEST(TryFirstTest, NothingSpinsFaster) {
  const Bench bench({{{{1000, 100, 600}}, "NVIDIA H100 80GB HBM3", 50, true}});
  for (const TryFirst& t : bench.advice.try_first) EXPECT_NE(t.reaches, "busy") << t.id;
}

TEST(TryFirstTest, ALargerBatchNeedsRoom) {
  const std::vector<Spell> steady = {{1000, 40}};
  EXPECT_NE(Bench({{steady, "NVIDIA H100 80GB HBM3", 30}}).Try("larger_batch"), nullptr);
  EXPECT_EQ(Bench({{steady, "NVIDIA H100 80GB HBM3", 86}}).Try("larger_batch"), nullptr);
  const Bench unread({{steady}});
  ASSERT_NE(unread.Try("larger_batch"), nullptr);
  EXPECT_NE(unread.Try("larger_batch")->against.front().find("was not read, so it may not fit"), std::string::npos);
}

TEST(TryFirstTest, SlicesNeedAGpuThatCanBeCutAndAJobThatFits) {
  const std::vector<Spell> steady = {{1000, 40}};
  EXPECT_NE(Bench({{steady, "NVIDIA A100-SXM4-80GB", 30}}).Try("mig"), nullptr);
  EXPECT_EQ(Bench({{steady, "NVIDIA L40S", 30}}).Try("mig"), nullptr);
  EXPECT_EQ(Bench({{steady, "NVIDIA A100-SXM4-80GB", 60}}).Try("mig"), nullptr);
  EXPECT_EQ(Bench({{steady, "", 30}}).Try("mig"), nullptr);
}

// A share of all GPUs' time: of two of which one is always busy and one works half its time.
TEST(TryFirstTest, OnlyTheGpusThatShowAPatternAreReached) {
  const Bench bench({{{{1000, 100, 600}}}, {Repeated({{5, 100, 600}, {5, 0, 90}}, 100)}});
  ASSERT_NE(bench.Try("num_workers"), nullptr);
  EXPECT_NEAR(bench.Try("num_workers")->saving.high, 495.0 / 2000, 1e-9);  // but for the pause at the end
  ASSERT_NE(bench.Try("mixed_precision"), nullptr);
  EXPECT_NEAR(bench.Try("mixed_precision")->saving.high, 0.25, 1e-9);
  EXPECT_EQ(bench.Try("overlap_communication"), nullptr);  // one GPU that waits exchanges nothing
}

TEST(TryFirstTest, SeveralGpusThatWaitMayExchangeSmallMessages) {
  Bench bench({{{{1000, 60}}}, {{{1000, 62}}}});
  ASSERT_NE(bench.Try("overlap_communication"), nullptr);
  EXPECT_NE(bench.Try("overlap_communication")->how.find("bucket_cap_mb"), std::string::npos);
  for (DeviceResult& d : bench.run.devices) d.totals.nvlink_readings.Add(100, 0);
  const Advice quiet = testing::AdviceOn({bench.run, bench.devices, bench.cost});
  for (const TryFirst& t : quiet.try_first) EXPECT_NE(t.id, "overlap_communication");
}

// 400 and 600 W by turns at 95 %: steps of uneven size. 500 W throughout: no sign of padding.
TEST(TryFirstTest, UnevenPowerAtFullUtilizationSuggestsPadding) {
  const Bench uneven({{Repeated({{1, 95, 400}, {1, 95, 600}}, 100)}});
  ASSERT_NE(uneven.Try("bucketing"), nullptr);
  ASSERT_NE(uneven.Try("packing"), nullptr);
  EXPECT_LE(uneven.Try("packing")->saving.high, 0.95);
  EXPECT_EQ(Bench({{{{200, 95, 500}}}}).Try("packing"), nullptr);
}

TEST(TryFirstTest, FullMemorySuggestsCheckpointingAndAccumulation) {
  const Bench bench({{{{1000, 80}}, "NVIDIA H100 80GB HBM3", 95}});
  for (const char* id : {"gradient_checkpointing", "gradient_accumulation"}) {
    ASSERT_NE(bench.Try(id), nullptr) << id;
    EXPECT_EQ(bench.Try(id)->pattern, "high_memory");
    EXPECT_NEAR(bench.Try(id)->saving.high, 0.2, 1e-9) << id;
  }
}

}  // namespace
}  // namespace idleburn
