#include "report/display.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <numeric>

#include "report/ribbon.h"
#include "support/audit_fixture.h"
#include "support/property.h"

namespace idleburn {
namespace {

Money M(std::string_view text) { return Money::Parse(text).value(); }

std::int64_t SumOf(const std::vector<Money>& parts) {
  std::int64_t sum = 0;
  for (const Money m : parts) sum += m.nano();
  return sum;
}

TEST(DisplayTest, SharesSumToOneHundredPercent) {
  UsageCost usage;
  EXPECT_FALSE(PhaseShares(usage));
  usage.observed_ns = 3;
  usage.phase_ns = {1, 1, 1, 0};
  const std::array<std::int64_t, kPhaseCount> thirds = {3334, 3333, 3333, 0};
  EXPECT_EQ(*PhaseShares(usage), thirds);
  test::ExpectProperty("whatever the phases", [] {
    UsageCost u;
    for (std::int64_t& ns : u.phase_ns) ns = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000'000);
    u.observed_ns = std::accumulate(u.phase_ns.begin(), u.phase_ns.end(), std::int64_t{0});
    RC_PRE(u.observed_ns > 0);
    const auto shares = *PhaseShares(u);
    RC_ASSERT(std::accumulate(shares.begin(), shares.end(), std::int64_t{0}) == 10'000);
    for (std::size_t p = 0; p < kPhaseCount; ++p) {
      const double exact = 1e4 * static_cast<double>(u.phase_ns[p]) / static_cast<double>(u.observed_ns);
      RC_ASSERT(std::abs(static_cast<double>(shares[p]) - exact) < 1.0);
    }
  });
}

TEST(DisplayTest, ColumnsSumToTheirTotalAndStayWithinAUnit) {
  test::ExpectProperty("for any amounts", [] {
    std::vector<Money> exact;
    for (int i = *rc::gen::inRange(1, 20); i > 0; --i) {
      exact.push_back(Money::Nano(*rc::gen::inRange<std::int64_t>(0, 50'000'000'000)));
    }
    const std::int64_t sum = SumOf(exact);
    const Money total = Money::Nano(static_cast<std::int64_t>(DivHalfEven(sum, kCent)) * kCent);
    const std::vector<Money> rounded = RoundedTo(total, exact, kCent);
    RC_ASSERT(SumOf(rounded) == total.nano());
    for (std::size_t i = 0; i < exact.size(); ++i) {
      RC_ASSERT(rounded[i].nano() % kCent == 0);
      RC_ASSERT(std::llabs(rounded[i].nano() - exact[i].nano()) < kCent);
    }
  });
  // A part of a larger table that was given a cent more than its own rounding.
  const std::vector<Money> parts = {M("1.004"), M("2.004")};
  EXPECT_EQ(SumOf(RoundedTo(M("3.02"), parts, kCent)), M("3.02").nano());
}

TEST(DisplayTest, CostsOfGpusAddUpToTheWhole) {
  const auto audit = EightGpus(M("2.49"));
  const auto whole = CostColumnOf(audit->report.cost);
  ASSERT_TRUE(whole);
  EXPECT_EQ(FormatMoney(whole->total, 2), "4.98");  // 8 x 0.25 h x $2.49
  std::int64_t total = 0;
  std::int64_t waste = 0;
  for (const auto& gpu : DeviceCostColumns(audit->report.cost)) {
    ASSERT_TRUE(gpu);
    std::int64_t row = gpu->unobserved.nano() + gpu->unallocated.nano();
    for (const Money m : gpu->phase) row += m.nano();
    EXPECT_EQ(row, gpu->total.nano());
    EXPECT_EQ(gpu->total.nano() % kCent, 0);
    total += gpu->total.nano();
    waste += gpu->waste.nano();
  }
  EXPECT_EQ(total, whole->total.nano());
  EXPECT_EQ(waste, whole->waste.nano());
}

// Devices at a price, of any cost and any waste within it.
CostReport AnyDevices() {
  CostReport cost;
  cost.rate.currency = *rc::gen::element<std::string>("USD", "JPY");
  const auto most = *rc::gen::element<std::int64_t>(kCent * 2, 300 * kCent, 50'000'000'000);
  std::int64_t total = 0;
  std::int64_t waste = 0;
  const auto devices = *rc::gen::inRange<DeviceId>(1, 12);
  for (DeviceId id = 0; id < devices; ++id) {
    UsageCost u;
    const auto paid = *rc::gen::inRange<std::int64_t>(0, most);
    const auto lost = *rc::gen::element(std::int64_t{0}, paid, *rc::gen::inRange<std::int64_t>(0, paid + 1));
    u.total = u.phase_cost[0] = Money::Nano(paid);
    u.waste = Money::Nano(lost);
    cost.Add({id, 1, u});
    total += paid;
    waste += lost;
  }
  cost.whole.total = cost.whole.phase_cost[0] = Money::Nano(total);
  cost.whole.waste = Money::Nano(waste);
  return cost;
}

TEST(DisplayTest, NoGpuWastesMoreThanItCosts) {
  test::ExpectProperty("for any amounts", [] {
    const CostReport cost = AnyDevices();
    const std::int64_t unit = MinorUnit(cost.rate.currency);
    const CostColumn whole = CostColumnOf(cost).value();
    const auto columns = DeviceCostColumns(cost);
    std::int64_t total = 0;
    std::int64_t waste = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const UsageCost& u = cost.devices[i].usage;
      RC_ASSERT(columns[i]->waste >= Money() && columns[i]->waste <= columns[i]->total);
      RC_ASSERT(std::llabs(columns[i]->total.nano() - u.total->nano()) <= unit);
      RC_ASSERT(std::llabs(columns[i]->waste.nano() - u.waste->nano()) <= unit);
      total += columns[i]->total.nano();
      waste += columns[i]->waste.nano();
    }
    RC_ASSERT(total == whole.total.nano());
    RC_ASSERT(waste == whole.waste.nano());
    RC_ASSERT(whole.waste <= whole.total);
  });
  // Three GPUs for an hour at $3.335 that are busy 60, 100 and 0 %: the cent that the waste of the last has too much
  // is the first's, and of 100, 0 and 0 % both idle ones waste all that they cost.
  const auto shown = [](std::array<int, 3> percent) {
    AuditFixture audit;
    for (const int p : percent) {
      AuditFixture::Gpu gpu;
      gpu.percent = [p](int) { return p; };
      audit.Add(gpu, 3600);
    }
    audit.Settle(M("3.335"));
    std::vector<std::string> cells;
    for (const auto& column : DeviceCostColumns(audit.report.cost)) {
      cells.push_back(FormatMoney(column->waste, 2) + " of " + FormatMoney(column->total, 2));
    }
    return cells;
  };
  EXPECT_EQ(shown({60, 100, 0}), (std::vector<std::string>{"1.34 of 3.34", "0.00 of 3.33", "3.33 of 3.33"}));
  EXPECT_EQ(shown({100, 0, 0}), (std::vector<std::string>{"0.00 of 3.33", "3.34 of 3.34", "3.33 of 3.33"}));
}

TEST(DisplayTest, PartsOfAPhaseSumToIt) {
  // $0.335 held and $0.335 empty: the column is exactly 0.67, and neither is rounded alone.
  CostReport cost;
  UsageCost& u = cost.whole;
  u.idle_held_cost = u.idle_empty_cost = M("0.335");
  u.idle_unknown_cost = Money();
  u.phase_cost = {M("0.67"), Money(), Money(), M("0.01")};
  u.spin_wait_cost = M("0.006");
  u.total = M("0.68");
  u.waste = M("0.67");
  const CostColumn column = CostColumnOf(cost).value();
  EXPECT_EQ(FormatMoney(column.idle_held, 2), "0.34");
  EXPECT_EQ(FormatMoney(column.idle_empty, 2), "0.33");
  EXPECT_EQ(column.idle_unknown, Money());
  EXPECT_EQ(FormatMoney(column.spin_wait, 2), "0.01");
}

TEST(DisplayTest, ARunWithoutDatesIsSaidByItsLength) {
  RunResult run;
  run.start = Instant::FromNanos(69'000 * kNanosPerSecond);  // times of day alone
  run.end = Instant::FromNanos(69'002 * kNanosPerSecond);
  EXPECT_EQ(WindowText(run), "no dates: 2 s");
  run.start = Instant::FromNanos(AuditFixture::kStart * kNanosPerSecond);
  run.end = run.start;
  EXPECT_EQ(WindowText(run), "2026-07-02T14:00:00Z to 2026-07-02T14:00:00Z");
}

TEST(DisplayTest, WithoutAPriceThereAreNoCosts) {
  const auto audit = EightGpus(std::nullopt);
  EXPECT_FALSE(CostColumnOf(audit->report.cost));
  for (const auto& gpu : DeviceCostColumns(audit->report.cost)) EXPECT_FALSE(gpu);
}

TEST(DisplayTest, StandardErrorOfTheMeanOfReadings) {
  const Thresholds thresholds;
  DeviceResult device;
  device.totals.ticks = {1, 0, 0, 0};
  EXPECT_FALSE(TicksOf(device, thresholds).StandardError());  // of one reading nothing is known

  // 10, 20 and 30 %: s = 10, and 10 / sqrt(3).
  device.totals.ticks = {0, 3, 0, 0};
  device.totals.tick_sum = 6000;
  device.totals.tick_squares = 1000 * 1000 + 2000 * 2000 + 3000 * 3000;
  EXPECT_NEAR(*TicksOf(device, thresholds).StandardError(), 5.773502692, 1e-9);

  // A year at six readings a second that differ by 0.01 % in turn.
  const std::int64_t n = 6 * 31'536'000;
  device.totals.ticks = {0, 0, 0, n};
  device.totals.tick_sum = n / 2 * (9999 + 10000);
  device.totals.tick_squares = Int128{n} / 2 * (9999 * 9999 + 10000 * 10000);
  EXPECT_NEAR(*TicksOf(device, thresholds).StandardError(), 0.005 / std::sqrt(n - 1.0), 1e-12);
}

// One GPU is read ten times a second and always idle, the other once in ten seconds and always busy.
TEST(DisplayTest, GpusCountAlikeInSharesOfReadingsHoweverOftenTheyAreRead) {
  AuditFixture audit;
  audit.Add({.uuid = "GPU-a", .percent = [](int) { return 0; }}, 100);
  audit.Add({.uuid = "GPU-b", .percent = [](int) { return 100; }}, 100);
  audit.report.run.devices[0].totals.ticks = {1000, 0, 0, 0};
  audit.report.run.devices[1].totals.ticks = {0, 0, 2, 8};
  audit.report.run.devices[1].totals.tick_sum = 2 * 8000 + 8 * 10'000;
  audit.report.run.devices[1].totals.tick_squares = Int128{2} * 8000 * 8000 + Int128{8} * 10'000 * 10'000;
  audit.Settle(std::nullopt);
  const TickView ticks = TicksOf(audit.report);
  EXPECT_EQ(ticks.total, 1010);
  EXPECT_NEAR(*ticks.Share(Phase::kIdle), 0.5, 1e-12);
  EXPECT_NEAR(*ticks.Share(Phase::kProductive), 0.1, 1e-12);
  EXPECT_NEAR(*ticks.Share(Phase::kComputeBound), 0.4, 1e-12);
  EXPECT_NEAR(*ticks.BurstIndex(), 4 * 0.5 * 0.4, 1e-12);
  // Of the mean of two means, 0 % without an error and 96 %: its variance over ten readings is 640 / 9 square points.
  EXPECT_NEAR(*ticks.StandardError(), std::sqrt(640.0 / 9 / 10) / 2, 1e-9);
}

// An exporter that is scraped three times for each collection has a third of the readings. Where no gauge ever changed
// nobody knows how many it has.
TEST(DisplayTest, ScrapesOfOneCollectionAreOneReading) {
  const Thresholds thresholds;
  DeviceResult device;
  device.totals.ticks = {0, 300, 0, 0};
  device.totals.tick_sum = 300 * 2000;
  device.totals.tick_squares = 100 * (1000 * 1000 + 2000 * 2000 + 3000 * 3000);
  const double of_each = *TicksOf(device, thresholds).StandardError();
  device.collection = {Collection::Known::kTold, 3};
  EXPECT_EQ(TicksOf(device, thresholds).independent, 100);
  EXPECT_NEAR(*TicksOf(device, thresholds).StandardError(), of_each * std::sqrt(3.0), 1e-9);
  device.collection = {Collection::Known::kConstant, 1};
  EXPECT_FALSE(TicksOf(device, thresholds).StandardError());
}

// Whatever the readings say of bursts, stamps that are coarser than them hide what happened within.
TEST(DisplayTest, CoarseStampsCannotTellBursts) {
  const Thresholds thresholds;
  DeviceResult device;
  device.totals.ticks = {50, 0, 0, 50};
  device.totals.phase_ns = {0, 100 * kNanosPerSecond, 0, 0};
  device.totals.samples = 100;
  device.period = device.tick_window = Nanos(kNanosPerSecond / 2);
  EXPECT_EQ(TicksOf(device, thresholds).pattern, "starved");
  device.totals.duplicates = 400;
  EXPECT_EQ(TicksOf(device, thresholds).pattern, "starved");  // a log that is there five times
  device.totals.differing = 90;
  EXPECT_EQ(TicksOf(device, thresholds).pattern, "cannot_tell");
  EXPECT_EQ(TicksOf(device, thresholds).rows, 500);
}

TEST(DisplayTest, TicksFarApartCannotTellBursts) {
  const Thresholds thresholds;
  DeviceResult device;
  EXPECT_EQ(TicksOf(device, thresholds).pattern, "cannot_tell");
  EXPECT_FALSE(TicksOf(device, thresholds).BurstIndex());

  device.totals.ticks = {30, 20, 20, 30};  // B = 4 x 0.3 x 0.3 = 0.36
  device.totals.phase_ns = {0, 100 * kNanosPerSecond, 0, 0};
  device.period = Nanos(kNanosPerSecond / 10);
  device.tick_window = Nanos(kNanosPerSecond / 2);
  EXPECT_NEAR(*TicksOf(device, thresholds).BurstIndex(), 0.36, 1e-12);
  EXPECT_EQ(TicksOf(device, thresholds).pattern, "starved");
  device.tick_window = Nanos(kNanosPerSecond / 2 + 1);
  EXPECT_EQ(TicksOf(device, thresholds).pattern, "cannot_tell");

  device.tick_window.reset();             // then the period stands for it
  device.totals.ticks = {27, 46, 0, 27};  // B = 0.2916
  EXPECT_EQ(TicksOf(device, thresholds).pattern, "steady");
  device.totals.burst.ns = 3 * kNanosPerSecond - 1;
  EXPECT_EQ(TicksOf(device, thresholds).pattern, "steady");
  device.totals.burst.ns = 3 * kNanosPerSecond;
  EXPECT_EQ(TicksOf(device, thresholds).pattern, "starved");

  device.fast = true;  // what is polled fast says nothing of how often it is refreshed
  EXPECT_EQ(TicksOf(device, thresholds).pattern, "starved");
  device.totals.burst.ns = 0;
  EXPECT_EQ(TicksOf(device, thresholds).pattern, "cannot_tell");
  EXPECT_FALSE(TicksOf(device, thresholds).window);
}

TEST(DisplayTest, SpinWaitIsUnknownWithoutEvidenceNotZero) {
  const auto audit = EightGpus(std::nullopt);
  AuditReport& report = audit->report;
  EXPECT_FALSE(SpinOf(report).ns);
  EXPECT_EQ(SpinOf(report).unknown_ns, report.cost.whole.phase_ns[3]);
  EXPECT_EQ(SpinOf(report, report.cost.devices[7]).ns, 0);  // never compute_bound: nothing to tell
  for (DeviceResult& d : report.run.devices) {
    d.spin.below_watts = 164;
    d.totals.bound_with_power_ns = d.totals.phase_ns[3];
  }
  EXPECT_EQ(SpinOf(report).ns, 0);
  EXPECT_EQ(SpinOf(report).unknown_ns, 0);
  // Power of a quarter of one GPU's busy seconds tells of that quarter alone, and that without a limit of nothing.
  DeviceResult& first = report.run.devices[0];
  first.totals.bound_with_power_ns = first.totals.phase_ns[3] / 4;
  EXPECT_EQ(SpinOf(report, report.cost.devices[0]).unknown_ns, first.totals.phase_ns[3] / 4 * 3);
  EXPECT_EQ(SpinOf(report, report.cost.devices[0]).ns, 0);
  first.spin.below_watts.reset();
  EXPECT_FALSE(SpinOf(report, report.cost.devices[0]).ns);
  first.totals.bound_with_activity_ns = first.totals.phase_ns[3];
  EXPECT_EQ(SpinOf(report, report.cost.devices[0]).unknown_ns, 0);
}

// A column of masks that was never read measures nothing, and what throttling cost takes the clock and its maximum.
TEST(DisplayTest, WhatWasNotReadOfClockEventsIsNotZero) {
  const auto audit = EightGpus(std::nullopt);
  AuditReport& report = audit->report;
  DeviceResult& d = report.run.devices[0];
  audit->devices.NameCounter(d.device, Signal::kEventReasons, "nvidia-smi.clocks_event_reasons.active");
  EXPECT_FALSE(ReasonsOf(report, d.device));
  EXPECT_FALSE(ReasonsOf(report));
  EXPECT_TRUE(KnowsClockLoss(report));
  d.totals.reasons_ns = d.totals.throttled_untold_ns = kNanosPerSecond;
  EXPECT_EQ(ReasonsOf(report), ReasonTimes{});
  EXPECT_FALSE(KnowsClockLoss(report, d.device));
  EXPECT_FALSE(KnowsClockLoss(report));
  d.totals.throttled_told_ns = kNanosPerSecond;
  EXPECT_TRUE(KnowsClockLoss(report));
}

TEST(DisplayTest, BoundsOfAnEffectiveHour) {
  UsageCost usage;  // $8 an hour: 10 h, of them 1 unobserved, 5.4 h effective
  usage.total = M("80");
  usage.window_ns = 10 * kNanosPerHour;
  usage.observed_ns = 9 * kNanosPerHour;
  usage.unobserved_ns = kNanosPerHour;
  usage.effective_ns = 5.4 * static_cast<double>(kNanosPerHour);
  CostReport cost;
  cost.rate.per_gpu_hour = M("8");
  cost.whole = usage;
  cost.Add({0, 1, usage});
  const EffectiveBounds bounds = EffectiveBoundsOf(cost);
  EXPECT_EQ(FormatExact(*bounds.low), "12.50");          // 80 / 6.4
  EXPECT_EQ(FormatExact(*bounds.high), "14.814814815");  // 80 / 5.4
  EXPECT_EQ(EffectiveBoundsOf(cost, cost.devices[0]).low, bounds.low);
  cost.whole.effective_ns = 0;
  EXPECT_FALSE(EffectiveBoundsOf(cost).high);
}

// 119 s at half load and $8: 8 / 0.5, not the rounded $0.264444444 over 59.5 s. Here with as much time again
// unobserved.
TEST(DisplayTest, AnEffectiveHourIsRoundedOnce) {
  UsageCost usage;
  usage.total = M("0.528888889");
  usage.window_ns = 238 * kNanosPerSecond;
  usage.observed_ns = usage.unobserved_ns = 119 * kNanosPerSecond;
  usage.effective_ns = 59.5 * static_cast<double>(kNanosPerSecond);
  CostReport cost;
  cost.rate.per_gpu_hour = M("8");
  cost.whole = usage;
  cost.Add({0, 1, usage});
  for (const EffectiveBounds& bounds : {EffectiveBoundsOf(cost), EffectiveBoundsOf(cost, cost.devices[0])}) {
    EXPECT_EQ(FormatExact(*bounds.high), "32.00");        // 8 x 238 / 59.5
    EXPECT_EQ(FormatExact(*bounds.low), "10.666666667");  // 8 x 238 / 178.5
  }
}

TEST(DisplayTest, GpusOfWhichOnlyAPartIsTheRunsAreCountedAsThat) {
  EXPECT_EQ(GpuCount(1, 0), "1 GPU");
  EXPECT_EQ(GpuCount(8, 0), "8 GPUs");
  EXPECT_EQ(GpuCount(1, 6.0 / 7), "0.143 of 1 GPU");
  EXPECT_EQ(GpuCount(2, 4.0 / 7), "1.43 of 2 GPUs");
}

TEST(DisplayTest, LabelsTellHostsAndInstancesApart) {
  AuditFixture audit;
  DeviceKey key;
  key.uuid = "GPU-11111111-1111-1111-1111-111111111111";
  key.host = "n1";
  key.index = 0;
  const DeviceId first = audit.devices.Enter(key);
  EXPECT_EQ(DeviceLabel(audit.report, first), "GPU 0");
  key.uuid = "GPU-22222222-1111-1111-1111-111111111111";
  key.host = "n2";
  key.index.reset();
  const DeviceId second = audit.devices.Enter(key);
  EXPECT_EQ(DeviceLabel(audit.report, first), "n1 GPU 0");
  EXPECT_EQ(DeviceLabel(audit.report, second), "n2 GPU-22222222");
}

// --- ribbon --------------------------------------------------------------------------------------------------

std::string Blocks(const DeviceResult& device, Instant from, Instant to, int columns) {
  std::string text;
  for (const RibbonColumn& c : RibbonOf(device, Thresholds(), from, to, columns)) text += Info(c.look).block;
  return text;
}

TEST(RibbonTest, ShowsWhatMostOfEachColumnWas) {
  AuditFixture audit;
  AuditFixture::Gpu gpu;
  gpu.percent = [](int s) -> std::optional<int> {
    return s < 4    ? std::optional(2)
           : s < 8  ? std::optional(50)
           : s < 12 ? std::optional(80)
           : s < 16 ? std::optional(99)
                    : std::nullopt;
  };
  audit.Add(gpu, 20);
  DeviceResult& device = audit.report.run.devices[0];
  EXPECT_EQ(Blocks(device, device.first, device.last, 5), "▒▃▅█·");
  EXPECT_EQ(Blocks(device, device.first, device.last, 10), "▒▒▃▃▅▅██··");
  // Before the device existed it was unobserved, not idle.
  EXPECT_EQ(Blocks(device, device.first + Nanos(-4 * kNanosPerSecond), device.last, 6), "·▒▃▅█·");
  for (Timeline::Bucket& b : device.totals.timeline.buckets) b.held_ns = 0;
  EXPECT_EQ(Blocks(device, device.first, device.last, 5), "▁▃▅█·");
}

TEST(RibbonTest, AWindowThatStartsInsideABucketIsFull) {
  DeviceResult device;
  device.first = Instant::FromNanos(1'700'000'000);
  device.last = Instant::FromNanos(4'000'000'000);
  device.totals.timeline.first = 1;
  device.totals.timeline.buckets.resize(3);
  device.totals.timeline.buckets[0].phase_ns[3] = 300'000'000;
  device.totals.timeline.buckets[1].phase_ns[3] = kNanosPerSecond;
  device.totals.timeline.buckets[2].phase_ns[1] = kNanosPerSecond;
  EXPECT_EQ(Blocks(device, device.first, device.last, 23), "█████████████▃▃▃▃▃▃▃▃▃▃");
}

TEST(RibbonTest, MarksSpinWaitByLowPowerWhileBusy) {
  AuditFixture audit;
  AuditFixture::Gpu gpu;
  gpu.percent = [](int) { return 100; };
  audit.Add(gpu, 4);
  DeviceResult& device = audit.report.run.devices[0];
  device.spin.evidence = SpinVerdict::Evidence::kPower;
  device.spin.below_watts = 150;
  device.spin.time.ns = 2 * kNanosPerSecond;
  for (std::size_t s : {std::size_t{2}, std::size_t{3}}) {
    device.totals.timeline.buckets[s].busy_power = {kNanosPerSecond, static_cast<Int128>(90'000) * kNanosPerSecond};
  }
  EXPECT_EQ(Blocks(device, device.first, device.last, 4), "██╳╳");
}

}  // namespace
}  // namespace idleburn
