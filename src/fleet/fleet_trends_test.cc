// Weeks against a naive account of the same spans, hour by hour, and calendars against strftime.
#include "fleet/fleet_trends.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <string>

#include "support/property.h"

namespace idleburn {
namespace {

constexpr std::int64_t kMonday = 1'772'409'600;  // 2026-03-02T00:00:00Z
constexpr std::int64_t kHourS = 3600;
constexpr std::int64_t kWeekS = 7 * 24 * kHourS;

// The ISO week, the weekday from 1 for Monday, and the time of day, by the C library.
struct CalendarText {
  std::string week;
  std::string day_and_time;
};
CalendarText Strftime(std::int64_t second) {
  const std::time_t time = second;
  std::tm utc{};
  gmtime_r(&time, &utc);
  char week[32];
  char day[32];
  std::strftime(week, sizeof week, "%G-W%V", &utc);
  std::strftime(day, sizeof day, "%u %H:%M:%S", &utc);
  return {week, day};
}

TEST(FleetTrendsTest, WeeksAreThoseOfTheCalendar) {
  EXPECT_EQ(IsoWeekName(MondayOf(kMonday)), "2026-W10");
  EXPECT_EQ(MondayOf(kMonday - 1), kMonday - kWeekS);
  for (std::int64_t day = 0; day < 40 * 366; ++day) {
    const std::int64_t second = day * 86'400 + day % 86'400;
    ASSERT_EQ(IsoWeekName(MondayOf(second)), Strftime(second).week) << second;
    ASSERT_EQ(Strftime(MondayOf(second)).day_and_time, "1 00:00:00");
  }
}

// A span of one node: one GPU and what its teams did.
struct MadeSpan {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::map<std::string, PhaseMs> teams;
  std::int64_t reset_ms = 0;
};

// A folder in memory where there is one, since a hundred ledgers on a disk take seconds.
struct QuickFolder {
  QuickFolder() {
    std::string name =
        std::filesystem::exists("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path().string();
    name += "/weeksXXXXXX";
    path = mkdtemp(name.data());
  }
  ~QuickFolder() { std::filesystem::remove_all(path); }
  QuickFolder(const QuickFolder&) = delete;
  QuickFolder& operator=(const QuickFolder&) = delete;
  std::string path;
};

class FleetWeeksTest : public ::testing::Test {
 protected:
  // A report of one node's spans at a price in nano-dollars an hour.
  static FleetReport Report(const std::vector<MadeSpan>& spans, std::int64_t from, std::int64_t to,
                            std::int64_t per_hour) {
    const QuickFolder folder;
    FleetLedger ledger = FleetLedger::Open(folder.path + "/ledger.sqlite", Nanos{kNanosPerSecond}).value();
    std::map<std::string, NodePull> pulls;  // by month
    std::optional<std::int64_t> edge;
    FleetReport report;
    report.from = from;
    report.to = to;
    for (const MadeSpan& made : spans) {
      NodeSpan span;
      span.node = "n";
      span.from = made.from;
      span.to = made.to;
      NodeSpan::GpuTimes gpu;
      gpu.uuid = "GPU-1";
      gpu.time.reset_ms = made.reset_ms;
      gpu.time.phases[kFleetUnobserved] = made.reset_ms;
      for (const auto& [team, phases] : made.teams) gpu.time.Add({phases, 0});
      span.gpus.push_back(gpu);
      span.teams = made.teams;
      NodePull& pull = pulls[MonthOf(made.to)];
      if (pull.spans.empty()) pull.edge_before = edge;
      pull.after.edge = made.to;
      pull.spans.push_back(span);
      edge = made.to;
      const std::int64_t inside = std::min(made.to, to) - std::max(made.from, from);
      if (inside > 0) report.whole.phases[0] += gpu.time.TotalMs() * inside / (made.to - made.from);
    }
    for (const auto& [month, pull] : pulls) EXPECT_TRUE(ledger.Write(from, {{"n", pull}}));
    FleetCost cost;
    cost.total = Price(Money::Nano(per_hour), report.whole.TotalMs() * kNanosPerMs).value();
    report.cost = cost;
    report.gpus.push_back({"GPU-1", "n", "", report.whole, cost});
    EXPECT_TRUE(AddFleetWeeks(ledger, &report));
    return report;
  }

