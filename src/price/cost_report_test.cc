#include "price/cost_report.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>
#include <map>
#include <numeric>

#include "support/cost_fixture.h"
#include "support/property.h"

namespace idleburn {
namespace {

constexpr std::int64_t kHour = kNanosPerHour;
using Scene = CostScene;

// "n1/2#9": where the GPUs of a report are, in its order.
std::string OrderOf(const CostReport& report, const DeviceTable& table) {
  std::string order;
  for (const CostReport::DeviceCost& d : report.devices) {
    const Device& device = table[d.device];
    order += device.host + "/" + (device.index ? std::to_string(*device.index) : device.bus_id) +
             (device.mig ? "#" + device.mig->id : "") + " ";
  }
  return order;
}

// By host, index and instance, each with the same cost to the nano-dollar, whatever reading came first.
TEST(PriceRunTest, TheOrderOfTheReadingsDoesNotShow) {
  struct Place {
    const char* host;
    std::optional<int> index;
    const char* bus_id;
    const char* instance;
    std::int64_t ns;
  };
  std::vector<Place> places = {
      {"n1", 0, "", "", 1},  {"n1", 2, "81", "9", 3},           {"n1", 2, "81", "11", 3},
      {"n1", 10, "", "", 1}, {"n1", std::nullopt, "A1", "", 1}, {"n1", std::nullopt, "C1", "", 2},
      {"n2", 0, "", "", 5}};
  std::optional<std::vector<Money>> first;
  for (std::size_t turn = 0; turn < 2 * places.size(); ++turn) {
    std::rotate(places.begin(), places.begin() + 1, places.end());
    if (turn == places.size()) std::reverse(places.begin(), places.end());
    Scene scene("3333.333333333");
    for (const Place& place : places) {
      DeviceKey key;
      key.host = place.host;
      key.index = place.index;
      key.bus_id = place.bus_id;
      key.name = "NVIDIA H100 80GB HBM3";
      if (*place.instance != 0) key.mig = MigInstance{place.instance, "1g.10gb", 1};
      Observe(scene.Add(scene.table.Enter(key)), Phase::kProductive, place.ns, 90);
    }
    const CostReport report = scene.Report();
    EXPECT_EQ(OrderOf(report, scene.table), "n1/0 n1/2 n1/2#9 n1/2#11 n1/10 n1/A1 n1/C1 n2/0 ");
    std::vector<Money> costs;
    for (const CostReport::DeviceCost& d : report.devices) costs.push_back(*d.usage.total);
    if (!first) first = costs;
    ASSERT_EQ(costs, *first);
  }
}

TEST(PriceRunTest, MatchesTheWorkedExample) {
  Scene scene("8");
  for (int i = 0; i < 8; ++i) Observe(scene.Gpu(i), Phase::kUnderutilized, 5 * kHour / 4, 60);
  scene.work = ParseWork("samples=200000").value();
  const CostReport report = scene.Report();
  EXPECT_EQ(report.gpus, 8);
  EXPECT_EQ(report.whole.window_ns, 10 * kHour);
  EXPECT_EQ(FormatExact(*report.whole.total), "80.00");
  EXPECT_EQ(FormatExact(*report.per_effective_gpu_hour), "13.333333333");
  EXPECT_EQ(FormatExact(*report.per_unit.at("sample")), "0.0004");
  EXPECT_EQ(FormatExact(*report.whole.waste), "32.00");
  EXPECT_DOUBLE_EQ(report.waste_share, 0.4);
  EXPECT_DOUBLE_EQ(*report.whole.mean_utilization, 60);
  EXPECT_EQ(FormatExact(*report.hourly), "64.00");
}

// At half load an effective hour costs twice the price, however short the run: 119 s are no whole number of
// billionths of a dollar.
TEST(PriceRunTest, AnEffectiveHourIsRoundedOnce) {
  for (const auto& [price, twice] : {std::pair{"8", "16.00"}, {"1000", "2000.00"}, {"0.000000001", "0.000000002"}}) {
    Scene scene(price);
    Observe(scene.Gpu(0), Phase::kUnderutilized, 119 * kNanosPerSecond, 50);
    EXPECT_EQ(FormatExact(*scene.Report().per_effective_gpu_hour), twice);
  }
}

TEST(PriceRunTest, NoBusyTimeHasNoCostPerEffectiveHour) {
  Scene scene("8");
  Observe(scene.Gpu(0), Phase::kIdle, kHour, 0);
  const CostReport report = scene.Report();
  EXPECT_FALSE(report.per_effective_gpu_hour);
  EXPECT_EQ(*report.whole.waste, *report.whole.total);
  EXPECT_EQ(*report.whole.idle_unknown_cost, Money::Cents(800));
}

// One reading of 1 % in a second of ten: a millisecond of work in 80 hours of 8 GPUs at $4, which is $2,560. An
// effective hour of that would be 2,560 x 3,600,000 = $9.2 billion, and a cent more is more than an amount can be.
TEST(PriceRunTest, NextToNoWorkHasNoCostPerEffectiveHour) {
  for (const auto& [price, held] : {std::pair{"4.00", true}, std::pair{"4.01", false}}) {
    Scene scene(price);
    for (int i = 0; i < 8; ++i) {
      DeviceResult& gpu = scene.Gpu(i);
      Observe(gpu, Phase::kIdle, 80 * kHour - kNanosPerSecond / 10, 0);
      Observe(gpu, Phase::kIdle, kNanosPerSecond / 10, i == 0 ? 1 : 0);
    }
    scene.work = ParseWork("samples=0.0000001,steps=1").value();
    const Result<CostReport> report = scene.Priced();
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(FormatExact(*report->whole.total), held ? "2560.00" : "2566.40");
    EXPECT_EQ(report->per_effective_gpu_hour.has_value(), held);
    if (held) {
      EXPECT_EQ(FormatExact(*report->per_effective_gpu_hour), "9216000000.00");
    }
    EXPECT_EQ(report->per_unit.at("sample"), std::nullopt);  // 25.6 billion each
    EXPECT_EQ(report->per_unit.at("step"), report->whole.total);
  }
}

// Dong: 11 H100 at 105,000 an hour are 10.1 billion a year, of 10 they are 9.198 billion.
TEST(PriceRunTest, AProjectionBeyondRangeIsLeftOutAndTheAuditStands) {
  for (const int gpus : {10, 11}) {
    Scene scene("105000");
    for (int i = 0; i < gpus; ++i) Observe(scene.Gpu(i), Phase::kProductive, kHour, 80);
    const Result<CostReport> report = scene.Priced();
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(*report->whole.total, Money::Nano(std::int64_t{105'000} * gpus * 1'000'000'000));
    EXPECT_EQ(report->hourly, report->whole.total);
    EXPECT_EQ(report->monthly->nano(), report->hourly->nano() * 720);
    EXPECT_EQ(report->yearly.has_value(), gpus == 10);
  }
}

TEST(PriceRunTest, ProjectsByTheStatedMonth) {
  Scene scene("4.00");
  Observe(scene.Gpu(0), Phase::kProductive, kHour, 80);
  EXPECT_EQ(FormatMoney(*scene.Report().monthly, 2), "2880.00");
  EXPECT_EQ(FormatMoney(*scene.Report().yearly, 2), "35040.00");
  for (const auto& [hours, monthly] :
       {std::pair{720, "70790.40"}, std::pair{730, "71773.60"}, std::pair{744, "73150.08"}}) {
    scene.rate.per_gpu_hour = Money::Cents(9832);
    scene.month_hours = hours;
    EXPECT_EQ(FormatMoney(*scene.Report().monthly, 2), monthly);
  }
  scene.month_hours = 0;
  EXPECT_EQ(scene.Priced().error().kind, Error::Kind::kUsage);
}

TEST(PriceRunTest, PhasesOfThreeThirdsSumToTheTotal) {
  Scene scene("100");
  DeviceResult& gpu = scene.Gpu(0);
  Observe(gpu, Phase::kIdle, kHour / 3, 0);
  Observe(gpu, Phase::kProductive, kHour / 3, 80);
  Observe(gpu, Phase::kComputeBound, kHour / 3, 100);
  const CostReport report = scene.Report();
  EXPECT_EQ(FormatExact(*report.whole.total), "100.00");
  EXPECT_EQ(FormatExact(*report.whole.phase_cost[0]), "33.333333334");
  EXPECT_EQ(FormatExact(*report.whole.phase_cost[2]), "33.333333333");
  EXPECT_EQ(FormatExact(*report.whole.phase_cost[3]), "33.333333333");
}

TEST(PriceRunTest, FleetRatiosAreRatiosOfSums) {
  Scene scene("100");
  Observe(scene.Gpu(0), Phase::kProductive, kHour, 80);
  Observe(scene.Gpu(1), Phase::kProductive, kHour, 80);
  scene.work = ParseWork("samples=1010000").value();  // 10^6 by one, 10^4 by the other
  EXPECT_EQ(FormatExact(*scene.Report().per_unit.at("sample")), "0.00019802");
}

TEST(PriceRunTest, UnobservedTimeIsPricedApartAndIsNoWaste) {
  Scene scene("2");
  DeviceResult& gpu = scene.Gpu(0);
  Observe(gpu, Phase::kComputeBound, kHour, 100);
  Miss(gpu, 3 * kHour);
  const CostReport report = scene.Report();
  EXPECT_EQ(FormatExact(*report.whole.total), "8.00");
  EXPECT_EQ(FormatExact(*report.whole.unobserved_cost), "6.00");
  EXPECT_EQ(report.whole.waste, Money());
  EXPECT_EQ(FormatExact(*report.per_effective_gpu_hour), "8.00");  // all of it was paid for that hour
  EXPECT_EQ(report.waste_share, 0);
}

TEST(PriceRunTest, NothingObservedIsNeitherBusyNorWaste) {
  Scene scene("2");
  Miss(scene.Gpu(0), kHour);
  const CostReport report = scene.Report();
  EXPECT_EQ(report.waste_share, 0);
  EXPECT_EQ(report.whole.waste, Money());
  EXPECT_FALSE(report.whole.mean_utilization);
}

TEST(PriceRunTest, SpinWaitIsWasteInsideComputeBound) {
  Scene scene("10");
  DeviceResult& gpu = scene.Gpu(0);
  Observe(gpu, Phase::kComputeBound, kHour, 95);
  gpu.spin.time.Add(kHour / 2, 95 * kPercent);
  const CostReport report = scene.Report();
  // 10 x (1 - 0.95) + 5 x 0.95
  EXPECT_EQ(FormatExact(*report.whole.waste), "5.25");
  EXPECT_EQ(FormatExact(*report.whole.spin_wait_cost), "5.00");
  EXPECT_EQ(FormatExact(*report.whole.phase_cost[3]), "10.00");
}

TEST(PriceRunTest, OneSliceOfSeven) {
  Scene scene("3.50");
  Observe(scene.Slice(0, "9", 1), Phase::kComputeBound, kHour, 98);
  const CostReport report = scene.Report();
  EXPECT_EQ(report.gpus, 1);
  EXPECT_EQ(FormatExact(*report.whole.total), "3.50");
  EXPECT_EQ(FormatExact(*report.whole.phase_cost[3]), "0.50");
  EXPECT_EQ(FormatExact(*report.whole.unallocated_cost), "3.00");
  EXPECT_NEAR(report.whole.effective_ns / static_cast<double>(report.whole.window_ns), 0.14, 1e-9);
  EXPECT_NEAR(*report.whole.mean_utilization, 98, 1e-9);  // judged against the slice
  ASSERT_EQ(report.devices.size(), 2U);
  for (const CostReport::DeviceCost& d : report.devices) {
    const bool instance = scene.table[d.device].mig.has_value();
    EXPECT_EQ(FormatExact(*d.usage.total), instance ? "0.50" : "3.00");
    EXPECT_NEAR(d.gpu_share, instance ? 1.0 / 7 : 6.0 / 7, 1e-9);
  }
  EXPECT_EQ(FormatExact(*report.hourly), "3.50");
  // The job pays for its slice, not for the rest of the board: 0.50 / 0.14 h.
  EXPECT_EQ(FormatExact(*report.per_effective_gpu_hour), "3.571428571");
}

TEST(PriceRunTest, InstancesThatFollowEachOtherShareTheBoard) {
  Scene scene("7");
  Observe(scene.Slice(0, "1", 4), Phase::kComputeBound, kHour, 100);
  DeviceResult& later = scene.Slice(0, "2", 4);
  later.first = later.last = Instant::FromNanos(kHour);
  Observe(later, Phase::kComputeBound, kHour, 100);
  const CostReport report = scene.Report();
  EXPECT_EQ(FormatExact(*report.whole.total), "14.00");  // one board for two hours
  EXPECT_EQ(FormatExact(*report.whole.phase_cost[3]), "8.00");
}

TEST(PriceRunTest, InstancesBeyondTheirBoardAreAnError) {
  Scene scene("7");
  Observe(scene.Slice(0, "1", 4), Phase::kComputeBound, kHour, 100);
  Observe(scene.Slice(0, "2", 4), Phase::kComputeBound, kHour, 100);
  ASSERT_FALSE(scene.Priced());
  EXPECT_NE(scene.Priced().error().message.find("7 compute slices"), std::string::npos);
}

// Power of ten hours beside a counter that begins late: the one hour it tells of is not the energy of the run.
TEST(PriceRunTest, ACounterThatBeginsLateHidesNoEnergy) {
  const struct {
    std::int64_t counted_ns;
    std::int64_t power_ns;
    double kwh;
    double watts;
    std::int64_t covered_ns;
  } cases[] = {
      {kHour, 10 * kHour, 3.0, 300, 10 * kHour},                                // by power: 300 W for ten hours
      {10 * kHour - kHour / 10, 10 * kHour, .5, 300, 10 * kHour - kHour / 10},  // 1 % short: the counter
      {kHour, 0, .5, 500, kHour},           // nothing else was read, and its mean is over its own time
      {0, 4 * kHour, 1.2, 300, 4 * kHour},  // power was not read for six hours
  };
  for (const auto& c : cases) {
    Scene scene("1");
    DeviceResult& gpu = scene.Gpu(0);
    Observe(gpu, Phase::kProductive, 10 * kHour, 80);
    gpu.totals.has_energy_counter = c.counted_ns > 0;
    gpu.totals.energy_mj = 1'800'000'000;  // half a kWh
    gpu.totals.energy_ns = c.counted_ns;
    gpu.totals.power.Add(c.power_ns, 300'000);
    const CostReport report = scene.Report();
    EXPECT_DOUBLE_EQ(*report.whole.energy_kwh, c.kwh);
    EXPECT_DOUBLE_EQ(*report.whole.mean_power_w, c.watts);
    EXPECT_EQ(report.whole.energy_ns, c.covered_ns);
    EXPECT_EQ(report.whole.energy_window_ns, 10 * kHour);
  }
}

TEST(PriceRunTest, EnergyIsTakenOncePerBoard) {
  Scene scene("1");
  for (const char* id : {"1", "2", "3", "4"}) {
    DeviceResult& slice = scene.Slice(0, id, 1);
    Observe(slice, Phase::kComputeBound, kHour, 100);
    slice.totals.power.Add(kHour, 250'000);  // every instance repeats its board
  }
  CostReport report = scene.Report();
  EXPECT_DOUBLE_EQ(*report.whole.energy_kwh, 0.25);
  EXPECT_DOUBLE_EQ(*report.whole.mean_power_w, 250);

  // A second GPU with a counter, which comes before its power: 1.08 GJ = 300 kWh.
  DeviceResult& counted = scene.Gpu(1);
  Observe(counted, Phase::kIdle, kHour, 0);
  counted.totals.has_energy_counter = true;
  counted.totals.energy_mj = 1'080'000'000'000;
  counted.totals.energy_ns = kHour;
  counted.totals.power.Add(kHour, 100'000);
  scene.energy.per_kwh = Money::Cents(10);
  scene.energy.currency = "EUR";
  scene.energy.grams_co2e_per_kwh = 400;
  report = scene.Report();
  EXPECT_DOUBLE_EQ(*report.whole.energy_kwh, 300.25);
  EXPECT_EQ(FormatExact(*report.energy_cost), "30.025");
  EXPECT_EQ(report.energy_currency, "EUR");
  EXPECT_EQ(report.rate.currency, "USD");
  EXPECT_DOUBLE_EQ(*report.co2e_kg, 120.1);
  EXPECT_DOUBLE_EQ(*report.whole.mean_power_w, 175);

  // A third that tells neither: the sum is unknown, the parts are not.
  Observe(scene.Gpu(2), Phase::kIdle, kHour, 0);
  report = scene.Report();
  EXPECT_FALSE(report.whole.energy_kwh);
  EXPECT_FALSE(report.energy_cost);
}

TEST(PriceRunTest, RoundingKeepsSpinWaitInsideComputeBound) {
  Scene scene("1");
  DeviceResult& slice = scene.Slice(0, "1", 1);
  Observe(slice, Phase::kUnderutilized, 5, 50);
  Observe(slice, Phase::kProductive, 5, 80);
  Observe(slice, Phase::kComputeBound, 4, 100);
  slice.spin.time.Add(4, 100 * kPercent);
  // Two nanoseconds for 5/7, 5/7 and 4/7: compute_bound gets none, though 4/7 alone would round to one.
  const CostReport report = scene.Report();
  EXPECT_EQ(report.whole.phase_ns, (std::array<std::int64_t, kPhaseCount>{0, 1, 1, 0}));
  EXPECT_EQ(report.whole.spin_wait_ns, 0);
}

TEST(PriceRunTest, TheBoardsOwnPowerComesFirst) {
  Scene scene("1");
  DeviceResult& board = scene.Gpu(0);
  board.last = Instant::FromNanos(kHour);
  board.totals.power.Add(kHour, 300'000);
  board.totals.throttled_ns = kHour / 4;
  DeviceResult& slice = scene.Slice(0, "1", 7);
  Observe(slice, Phase::kComputeBound, kHour, 100);
  slice.totals.power.Add(kHour / 2, 250'000);
  const CostReport report = scene.Report();
  EXPECT_EQ(report.gpus, 1);
  EXPECT_DOUBLE_EQ(*report.whole.energy_kwh, 0.3);
  EXPECT_EQ(report.whole.throttled_ns, kHour / 4);
  EXPECT_EQ(report.whole.window_ns, kHour);
}

TEST(PriceRunTest, AnAmbiguousPriceGivesARange) {
  Scene scene("");
  scene.rate.reason = "ambiguous_price";
  scene.rate.low = Money::Cents(295);
  scene.rate.high = Money::Cents(1229);
  Observe(scene.Gpu(0), Phase::kUnderutilized, 10 * kHour, 60);
  const CostReport report = scene.Report();
  EXPECT_FALSE(report.whole.total);
  EXPECT_FALSE(report.hourly);
  EXPECT_EQ(FormatExact(*report.total_low), "29.50");
  EXPECT_EQ(FormatExact(*report.total_high), "122.90");
  EXPECT_EQ(FormatExact(*report.waste_low), "11.80");
  EXPECT_EQ(FormatExact(*report.waste_high), "49.16");
  EXPECT_DOUBLE_EQ(report.waste_share, 0.4);
}

TEST(PriceRunTest, WithoutAPriceOnlyHours) {
  Scene scene("");
  scene.rate.reason = "no_price";
  Observe(scene.Gpu(0), Phase::kProductive, kHour, 80);
  const CostReport report = scene.Report();
  EXPECT_FALSE(report.whole.total || report.total_low || report.per_effective_gpu_hour);
  EXPECT_EQ(report.whole.window_ns, kHour);
}

TEST(PriceRunTest, RefusesWorkOfNothingAndSumsBeyondRange) {
  Scene scene("9000000000");
  Observe(scene.Gpu(0), Phase::kProductive, 2 * kHour, 80);
  EXPECT_EQ(scene.Priced().error().kind, Error::Kind::kFailed);
  scene.work.units["samples"] = 0;
  EXPECT_EQ(scene.Priced().error().kind, Error::Kind::kUsage);
}

TEST(PriceRunTest, APriceThatNoAmountHoldsIsAnErrorThatSaysWhatAPriceIs) {
  Scene scene("9000000000");
  Observe(scene.Gpu(0), Phase::kProductive, 2 * kHour, 80);
  ASSERT_FALSE(scene.Priced());
  EXPECT_NE(scene.Priced().error().message.find("give the price of one GPU-hour"), std::string::npos);
}

TEST(PriceRunTest, AnEmptyRunCostsNothing) {
  Scene scene("8");
  const CostReport report = scene.Report();
  EXPECT_EQ(report.whole.total, Money());
  EXPECT_FALSE(report.whole.energy_kwh);
  EXPECT_EQ(report.gpus, 0);
}

// ---- several rates in one run ----

Rate Given(std::int64_t cents, const char* source) {
  Rate rate;
  rate.kind = RateKind::kGiven;
  rate.per_gpu_hour = Money::Cents(cents);
  rate.source = source;
  return rate;
}

Rate Between(std::int64_t low, std::int64_t high) {
  Rate rate;
  rate.reason = "ambiguous_price";
  rate.low = Money::Cents(low);
  rate.high = Money::Cents(high);
  return rate;
}

Rate Unknown() {
  Rate rate;
  rate.reason = "no_price";
  return rate;
}

// Eight GPUs at 2.00 of which half the time is busy, and four at 4.00 that are idle all of it, for an hour.
Scene EightAndFour() {
  Scene scene("");
  scene.card = RateCard();
  for (int i = 0; i < 12; ++i) {
    DeviceResult& gpu = scene.Gpu(i);
    Observe(gpu, i < 8 ? Phase::kUnderutilized : Phase::kIdle, kHour, i < 8 ? 50 : 0);
    scene.card->Give(gpu.device, i < 8 ? Given(200, "contract cd-7") : Given(400, "--price 4"));
  }
  return scene;
}

TEST(SeveralRatesTest, EachGpuCostsItsOwn) {
  Scene scene = EightAndFour();
  scene.work = ParseWork("samples=1000").value();
  const CostReport report = scene.Report();
  EXPECT_EQ(FormatExact(*report.whole.total), "32.00");  // 8 x 2 + 4 x 4
  EXPECT_EQ(FormatExact(*report.whole.phase_cost[0]), "16.00");
  EXPECT_EQ(FormatExact(*report.whole.phase_cost[1]), "16.00");
  EXPECT_EQ(FormatExact(*report.whole.waste), "24.00");            // 8 + 16
  EXPECT_DOUBLE_EQ(report.waste_share, 0.75);                      // of money; of time it is 8 / 12
  EXPECT_EQ(FormatExact(*report.per_effective_gpu_hour), "8.00");  // 32 for 4 effective hours
  EXPECT_EQ(FormatExact(*report.per_unit.at("sample")), "0.032");
  EXPECT_EQ(FormatExact(*report.hourly), "32.00");
  EXPECT_EQ(FormatMoney(*report.monthly, 2), "23040.00");
  EXPECT_EQ(FormatMoney(*report.yearly, 2), "280320.00");
  ASSERT_EQ(report.rates.size(), 2U);
  EXPECT_EQ(report.rates[0].gpus, 8);
  EXPECT_EQ(FormatExact(*report.rates[0].cost), "16.00");
  EXPECT_EQ(report.rates[1].gpus, 4);
  EXPECT_EQ(report.rates[1].window_ns, 4 * kHour);
  EXPECT_FALSE(report.rate.per_gpu_hour);
  EXPECT_EQ(report.rate.reason, "several_rates");
  EXPECT_EQ(report.RateOf(report.devices[0]).source, "contract cd-7");
  EXPECT_EQ(FormatExact(*report.devices[11].usage.total), "4.00");
}

TEST(SeveralRatesTest, ACardOfOneRateIsThatRate) {
  Scene scene("2");
  Observe(scene.Gpu(0), Phase::kProductive, kHour, 80);
  scene.card = RateCard();
  scene.card->Give(0, scene.rate);
  const CostReport report = scene.Report();
  EXPECT_FALSE(report.several());
  EXPECT_EQ(report.rate, scene.rate);
  EXPECT_EQ(FormatExact(*report.whole.total), "2.00");
}

TEST(SeveralRatesTest, WhatHasNoPriceIsInNoAmount) {
  Scene scene = EightAndFour();
  for (DeviceId id = 8; id < 12; ++id) scene.card->Give(id, Unknown());
  scene.work = ParseWork("samples=1000").value();
  const CostReport report = scene.Report();
  EXPECT_EQ(FormatExact(*report.whole.total), "16.00");
  EXPECT_EQ(report.whole.unpriced.window_ns, 4 * kHour);
  EXPECT_FALSE(report.devices[8].usage.total);
  EXPECT_EQ(report.RateOf(report.devices[8]).reason, "no_price");
  EXPECT_EQ(FormatExact(*report.per_effective_gpu_hour), "4.00");  // 16 for the 4 effective hours they bought
  EXPECT_TRUE(report.per_unit.empty());                            // the samples are of all twelve
  EXPECT_EQ(FormatExact(*report.hourly), "16.00");
  EXPECT_DOUBLE_EQ(report.waste_share, 8.0 / 12);  // of time
  EXPECT_FALSE(report.total_low);
}

TEST(SeveralRatesTest, CandidatesOfSomeGiveARangeOfAll) {
  Scene scene = EightAndFour();
  for (DeviceId id = 8; id < 10; ++id) scene.card->Give(id, Between(100, 500));
  for (DeviceId id = 10; id < 12; ++id) scene.card->Give(id, Unknown());
  const CostReport report = scene.Report();
  EXPECT_EQ(FormatExact(*report.whole.total), "16.00");
  EXPECT_EQ(FormatExact(*report.total_low), "18.00");
  EXPECT_EQ(FormatExact(*report.total_high), "26.00");
  EXPECT_EQ(FormatExact(*report.waste_low), "10.00");
  EXPECT_EQ(FormatExact(*report.waste_high), "18.00");
  EXPECT_EQ(report.whole.unpriced.window_ns, 4 * kHour);
}

TEST(SeveralRatesTest, CurrenciesAreNotAdded) {
  Scene scene = EightAndFour();
  Rate euros = Given(400, "contract eu");
  euros.currency = "EUR";
  scene.card->Give(11, euros);
  ASSERT_FALSE(scene.Priced());
  EXPECT_NE(scene.Priced().error().message.find("USD (contract cd-7) and in EUR (contract eu)"), std::string::npos)
      << scene.Priced().error().message;
}

TEST(SeveralRatesTest, ASumBeyondRangeIsAnError) {
  Scene scene("");
  scene.card = RateCard();
  for (int i = 0; i < 2; ++i) {
    DeviceResult& gpu = scene.Gpu(i);
    Observe(gpu, Phase::kProductive, kHour, 80);
    scene.card->Give(gpu.device, Given(500'000'000'000 + i, "--price"));  // 5 billion each
  }
  EXPECT_FALSE(scene.Priced());
}

TEST(SeveralRatesTest, AnOwnerPaysEachGpusPrice) {
  Scene scene = EightAndFour();
  for (DeviceId id = 0; id < 12; ++id)
    scene.owners.Add(id, {id % 2 == 0 ? "even" : "odd"}, Instant(), Instant::FromNanos(kHour));
  scene.card->Give(11, Unknown());
  const CostReport report = scene.Report();
  ASSERT_EQ(report.owners.size(), 2U);
  EXPECT_EQ(FormatExact(*report.owners[0].cost), "16.00");  // 4 x 2 + 2 x 4
  EXPECT_EQ(FormatExact(*report.owners[1].cost), "12.00");  // 4 x 2 + 1 x 4
  EXPECT_EQ(report.owners[1].gpu_ns, 6 * kHour);
  EXPECT_EQ(report.owners[1].unpriced_ns, kHour);
}

// ---- identities over random runs ----

std::int64_t AnyNs() { return *rc::gen::inRange<std::int64_t>(0, 5'000'000'000'000); }

void FillAtRandom(DeviceResult& d) {
  constexpr std::array<std::int64_t, kPhaseCount> kPercents = {3, 50, 80, 97};
  for (std::size_t p = 0; p < kPhaseCount; ++p) {
    if (*rc::gen::inRange(0, 3) == 0) continue;
    const std::int64_t ns = AnyNs();
    Observe(d, static_cast<Phase>(p), ns, kPercents[p]);
    if (static_cast<Phase>(p) == Phase::kIdle) {
      d.totals.idle_held_ns = *rc::gen::inRange<std::int64_t>(0, ns + 1);
      d.totals.idle_empty_ns = *rc::gen::inRange<std::int64_t>(0, ns - d.totals.idle_held_ns + 1);
      d.totals.idle_unknown_ns = ns - d.totals.idle_held_ns - d.totals.idle_empty_ns;
    }
    if (static_cast<Phase>(p) == Phase::kComputeBound) {
      const bool all = *rc::gen::arbitrary<bool>();
      d.spin.time.Add(all ? ns : *rc::gen::inRange<std::int64_t>(0, ns + 1), 97 * kPercent);
    }
  }
  if (*rc::gen::inRange(0, 2) == 0) Miss(d, AnyNs());
}

Scene AnyScene() {
  Scene scene("1");
  scene.rate.per_gpu_hour = Money::Nano(*rc::gen::inRange<std::int64_t>(0, 50'000'000'000));
  const int boards = *rc::gen::inRange(1, 5);
  for (int b = 0; b < boards; ++b) {
    const int instances = *rc::gen::inRange(0, 4);
    if (instances == 0) FillAtRandom(scene.Gpu(b));
    for (int i = 0; i < instances; ++i) {
      DeviceResult& slice = scene.Slice(b, std::to_string(i), *rc::gen::inRange(1, 3));
      FillAtRandom(slice);
      if (*rc::gen::inRange(0, 2) == 0)
        scene.owners.Add(slice.device, {"a", "b", "c"}, Instant(), Instant::FromNanos(AnyNs()));
    }
  }
  return scene;
}

void CheckSums(const UsageCost& u) {
  const std::int64_t phases = std::accumulate(u.phase_ns.begin(), u.phase_ns.end(), std::int64_t{0});
  RC_ASSERT(u.window_ns == u.observed_ns + u.unobserved_ns + u.unallocated_ns);
  RC_ASSERT(u.observed_ns == phases);
  RC_ASSERT(u.phase_ns[0] == u.idle_held_ns + u.idle_empty_ns + u.idle_unknown_ns);
  RC_ASSERT(u.spin_wait_ns <= u.phase_ns[3]);
  RC_ASSERT(u.effective_ns <= static_cast<double>(u.observed_ns));
  std::int64_t cost = u.unobserved_cost->nano() + u.unallocated_cost->nano();
  for (const auto& c : u.phase_cost) cost += c->nano();
  RC_ASSERT(cost == u.total->nano());
  RC_ASSERT(u.phase_cost[0]->nano() ==
            u.idle_held_cost->nano() + u.idle_empty_cost->nano() + u.idle_unknown_cost->nano());
}

TEST(PriceRunPropertyTest, EverySumIsExact) {
  test::ExpectProperty([] {
    const Scene scene = AnyScene();
    const CostReport report = scene.Report();
    const UsageCost& whole = report.whole;
    CheckSums(whole);
    RC_ASSERT(*whole.total == Price(*scene.rate.per_gpu_hour, whole.window_ns).value());
    RC_ASSERT(whole.waste->nano() + whole.unobserved_cost->nano() + whole.unallocated_cost->nano() <=
              whole.total->nano());

    const auto sums_to = [&](const std::function<std::int64_t(const UsageCost&)>& field) {
      std::int64_t sum = 0;
      for (const CostReport::DeviceCost& d : report.devices) sum += field(d.usage);
      RC_ASSERT(sum == field(whole));
    };
    for (const CostReport::DeviceCost& d : report.devices) CheckSums(d.usage);
    sums_to([](const UsageCost& u) { return u.window_ns; });
    sums_to([](const UsageCost& u) { return u.observed_ns; });
    sums_to([](const UsageCost& u) { return u.spin_wait_ns; });
    sums_to([](const UsageCost& u) { return static_cast<std::int64_t>(u.effective_ns); });
    sums_to([](const UsageCost& u) { return u.total->nano(); });
    sums_to([](const UsageCost& u) { return u.waste->nano(); });
    sums_to([](const UsageCost& u) { return u.spin_wait_cost->nano(); });
    for (std::size_t p = 0; p < kPhaseCount; ++p) {
      sums_to([p](const UsageCost& u) { return u.phase_cost[p]->nano(); });
    }
    if (report.owners.empty()) return;
    std::int64_t ns = 0;
    std::int64_t cost = 0;
    for (const CostReport::OwnerCost& owner : report.owners) {
      ns += owner.gpu_ns;
      cost += owner.cost->nano();
    }
    RC_ASSERT(ns == whole.window_ns);
    RC_ASSERT(cost == whole.total->nano());
  });
}

// A card at random over the boards of a scene: a few rates, of which some are unknown.
RateCard AnyCard(const Scene& scene) {
  std::vector<Rate> rates = {Unknown()};
  for (int i = 0; i < 3; ++i) {
    rates.push_back(Given(0, "--price"));
    rates.back().per_gpu_hour = Money::Nano(*rc::gen::inRange<std::int64_t>(0, 50'000'000'000));
  }
  RateCard card;
  std::map<DeviceId, std::size_t> boards;
  for (DeviceId id = 0; id < scene.table.size(); ++id) {
    const DeviceId board = scene.table[id].board.value_or(id);
    const auto found = boards.find(board);
    const std::size_t rate = found != boards.end() ? found->second : *rc::gen::inRange<std::size_t>(0, rates.size());
    boards[board] = rate;
    card.Give(board, rates[rate]);
    card.Give(id, rates[rate]);
  }
  return card;
}

// The half-even quotient, by hand.
std::int64_t ByHand(std::int64_t rate, Int128 ns) {
  const Int128 hour = 3'600'000'000'000;
  const Int128 product = ns * rate;
  const Int128 below = product / hour;
  const Int128 twice = (product - below * hour) * 2;
  return static_cast<std::int64_t>(twice > hour || (twice == hour && below % 2 != 0) ? below + 1 : below);
}

TEST(PriceRunPropertyTest, SeveralRatesAreEachPricedOnceAndAddUp) {
  test::ExpectProperty([] {
    Scene scene = AnyScene();
    scene.card = AnyCard(scene);
    const CostReport report = scene.Report();
    std::map<std::int64_t, Int128> ns_at;  // by rate
    std::int64_t unpriced = 0;
    for (const CostReport::DeviceCost& d : report.devices) {
      const Rate& rate = scene.card->Of(d.device);
      RC_ASSERT(d.usage.total.has_value() == rate.per_gpu_hour.has_value());
      if (rate.per_gpu_hour) {
        ns_at[rate.per_gpu_hour->nano()] += d.usage.window_ns;
        CheckSums(d.usage);
      } else {
        unpriced += d.usage.window_ns;
      }
    }
    RC_ASSERT(report.whole.unpriced.window_ns == unpriced);
    std::int64_t expected = 0;
    for (const auto& [rate, ns] : ns_at) expected += ByHand(rate, ns);
    RC_ASSERT(report.whole.total.has_value() == !ns_at.empty());
    if (ns_at.empty()) return;
    RC_ASSERT(report.whole.total->nano() == expected);

    const auto sums_to = [&](const std::function<std::optional<Money>(const UsageCost&)>& field) {
      std::int64_t sum = 0;
      for (const CostReport::DeviceCost& d : report.devices) sum += field(d.usage).value_or(Money()).nano();
      RC_ASSERT(sum == field(report.whole)->nano());
    };
    sums_to([](const UsageCost& u) { return u.total; });
    sums_to([](const UsageCost& u) { return u.waste; });
    sums_to([](const UsageCost& u) { return u.spin_wait_cost; });
    sums_to([](const UsageCost& u) { return u.unobserved_cost; });
    sums_to([](const UsageCost& u) { return u.unallocated_cost; });
    for (std::size_t p = 0; p < kPhaseCount; ++p) {
      sums_to([p](const UsageCost& u) { return u.phase_cost[p]; });
    }
    std::int64_t uses = 0;
    int gpus = 0;
    for (const CostReport::RateUse& use : report.rates) {
      uses += use.cost.value_or(Money()).nano();
      gpus += use.gpus;
    }
    RC_ASSERT(uses == expected);
    RC_ASSERT(gpus == report.gpus);
    std::int64_t owned = 0;
    for (const CostReport::OwnerCost& owner : report.owners) owned += owner.cost.value_or(Money()).nano();
    RC_ASSERT(report.owners.empty() || owned == expected);
  });
}

// Against a direct computation in floating point, device by device.
TEST(PriceRunPropertyTest, AgreesWithTheFormulas) {
  test::ExpectProperty([] {
    const Scene scene = AnyScene();
    const CostReport report = scene.Report();
    const double rate = static_cast<double>(scene.rate.per_gpu_hour->nano()) / static_cast<double>(kHour);
    double waste = 0;
    double busy = 0;
    for (const DeviceResult& d : scene.run.devices) {
      const auto& mig = scene.table[d.device].mig;
      const double share = mig ? mig->slices / 7.0 : 1;
      double observed = 0;
      for (const std::int64_t ns : d.totals.phase_ns) observed += static_cast<double>(ns);
      const double u = static_cast<double>(d.totals.utilization.area) / static_cast<double>(kFull);
      const double spin = static_cast<double>(d.spin.time.area) / static_cast<double>(kFull);
      waste += share * (observed - u + spin) * rate;
      busy += share * u;
    }
    RC_ASSERT(std::abs(static_cast<double>(report.whole.waste->nano()) - waste) <= 2 + 1e-9 * waste);
    RC_ASSERT(std::abs(report.whole.effective_ns - busy) <= 20);
  });
}

}  // namespace
}  // namespace idleburn
