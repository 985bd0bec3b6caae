#include "bill/bill_chargeback.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "fleet/fleet_report.h"

namespace idleburn {
namespace {

constexpr std::size_t kUsedPlace = static_cast<std::size_t>(UsePart::kUsed);
constexpr std::size_t kNotGpuPlace = static_cast<std::size_t>(UsePart::kNotGpu);
constexpr std::size_t kUnallocatedPlace = static_cast<std::size_t>(UsePart::kUnallocated);

OwnedCost CostOf(const std::string& team, CostClass what, std::size_t part, std::int64_t cents,
                 const std::string& job = "", std::int64_t gpu_hours = 0) {
  OwnedCost cost;
  cost.owner = {team, job, ""};
  cost.what = what;
  cost.use[part] = Money::Cents(cents);
  cost.gpu_ms = gpu_hours * kMsPerGpuHour;
  return cost;
}

// A report whose total is that of its costs, amortization and unexplained part.
BillReport ReportOf(std::vector<OwnedCost> costs, std::int64_t amortization_cents = 0, std::int64_t odd_cents = 0) {
  BillReport report;
  report.currency = "USD";
  std::int64_t cents = amortization_cents + odd_cents;
  for (const OwnedCost& cost : costs) {
    for (const Money part : cost.use) cents += part.nano() / kCent;
  }
  report.owned = std::move(costs);
  report.amortization = Money::Cents(amortization_cents);
  report.use[static_cast<std::size_t>(UsePart::kUnexplained)] = Money::Cents(odd_cents);
  report.total = Money::Cents(cents);
  return report;
}

std::map<std::string, std::int64_t> NanosOf(const BillChargeback& all) {
  std::map<std::string, std::int64_t> totals;
  for (const BillStatement& owner : all.owners) totals[owner.charge.name] = owner.charge.total.nano();
  return totals;
}

// What is left of a line by its name.
std::map<std::string, std::int64_t> LeftOf(const BillChargeback& all) {
  std::map<std::string, std::int64_t> left;
  for (std::size_t i = 0; i < all.lines.size(); ++i) left[all.lines[i].name] = all.charge.left[i].nano() / kCent;
  return left;
}

// $100 of tax over three teams: a billionth goes to the first, and printed cents to 33.34, 33.33, 33.33.
TEST(BillChargebackTest, AHundredDollarsOverThreeTeams) {
  const BillReport report =
      ReportOf({CostOf("a", CostClass::kUsage, kUsedPlace, 0), CostOf("b", CostClass::kUsage, kUsedPlace, 0),
                CostOf("c", CostClass::kUsage, kUsedPlace, 0), CostOf("", CostClass::kTax, kNotGpuPlace, 10'000)});
  const Result<BillChargeback> all = ChargeBill(report, {OwnerBy::kTeam, SharePolicy::kUniform});
  ASSERT_TRUE(all.has_value()) << all.error().message;
  EXPECT_EQ(NanosOf(*all),
            (std::map<std::string, std::int64_t>{{"a", 33'333'333'334}, {"b", 33'333'333'333}, {"c", 33'333'333'333}}));
  EXPECT_EQ(all->charge.total, report.total);
}

// Each class of charge is on the line that the page of the command names.
TEST(BillChargebackTest, EveryClassHasItsPlace) {
  const BillReport report = ReportOf(
      {CostOf("a", CostClass::kUsage, kUsedPlace, 100), CostOf("a", CostClass::kUsage, kUnallocatedPlace, 7),
       CostOf("", CostClass::kUsage, kUsedPlace, 30), CostOf("a", CostClass::kUnused, kUnallocatedPlace, 11),
       CostOf("", CostClass::kUnused, kUnallocatedPlace, 13), CostOf("", CostClass::kCorrection, kUsedPlace, -5),
       CostOf("", CostClass::kPurchase, kNotGpuPlace, 17), CostOf("", CostClass::kTax, kNotGpuPlace, 19),
       CostOf("", CostClass::kCredit, kNotGpuPlace, -23), CostOf("a", CostClass::kCredit, kNotGpuPlace, -2),
       CostOf("", CostClass::kAdjustment, kNotGpuPlace, 1), CostOf("", CostClass::kOther, kNotGpuPlace, 29)},
      37, 41);
  const Result<BillChargeback> all = ChargeBill(report, {});
  ASSERT_TRUE(all.has_value()) << all.error().message;
  EXPECT_EQ(NanosOf(*all),
            (std::map<std::string, std::int64_t>{{"a", (100 - 2 + 11) * kCent}, {kFleetUnknown, 30 * kCent}}));
  EXPECT_EQ(LeftOf(*all), (std::map<std::string, std::int64_t>{{"unallocated GPUs", 7},
                                                               {"unused commitments", 13},
                                                               {"corrections of earlier periods", -5},
                                                               {"purchases", 17},
                                                               {"tax", 19},
                                                               {"credits", -23},
                                                               {"adjustments", 1},
                                                               {"other charges", 29},
                                                               {"paid for other periods, or before", 37},
                                                               {"unexplained", 41}}));
  EXPECT_EQ(all->charge.total, report.total);
  EXPECT_TRUE(all->owners.back().charge.bucket) << "the bucket is last";
}

// Nobody pays for what no owner caused: a difference of the provider stays a line under every policy.
TEST(BillChargebackTest, UnexplainedMoneyIsNeverSpread) {
  const BillReport report =
      ReportOf({CostOf("a", CostClass::kUsage, kUsedPlace, 300), CostOf("b", CostClass::kUsage, kUsedPlace, 100),
                CostOf("", CostClass::kUsage, kUsedPlace, 50), CostOf("", CostClass::kCredit, kNotGpuPlace, -40)},
               -60, 9);
  const Result<BillChargeback> all = ChargeBill(report, {OwnerBy::kTeam, SharePolicy::kProportional});
  ASSERT_TRUE(all.has_value()) << all.error().message;
  EXPECT_EQ(NanosOf(*all),
            (std::map<std::string, std::int64_t>{{"a", 270 * kCent}, {"b", 90 * kCent}, {kFleetUnknown, 50 * kCent}}));
  EXPECT_EQ(LeftOf(*all)["unexplained"], 9);
  EXPECT_EQ(LeftOf(*all)["paid for other periods, or before"], -60);
  EXPECT_EQ(all->charge.total, report.total);
}

TEST(BillChargebackTest, ANegativeOwnerCannotBeWeighed) {
  const BillReport report =
      ReportOf({CostOf("a", CostClass::kCredit, kNotGpuPlace, -300), CostOf("", CostClass::kTax, kNotGpuPlace, 100)});
  const Result<BillChargeback> all = ChargeBill(report, {OwnerBy::kTeam, SharePolicy::kProportional});
  ASSERT_FALSE(all.has_value());
  EXPECT_NE(all.error().message.find("direct cost of a is below 0"), std::string::npos) << all.error().message;
}

// Jobs and experiments are owners as teams are, and the parts of a statement sum to its direct cost.
TEST(BillChargebackTest, OwnersMayBeJobs) {
  const BillReport report = ReportOf({CostOf("a", CostClass::kUsage, kUsedPlace, 300, "7", 3),
                                      CostOf("b", CostClass::kUsage, kUsedPlace, 100, "7", 1),
                                      CostOf("b", CostClass::kUsage, kUsedPlace, 50, "", 2)});
  const Result<BillChargeback> all = ChargeBill(report, {OwnerBy::kJob});
  ASSERT_TRUE(all.has_value()) << all.error().message;
  EXPECT_EQ(NanosOf(*all), (std::map<std::string, std::int64_t>{{"7", 400 * kCent}, {kFleetUnknown, 50 * kCent}}));
  EXPECT_EQ(all->owners[0].whole.gpu_ms, 4 * kMsPerGpuHour);
  for (const BillStatement& owner : all->owners) {
    for (const auto* parts : {&owner.resources, &owner.jobs, &owner.experiments}) {
      std::int64_t sum = 0;
      for (const BillStatementPart& part : *parts) sum += part.direct.nano();
      EXPECT_EQ(sum, owner.charge.direct.nano());
    }
  }
}

}  // namespace
}  // namespace idleburn