  static std::vector<MadeSpan> Hours(std::int64_t from, std::int64_t to, PhaseMs hour) {
    std::vector<MadeSpan> spans;
    for (std::int64_t at = from; at < to; at += kHourS) spans.push_back({at, at + kHourS, {{"ml", hour}}, 0});
    return spans;
  }
};

TEST_F(FleetWeeksTest, OnlyWholeWeeksAreCompared) {
  // Two and a half days, then two whole weeks, then a day.
  std::vector<MadeSpan> spans = Hours(kMonday - 60 * kHourS, kMonday, {3'600'000, 0, 0, 0, 0});
  for (const MadeSpan& span : Hours(kMonday, kMonday + kWeekS, {3'600'000, 0, 0, 0, 0})) spans.push_back(span);
  for (const MadeSpan& span : Hours(kMonday + kWeekS, kMonday + 2 * kWeekS, {1'800'000, 0, 0, 1'800'000, 0})) {
    spans.push_back(span);
  }
  for (const MadeSpan& span :
       Hours(kMonday + 2 * kWeekS, kMonday + 2 * kWeekS + 24 * kHourS, {0, 0, 0, 3'600'000, 0})) {
    spans.push_back(span);
  }
  const FleetReport report = Report(spans, kMonday - 60 * kHourS, kMonday + 2 * kWeekS + 24 * kHourS, 2'000'000'000);
  ASSERT_EQ(report.weeks.size(), 4U);
  EXPECT_TRUE(report.weeks[0].partial);
  EXPECT_FALSE(report.weeks[1].partial);
  EXPECT_FALSE(report.weeks[2].partial);
  EXPECT_TRUE(report.weeks[3].partial);
  EXPECT_FALSE(ChangeOf(report.weeks[0], report.weeks[1]));
  EXPECT_FALSE(ChangeOf(report.weeks[2], report.weeks[3]));
  EXPECT_FALSE(ChangeOf(report.weeks[0], report.weeks[2]));
  const FleetWeekChange change = ChangeOf(report.weeks[1], report.weeks[2]).value();
  EXPECT_EQ(report.weeks[1].cost.total, Money::Nano(336'000'000'000));  // 168 h at $2.00
  EXPECT_NEAR(*change.cost, 0, 1e-9);
  EXPECT_NEAR(change.idle_share, -0.5, 1e-9);
  EXPECT_NEAR(change.waste_share, -0.45, 1e-9);  // at least 90 % of idle time is waste
}

// The window has whole weeks, but agents began to count on a Wednesday.
TEST_F(FleetWeeksTest, AWeekThatWasCountedInPartIsPartial) {
  const FleetReport report = Report(Hours(kMonday + 48 * kHourS, kMonday + 2 * kWeekS, {3'600'000, 0, 0, 0, 0}),
                                    kMonday, kMonday + 2 * kWeekS, 1'000'000'000);
  ASSERT_EQ(report.weeks.size(), 2U);
  EXPECT_TRUE(report.weeks[0].partial);
  EXPECT_FALSE(report.weeks[1].partial);
}

TEST_F(FleetWeeksTest, ASpanOverTheEdgeOfAWeekIsUnobserved) {
  const std::vector<MadeSpan> spans = {{kMonday - 2 * kHourS, kMonday + kHourS, {{"ml", {10'800'000, 0, 0, 0, 0}}}, 0}};
  const FleetReport report = Report(spans, kMonday - kWeekS, kMonday + kWeekS, 3'000'000'000);
  ASSERT_EQ(report.weeks.size(), 2U);
  EXPECT_EQ(report.weeks[0].time.phases, (PhaseMs{0, 0, 0, 0, 7'200'000}));
  EXPECT_EQ(report.weeks[1].time.phases, (PhaseMs{0, 0, 0, 0, 3'600'000}));
  for (const FleetWeek& week : report.weeks) {
    ASSERT_EQ(week.teams.size(), 1U);
    EXPECT_EQ(week.teams[0].name, "_unknown");
    EXPECT_EQ(week.teams[0].cost.total, week.cost.total);
  }
  EXPECT_EQ(report.weeks[0].cost.total, Money::Nano(6'000'000'000));
  ASSERT_EQ(report.doubts.size(), 1U);
  EXPECT_EQ(report.doubts[0].id, "span_crosses_week");
  EXPECT_EQ(report.doubts[0].count, 1);
}

// A node with a GPU for $1 and one for $3 an hour, and a node at $2: both nodes cost $2 an hour in the mean, so two
// teams with as much time on one node each pay the same. The order of the GPUs does not matter.
TEST_F(FleetWeeksTest, TeamsPayTheMeanPriceOfANode) {
  const QuickFolder folder;
  FleetLedger ledger = FleetLedger::Open(folder.path + "/ledger.sqlite", Nanos{kNanosPerSecond}).value();
  const PhaseMs hour = {0, 0, 0, 3'600'000, 0};
  const PhaseMs both = {0, 0, 0, 7'200'000, 0};
  NodePulls pulls;
  for (const std::string node : {"mixed", "plain"}) {
    NodeSpan span;
    span.node = node;
    span.from = kMonday;
    span.to = kMonday + kHourS;
    span.gpus = {{node + "-1", {hour, 0}}, {node + "-2", {hour, 0}}};
    span.teams[node] = both;
    pulls[node].after.edge = span.to;
    pulls[node].spans.push_back(span);
  }
  ASSERT_TRUE(ledger.Write(kMonday, pulls));
  FleetReport report;
  report.from = kMonday;
  report.to = kMonday + kHourS;
  const auto cost = [](std::int64_t dollars) { return FleetCost{Money::Cents(dollars * 100), Money(), Money()}; };
  report.gpus = {{"mixed-1", "mixed", "", {hour, 0}, cost(1)},
                 {"mixed-2", "mixed", "", {hour, 0}, cost(3)},
                 {"plain-1", "plain", "", {hour, 0}, cost(2)},
                 {"plain-2", "plain", "", {hour, 0}, cost(2)}};
  report.cost = cost(8);
  ASSERT_TRUE(AddFleetWeeks(ledger, &report));
  ASSERT_EQ(report.weeks.size(), 1U);
  ASSERT_EQ(report.weeks[0].teams.size(), 2U);
  for (const FleetOwner& team : report.weeks[0].teams) EXPECT_EQ(team.cost.total, Money::Cents(400)) << team.name;
}

TEST_F(FleetWeeksTest, ALedgerWithoutHoursHasNoWeeks) {
  EXPECT_TRUE(Report({}, kMonday, kMonday + 3 * kWeekS, 1'000'000'000).weeks.empty());
}

// One hour of one span, by the rules: whole in window and week, else unobserved and of no owner.
struct NaiveWeek {
  std::map<std::string, PhaseMs> teams;
  std::int64_t ms = 0;
};

std::map<std::string, NaiveWeek> NaiveWeeks(const std::vector<MadeSpan>& spans, std::int64_t from, std::int64_t to) {
  std::map<std::string, NaiveWeek> weeks;
  for (const MadeSpan& span : spans) {
    const bool in_window = span.from >= from && span.to <= to;
    const bool in_week = Strftime(span.from).week == Strftime(span.to - 1).week;
    if (in_window && in_week) {
      NaiveWeek& week = weeks[Strftime(span.from).week];
      for (const auto& [team, phases] : span.teams) {
        for (std::size_t p = 0; p < kFleetPhaseCount; ++p) {
          week.teams[team][p] += phases[p];
          week.ms += phases[p];
        }
      }
      week.teams["_unknown"][kFleetUnobserved] += span.reset_ms;
      week.ms += span.reset_ms;
      continue;
    }
    // Made spans hold 3,600,000 ms for each hour, so each hour of them has the same.
    for (std::int64_t hour = std::max(span.from, from); hour < std::min(span.to, to); hour += kHourS) {
      NaiveWeek& week = weeks[Strftime(hour).week];
      week.teams["_unknown"][kFleetUnobserved] += 3'600'000;
      week.ms += 3'600'000;
    }
  }
  return weeks;
}

std::vector<MadeSpan> AnySpans(std::int64_t begin) {
  std::vector<MadeSpan> spans;
  std::int64_t at = begin;
  const int count = *rc::gen::inRange(1, 60);
  for (int i = 0; i < count; ++i) {
    MadeSpan span;
    span.from = at;
    span.to = at + kHourS * *rc::gen::weightedOneOf<std::int64_t>(
                                {{8, rc::gen::just<std::int64_t>(1)}, {2, rc::gen::inRange<std::int64_t>(2, 90)}});
    std::int64_t left = (span.to - span.from) * 1000;
    for (const char* team : {"ml", "vision", "_unallocated"}) {
      for (std::size_t p = 0; p < kFleetPhaseCount; ++p) {
        const std::int64_t ms = *rc::gen::inRange<std::int64_t>(0, left / 4 + 1);
        span.teams[team][p] += ms;
        left -= ms;
      }
    }
    if (*rc::gen::inRange(0, 4) == 0) {
      span.reset_ms = left;
    } else {
      span.teams["ml"][0] += left;
    }
    at = span.to + kHourS * *rc::gen::weightedElement<std::int64_t>({{9, 0}, {1, 30}});
    spans.push_back(std::move(span));
  }
  return spans;
}

TEST_F(FleetWeeksTest, TheyAreThoseOfTheNaiveAccount) {
  test::ExpectProperty([] {
    const std::int64_t begin = kMonday + kHourS * *rc::gen::inRange<std::int64_t>(-170, 170);
    const std::vector<MadeSpan> spans = AnySpans(begin);
    const std::int64_t from = begin + kHourS * *rc::gen::inRange<std::int64_t>(-20, 20);
    const std::int64_t to = spans.back().to + kHourS * *rc::gen::inRange<std::int64_t>(-20, 20);
    RC_PRE(from < to);
    const FleetReport report = Report(spans, from, to, *rc::gen::inRange<std::int64_t>(1, 9'000'000'000));
    const std::map<std::string, NaiveWeek> naive = NaiveWeeks(spans, from, to);
    std::int64_t cost = 0;
    std::map<std::string, bool> seen;
    for (const FleetWeek& week : report.weeks) {
      cost += week.cost.total->nano();
      const auto known = naive.find(week.name);
      RC_ASSERT(week.time.TotalMs() == (known == naive.end() ? 0 : known->second.ms));
      std::int64_t teams = 0;
      for (const FleetOwner& team : week.teams) {
        RC_ASSERT(team.time.phases == known->second.teams.at(team.name));
        teams += team.cost.total->nano();
      }
      RC_ASSERT(week.teams.empty() || teams == week.cost.total->nano());
      seen[week.name] = true;
    }
    for (const auto& [name, week] : naive) RC_ASSERT(week.ms == 0 || seen.count(name) == 1);
    if (!report.weeks.empty()) RC_ASSERT(cost == report.cost.total->nano());
  });
}

}  // namespace
}  // namespace idleburn
