// The ledger against a plain list of the same hours: sums of days, months as files, and pulls that meet.
#include "fleet/fleet_ledger.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <system_error>

#include "fleet/fleet_answer.h"
#include "fleet/ledger_rebuild.h"
#include "fleet/team_days.h"
#include "support/scripted_engine.h"

namespace idleburn {
namespace {

constexpr std::int64_t kApril = 1'775'001'600;  // 2026-04-01T00:00:00Z
constexpr std::int64_t kBegin = kApril - 3 * kDaySeconds;
constexpr Nanos kPatience{kNanosPerSecond};

// One GPU and one team of a node, busy in a way that the hour tells.
NodeSpan SpanOf(const std::string& node, std::int64_t from, std::int64_t to, std::int64_t seed) {
  NodeSpan span;
  span.node = node;
  span.from = from;
  span.to = to;
  const std::int64_t wall = (to - from) * 1000;
  const PhaseMs phases = {seed % wall, wall - seed % wall, 0, 0, 0};
  span.gpus.push_back({"GPU-" + node, {phases, 0}});
  span.teams["ml"] = phases;
  span.jobs[{"c", std::to_string(from / (8 * kEdgeSeconds)), "u", "ml", "e"}] = phases;
  return span;
}

NodePull PullOf(std::optional<std::int64_t> before, std::vector<NodeSpan> spans) {
  NodePull pull;
  pull.edge_before = before;
  pull.after.edge = spans.back().to;
  pull.spans = std::move(spans);
  return pull;
}

class FleetLedgerTest : public ::testing::Test {
 protected:
  FleetLedgerTest() : folder_(::testing::TempDir() + "fleet.XXXXXX") { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~FleetLedgerTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  FleetLedger Open() {
    Result<FleetLedger> ledger = FleetLedger::Open(Path(), kPatience);
    EXPECT_TRUE(ledger) << (ledger ? "" : ledger.error().message);
    return std::move(*ledger);
  }
  [[nodiscard]] std::string Path() const { return folder_ + "/ledger"; }

  // Six days over the end of March, booked an hour or a few at a time; some spans reach over midnight.
  std::vector<NodeSpan> Fill(FleetLedger& ledger) {
    std::mt19937_64 random(7);
    std::vector<NodeSpan> all;
    std::map<std::string, std::int64_t> edges;
    for (std::int64_t hour = 0; hour < 6 * 24;) {
      const std::int64_t from = kBegin + hour * kEdgeSeconds;
      std::int64_t hours = random() % 7 == 0 ? 3 : 1;
      NodePulls pulls;
      for (const std::string node : {"a", "b"}) {
        const std::int64_t to = from + hours * kEdgeSeconds;
        all.push_back(SpanOf(node, from, to, static_cast<std::int64_t>(random() % 100'000'000)));
        pulls[node] = PullOf(hour == 0 ? std::nullopt : std::optional(edges[node]), {all.back()});
        edges[node] = to;
      }
      const auto written = ledger.Write(kBegin, pulls);
      EXPECT_TRUE(written && written->empty());
      hour += hours;
    }
    return all;
  }

  // The time of each name, hour by hour or with the sums of days.
  static std::map<std::string, PhaseMs> Sum(FleetLedger& ledger, CellKind kind, std::int64_t from, std::int64_t to,
                                            bool by_day) {
    std::map<std::string, PhaseMs> sums;
    const auto take = [&](const LedgerCell& cell) {
      const auto& owner = cell.name->owner;
      PhaseMs& sum = sums[cell.name->node + cell.name->uuid + owner.team + owner.job];
      for (std::size_t p = 0; p < kFleetPhaseCount; ++p) sum[p] += cell.time.phases[p];
    };
    EXPECT_TRUE(by_day ? ledger.ForEachDay(kind, from, to, take) : ledger.ForEach(kind, from, to, take));
    return sums;
  }

  std::string folder_;
};

TEST_F(FleetLedgerTest, DaysAreTheSumsOfTheirHours) {
  FleetLedger ledger = Open();
  const std::vector<NodeSpan> all = Fill(ledger);
  for (const auto& [first, last] : {std::pair(0, 144), {5, 140}, {24, 48}, {30, 40}, {47, 97}}) {
    const std::int64_t from = kBegin + first * kEdgeSeconds;
    const std::int64_t to = kBegin + last * kEdgeSeconds;
    for (const CellKind kind : {CellKind::kGpu, CellKind::kTeam, CellKind::kJob}) {
      const auto hours = Sum(ledger, kind, from, to, false);
      EXPECT_EQ(hours, Sum(ledger, kind, from, to, true)) << first << " " << last;
    }
    std::map<std::string, PhaseMs> naive;
    for (const NodeSpan& span : all) {
      if (span.from >= to || span.to <= from) continue;
      PhaseMs& sum = naive[span.node + "GPU-" + span.node];
      for (std::size_t p = 0; p < kFleetPhaseCount; ++p) sum[p] += span.gpus[0].time.phases[p];
    }
    EXPECT_EQ(Sum(ledger, CellKind::kGpu, from, to, true), naive);
  }
}

TEST_F(FleetLedgerTest, AMonthIsAFileThatNeedsNoOther) {
  {
    FleetLedger ledger = Open();
    Fill(ledger);
    EXPECT_EQ(ledger.Months(), (std::vector<std::string>{"2026-03", "2026-04"}));
  }
  FleetLedger whole = Open();
  const auto april = Sum(whole, CellKind::kJob, kApril + kDaySeconds, kApril + 2 * kDaySeconds, true);
  const auto march = Sum(whole, CellKind::kGpu, kBegin, kApril - kDaySeconds, true);
  EXPECT_FALSE(march.empty());
  std::filesystem::rename(Path() + "/2026-03.sqlite", folder_ + "/kept.sqlite");
  FleetLedger rest = Open();
  EXPECT_EQ(Sum(rest, CellKind::kJob, kApril + kDaySeconds, kApril + 2 * kDaySeconds, true), april);
  EXPECT_TRUE(Sum(rest, CellKind::kGpu, kBegin, kApril - kDaySeconds, true).empty());
  std::filesystem::rename(folder_ + "/kept.sqlite", Path() + "/2026-03.sqlite");
  FleetLedger again = Open();
  EXPECT_EQ(Sum(again, CellKind::kGpu, kBegin, kApril - kDaySeconds, true), march);
}

TEST_F(FleetLedgerTest, AnHourThatAnotherPullHasBookedIsLeftOut) {
  FleetLedger one = Open();
  FleetLedger two = Open();
  const NodeSpan first = SpanOf("a", kBegin, kBegin + kEdgeSeconds, 1);
  const NodeSpan second = SpanOf("a", kBegin + kEdgeSeconds, kBegin + 2 * kEdgeSeconds, 2);
  const std::set<std::string> none;
  const std::set<std::string> node = {"a"};
  EXPECT_EQ(one.Write(kBegin, {{"a", PullOf(std::nullopt, {first})}}).value(), none);
  EXPECT_EQ(two.Write(kBegin, {{"a", PullOf(std::nullopt, {first})}}).value(), node);
  EXPECT_EQ(two.Write(kBegin, {{"a", PullOf(first.to, {second})}}).value(), none);
  EXPECT_EQ(one.Write(kBegin, {{"a", PullOf(first.to, {second})}}).value(), node);
  const auto sums = Sum(one, CellKind::kGpu, kBegin, kApril, false);
  EXPECT_EQ(sums.at("aGPU-a")[0] + sums.at("aGPU-a")[1], 2 * 3'600'000);
}

// The stale pull knows only the first of two hours of March, and its span reaches into April.
TEST_F(FleetLedgerTest, AStalePullBooksNothingOverTheEdgeOfAMonth) {
  FleetLedger one = Open();
  FleetLedger two = Open();
  const std::int64_t from = kApril - 4 * kEdgeSeconds;
  const NodeSpan first = SpanOf("a", from, from + kEdgeSeconds, 1);
  const NodeSpan second = SpanOf("a", first.to, first.to + kEdgeSeconds, 2);
  const NodeSpan stale = SpanOf("a", first.to, kApril + kEdgeSeconds, 3);
  ASSERT_TRUE(one.Write(kBegin, {{"a", PullOf(std::nullopt, {first})}}).value().empty());
  ASSERT_TRUE(one.Write(kBegin, {{"a", PullOf(first.to, {second})}}).value().empty());
  EXPECT_EQ(two.Write(kBegin, {{"a", PullOf(first.to, {stale})}}).value().size(), 1U);
  const NodeSpan rest = SpanOf("a", second.to, kApril + kEdgeSeconds, 3);
  EXPECT_TRUE(two.Write(kBegin, {{"a", PullOf(second.to, {rest})}}).value().empty());
  std::int64_t total = 0;
  const auto sums = Sum(one, CellKind::kGpu, kBegin, kApril + kDaySeconds, false);
  for (const std::int64_t ms : sums.at("aGPU-a")) total += ms;
  EXPECT_EQ(total, 5 * 3'600'000);
}

TEST_F(FleetLedgerTest, TwoLedgersAddNamesToOneMonth) {
  FleetLedger one = Open();
  FleetLedger two = Open();
  std::int64_t edge = kBegin;
  for (int i = 0; i < 6; ++i) {
    FleetLedger& ledger = i % 2 == 0 ? one : two;
    const std::string node = "n" + std::to_string(i);
    EXPECT_TRUE(ledger.Write(kBegin, {{node, PullOf(std::nullopt, {SpanOf(node, edge, edge + kEdgeSeconds, i + 1)})}})
                    .value()
                    .empty());
  }
  const auto sums = Sum(one, CellKind::kGpu, kBegin, kApril, false);
  ASSERT_EQ(sums.size(), 6U);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(sums.at("n" + std::to_string(i) + "GPU-n" + std::to_string(i))[0], i + 1);
  }
}

TEST_F(FleetLedgerTest, ALostIndexIsNoLostLedger) {
  std::map<std::string, PhaseMs> before;
  {
    FleetLedger ledger = Open();
    Fill(ledger);
    before = Sum(ledger, CellKind::kGpu, kBegin, kApril, true);
  }
  std::filesystem::remove(Path() + "/index.sqlite");
  FleetLedger ledger = Open();
  const auto reaches = ledger.Reaches();
  ASSERT_TRUE(reaches);
  ASSERT_EQ(reaches->size(), 1U);
  EXPECT_EQ(reaches->front().begin, kBegin);
  EXPECT_EQ(ledger.Marks(kBegin).value().at("a").edge, ledger.Marks(kBegin).value().at("b").edge);
  EXPECT_EQ(Sum(ledger, CellKind::kGpu, kBegin, kApril, true), before);
}

TEST_F(FleetLedgerTest, TeamsOfADaySumToItsGpus) {
  FleetLedger ledger = Open();
  const std::vector<NodeSpan> all = Fill(ledger);
  const auto days = TeamDaysFrom(ledger, kBegin, all.back().to);
  ASSERT_TRUE(days);
  std::map<std::int64_t, std::int64_t> naive;
  for (const NodeSpan& span : all) naive[span.from / kDaySeconds * kDaySeconds] += span.gpus[0].time.TotalMs();
  std::map<std::int64_t, std::int64_t> got;
  for (const TeamDay& row : days->rows) got[row.day] += row.time.TotalMs();
  EXPECT_EQ(got, naive);
}

TEST_F(FleetLedgerTest, LostTimeIsListedByHourThoughDaysAreSums) {
  FleetLedger ledger = Open();
  NodeSpan span = SpanOf("a", kBegin + 5 * kEdgeSeconds, kBegin + 6 * kEdgeSeconds, 9);
  span.gpus[0].time = {{0, 0, 0, 0, 3'600'000}, 120'000};
  span.teams["ml"] = {0, 0, 0, 0, 3'480'000};
  ASSERT_TRUE(ledger.Write(kBegin, {{"a", PullOf(std::nullopt, {span})}}));
  const Prices prices;
  const auto report = AnswerFrom(ledger, {kBegin, kBegin + kDaySeconds, prices});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->deficits.size(), 1U);
  EXPECT_EQ(report->deficits[0].hour, span.from);
  EXPECT_EQ(report->deficits[0].ms, 120'000);
  const auto days = TeamDaysFrom(ledger, kBegin, kBegin + kDaySeconds);
  ASSERT_TRUE(days);
  ASSERT_EQ(days->rows.size(), 2U);
  EXPECT_EQ(days->rows[0].team, "_unknown");
  EXPECT_EQ(days->rows[0].time.phases[kFleetUnobserved], 120'000);
}

TEST_F(FleetLedgerTest, JobsBeyondTheirTeamAreADoubt) {
  FleetLedger ledger = Open();
  NodeSpan span = SpanOf("a", kBegin, kBegin + kEdgeSeconds, 9);
  span.jobs_over["ml"] = {7'000, 0, 0, 0, 0};
  ASSERT_TRUE(ledger.Write(kBegin, {{"a", PullOf(std::nullopt, {span})}}));
  const Prices prices;
  const auto report = AnswerFrom(ledger, {kBegin, kBegin + kDaySeconds, prices});
  ASSERT_TRUE(report) << report.error().message;
  std::string said;
  for (const FleetDoubt& doubt : report->doubts) {
    if (doubt.id == "jobs_exceed_team") said = doubt.sentence;
  }
  EXPECT_NE(said.find("ml have 7 GPU-seconds more"), std::string::npos) << said;
}

// A month of 10,000 GPUs has more nanoseconds than 64 bits hold.
TEST_F(FleetLedgerTest, AMonthOfALargeFleetHasItsPrice) {
  FleetLedger ledger = Open();
  NodeSpan span = SpanOf("a", kBegin, kBegin + kEdgeSeconds, 9);
  const std::int64_t ms = 10'000LL * 720 * 3'600'000;
  span.gpus = {{"GPU-1", {{0, 0, 0, ms, 0}, 0}}};
  span.teams = {{"ml", {0, 0, 0, ms, 0}}};
  span.jobs.clear();
  ASSERT_TRUE(ledger.Write(kBegin, {{"a", PullOf(std::nullopt, {span})}}));
  const Prices prices;
  AnswerInputs inputs{kBegin, kBegin + kDaySeconds, prices};
  inputs.gpus = {{"GPU-1", {"A", Money::Cents(250), "USD", "file"}}};
  const auto report = AnswerFrom(ledger, inputs);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->cost.total, Money::Nano(18'000'000LL * 1'000'000'000));
  EXPECT_EQ(report->teams.at(0).cost.total, report->cost.total);
}

TEST_F(FleetLedgerTest, ATeamThatHeldNothingIsNoTeamOfTheWindow) {
  FleetLedger ledger = Open();
  NodeSpan span = SpanOf("a", kBegin, kBegin + kEdgeSeconds, 9);
  span.teams["january"] = {};
  ASSERT_TRUE(ledger.Write(kBegin, {{"a", PullOf(std::nullopt, {span})}}));
  const Prices prices;
  const auto report = AnswerFrom(ledger, {kBegin, kBegin + kDaySeconds, prices});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->teams.size(), 1U);
  EXPECT_EQ(report->teams[0].name, "ml");
}

// A node with a GPU for $1.00 and one for $3.00 an hour. Teams held a quarter and three quarters of its time.
TEST_F(FleetLedgerTest, OwnersOfANodeWithSeveralPricesPayItsMeanPrice) {
  FleetLedger ledger = Open();
  NodeSpan mixed = SpanOf("a", kBegin, kBegin + kEdgeSeconds, 9);
  mixed.gpus = {{"GPU-1", {{0, 0, 0, 3'600'000, 0}, 0}}, {"GPU-3", {{0, 0, 0, 3'600'000, 0}, 0}}};
  mixed.teams = {{"ml", {0, 0, 0, 1'800'000, 0}}, {"web", {0, 0, 0, 5'400'000, 0}}};
  mixed.jobs.clear();
  const NodeSpan plain = SpanOf("b", kBegin, kBegin + kEdgeSeconds, 11);  // all of ml, at $3.00
  ASSERT_TRUE(ledger.Write(kBegin, {{"a", PullOf(std::nullopt, {mixed})}, {"b", PullOf(std::nullopt, {plain})}}));
  const Prices prices;
  AnswerInputs inputs{kBegin, kBegin + kDaySeconds, prices};
  inputs.gpus = {{"GPU-1", {"A", Money::Cents(100), "USD", "file"}},
                 {"GPU-3", {"B", Money::Cents(300), "USD", "file"}},
                 {"GPU-b", {"B", Money::Cents(300), "USD", "file"}}};
  const auto report = AnswerFrom(ledger, inputs);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->cost.total, Money::Nano(7'000'000'000));
  std::map<std::string, Money> paid;
  for (const FleetOwner& team : report->teams) paid[team.name] = team.cost.total.value_or(Money());
  EXPECT_EQ(paid["ml"], Money::Nano(4'000'000'000));
  EXPECT_EQ(paid["web"], Money::Nano(3'000'000'000));
}

// Of three nodes one has no price, and one has a GPU with a price beside one without. What has a price is priced.
TEST_F(FleetLedgerTest, AGpuWithoutAPriceLeavesTheOthersPriced) {
  FleetLedger ledger = Open();
  const PhaseMs hour = {0, 0, 0, 3'600'000, 0};
  const PhaseMs idle = {3'600'000, 0, 0, 0, 0};
  NodeSpan mixed = SpanOf("a", kBegin, kBegin + kEdgeSeconds, 9);
  mixed.gpus = {{"GPU-1", {hour, 0}}, {"GPU-2", {hour, 0}}};
  mixed.teams = {{"ml", hour}, {"web", hour}};
  mixed.jobs.clear();
  NodeSpan priced = mixed;
  priced.node = "b";
  priced.gpus = {{"GPU-3", {hour, 0}}};
  priced.teams = {{"ml", hour}};
  NodeSpan unpriced = mixed;
  unpriced.node = "c";
  unpriced.gpus = {{"GPU-4", {idle, 0}}};
  unpriced.teams = {{"poor", idle}};
  ASSERT_TRUE(ledger.Write(kBegin, {{"a", PullOf(std::nullopt, {mixed})},
                                    {"b", PullOf(std::nullopt, {priced})},
                                    {"c", PullOf(std::nullopt, {unpriced})}}));
  const Prices prices;
  AnswerInputs inputs{kBegin, kBegin + kDaySeconds, prices};
  inputs.gpus = {{"GPU-1", {"A", Money::Cents(200), "USD", "file"}},
                 {"GPU-3", {"A", Money::Cents(200), "USD", "file"}}};
  const auto report = AnswerFrom(ledger, inputs);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->cost.total, Money::Cents(400));
  // Compute-bound time wastes at most a tenth. The idle GPU has no price, so it is in no waste.
  EXPECT_EQ(report->cost.waste, Money());
  EXPECT_EQ(report->cost.waste_high, Money::Cents(40));
  EXPECT_EQ(report->unpriced_ms, 2 * 3'600'000);
  std::map<std::string, std::optional<Money>> paid;
  for (const FleetOwner& team : report->teams) paid[team.name] = team.cost.total;
  EXPECT_EQ(paid["ml"], Money::Cents(300));
  EXPECT_EQ(paid["web"], Money::Cents(100));
  EXPECT_FALSE(paid["poor"].has_value());
  std::map<std::string, std::int64_t> doubts;
  for (const FleetDoubt& doubt : report->doubts) doubts[doubt.id] = doubt.count;
  EXPECT_EQ(doubts["unpriced_gpu_hours"], 2);
  EXPECT_EQ(doubts.count("no_price"), 0U);
}

// The engine answers nothing, so each rebuild keeps what the ledger has. A second one and a pull come meanwhile.
TEST_F(FleetLedgerTest, ARebuildHoldsOffPullsAndOtherRebuilds) {
  std::map<std::string, PhaseMs> before;
  {
    FleetLedger ledger = Open();
    Fill(ledger);
    before = Sum(ledger, CellKind::kGpu, kBegin, kApril, false);
  }
  const PullRequest request{kBegin, kApril};
  const Nanos short_wait{kNanosPerSecond / 50};
  testing::ScriptedEngine quiet([](const auto&) { return std::string("[]"); });
  int refused = 0;
  testing::ScriptedEngine busy([&](const auto&) {
    Engine other = quiet.Open();
    const auto rebuild = RebuildLedger(other, Path(), short_wait, request);
    const auto pull = FleetLedger::OpenToPull(Path(), short_wait);
    refused += !rebuild && rebuild.error().message.find("in use by another idleburn") != std::string::npos ? 1 : 0;
    refused += pull ? 0 : 1;
    return std::string("[]");
  });
  Engine engine = busy.Open();
  ASSERT_TRUE(RebuildLedger(engine, Path() + "/", kPatience, request));
  EXPECT_GT(refused, 0);
  EXPECT_EQ(refused % 2, 0);
  FleetLedger rebuilt = FleetLedger::OpenToPull(Path(), short_wait).value();
  EXPECT_EQ(Sum(rebuilt, CellKind::kGpu, kBegin, kApril, false), before);
  EXPECT_TRUE(FleetLedger::OpenToPull(Path(), short_wait)) << "two pulls at once are well";
  const auto during = RebuildLedger(engine, Path(), short_wait, request);
  EXPECT_FALSE(during) << "a pull has the ledger open";
  EXPECT_TRUE(Open().Reaches()) << "a report may read it";
}

TEST_F(FleetLedgerTest, AFileIsNoLedger) {
  std::ofstream(Path()) << "no folder";
  const auto ledger = FleetLedger::Open(Path(), kPatience);
  ASSERT_FALSE(ledger);
  EXPECT_NE(ledger.error().message.find("the ledger is a folder"), std::string::npos);
}

}  // namespace
}  // namespace idleburn
