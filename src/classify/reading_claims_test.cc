// What power and utilisation may say of a board: its idle power, a broken counter, busy time at little power, idle that
// lasts. Each against a batch that sees every second at once.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

#include "classify/run_classifier.h"
#include "support/property.h"

namespace idleburn {
namespace {

constexpr std::int64_t kSecond = kNanosPerSecond;
constexpr std::int64_t kStart = 1'772'445'600;

// What a board did in one second.
struct Second {
  std::int64_t percent = 0;
  std::int64_t watts = 0;
  bool held = true;
};
using Log = std::vector<Second>;

BoardFacts NoFacts(std::string_view /*name*/) { return {}; }

void Spend(Log& log, std::int64_t seconds, Second what) {
  log.insert(log.end(), static_cast<std::size_t>(seconds), what);
}

// Read `per_second` times a second: once and held, or as ticks.
DeviceResult Classify(const Log& log, const Thresholds& thresholds, std::int64_t limit_w, int per_second = 1) {
  DeviceTable devices;
  DeviceKey key;
  key.index = 0;
  const DeviceId gpu = devices.Enter(key);
  DataQuality quality;
  RunClassifier classifier(thresholds, devices, quality, NoFacts);
  const auto rows = static_cast<std::int64_t>(log.size()) * per_second + (per_second == 1 ? 1 : 0);
  for (std::int64_t i = 0; i < rows; ++i) {
    const Second& now = log[std::min(static_cast<std::size_t>(i / per_second), log.size() - 1)];
    Sample s;
    s.device = gpu;
    s.time = Instant::FromNanos(kStart * kSecond + i * kSecond / per_second);
    s.Set(Signal::kUtilization, now.percent * kPercent);
    s.Set(Signal::kPower, now.watts * 1000);
    s.Set(Signal::kMemoryUsed, (now.held ? std::int64_t{5000} : std::int64_t{10}) << 20);
    if (limit_w > 0) s.Set(Signal::kPowerLimit, limit_w * 1000);
    classifier.OnSamples({&s, 1});
  }
  RunResult run = classifier.Finish();
  EXPECT_EQ(quality.CountOf(QualityId::kInvalidUtilization), run.devices.at(0).totals.utilization_stuck ? 1 : 0);
  return std::move(run.devices.at(0));
}

// Marks runs of `least` seconds or more in which `holds`.
template <typename Holds>
std::vector<bool> LongRuns(std::size_t n, std::size_t least, Holds holds) {
  std::vector<bool> marked(n, false);
  for (std::size_t i = 0; i < n;) {
    std::size_t end = i;
    while (end < n && holds(end)) ++end;
    if (end - i >= least)
      std::fill(marked.begin() + static_cast<long>(i), marked.begin() + static_cast<long>(end), true);
    i = std::max(end, i + 1);
  }
  return marked;
}

// The rules once more, over all seconds at once, for boards whose limit is `limit` watts and more than 100.
struct Batch {
  std::int64_t broken = 0;
  std::vector<ZeroRun> zeros;
  std::optional<std::int64_t> idle_mw;
  std::int64_t spin = 0;
  std::int64_t dim = 0;
};
Batch InOneGo(const Log& log, std::int64_t limit, std::int64_t idle_after) {
  const std::size_t n = log.size();
  const auto at = [&](std::size_t i) -> const Second& { return log[i]; };
  const std::vector<bool> broken =
      LongRuns(n, 60, [&](std::size_t i) { return at(i).percent == 0 && at(i).watts * 100 > limit * 35; });
  Batch b;
  b.broken = std::count(broken.begin(), broken.end(), true);
  const auto zero = [&](std::size_t i) { return at(i).percent == 0 && !broken[i]; };
  std::vector<std::int64_t> held;
  std::vector<std::int64_t> empty;
  std::int64_t quiet = 0;  // seconds below 2 % up to this one
  for (std::size_t i = 0; i < n; ++i) {
    quiet = at(i).percent < 2 && !broken[i] ? quiet + 1 : 0;
    if (quiet > 30) (at(i).held ? held : empty).push_back(at(i).watts);
    if (zero(i) && (i == 0 || !zero(i - 1))) b.zeros.push_back({(kStart + static_cast<std::int64_t>(i)) * kSecond, 0});
    if (!zero(i)) continue;
    b.zeros.back().ns += kSecond;
  }
  std::erase_if(b.zeros, [&](const ZeroRun& run) { return run.ns < idle_after * kSecond; });
  std::vector<std::int64_t>& idle = held.empty() ? empty : held;
  std::sort(idle.begin(), idle.end());
  if (idle.size() >= 60) {
    const std::int64_t watts = idle[(idle.size() * 5 + 99) / 100 - 1];
    if (watts * 1000 + 500 <= limit * 300) b.idle_mw = watts * 1000 + 500;
  }
  const auto busy = [&](std::size_t i) { return at(i).percent >= 90; };
  const auto waits =
      [&](std::size_t i) {  // (P - idle) / (limit - idle) < 0.15, to the watt that idle power is known to
        return b.idle_mw && at(i).watts * 1000 < (*b.idle_mw * 85 + limit * 1000 * 15 + 99) / 100 / 1000 * 1000;
      };
  const std::vector<bool> spin = LongRuns(n, 5, [&](std::size_t i) { return busy(i) && waits(i); });
  b.spin = std::count(spin.begin(), spin.end(), true);
  const std::vector<bool> dim =
      LongRuns(n, 60, [&](std::size_t i) { return busy(i) && at(i).watts * 100 <= limit * 35; });
  for (std::size_t i = 0; i < n; ++i) b.dim += dim[i] && !waits(i) ? 1 : 0;
  return b;
}

TEST(ReadingClaimsTest, EverySecondAtOnceSaysTheSame) {
  Thresholds thresholds;
  thresholds.idle_after = Nanos(120 * kSecond);
  test::ExpectProperty([&] {
    Log log;
    const int spells = *rc::gen::inRange(1, 12);
    const auto limit = *rc::gen::element<std::int64_t>(300, 400, 700);
    for (int i = 0; i < spells; ++i) {
      const auto seconds = *rc::gen::element<std::int64_t>(1, 4, 5, 29, 31, 59, 60, 61, 90, 95, 119, 120, 200);
      const auto share = *rc::gen::element<std::int64_t>(8, 12, 20, 30, 31, 35, 36, 40, 70, 95);
      Spend(log, seconds,
            {*rc::gen::element<std::int64_t>(0, 0, 0, 1, 2, 60, 90, 100, 100),
             limit * share / 100 + *rc::gen::inRange(0, 2), *rc::gen::inRange(0, 3) > 0});
    }
    const Batch want = InOneGo(log, limit, 120);
    for (const int per_second : {1, 4}) {
      const DeviceResult got = Classify(log, thresholds, limit, per_second);
      const auto invalid = got.totals.unobserved_ns[static_cast<std::size_t>(Unobserved::kInvalidCounter)];
      RC_ASSERT(invalid == want.broken * kSecond);
      RC_ASSERT(got.totals.UnobservedNs() == invalid);
      RC_ASSERT(got.totals.ObservedNs() + invalid == static_cast<std::int64_t>(log.size()) * kSecond);
      RC_ASSERT(got.totals.zero_runs == want.zeros);
      RC_ASSERT(got.spin.idle_mw == want.idle_mw);
      RC_ASSERT(got.spin.time.ns == want.spin * kSecond);
      RC_ASSERT(got.spin.dim_ns == want.dim * kSecond);
    }
  });
}

// A stall at 70 % of the power of the work was taken for an idle board, and all work for spin-wait.
TEST(ReadingClaimsTest, AStallBetweenWorkIsNoIdlePower) {
  Log log;
  for (int i = 0; i < 40; ++i) {
    Spend(log, 40, {100, 400});
    Spend(log, 20, {0, 280});
  }
  const DeviceResult stalled = Classify(log, {}, 700);
  EXPECT_EQ(stalled.spin.lacks, SpinVerdict::Lacks::kLongIdle);
  EXPECT_FALSE(stalled.spin.idle_mw);
  EXPECT_EQ(stalled.spin.time.ns, 0);
  EXPECT_EQ(stalled.totals.unobserved_ns[static_cast<std::size_t>(Unobserved::kInvalidCounter)], 0)
      << "20 s are too short to call a counter broken";
}

TEST(ReadingClaimsTest, IdlePowerIsBoundedByTheLimit) {
  for (const auto& [watts, known] : std::vector<std::pair<std::int64_t, bool>>{{84, true}, {209, true}, {211, false}}) {
    Log log;
    Spend(log, 300, {0, watts});
    Spend(log, 300, {100, 600});
    const DeviceResult d = Classify(log, {}, 700);
    EXPECT_EQ(d.spin.idle_mw.has_value(), known) << watts;
    EXPECT_EQ(d.spin.lacks, known ? SpinVerdict::Lacks::kNothing : SpinVerdict::Lacks::kIdlePower) << watts;
    EXPECT_EQ(d.spin.refused_mw.has_value(), !known) << watts;
  }
  Log hot;  // at 40 % of the limit no board idles: the counter is broken, and nothing is known of idle power
  Spend(hot, 300, {0, 280});
  Spend(hot, 300, {100, 600});
  const DeviceResult d = Classify(hot, {}, 700);
  EXPECT_EQ(d.totals.unobserved_ns[static_cast<std::size_t>(Unobserved::kInvalidCounter)], 300 * kSecond);
  EXPECT_TRUE(d.totals.utilization_stuck);
  EXPECT_EQ(d.totals.phase_ns[0], 0);
}

TEST(ReadingClaimsTest, ManyShortIdlesTellNoIdlePower) {
  Log log;
  for (int i = 0; i < 100; ++i) {
    Spend(log, 30, {0, 80});
    Spend(log, 30, {100, 600});
  }
  EXPECT_EQ(Classify(log, {}, 700).spin.lacks, SpinVerdict::Lacks::kLongIdle);
  Spend(log, 89, {0, 80});
  EXPECT_FALSE(Classify(log, {}, 700).spin.idle_mw) << "59 s lie deep enough";
  Spend(log, 1, {0, 80});
  EXPECT_EQ(Classify(log, {}, 700).spin.idle_mw, 80'500);
}

TEST(ReadingClaimsTest, WithoutALimitPowerDecidesNothing) {
  Log log;
  Spend(log, 300, {0, 80});
  Spend(log, 300, {100, 100});
  const DeviceResult d = Classify(log, {}, 0);
  EXPECT_EQ(d.spin.lacks, SpinVerdict::Lacks::kLimit);
  EXPECT_EQ(d.spin.time.ns, 0);
  EXPECT_EQ(d.spin.dim_ns, 0);
  EXPECT_EQ(d.spin.ToldNs(d.totals), 0);
}

// Whatever a board idles at, up to 30 % of its limit: from 40.5 % on it is not waiting.
TEST(ReadingClaimsTest, HighPowerIsWorkAlsoWithoutIdlePower) {
  for (const auto& [watts, told] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{690, 600}, {284, 600}, {283, 0}}) {
    Log log;
    Spend(log, 600, {100, watts});
    const DeviceResult d = Classify(log, {}, 700);
    EXPECT_EQ(d.spin.ToldNs(d.totals), told * kSecond) << watts;
  }
}

// A T4 with a process idles at 26.78 W of 70 in P0 (data/telemetry/nvidia_smi/tesla-t4.xml): no broken counter.
TEST(ReadingClaimsTest, ASmallBoardIdlesAtALargerPartOfItsLimit) {
  Log log;
  Spend(log, 1200, {0, 27});
  const DeviceResult t4 = Classify(log, {}, 70);
  EXPECT_EQ(t4.totals.phase_ns[0], 1200 * kSecond);
  EXPECT_EQ(t4.spin.lacks, SpinVerdict::Lacks::kIdlePower);
  Log broken;
  Spend(broken, 1200, {0, 60});
  EXPECT_EQ(Classify(broken, {}, 70).totals.phase_ns[0], 0);
}

TEST(ReadingClaimsTest, GivenIdlePowerDecidesBeforeTheLimit) {
  Thresholds given;
  given.idle_power = 60'000;
  Log log;
  Spend(log, 100, {0, 121});
  EXPECT_EQ(Classify(log, given, 700).totals.phase_ns[0], 0) << "more than twice what it draws idle";
  EXPECT_EQ(Classify(log, {}, 700).totals.phase_ns[0], 100 * kSecond);
  given.idle_power = 260'000;
  Log warm;
  Spend(warm, 100, {0, 270});
  EXPECT_EQ(Classify(warm, given, 700).totals.phase_ns[0], 100 * kSecond)
      << "above 35 %, but within idle and its error";
}

TEST(ReadingClaimsTest, AFewPercentAreNotNobody) {
  for (const std::int64_t percent : {0, 1, 3, 9}) {
    Log log;
    Spend(log, 600, {percent, 90, false});
    const DeviceResult d = Classify(log, {}, 700);
    EXPECT_EQ(d.totals.idle_empty_ns, percent == 0 ? 600 * kSecond : 0) << percent;
    EXPECT_EQ(d.totals.idle_unknown_ns, percent == 0 ? 0 : 600 * kSecond) << percent;
    EXPECT_EQ(d.totals.zero_runs.size(), 0U) << "less than 15 minutes";
  }
}

}  // namespace
}  // namespace idleburn
