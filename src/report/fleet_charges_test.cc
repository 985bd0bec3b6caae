// Printed chargebacks: columns and rows add up, and no printed amount is a minor unit or more off.
#include "report/fleet_charges.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>

#include "os/digest.h"
#include "report/fleet_statements_output.h"
#include "support/property.h"

namespace idleburn {
namespace {

FleetStatements Charged(const std::vector<std::int64_t>& direct, std::int64_t shared, SharePolicy policy) {
  FleetStatements all;
  all.currency = "USD";
  all.rate_source = "--price 2.5";
  all.policy = policy;
  ChargeInput input;
  input.policy = policy;
  for (std::size_t i = 0; i < direct.size(); ++i) {
    input.owners.push_back({"team" + std::to_string(i), false, Money::Nano(direct[i])});
  }
  input.shared = {{"unallocated GPUs", Money::Nano(shared)}};
  all.lines = input.shared;
  all.charge = ChargeOwners(input).value();
  for (const ChargeRow& row : all.charge.rows) {
    FleetStatement& team = all.teams.emplace_back();
    team.charge = row;
    team.jobs.push_back({"1", "ada", "bert", {}, row.direct, {}, {}});
  }
  return all;
}

std::string TotalOf(const FleetStatements& all) {
  return FormatMoney(ShownChargesOf(all.charge, all.currency).total, 2);
}

// The case of the reference: $100.00 over three teams.
TEST(FleetChargesTest, AHundredDollarsOverThreeTeams) {
  const FleetStatements all = Charged({0, 0, 0}, 100'000'000'000, SharePolicy::kUniform);
  const ShownCharges shown = ShownChargesOf(all.charge, all.currency);
  EXPECT_EQ(FormatMoney(shown.rows[0].total, 2), "33.34");
  EXPECT_EQ(FormatMoney(shown.rows[1].total, 2), "33.33");
  EXPECT_EQ(FormatMoney(shown.rows[2].total, 2), "33.33");
  EXPECT_EQ(TotalOf(all), "100.00");
  const std::string text = PageText(StatementsPage(all), 100, false);
  EXPECT_NE(text.find("3 teams pay $100.00 of $100.00."), std::string::npos) << text;
}

// A team that labels no experiment would pay nothing, and nobody would see it.
TEST(FleetChargesTest, TeamsWithoutAnExperimentAreNamedWithTheirHours) {
  FleetStatements all = Charged({5, 5}, 10, SharePolicy::kNone);
  all.policy = SharePolicy::kExperiments;
  all.charge.unweighted = {"team1"};
  all.teams[1].time.phases[0] = 12 * 3'600'000;
  const std::string text = PageText(StatementsPage(all), 160, false);
  EXPECT_NE(text.find("without an experiment label, so without shared cost: team1 (12 GPU-hours)"), std::string::npos)
      << text;
}

TEST(FleetChargesTest, PrintedAmountsAddUpBothWays) {
  test::ExpectProperty([] {
    std::vector<std::int64_t> direct;
    const int teams = *rc::gen::inRange(1, 9);
    for (int i = 0; i < teams; ++i) direct.push_back(*rc::gen::inRange<std::int64_t>(1, 90'000'000'000));
    const auto policy = *rc::gen::element(SharePolicy::kNone, SharePolicy::kUniform, SharePolicy::kProportional);
    const FleetStatements all = Charged(direct, *rc::gen::inRange<std::int64_t>(0, 90'000'000'000), policy);
    const ShownCharges shown = ShownChargesOf(all.charge, all.currency);
    ShownCharge sums;
    const auto add = [](Money* sum, Money more) { *sum = Money::Nano(sum->nano() + more.nano()); };
    const auto near = [](Money a, Money b) { return std::llabs(a.nano() - b.nano()) < kCent; };
    for (std::size_t i = 0; i < shown.rows.size(); ++i) {
      const ShownCharge& row = shown.rows[i];
      RC_ASSERT(row.total.nano() == row.direct.nano() + row.shared.nano() + row.commitment.nano());
      RC_ASSERT(row.total.nano() % kCent == 0);
      RC_ASSERT(near(row.direct, all.charge.rows[i].direct));
      RC_ASSERT(near(row.shared, all.charge.rows[i].shared));
      if (all.charge.rows[i].shared == Money()) RC_ASSERT(row.shared == Money());
      add(&sums.direct, row.direct);
      add(&sums.shared, row.shared);
      add(&sums.total, row.total);
    }
    RC_ASSERT(sums.direct == shown.sum.direct);
    RC_ASSERT(sums.shared == shown.sum.shared);
    RC_ASSERT(sums.total == shown.sum.total);
    RC_ASSERT(shown.total.nano() == sums.total.nano() + shown.left[0].nano());
    RC_ASSERT(FormatMoney(shown.total, 2) == FormatMoney(all.charge.total, 2));
  });
}

TEST(FleetChargesTest, AColumnFitsItsCell) {
  test::ExpectProperty([] {
    const std::vector<std::int64_t> nanos = *rc::gen::nonEmpty(
        rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(-40'000'000'000, 90'000'000'000)));
    std::vector<Money> exact;
    std::int64_t sum = 0;
    for (const std::int64_t nano : nanos) {
      exact.push_back(Money::Nano(nano));
      sum += nano;
    }
    const std::int64_t floor = sum - ((sum % kCent) + kCent) % kCent;
    const std::int64_t total = floor + (sum != floor && *rc::gen::arbitrary<bool>() ? kCent : 0);
    std::int64_t printed = 0;
    const std::vector<Money> shown = FitColumn(exact, Money::Nano(total), kCent);
    for (std::size_t i = 0; i < shown.size(); ++i) {
      RC_ASSERT(shown[i].nano() % kCent == 0);
      RC_ASSERT(std::llabs(shown[i].nano() - nanos[i]) < kCent);
      printed += shown[i].nano();
    }
    RC_ASSERT(printed == total);
  });
}

// The id is the checksum of the CSV file, so anybody can compute it, and any change of a figure shows.
TEST(FleetChargesTest, TheIdIsThatOfTheContent) {
  FleetStatements all = Charged({5'000'000'000, 7'000'000'000}, 3'000'000'000, SharePolicy::kUniform);
  const std::string id = StatementId(all, all.teams[0]);
  EXPECT_EQ(id, Sha256Hex(TeamStatementCsv({all, all.teams[0]})));
  EXPECT_EQ(id, StatementId(all, all.teams[0]));
  EXPECT_NE(id, StatementId(all, all.teams[1]));
  EXPECT_NE(TeamStatementJson({all, all.teams[0]}).find(id), std::string::npos);
  FleetStatements other = all;
  other.provisional.push_back({"open_hours", 1, "warn", "1 hour is open"});
  EXPECT_NE(StatementId(other, other.teams[0]), id);
  other = all;
  other.teams[0].jobs[0].direct = Money::Nano(4'999'999'999);
  EXPECT_NE(StatementId(other, other.teams[0]), id);
  // The words of a page do not count, and neither do other teams.
  other = all;
  other.teams[1].jobs.clear();
  EXPECT_EQ(StatementId(other, other.teams[0]), id);
}

TEST(FleetChargesTest, HostileNamesStayText) {
  FleetStatements all = Charged({5'000'000'000}, 0, SharePolicy::kNone);
  all.teams[0].charge.name = all.charge.rows[0].name = "<script>alert(1)</script>\x1b[31m";
  all.teams[0].jobs[0].name = "=HYPERLINK(\"http://x\")";
  const TeamStatement statement{all, all.teams[0]};
  EXPECT_EQ(PageHtml(TeamStatementPage(statement)).find("<script>alert"), std::string::npos);
  EXPECT_EQ(PageText(TeamStatementPage(statement), 100, false).find('\x1b'), std::string::npos);
  EXPECT_EQ(TeamStatementCsv(statement).find(",="), std::string::npos);
  EXPECT_EQ(StatementFileOf(all, all.teams[0]), "");
  all.file_ending = ".csv";
  EXPECT_TRUE(StatementFileOf(all, all.teams[0]).starts_with("hashed-"));
}

}  // namespace
}  // namespace idleburn
