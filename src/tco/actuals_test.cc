#include "tco/actuals.h"

#include <gtest/gtest.h>

#include "tco/scenario_file.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

TcoPlan Plan(const std::string& text) {
  const Result<TcoFile> file = ReadTcoFile("x.toml", text, "2026-11-21");
  EXPECT_TRUE(file.has_value()) << (file ? "" : file.error().message);
  return file->plans.front();
}

ActualBill Bill(const std::string& text) {
  StringSource in(text, "bill.csv");
  const Result<ActualBill> bill = ReadActuals(in);
  EXPECT_TRUE(bill.has_value()) << (bill ? "" : bill.error().message);
  return bill ? *bill : ActualBill{};
}

constexpr const char* kCompute = "horizon_months = 1\n[[compute]]\ngpu_hours = 800\nprice = \"2.50\"\n";

// Reference: tco.md section 4, the example.
TEST(TcoActuals, VarianceSplitsIntoPriceAndQuantity) {
  const Result<ActualReport> report = CompareWithPlan(
      Plan(kCompute), Bill("month,category,amount,quantity\n2026-07,compute,2576.00,920\n"), Fraction::Of(4, 5));
  ASSERT_TRUE(report.has_value());
  ASSERT_EQ(report->months.size(), 1U);
  EXPECT_EQ(FormatExact(report->months[0].plan), "2000.00");
  EXPECT_EQ(FormatExact(report->months[0].variance), "576.00");
  ASSERT_EQ(report->parts.size(), 1U);
  EXPECT_EQ(FormatExact(report->parts[0].price), "276.00");
  EXPECT_EQ(FormatExact(report->parts[0].quantity), "300.00");
  EXPECT_NEAR(*report->efficiency, 0.621118, 5e-7);
  EXPECT_EQ(FormatExact(*report->at_completion), "3220.00");
  EXPECT_EQ(FormatExact(*report->at_completion_if_as_planned), "2976.00");
  ASSERT_EQ(report->forecast_errors.size(), 1U);
  EXPECT_NEAR(report->forecast_errors[0].second, (2000.0 - 2576) / 2576, 1e-12);
}

TEST(TcoActuals, WhatWasPaidWithoutAQuantityOrNotAtAllIsNotSplit) {
  const std::string labour = "[[labour]]\nrole_months = 2\nmonthly_rate = 9000\n";
  const Result<ActualReport> report =
      CompareWithPlan(Plan(kCompute + labour), Bill("month,category,amount,quantity\n2026-07,compute,2576.00,\n"), {});
  EXPECT_TRUE(report->parts.empty());
}

TEST(TcoActuals, RunsArePartOfTheQuantity) {
  const Result<ActualReport> report =
      CompareWithPlan(Plan("horizon_months = 1\n[[compute]]\nruns = 4\ngpu_hours = 200\nprice = \"2.50\"\n"),
                      Bill("month,category,amount,quantity\n2026-07,compute,2576.00,920\n"), {});
  ASSERT_EQ(report->parts.size(), 1U);
  EXPECT_EQ(FormatExact(report->parts[0].price), "276.00");
  EXPECT_EQ(FormatExact(report->parts[0].quantity), "300.00");
}

TEST(TcoActuals, PlansOfMonthsSumToTheWhole) {
  const TcoPlan plan = Plan("horizon_months = 7\n[[labour]]\namount = 100\n");
  std::string csv = "month,category,amount\n";
  for (int m = 1; m <= 9; ++m) csv += "2026-0" + std::to_string(m) + ",labour,10\n";
  const Result<ActualReport> report = CompareWithPlan(plan, Bill(csv), {});
  std::int64_t planned = 0;
  for (const MonthVariance& month : report->months) {
    planned += month.plan.nano();
    EXPECT_EQ(month.variance.nano(), month.actual.nano() - month.plan.nano());
  }
  EXPECT_EQ(planned, Money::Cents(10000).nano());
  EXPECT_EQ(report->months.back().plan, Money());  // past the horizon
  EXPECT_FALSE(report->efficiency);
}

TEST(TcoActuals, ACategoryWithoutAPlanAndWhatNobodyOwnsAreLines) {
  const Result<ActualReport> report =
      CompareWithPlan(Plan(kCompute), Bill("month,category,amount,status\n2026-07,data,5,open\n2026-07,,7,\n"), {});
  ASSERT_EQ(report->months.size(), 3U);
  EXPECT_FALSE(report->months[0].category);
  EXPECT_EQ(FormatExact(report->months[0].actual), "7.00");
  EXPECT_EQ(report->months[1].category, CostCategory::kCompute);
  EXPECT_EQ(FormatExact(report->months[1].variance), "-2000.00");
  EXPECT_TRUE(report->months[2].open);
  EXPECT_TRUE(report->forecast_errors.empty());  // an open month closes nothing
}

