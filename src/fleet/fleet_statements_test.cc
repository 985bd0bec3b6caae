// Statements of made fleets: every amount of the report is on one line, and a statement adds up by itself.
#include "fleet/fleet_statements.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "support/property.h"

namespace idleburn {
namespace {

constexpr std::int64_t kAnHourMs = 3'600'000;

FleetOwner Owner(const std::string& name, std::int64_t ms, std::int64_t nano) {
  FleetOwner owner;
  owner.name = name;
  owner.time.phases[2] = ms;
  owner.cost = {Money::Nano(nano), Money::Nano(nano / 10), Money::Nano(nano / 3)};
  return owner;
}

FleetOwner Job(const std::string& name, const std::string& team, const std::string& experiment, std::int64_t ms,
               std::int64_t nano) {
  FleetOwner job = Owner(name, ms, nano);
  job.team = team;
  job.user = "user of " + name;
  job.experiment = experiment;
  return job;
}

// Two teams, unknown and unallocated time. Jobs' costs differ from their team's by single nano-units, as those of a
// report do, since they are rounded against all jobs of the fleet.
FleetReport MadeReport() {
  FleetReport report;
  report.from = 1'772'409'600;
  report.to = report.from + 6 * 3600;
  report.rate_source = "--price 2.5";
  report.teams = {Owner("ml", 4 * kAnHourMs, 10'000'000'001), Owner("vision", 2 * kAnHourMs, 5'000'000'000),
                  Owner("_unallocated", 3 * kAnHourMs, 7'500'000'000), Owner("_unknown", kAnHourMs, 2'500'000'000)};
  report.jobs = {Job("1", "ml", "bert", 3 * kAnHourMs, 7'500'000'003), Job("2", "ml", "", kAnHourMs, 2'500'000'000),
                 Job("3", "vision", "resnet", 2 * kAnHourMs, 4'999'999'999)};
  for (const FleetOwner& team : report.teams) report.whole.Add(team.time);
  report.unallocated = report.teams[2].time;
  report.unallocated_cost = report.teams[2].cost.total;
  report.cost.total = Money::Nano(25'000'000'001);
  return report;
}

const FleetStatement& TeamOf(const FleetStatements& all, const std::string& name) {
  for (const FleetStatement& team : all.teams) {
    if (team.charge.name == name) return team;
  }
  ADD_FAILURE() << name;
  return all.teams.front();
}

std::int64_t SumOf(const std::vector<StatementPart>& parts) {
  std::int64_t nano = 0;
  for (const StatementPart& part : parts) nano += part.direct.nano();
  return nano;
}

TEST(FleetStatementsTest, EachAmountOfTheReportIsOnOneLine) {
  const FleetStatements all = StatementsOf(MadeReport(), {}).value();
  EXPECT_EQ(all.charge.total, Money::Nano(25'000'000'001));
  ASSERT_EQ(all.lines.size(), 1U);
  EXPECT_EQ(all.lines[0].amount, Money::Nano(7'500'000'000));
  EXPECT_EQ(all.charge.left[0], Money::Nano(7'500'000'000));
  ASSERT_EQ(all.teams.size(), 3U);
  EXPECT_TRUE(TeamOf(all, "_unknown").charge.bucket);
  EXPECT_TRUE(all.provisional.empty());
}

TEST(FleetStatementsTest, JobsUsersAndExperimentsSumToTheirTeam) {
  const FleetStatements all = StatementsOf(MadeReport(), {}).value();
  for (const FleetStatement& team : all.teams) {
    EXPECT_EQ(SumOf(team.jobs), team.charge.direct.nano()) << team.charge.name;
    EXPECT_EQ(SumOf(team.users), team.charge.direct.nano()) << team.charge.name;
    EXPECT_EQ(SumOf(team.experiments), team.charge.direct.nano()) << team.charge.name;
  }
  const FleetStatement& ml = TeamOf(all, "ml");
  ASSERT_EQ(ml.experiments.size(), 2U);
  EXPECT_EQ(ml.experiments[0].name, "bert");
  EXPECT_EQ(ml.experiments[1].name, "_unknown");
  // Time without a job is a row, not a gap.
  const FleetStatement& unknown = TeamOf(all, "_unknown");
  ASSERT_EQ(unknown.jobs.size(), 1U);
  EXPECT_EQ(unknown.jobs[0].time.TotalMs(), kAnHourMs);
}

// Only three names are buckets. Any other team pays, whatever its name starts with.
TEST(FleetStatementsTest, ATeamWithAnUnderscoreIsATeam) {
  FleetReport report = MadeReport();
  report.teams[0].name = "_ml";
  for (FleetOwner& job : report.jobs) job.team = job.team == "ml" ? "_ml" : job.team;
  const FleetStatements all = StatementsOf(report, {}).value();
  EXPECT_FALSE(TeamOf(all, "_ml").charge.bucket);
  EXPECT_EQ(TeamOf(all, "_ml").jobs.size(), 2U);
}

TEST(FleetStatementsTest, ExperimentsThatRanCarrySharedCost) {
  ChargeRequest request;
  request.policy = SharePolicy::kExperiments;
  const FleetStatements all = StatementsOf(MadeReport(), request).value();
  // $7.50 by 3 hours of bert and 2 of resnet; the hour without an experiment takes none.
  EXPECT_EQ(TeamOf(all, "ml").charge.shared, Money::Nano(4'500'000'000));
  EXPECT_EQ(TeamOf(all, "vision").charge.shared, Money::Nano(3'000'000'000));
  EXPECT_EQ(TeamOf(all, "ml").experiments[0].shared, Money::Nano(4'500'000'000));
  EXPECT_EQ(TeamOf(all, "ml").experiments[1].shared, Money());
  EXPECT_EQ(all.charge.total, Money::Nano(25'000'000'001));
}

// Agents count bands, so their waste has bounds; a bill by busy time would be a guess.
TEST(FleetStatementsTest, BusyNeedsWasteThatIsKnown) {
  ChargeRequest request;
  request.basis = ChargeBasis::kBusy;
  FleetReport report = MadeReport();
  const Result<FleetStatements> refused = StatementsOf(report, request);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("--basis allocated"), std::string::npos);
  for (FleetOwner& team : report.teams) team.cost.waste_high = team.cost.waste;
  request.policy = SharePolicy::kProportional;
  const FleetStatements all = StatementsOf(report, request).value();
  EXPECT_EQ(TeamOf(all, "ml").charge.direct, Money::Nano(9'000'000'001));
  // Nobody saw whether time of no known owner was busy for anyone, so the bucket keeps its whole cost.
  EXPECT_EQ(TeamOf(all, "_unknown").charge.direct, Money::Nano(2'500'000'000));
  ASSERT_EQ(all.lines.size(), 2U);
  EXPECT_EQ(all.lines[1].amount, Money::Nano(1'500'000'000));
  EXPECT_EQ(all.charge.total, Money::Nano(25'000'000'001));
}

// Teams sum to the GPUs. If they did not, nothing would be spread or lost.
TEST(FleetStatementsTest, ADifferenceToTheGpusIsALineOfItsOwn) {
  FleetReport report = MadeReport();
  report.cost.total = Money::Nano(23'000'000'000);
  ChargeRequest request;
  request.policy = SharePolicy::kUniform;
  const FleetStatements all = StatementsOf(report, request).value();
  ASSERT_EQ(all.lines.size(), 2U);
  EXPECT_EQ(all.lines[1].amount, Money::Nano(-2'000'000'001));
  EXPECT_EQ(all.charge.left[1], all.lines[1].amount);
  EXPECT_EQ(all.charge.total, Money::Nano(23'000'000'000));
}

TEST(FleetStatementsTest, WithoutTeamsAllCostIsUnknown) {
  FleetReport report = MadeReport();
  report.teams.clear();
  const FleetStatements all = StatementsOf(report, {}).value();
  ASSERT_EQ(all.teams.size(), 1U);
  EXPECT_EQ(all.teams[0].charge.direct, Money::Nano(17'500'000'001));
  EXPECT_EQ(all.charge.total, Money::Nano(25'000'000'001));
}

TEST(FleetStatementsTest, WhatMayChangeIsProvisional) {
  FleetReport report = MadeReport();
  report.open_hours = 2;
  report.doubts = {{"nodes_behind", 1, "warn", "1 node was not read"}, {"replicas", 2, "info", "two replicas"}};
  const FleetStatements all = StatementsOf(report, {}).value();
  ASSERT_EQ(all.provisional.size(), 2U);
  EXPECT_EQ(all.provisional[0].id, "open_hours");
  EXPECT_EQ(all.provisional[1].id, "nodes_behind");
  FleetReport estimate = MadeReport();
  estimate.exact = false;
  EXPECT_EQ(StatementsOf(estimate, {})->provisional[0].id, "estimated");
}

TEST(FleetStatementsTest, NothingToChargeIsOneLine) {
  FleetReport report = MadeReport();
  report.cost = {};
  EXPECT_NE(StatementsOf(report, {}).error().message.find("--price"), std::string::npos);
  report.whole = {};
  EXPECT_NE(StatementsOf(report, {}).error().message.find("no GPU-hour"), std::string::npos);
}

// Labels are anyone's text. None may leave the folder, hide, or take another team's file.
TEST(FleetStatementsTest, ATeamsNameNeverBecomesAPath) {
  EXPECT_EQ(StatementFileName("ml-research_2.0"), "team-ml-research_2.0");
  std::set<std::string> files;
  const std::vector<std::string> hostile = {
      "",     "..",        "../../etc/passwd",   "/etc/passwd",          ".hid",  "a/b",       "a\\b",     "a b",
      "a\nb", "\xc3\xa9t", std::string(65, 'a'), std::string("a\0b", 3), "-rf *", "hashed-x/", "team-x y", "%2e%2e"};
  for (const std::string& name : hostile) {
    const std::string file = StatementFileName(name);
    EXPECT_EQ(file.size(), 39U) << file;
    EXPECT_TRUE(file.starts_with("hashed-")) << file;
    EXPECT_TRUE(files.insert(file).second) << file;
  }
  // A team that is called like the hash of another one has its own file.
  const std::string stolen = StatementFileName("a/b");
  EXPECT_NE(StatementFileName(stolen), stolen);
  test::ExpectProperty([](const std::string& name) {
    for (const char c : StatementFileName(name)) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                         c == '_' || c == '-';
      RC_ASSERT(plain);
    }
    RC_ASSERT(StatementFileName(name).size() <= 69U);
  });
}

// Any report: statements and what is left sum to the report and what the user adds.
TEST(FleetStatementsTest, EveryPeriodAddsUp) {
  test::ExpectProperty([] {
    FleetReport report;
    report.to = 3600;
    std::int64_t total = 0;
    const auto nano = [] { return *rc::gen::inRange<std::int64_t>(0, 3'000'000'000'000); };
    const int teams = *rc::gen::inRange(1, 6);
    for (int i = 0; i < teams; ++i) {
      const std::string name = i == 1 ? "_unknown" : i == 2 ? "_unallocated" : "team" + std::to_string(i);
      FleetOwner team = Owner(name, 0, 0);
      std::int64_t cost = 0;
      const int jobs = *rc::gen::inRange(0, 4);
      for (int k = 0; k < jobs && name != "_unallocated"; ++k) {
        FleetOwner job = Job(std::to_string(k), name, *rc::gen::element<std::string>("", "x", "y"),
                             *rc::gen::inRange<std::int64_t>(1, kAnHourMs), nano());
        team.time.Add(job.time);
        cost += job.cost.total->nano();
        report.jobs.push_back(std::move(job));
      }
      team.time.phases[0] += *rc::gen::inRange<std::int64_t>(1, kAnHourMs);
      team.cost.total = Money::Nano(std::max<std::int64_t>(0, cost + *rc::gen::inRange<std::int64_t>(-3, 1'000'000)));
      total += team.cost.total->nano();
      report.whole.Add(team.time);
      if (name == "_unallocated") report.unallocated_cost = team.cost.total;
      report.teams.push_back(std::move(team));
    }
    report.cost.total = Money::Nano(total);
    ChargeRequest request;
    request.policy = *rc::gen::element(SharePolicy::kNone, SharePolicy::kUniform, SharePolicy::kProportional);
    request.shared = {{"support", Money::Nano(nano())}};
    request.commitments = {{"platform", Money::Nano(nano())}};
    const Result<FleetStatements> all = StatementsOf(report, request);
    RC_PRE(all.has_value());
    std::int64_t sum = 0;
    for (const FleetStatement& team : all->teams) {
      sum += team.charge.total.nano();
      if (team.jobs.empty()) continue;
      RC_ASSERT(SumOf(team.jobs) == team.charge.direct.nano());
      RC_ASSERT(SumOf(team.users) == team.charge.direct.nano());
      RC_ASSERT(SumOf(team.experiments) == team.charge.direct.nano());
    }
    for (const Money left : all->charge.left) sum += left.nano();
    RC_ASSERT(sum == total + request.shared[0].amount.nano() + request.commitments[0].amount.nano());
  });
}

}  // namespace
}  // namespace idleburn
