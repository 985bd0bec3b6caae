// What boards that are cut into MIG instances cost, and whom.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "classify/run_classifier.h"
#include "price/cost_report.h"
#include "support/property.h"

namespace idleburn {
namespace {

constexpr std::int64_t kSecond = kNanosPerSecond;
constexpr std::int64_t kStart = 1'000'000;  // seconds

// Boards and instances of which every second is told: its utilization in percent, or nothing where it was not read.
struct Node {
  DeviceTable table;
  OwnerLedger owners;
  RunResult run;
  std::string price = "3.50";

  DeviceId Enter(int board, int instance = -1, int slices = 1, const std::string& name = "NVIDIA H100 80GB HBM3") {
    DeviceKey key;
    key.index = board;
    key.uuid = "GPU-5d0ca1e5-0000-4000-8000-00000000100" + std::to_string(board);
    key.name = name;
    if (instance >= 0) key.mig = MigInstance{std::to_string(instance), std::to_string(slices) + "g", slices};
    return table.Enter(key);
  }
  // As the classifier leaves a device that is carried to the window of the run.
  DeviceResult& Add(DeviceId id, const std::vector<std::optional<int>>& seconds) {
    DeviceResult d;
    d.device = id;
    d.first = Instant::FromNanos(kStart * kSecond);
    d.last = Instant::FromNanos((kStart + static_cast<std::int64_t>(seconds.size())) * kSecond);
    for (std::size_t s = 0; s < seconds.size(); ++s) {
      if (!seconds[s]) {
        d.totals.unobserved_ns[0] += kSecond;
        continue;
      }
      const int percent = *seconds[s];
      const std::size_t phase = percent < 10 ? 0 : percent < 70 ? 1 : percent < 90 ? 2 : 3;
      TimelineBucket& bucket = d.totals.timeline.At(kStart + static_cast<std::int64_t>(s));
      d.totals.phase_ns[phase] += kSecond;
      bucket.phase_ns[phase] += kSecond;
      d.totals.utilization.Add(kSecond, percent * kPercent);
      bucket.utilization.Add(kSecond, percent * kPercent);
      if (phase == 0) d.totals.idle_empty_ns += kSecond;
    }
    run.devices.push_back(std::move(d));
    return run.devices.back();
  }
  [[nodiscard]] Result<CostReport> Priced() const {
    Rate rate;
    rate.per_gpu_hour = Money::Parse(price).value();
    return PriceRun(run, table, owners, RateCard(rate), {}, {}, 720);
  }
  [[nodiscard]] CostReport Report() const { return Priced().value(); }
};

using Seconds = std::vector<std::optional<int>>;
Seconds Of(std::size_t seconds, std::optional<int> percent) { return Seconds(seconds, percent); }
Seconds Then(Seconds first, const Seconds& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// An H100 cut in seven, of which one is the job's: an hour at $3.50 is $0.50, and nothing of what the others have.
TEST(MigCostTest, AJobOnASliceOfSevenPaysForOne) {
  Node node;
  std::vector<DeviceId> others;
  for (int i = 0; i < 7; ++i) {
    const DeviceId id = node.Enter(0, i);
    node.Add(id, Of(3600, 98));
    if (i != 3) others.push_back(id);
  }
  const DeviceId board = node.Enter(0);
  node.Add(board, Of(3600, std::nullopt)).totals.power.Add(3600 * kSecond, 600'000);
  others.push_back(board);
  EXPECT_EQ(FormatExact(*node.Report().whole.total), "3.50");  // the node's, before anything is left out
  ASSERT_TRUE(node.Report().whole.energy_kwh);

  EXPECT_EQ(node.run.LeaveOut(others).size(), 7U);
  const CostReport report = node.Report();
  ASSERT_EQ(report.devices.size(), 1U);
  EXPECT_EQ(node.table[report.devices[0].device].mig->id, "3");
  EXPECT_EQ(FormatExact(*report.whole.total), "0.50");
  EXPECT_EQ(FormatExact(*report.whole.phase_cost[3]), "0.50");
  EXPECT_EQ(report.whole.unallocated_ns, 0);
  EXPECT_NEAR(static_cast<double>(report.whole.window_ns), 3600e9 / 7, 1);
  EXPECT_EQ(FormatExact(*report.hourly), "0.50");
  EXPECT_EQ(report.gpus, 1);
  EXPECT_NEAR(report.others, 6.0 / 7, 1e-12);
  EXPECT_FALSE(report.whole.energy_kwh);  // the board's, of which nobody knows the job's part
}

// Nothing was read of the board, nor are there other instances: that it is left out is known all the same.
TEST(MigCostTest, ABoardThatWasNeverReadIsLeftOutToo) {
  Node node;
  node.Add(node.Enter(0, 9, 2), Of(3600, 50));
  const DeviceId board = node.Enter(0);
  EXPECT_EQ(FormatExact(*node.Report().whole.total), "3.50");
  EXPECT_TRUE(node.run.LeaveOut(std::vector{board}).empty());
  EXPECT_EQ(FormatExact(*node.Report().whole.total), "1.00");
}

TEST(MigCostTest, WhatIsLeftOutWholeIsNoGpuOfTheRun) {
  Node node;
  node.Add(node.Enter(0), Of(3600, 50));
  std::vector<DeviceId> others = {node.Enter(1)};
  node.Add(others[0], Of(3600, 50));
  others.push_back(node.Enter(2, 1, 3));
  node.Add(others[1], Of(3600, 50));
  others.push_back(node.Enter(2));
  node.run.LeaveOut(others);
  const CostReport report = node.Report();
  EXPECT_EQ(report.gpus, 1);
  EXPECT_EQ(report.others, 0);
  EXPECT_EQ(FormatExact(*report.whole.total), "3.50");
  EXPECT_EQ(FormatExact(*report.hourly), "3.50");
}

// Whoever is left out, each instance costs what its slices are of the board.
TEST(MigCostPropertyTest, WhatAnInstanceCostsDoesNotDependOnWhoIsLeftOut) {
  test::ExpectProperty([] {
    Node node;
    std::vector<DeviceId> out;
    double slices = 0;
    const std::vector<int> sizes = *rc::gen::element(std::vector<int>{1, 1, 1, 1, 1, 1, 1}, std::vector<int>{4, 2, 1},
                                                     std::vector<int>{3, 3}, std::vector<int>{2});
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const DeviceId id = node.Enter(0, static_cast<int>(i), sizes[i]);
      node.Add(id, Of(700, *rc::gen::inRange(0, 101)));
      const bool ours = *rc::gen::arbitrary<bool>();
      if (ours) slices += sizes[i];
      if (!ours) out.push_back(id);
    }
    out.push_back(node.Enter(0));
    node.run.LeaveOut(out);
    const CostReport report = node.Report();
    RC_ASSERT(report.gpus == (slices > 0 ? 1 : 0));
    const double expected = slices == 0 ? 0 : slices / 7 * 700 / 3600 * 3.5e9;
    RC_ASSERT(std::abs(static_cast<double>(report.whole.total.value_or(Money()).nano()) - expected) <= 8);
    const double hourly = static_cast<double>(report.hourly.value_or(Money()).nano());
    RC_ASSERT(std::abs(hourly - slices / 7 * 3.5e9) <= 1);
  });
}

// Six days as one GPU, then one as seven slices (here minutes): the work of the six is the board's own.
TEST(MigCostTest, ABoardCutWhileItIsMeasuredKeepsWhatItDidBefore) {
  Node node;
  for (int i = 0; i < 7; ++i) {
    const DeviceId id = node.Enter(0, i);
    node.Add(id, Then(Of(600, std::nullopt), Of(100, 40)));
    node.owners.Add(id, {"pod b"}, Instant::FromNanos(600 * kSecond), Instant::FromNanos(700 * kSecond));
  }
  const DeviceId board = node.Enter(0);
  node.Add(board, Then(Of(600, 95), Of(100, std::nullopt)));
  node.owners.Add(board, {"pod a"}, Instant::FromNanos(0), Instant::FromNanos(600 * kSecond));
  const CostReport report = node.Report();
  EXPECT_EQ(report.whole.window_ns, 700 * kSecond);
  EXPECT_EQ(report.whole.phase_ns[3], 600 * kSecond);
  EXPECT_EQ(report.whole.phase_ns[1], 100 * kSecond);
  EXPECT_EQ(report.whole.unallocated_ns, 0);
  EXPECT_EQ(report.whole.unobserved_ns, 0);
  EXPECT_NEAR(report.whole.effective_ns, 610e9, 10);
  ASSERT_EQ(report.devices.size(), 8U);
  EXPECT_EQ(report.devices[0].device, board);
  EXPECT_EQ(report.devices[0].usage.observed_ns, 600 * kSecond);
  ASSERT_EQ(report.owners.size(), 2U);
  EXPECT_EQ(report.owners[0].gpu_ns, 600 * kSecond);
  EXPECT_EQ(report.owners[1].gpu_ns, 100 * kSecond);
}

// A driver that goes on telling a number for a board that is cut: its instances are the truth.
TEST(MigCostTest, WhereBothAreReadTheInstancesCount) {
  Node node;
  node.Add(node.Enter(0, 1, 3), Then(Of(50, std::nullopt), Of(50, 95)));
  node.Add(node.Enter(0), Of(100, 20));
  const CostReport report = node.Report();
  EXPECT_EQ(report.whole.phase_ns[1], 50 * kSecond);
  EXPECT_NEAR(static_cast<double>(report.whole.phase_ns[3]), 50e9 * 3 / 7, 1);
  EXPECT_NEAR(static_cast<double>(report.whole.unallocated_ns), 50e9 * 4 / 7, 1);
  EXPECT_EQ(report.whole.window_ns, 100 * kSecond);
}

// Against a walk over the seconds: each is the board's, its instances', or nobody's.
TEST(MigCostPropertyTest, EverySecondOfABoardIsCountedOnce) {
  test::ExpectProperty([] {
    Node node;
    const auto length = *rc::gen::inRange<std::size_t>(1, 40);
    const auto any = [&] {
      return *rc::gen::container<Seconds>(
          length, rc::gen::oneOf(rc::gen::just(std::optional<int>()),
                                 rc::gen::map(rc::gen::inRange(0, 101), [](int p) { return std::optional<int>(p); })));
    };
    const Seconds board = any();
    const std::vector<int> sizes = {3, 2, 2};
    std::vector<Seconds> instances;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      instances.push_back(any());
      node.Add(node.Enter(0, static_cast<int>(i), sizes[i]), instances.back());
    }
    const DeviceResult& own = node.Add(node.Enter(0), board);
    double observed = 0;
    double busy = 0;
    double board_own = 0;
    for (std::size_t s = 0; s < length; ++s) {
      bool cut = false;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (!instances[i][s]) continue;
        cut = true;
        observed += sizes[i] / 7.0;
        busy += sizes[i] / 7.0 * *instances[i][s] / 100;
      }
      if (cut || !board[s]) continue;
      observed += 1;
      board_own += 1;
      busy += *board[s] / 100.0;
    }
    const CostReport report = node.Report();
    RC_ASSERT(report.whole.window_ns == static_cast<std::int64_t>(length) * kSecond);
    RC_ASSERT(std::abs(static_cast<double>(report.whole.observed_ns) - observed * 1e9) <= 10);
    RC_ASSERT(std::abs(report.whole.effective_ns - busy * 1e9) <= 20);
    // What findings may say of the board's readings is no more than is the board's.
    const double weighed = report.Of(own.device)->weight * static_cast<double>(own.totals.ObservedNs());
    RC_ASSERT(std::abs(weighed - board_own * 1e9) <= 10);
  });
}

// The same through the classifier. The two minutes in which neither the board nor an instance was read are unobserved,
// not free.
TEST(MigCostTest, SamplesOfABoardThatIsCutMeanTheSame) {
  Node node;
  std::vector<DeviceId> instances;
  for (int i = 0; i < 7; ++i) instances.push_back(node.Enter(0, i));
  const DeviceId board = node.Enter(0);
  const Thresholds thresholds;
  DataQuality quality;
  RunClassifier classifier(thresholds, node.table, quality, [](std::string_view) { return BoardFacts(); });
  const auto push = [&](DeviceId id, Signal signal, std::int64_t second, int percent) {
    Sample sample;
    sample.device = id;
    sample.time = Instant::FromNanos((kStart + second) * kSecond);
    sample.Set(signal, percent * kPercent);
    classifier.OnSamples(std::span(&sample, 1));
  };
  for (std::int64_t s = 0; s <= 6000; s += 30) push(board, Signal::kUtilization, s, 95);
  for (std::int64_t s = 6120; s <= 7120; s += 30) {
    for (const DeviceId id : instances) push(id, Signal::kGrEngineActive, s, 40);
  }
  node.run = classifier.Finish();
  const CostReport report = node.Report();
  EXPECT_NEAR(static_cast<double>(report.whole.phase_ns[3]), 6000e9, 60e9);
  EXPECT_NEAR(static_cast<double>(report.whole.phase_ns[1]), 990e9, 60e9);
  EXPECT_EQ(report.whole.unallocated_ns, 0);
  EXPECT_NEAR(static_cast<double>(report.whole.unobserved_ns), 120e9, 1e3);
  EXPECT_EQ(report.whole.window_ns, (node.run.end - node.run.start).count());
}

// A board that is throttled throttles all its slices; what of them nobody saw lost nothing that is known.
TEST(MigCostTest, ThrottlingOfABoardCountsByTheSlicesSeen) {
  Node node;
  node.Add(node.Enter(0, 1, 1), Of(700, 95));
  DeviceResult& board = node.Add(node.Enter(0), Of(700, std::nullopt));
  board.totals.throttled_ns = 700 * kSecond;
  board.throttled_with_loss_ns = 350 * kSecond;
  const CostReport report = node.Report();
  EXPECT_EQ(report.whole.observed_ns, 100 * kSecond);
  EXPECT_EQ(report.whole.throttled_ns, 100 * kSecond);
  EXPECT_EQ(report.whole.throttled_with_loss_ns, 50 * kSecond);
}

TEST(MigCostTest, ABoardsSizeIsItsModelsAndAnUnknownOneIsSaid) {
  const auto cost = [](const std::string& name, std::size_t remarks) {
    Node node;
    node.Add(node.Enter(0, 1, 1, name), Of(3600, 95));
    const CostReport report = node.Report();
    EXPECT_EQ(report.price_remarks.size(), remarks) << name;
    for (const std::string& remark : report.price_remarks) EXPECT_NE(remark.find(name), std::string::npos) << remark;
    return FormatExact(*report.whole.phase_cost[3]);
  };
  EXPECT_EQ(cost("NVIDIA H100 80GB HBM3", 0), "0.50");
  EXPECT_EQ(cost("NVIDIA RTX PRO 6000 Blackwell Server Edition", 0), "0.875");
  EXPECT_EQ(cost("NVIDIA RTX PRO 5000 Blackwell", 0), "1.75");
  EXPECT_EQ(cost("NVIDIA Z999", 1), "0.50");
}

}  // namespace
}  // namespace idleburn