TEST(TcoActuals, BurnIsOfTheLastMonthAndTheBudgetLasts) {
  const TcoPlan plan = Plan("budget = 5000\n" + std::string(kCompute));
  const Result<ActualReport> report =
      CompareWithPlan(plan, Bill("month,category,amount\n2026-01,compute,900\n2026-02,compute,1400\n"), {});
  EXPECT_EQ(FormatExact(*report->burn_a_day), "50.00");
  EXPECT_DOUBLE_EQ(*report->runway_days, 54);
}

TEST(TcoActuals, BurnIsOfTheTrailingThirtyDaysWhereDaysAreKnown) {
  const TcoPlan plan = Plan("budget = 1000\n" + std::string(kCompute));
  const std::string header = "ChargePeriodStart,ServiceCategory,EffectiveCost\n";
  // 2026-07-02 is the 31st day before 2026-08-01: not among the last 30.
  const Result<ActualReport> report =
      CompareWithPlan(plan,
                      Bill(header + "2026-07-02T00:00:00Z,Compute,100\n2026-07-03T00:00:00Z,Compute,60\n" +
                           "2026-08-01T00:00:00Z,Compute,240\n"),
                      {});
  EXPECT_EQ(report->burn_days, 30);
  EXPECT_EQ(FormatExact(*report->burn_a_day), "10.00");
  EXPECT_DOUBLE_EQ(*report->runway_days, 60);
  const Result<ActualReport> brief =
      CompareWithPlan(plan, Bill(header + "2026-07-02T00:00:00Z,Compute,8\n2026-07-05T00:00:00Z,Compute,4\n"), {});
  EXPECT_EQ(brief->burn_days, 4);
  EXPECT_EQ(FormatExact(*brief->burn_a_day), "3.00");
}

TEST(TcoActuals, WithoutAnEarnedShareTheMonthsLeftAreForecastAsPlanned) {
  const TcoPlan plan = Plan("horizon_months = 4\n[[labour]]\namount = 400\n");
  const Result<ActualReport> report = CompareWithPlan(plan, Bill("month,category,amount\n2026-01,labour,150\n"), {});
  EXPECT_EQ(FormatExact(*report->at_completion_if_as_planned), "450.00");
  EXPECT_FALSE(report->at_completion);
}

TEST(TcoActuals, ABillingExportIsReadByItsServices) {
  const ActualBill bill = Bill(
      "ChargePeriodStart,ServiceCategory,BilledCost,EffectiveCost\n2026-07-03T00:00:00Z,Compute,9,8.5\n"
      "2026-07-04T00:00:00Z,Storage,1,1\n2026-08-01T00:00:00Z,Something,2,2\n");
  EXPECT_EQ(bill.column, "EffectiveCost");
  ASSERT_EQ(bill.rows.size(), 3U);
  EXPECT_EQ(bill.rows[0].category, CostCategory::kCompute);
  EXPECT_EQ(FormatExact(bill.rows[0].amount), "8.50");
  EXPECT_EQ(bill.rows[1].category, CostCategory::kData);
  EXPECT_FALSE(bill.rows[2].category);
  EXPECT_EQ(bill.rows[2].month, "2026-08");
}

struct BadBill {
  const char* text;
  const char* says;
};

TEST(TcoActuals, WhatIsWrongIsNamedWithItsLine) {
  const BadBill rows[] = {
      {"month,category,amount\n2026-13,compute,5\n", "bill.csv:2: '2026-13' is no month"},
      {"month,category,amount\n2026-01,compte,5\n", "did you mean compute?"},
      {"month,category,amount\n2026-01,compute,five\n", "bill.csv:2: amount: "},
      {"month,category,amount\n2026-01,compute,5000000000\n", "beyond 4 billion"},
      {"month,category,amount,status\n2026-01,compute,5,done\n", "none of open, closed"},
      {"month,amount\n2026-01,5\n", "category"},
  };
  for (const BadBill& row : rows) {
    StringSource in(row.text, "bill.csv");
    const Result<ActualBill> bill = ReadActuals(in);
    ASSERT_FALSE(bill) << row.text;
    EXPECT_NE(bill.error().message.find(row.says), std::string::npos) << bill.error().message;
  }
}

}  // namespace
}  // namespace idleburn
