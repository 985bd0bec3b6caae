#include "tco/actuals.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "report/plan_errors.h"
#include "tco/scenario_file.h"
#include "text/line_reader.h"
#include "text/time_zone.h"

namespace idleburn {

// Plans against bills, by hand. Parts must add up to their whole to the last digit, and what a bill does not say must
// never count as nothing paid.

namespace {

TcoPlan Plan(const std::string& text) {
  const Result<TcoFile> file = ReadTcoFile("x.toml", text, "2026-11-21");
  EXPECT_TRUE(file.has_value()) << (file ? "" : file.error().message);
  return file->plans.front();
}

ActualBill Bill(const std::string& text, const TcoPlan& plan = {}, const BillingTags& tags = {}) {
  StringSource in(text, "bill.csv");
  const Result<ActualBill> bill = ReadActuals(in, plan, tags);
  EXPECT_TRUE(bill.has_value()) << (bill ? "" : bill.error().message);
  return bill ? *bill : ActualBill{};
}

Result<ActualReport> Compared(const TcoPlan& plan, const ActualBill& bill, std::optional<Fraction> earned = {}) {
  return CompareWithPlan(plan, bill, earned, "2026-11-21");
}

constexpr const char* kCompute = "horizon_months = 1\n[[compute]]\ngpu_hours = 800\nprice = \"2.50\"\n";

// By hand: 0.30 more for each of 920 hours, 120 hours more at 2.50.
TEST(TcoActuals, VarianceSplitsIntoPriceAndQuantity) {
  const Result<ActualReport> report = Compared(
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
  EXPECT_EQ(FormatExact(report->at_completion_if_as_planned), "2976.00");
  ASSERT_EQ(report->forecast_errors.size(), 1U);
  EXPECT_NEAR(report->forecast_errors[0].second, (2000.0 - 2576) / 2576, 1e-12);
}

TEST(TcoActuals, WhatWasPaidWithoutAQuantityOrNotAtAllIsNotSplit) {
  const std::string labour = "[[labour]]\nrole_months = 2\nmonthly_rate = 9000\n";
  const Result<ActualReport> report =
      Compared(Plan(kCompute + labour), Bill("month,category,amount,quantity\n2026-07,compute,2576.00,\n"));
  EXPECT_TRUE(report->parts.empty());
}

TEST(TcoActuals, RunsArePartOfTheQuantity) {
  const Result<ActualReport> report =
      Compared(Plan("horizon_months = 1\n[[compute]]\nruns = 4\ngpu_hours = 200\nprice = \"2.50\"\n"),
               Bill("month,category,amount,quantity\n2026-07,compute,2576.00,920\n"));
  ASSERT_EQ(report->parts.size(), 1U);
  EXPECT_EQ(FormatExact(report->parts[0].price), "276.00");
  EXPECT_EQ(FormatExact(report->parts[0].quantity), "300.00");
}

TEST(TcoActuals, PlansOfMonthsSumToTheWhole) {
  const TcoPlan plan = Plan("horizon_months = 7\n[[labour]]\namount = 100\n");
  std::string csv = "month,category,amount\n";
  for (int m = 1; m <= 9; ++m) csv += "2026-0" + std::to_string(m) + ",labour,10\n";
  const Result<ActualReport> report = Compared(plan, Bill(csv));
  std::int64_t planned = 0;
  for (const MonthVariance& month : report->months) {
    planned += month.plan.nano();
    EXPECT_EQ(month.variance.nano(), month.actual.nano() - month.plan.nano());
  }
  EXPECT_EQ(planned, Money::Cents(10000).nano());
  EXPECT_EQ(report->months.back().plan, Money());  // past the horizon
  EXPECT_FALSE(report->efficiency);
}

TEST(TcoActuals, ALowYearHasFourDigitsToo) {
  const Result<ActualReport> report = Compared(Plan(kCompute), Bill("month,category,amount\n0226-02,compute,28\n"));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->months.front().month, "0226-02");
  EXPECT_EQ(report->burn_days, 28);
  EXPECT_EQ(report->burn_a_day, Money::Cents(100));
}

TEST(TcoActuals, ACategoryWithoutAPlanAndWhatNobodyOwnsAreLines) {
  const Result<ActualReport> report =
      Compared(Plan(kCompute), Bill("month,category,amount,status\n2026-07,data,5,open\n2026-07,,7,\n"));
  ASSERT_EQ(report->months.size(), 3U);
  EXPECT_EQ(report->months[0].category, CostCategory::kCompute);
  EXPECT_TRUE(report->months[0].assumed);
  EXPECT_EQ(FormatExact(report->months[0].variance), "0.00");
  EXPECT_EQ(report->months[1].category, CostCategory::kData);
  EXPECT_TRUE(report->months[1].open);
  EXPECT_FALSE(report->months[2].category);
  EXPECT_EQ(FormatExact(report->months[2].actual), "7.00");
  EXPECT_TRUE(report->forecast_errors.empty());  // an open month closes nothing
}

// 400 of labour over four months, of which 150 is paid in the first; no row of data, planned with 80: 20 a month.
TEST(TcoActuals, ACategoryThatTheBillLacksIsNotPaidZero) {
  const TcoPlan plan = Plan("horizon_months = 4\n[[data]]\namount = 80\n[[labour]]\namount = 400\n");
  const auto data = static_cast<std::size_t>(CostCategory::kData);
  const auto labour = static_cast<std::size_t>(CostCategory::kLabour);
  const Result<ActualReport> report = Compared(plan, Bill("month,category,amount\n2026-01,labour,150\n"));
  ASSERT_TRUE(report);
  EXPECT_EQ(FormatExact(report->actual), "150.00");
  EXPECT_EQ(FormatExact(report->assumed), "20.00");
  EXPECT_EQ(FormatExact(report->expected), "530.00");  // 150 + 300 to come, and 80 as planned
  EXPECT_FALSE(report->categories[data].known);
  EXPECT_EQ(FormatExact(report->categories[data].at_completion), "80.00");
  EXPECT_EQ(FormatExact(report->categories[labour].at_completion), "450.00");
  ASSERT_EQ(report->months.size(), 2U);
  EXPECT_TRUE(report->months[0].assumed);
  EXPECT_EQ(FormatExact(report->months[1].variance), "50.00");
  EXPECT_EQ(FormatExact(*report->forecast[0].actual), "150.00");
  EXPECT_EQ(FormatExact(report->forecast[0].expected), "170.00");
  EXPECT_EQ(FormatExact(report->forecast.back().so_far), "530.00");
  // The plan of the month without data: 100 against 150.
  ASSERT_EQ(report->forecast_errors.size(), 1U);
  EXPECT_NEAR(report->forecast_errors[0].second, (100.0 - 150) / 150, 1e-12);
  ASSERT_EQ(report->doubts.size(), 1U);
  EXPECT_EQ(report->doubts[0],
            "actuals: no row for data, so its payments are unknown and count as planned ($20.00); add its rows, or one "
            "row of 0");
  // Half of the work for 150: 300 of labour in the end, and the data.
  const Result<ActualReport> earned =
      Compared(plan, Bill("month,category,amount\n2026-01,labour,150\n"), Fraction::Of(1, 2));
  EXPECT_NEAR(*earned->efficiency, 400 * 0.5 / 150, 1e-12);
  EXPECT_EQ(FormatExact(*earned->at_completion), "380.00");
  EXPECT_EQ(FormatExact(earned->categories[data].at_completion), "80.00");
  EXPECT_EQ(FormatExact(earned->categories[labour].at_completion), "300.00");
  EXPECT_EQ(FormatExact(earned->forecast.back().so_far), "380.00");
  // A row of 0 says that nothing was paid.
  const Result<ActualReport> zero = Compared(plan, Bill("month,category,amount\n2026-01,labour,150\n2026-01,data,0\n"));
  EXPECT_TRUE(zero->categories[data].known && zero->doubts.empty());
  EXPECT_EQ(FormatExact(zero->expected), "510.00");
  EXPECT_EQ(FormatExact(zero->months[0].variance), "-20.00");
}

TEST(TcoActuals, BurnIsOfTheLastMonthAndTheBudgetLasts) {
  const TcoPlan plan = Plan("budget = 5000\n" + std::string(kCompute));
  const Result<ActualReport> report =
      Compared(plan, Bill("month,category,amount\n2026-01,compute,900\n2026-02,compute,1400\n"));
  EXPECT_EQ(FormatExact(*report->burn_a_day), "50.00");
  EXPECT_DOUBLE_EQ(*report->runway_days, 54);
}

TEST(TcoActuals, BurnIsOfTheTrailingThirtyDaysWhereDaysAreKnown) {
  const TcoPlan plan = Plan("budget = 1000\n" + std::string(kCompute));
  const std::string header = "ChargePeriodStart,ServiceCategory,EffectiveCost\n";
  // 2026-07-02 is the 31st day before 2026-08-01: not among the last 30.
  const Result<ActualReport> report =
      Compared(plan, Bill(header + "2026-07-02T00:00:00Z,Compute,100\n2026-07-03T00:00:00Z,Compute,60\n" +
                          "2026-08-01T00:00:00Z,Compute,240\n"));
  EXPECT_EQ(report->burn_days, 30);
  EXPECT_EQ(FormatExact(*report->burn_a_day), "10.00");
  EXPECT_DOUBLE_EQ(*report->runway_days, 60);
  const Result<ActualReport> brief =
      Compared(plan, Bill(header + "2026-07-02T00:00:00Z,Compute,8\n2026-07-05T00:00:00Z,Compute,4\n"));
  EXPECT_EQ(brief->burn_days, 4);
  EXPECT_EQ(FormatExact(*brief->burn_a_day), "3.00");
}

TEST(TcoActuals, WithoutAnEarnedShareTheMonthsLeftAreForecastAsPlanned) {
  const TcoPlan plan = Plan("horizon_months = 4\n[[labour]]\namount = 400\n");
  const Result<ActualReport> report = Compared(plan, Bill("month,category,amount\n2026-01,labour,150\n"));
  EXPECT_EQ(FormatExact(report->at_completion_if_as_planned), "450.00");
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
  // Small charges come with an exponent.
  const ActualBill small =
      Bill("ChargePeriodStart,ServiceCategory,EffectiveCost\n2026-07-03T00:00:00Z,Compute,35.2E-7\n");
  EXPECT_EQ(FormatExact(small.rows.at(0).amount), "0.00000352");
  EXPECT_EQ(bill.rows[2].month, "2026-08");
  const ActualBill hours = Bill(
      "ChargePeriodStart,ServiceCategory,EffectiveCost,ConsumedQuantity,ConsumedUnit\n"
      "2026-07-03T00:00:00Z,Compute,8.5000000005,4,GPU-Hours\n2026-07-03T00:00:00Z,Compute,1,4,Hours\n");
  EXPECT_EQ(Compare(*hours.rows[0].quantity, Fraction::Of(4, 1)), 0);
  EXPECT_FALSE(hours.rows[1].quantity);  // of a machine, with as many GPUs as it may have
  EXPECT_EQ(hours.rounded, 1);
  EXPECT_EQ(FormatExact(hours.rows[0].amount), "8.50");  // half to even
}

// 40 GPU-hours used, 4 of them taken back; a credit, a tax and an unused commitment change what an hour cost alone:
// 100 - 10 - 20 + 5 + 15 = 90 for 36 GPU-hours, where 800 at 2.50 were planned: -1,910 by quantity, 0 by price.
TEST(TcoActuals, CreditsAndCorrectionsArePartOfPriceAndQuantity) {
  const ActualBill bill = Bill(
      "ChargePeriodStart,ServiceCategory,EffectiveCost,ChargeCategory,CommitmentDiscountStatus,ConsumedQuantity,"
      "ConsumedUnit\n2026-07-03T00:00:00Z,Compute,100,Usage,,40,GPU-Hours\n"
      "2026-07-03T00:00:00Z,Compute,-10,Usage,,-4,GPU-Hours\n2026-07-01T00:00:00Z,Compute,-20,Credit,,,\n"
      "2026-07-01T00:00:00Z,Compute,5,Tax,,,\n2026-07-01T00:00:00Z,Compute,15,Usage,Unused,,\n");
  const Result<ActualReport> report = Compared(Plan(kCompute), bill);
  EXPECT_EQ(FormatExact(report->actual), "90.00");
  ASSERT_EQ(report->parts.size(), 1U);
  EXPECT_EQ(FormatExact(report->parts[0].price), "0.00");
  EXPECT_EQ(FormatExact(report->parts[0].quantity), "-1910.00");
}

// An export of one row a month is of all its days, the current month's of those that have passed (today is the 21st).
TEST(TcoActuals, BurnSpreadsAChargeOverItsPeriod) {
  const TcoPlan plan = Plan("budget = 5000\n" + std::string(kCompute));
  const std::string header = "ChargePeriodStart,ChargePeriodEnd,ServiceCategory,EffectiveCost\n";
  const auto burn = [&](const std::string& rows) { return Compared(plan, Bill(header + rows)); };
  const Result<ActualReport> month = burn("2026-06-01T00:00:00Z,2026-07-01T00:00:00Z,Compute,900\n");
  EXPECT_EQ(month->burn_days, 30);
  EXPECT_EQ(FormatExact(*month->burn_a_day), "30.00");
  // 29 days of July (31 at 20 a day) and the first of August at 60.
  const Result<ActualReport> both = burn(
      "2026-07-01T00:00:00Z,2026-08-01T00:00:00Z,Compute,620\n2026-08-01T00:00:00Z,2026-08-02T00:00:00Z,Compute,60\n");
  EXPECT_NEAR(static_cast<double>(both->burn_a_day->nano()) / 1e9, (29 * 20 + 60) / 30.0, 1e-8);
  // 21 of 30 days: 21 at 10 a day over these 21.
  const Result<ActualReport> current = burn("2026-11-01T00:00:00Z,2026-12-01T00:00:00Z,Compute,300\n");
  EXPECT_EQ(current->burn_days, 21);
  EXPECT_EQ(FormatExact(*current->burn_a_day), "10.00");
  // What is paid for a year ahead says nothing of how far the bill goes.
  const Result<ActualReport> year = burn(
      "2026-06-01T00:00:00Z,2026-07-01T00:00:00Z,Compute,900\n2026-06-01T00:00:00Z,2027-06-01T00:00:00Z,Compute,365\n");
  EXPECT_EQ(FormatExact(*year->burn_a_day), "31.00");
}

TEST(TcoActuals, AChargeBeyondItsMonthIsCounted) {
  const ActualBill bill = Bill(
      "ChargePeriodStart,ChargePeriodEnd,ServiceCategory,EffectiveCost\n"
      "2026-07-31T00:00:00Z,2026-08-01T00:00:00Z,Compute,1\n2026-12-31T23:00:00Z,2027-01-01T00:00:00Z,Compute,1\n"
      "2026-07-15T00:00:00Z,2026-08-15T00:00:00Z,Compute,1\n2026-07-31T23:00:00Z,2026-08-01T01:00:00Z,Compute,1\n"
      "2026-07-01T00:00:00Z,2027-07-01T00:00:00Z,Compute,0\n");
  EXPECT_EQ(bill.beyond_month, 2);
  EXPECT_EQ(bill.rows[2].month, "2026-07");
}

TEST(TcoActuals, ADayThatIsNoneIsAnErrorWithItsLine) {
  const std::string header = "ChargePeriodStart,ChargePeriodEnd,ServiceCategory,EffectiveCost\n";
  const auto refusal = [](const std::string& text) {
    StringSource in(text, "bill.csv");
    const Result<ActualBill> bill = ReadActuals(in, Plan(kCompute));
    return bill ? std::string() : bill.error().message;
  };
  EXPECT_EQ(refusal(header + "2026-07-01T00:00:00Z,2026-13-01T00:00:00Z,Compute,1\n"),
            "bill.csv:2: ChargePeriodEnd: '2026-13-01T00:00:00Z' is not a day such as 2026-07-31");
  EXPECT_EQ(refusal(header + "2026-02-29T00:00:00Z,2026-03-01T00:00:00Z,Compute,1\n"),
            "bill.csv:2: ChargePeriodStart: '2026-02-29T00:00:00Z' is not a day such as 2026-07-31");
  EXPECT_EQ(refusal("month,category,amount\n2026-04-31,compute,1\n"),
            "bill.csv:2: month: '2026-04-31' is not a day such as 2026-07-31");
  EXPECT_EQ(refusal(header + "2028-02-29T00:00:00Z,,Compute,1\n2026-07,2026-08,Compute,1\n"), "");
}

TEST(TcoActuals, CurrenciesAreNeverAddedUp) {
  for (const char* text : {"month,category,amount,currency\n2026-07,compute,1,USD\n2026-07,compute,1,EUR\n",
                           "ChargePeriodStart,ServiceCategory,EffectiveCost,BillingCurrency\n"
                           "2026-07-03T00:00:00Z,Compute,1,USD\n2026-07-03T00:00:00Z,Compute,1,EUR\n"}) {
    StringSource in(text, "bill.csv");
    const Result<ActualBill> bill = ReadActuals(in, Plan(kCompute));
    ASSERT_FALSE(bill) << text;
    EXPECT_NE(bill.error().message.find("bill.csv:3: is billed in EUR"), std::string::npos) << bill.error().message;
  }
}

TEST(TcoActuals, OnlyWhatIsTaggedCounts) {
  const std::string focus =
      "ChargePeriodStart,ServiceCategory,EffectiveCost,Tags\n"
      "2026-07-03T00:00:00Z,Compute,8,\"{\"\"team\"\": \"\"vision\"\", \"\"prod\"\": true}\"\n"
      "2026-07-03T00:00:00Z,Compute,4,\"{\"\"team\"\": \"\"speech\"\"}\"\n"
      "2026-07-03T00:00:00Z,Compute,2,not json\n2026-07-03T00:00:00Z,Compute,1,\n";
  EXPECT_EQ(Bill(focus).rows.size(), 4U);
  const ActualBill vision = Bill(focus, {}, {{"team", "vision"}, {"prod", "true"}});
  ASSERT_EQ(vision.rows.size(), 1U);
  EXPECT_EQ(FormatExact(vision.rows[0].amount), "8.00");
  EXPECT_EQ(vision.untagged, 3);
  const std::string own = "month,category,amount,team\n2026-07,compute,5,vision\n2026-07,compute,7,speech\n";
  EXPECT_EQ(Bill(own).unread, std::vector<std::string>{"team"});
  const ActualBill mine = Bill(own, {}, {{"team", "speech"}});
  ASSERT_EQ(mine.rows.size(), 1U);
  EXPECT_EQ(FormatExact(mine.rows[0].amount), "7.00");
  EXPECT_TRUE(mine.unread.empty());
  StringSource in(own, "bill.csv");
  const Result<ActualBill> none = ReadActuals(in, {}, {{"group", "x"}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "bill.csv: has no column 'group' to select rows of group=x");
}

TEST(BillingTags, AFlatObject) {
  EXPECT_EQ(ReadBillingTags(R"({"a": "x", "b": 3, "c": null, "d": {"e": 1}})"), (BillingTags{{"a", "x"}, {"b", "3"}}));
  for (const char* none : {"", "[1]", "{", "x", "3"}) EXPECT_TRUE(ReadBillingTags(none).empty()) << none;
}

TEST(TcoActuals, ALineOfTheBillIsALineOfThePlan) {
  const TcoPlan plan = Plan(
      "horizon_months = 2\n[[data]]\nname = \"labelling\"\namount = 100\n[[data]]\nname = \"storage\"\n"
      "amount = 20\n");
  const ActualBill bill =
      Bill("month,line,amount,remark\n2026-01,labelling,30,a\n2026-01,data.storage,4,\n2026-01,data,1,\n2026-01,,2,\n",
           plan);
  EXPECT_EQ(bill.unread, std::vector<std::string>{"remark"});
  const Result<ActualReport> report = Compared(plan, bill);
  ASSERT_EQ(report->lines.size(), 2U);
  EXPECT_EQ(FormatExact(report->lines.at(0)), "30.00");
  EXPECT_EQ(FormatExact(report->lines.at(1)), "4.00");
  const auto data = static_cast<std::size_t>(CostCategory::kData);
  EXPECT_EQ(FormatExact(report->categories[data].actual), "35.00");  // what names only the category too
  EXPECT_EQ(FormatExact(report->categories[kCostCategoryCount].actual), "2.00");
}

// A plan of 400 over four months, of which 150 is paid in one and nothing in the next.
TEST(TcoActuals, EveryMonthHasItsReForecastAndTheyAddUp) {
  const TcoPlan plan = Plan("horizon_months = 4\nstart = \"2026-01\"\n[[labour]]\namount = 400\n");
  const ActualBill bill = Bill("month,category,amount\n2026-01,labour,150\n2026-03,labour,90\n");
  const Result<ActualReport> as_planned = Compared(plan, bill);
  ASSERT_EQ(as_planned->forecast.size(), 4U);
  const char* const expected[] = {"150.00", "0.00", "90.00", "100.00"};
  const char* const ends[] = {"450.00", "350.00", "340.00"};  // paid so far + 300, 200, 100 of the plan
  for (std::size_t m = 0; m < 4; ++m) {
    const MonthForecast& month = as_planned->forecast[m];
    EXPECT_EQ(month.month, "2026-0" + std::to_string(m + 1));
    EXPECT_EQ(FormatExact(month.plan), "100.00");
    EXPECT_EQ(FormatExact(month.expected), expected[m]);
    EXPECT_EQ(month.actual.has_value(), m < 3);
    EXPECT_EQ(month.at_completion.has_value(), m < 3);
    if (m < 3) {
      EXPECT_EQ(FormatExact(*month.at_completion), ends[m]);
    }
  }
  EXPECT_EQ(FormatExact(as_planned->expected), "340.00");
  ASSERT_EQ(as_planned->doubts.size(), 1U);
  EXPECT_NE(as_planned->doubts[0].find("no payments for 2026-02"), std::string::npos);
  // Half of the work for 240: 480 at completion, and what is left is all in the last month.
  const Result<ActualReport> earned = Compared(plan, bill, Fraction::Of(1, 2));
  EXPECT_EQ(FormatExact(earned->expected), "480.00");
  EXPECT_EQ(FormatExact(earned->forecast.back().expected), "240.00");
  EXPECT_EQ(FormatExact(earned->forecast.back().so_far), "480.00");
}

TEST(TcoActuals, WhatIsLeftAfterThePlanIsOneMonthMore) {
  const Result<ActualReport> report = Compared(
      Plan(kCompute), Bill("month,category,amount,quantity\n2026-12,compute,2576.00,920\n"), Fraction::Of(4, 5));
  ASSERT_EQ(report->forecast.size(), 2U);
  EXPECT_EQ(report->forecast[1].month, "2027-01");
  EXPECT_EQ(FormatExact(report->forecast[1].expected), "644.00");  // 3,220 - 2,576
  EXPECT_EQ(report->forecast[1].plan, Money());
}

TEST(TcoActuals, WhatIsLeftGoesToCategoriesAsThePlanHasThem) {
  const TcoPlan plan = Plan(
      "horizon_months = 2\n[[compute]]\namount = 100\n[[data]]\namount = 60\npaid_in = \"1\"\n"
      "[[labour]]\namount = 300\n");
  const ActualBill bill = Bill("month,category,amount\n2026-01,compute,80\n2026-01,data,60\n2026-01,labour,180\n");
  // Of 460, half is earned for 320: 640 in the end. 320 are left, 50 of compute to 150 of labour; data is paid.
  const Result<ActualReport> report = Compared(plan, bill, Fraction::Of(1, 2));
  const char* const ends[] = {"160.00", "60.00", "420.00"};
  for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(FormatExact(report->categories[c].at_completion), ends[c]);
  const Result<ActualReport> as_planned = Compared(plan, bill);
  const char* const planned[] = {"130.00", "60.00", "330.00"};
  for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(FormatExact(as_planned->categories[c].at_completion), planned[c]);
}

// Naive twin: every month's plan from the lines alone, whatever they are.
TEST(TcoActuals, ALineIsPlannedInTheMonthsInWhichItIsPaid) {
  const TcoPlan plan = Plan(
      "horizon_months = 5\nstart = \"2026-01\"\n[[data]]\nname = \"a\"\namount = 90\npaid_in = \"2-4\"\n"
      "[[data]]\nname = \"b\"\namount = 50\n[[data]]\nname = \"c\"\namount = 7\npaid_in = \"5\"\n");
  const Result<ActualReport> report = Compared(plan, Bill("month,category,amount\n2026-05,data,1\n"));
  const double a[] = {0, 30, 30, 30, 0};
  const double c[] = {0, 0, 0, 0, 7};
  ASSERT_EQ(report->forecast.size(), 5U);
  for (std::size_t m = 0; m < 5; ++m) {
    EXPECT_DOUBLE_EQ(static_cast<double>(report->forecast[m].plan.nano()) / 1e9, a[m] + 10 + c[m]) << m;
  }
}

TEST(TcoActuals, AMonthIsOpenUntilItIsOverUnlessSomebodyClosedIt) {
  const TcoPlan plan = Plan("horizon_months = 4\n[[labour]]\namount = 400\n");
  const std::string csv = "month,category,amount,status\n2026-10,labour,1,\n2026-11,labour,1,";
  const auto open = [&](const std::string& status) {
    std::vector<bool> months;
    const Result<ActualReport> report = Compared(plan, Bill(csv + status + "\n"));
    for (const MonthForecast& month : report->forecast) {
      if (month.actual) months.push_back(month.open);
    }
    return months;
  };
  EXPECT_EQ(open(""), (std::vector<bool>{false, true}));
  EXPECT_EQ(open("closed"), (std::vector<bool>{false, false}));
}

TEST(TcoActuals, ABillBeforeThePlansStartIsRefused) {
  const TcoPlan plan = Plan("horizon_months = 4\nstart = \"2026-05\"\n[[labour]]\namount = 400\n");
  const Result<ActualReport> report = Compared(plan, Bill("month,category,amount\n2026-01,labour,1\n"));
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("end before the plan's start, 2026-05"), std::string::npos);
}

struct BadBill {
  const char* text;
  const char* says;
};

TEST(TcoActuals, WhatIsWrongIsNamedWithItsLine) {
  const TcoPlan plan = Plan(
      "[[data]]\nname = \"labelling\"\namount = 1\n[[labour]]\nname = \"serving\"\namount = 1\n"
      "[[inference]]\nname = \"serving\"\namount = 1\n");
  const BadBill rows[] = {
      {"month,category,amount\n2026-13,compute,5\n", "bill.csv:2: '2026-13' is not a month"},
      {"month,category,amount\n2026-01,compte,5\n", "did you mean compute?"},
      {"month,line,amount\n2026-01,labeling,5\n",
       "is neither a category nor a line of the plan; did you mean labelling?"},
      {"month,line,amount\n2026-01,serving,5\n",
       "'serving' is labour.serving and inference.serving; write one of them"},
      {"month,category,amount\n2026-01x,compute,5\n", "is not a month"},
      {"ChargePeriodStart,ServiceCategory,EffectiveCost,BillingCurrency\n2026-01-01T00:00:00Z,Compute,5,EUR\n",
       "bill.csv:2: is billed in EUR, but scenario is in USD"},
      {"month,category,amount\n2026-01,compute,five\n", "bill.csv:2: amount: "},
      {"month,category,amount\n2026-01,compute,5000000000\n", "beyond 4 billion"},
      {"month,category,amount,status\n2026-01,compute,5,done\n", "not one of open, closed"},
      {"month,amount\n2026-01,5\n", "category"},
  };
  for (const BadBill& row : rows) {
    StringSource in(row.text, "bill.csv");
    const Result<ActualBill> bill = ReadActuals(in, plan);
    ASSERT_FALSE(bill) << row.text;
    EXPECT_NE(bill.error().message.find(row.says), std::string::npos) << bill.error().message;
  }
}

class ScenarioErrorsTest : public ::testing::Test {
 protected:
  ScenarioErrorsTest() : folder_(::testing::TempDir() + "scenario.XXXXXX") {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  }
  ~ScenarioErrorsTest() override { std::filesystem::remove_all(folder_); }
  std::string Write(const char* name, const char* text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  std::string folder_;
};

// 1,000 a month are planned. 1,250 were paid in the first, 800 in the second; the third is open, the fourth to come.
TEST_F(ScenarioErrorsTest, ClosedMonthsAreJudged) {
  const std::string scenario = Write("tco.toml",
                                     "name = \"fleet\"\nhorizon_months = 4\nstart = \"2026-07\"\n[[compute]]\n"
                                     "gpu_hours = 1600\nprice = \"2.50\"\n");
  const std::string bill =
      Write("bill.csv",
            "month,category,amount,status\n2026-07,compute,1250,closed\n2026-08,compute,800,closed\n"
            "2026-09,compute,10,open\n");
  const Instant now = *ParseRfc3339("2026-11-21T00:00:00Z");
  Result<std::vector<JudgedForecast>> months = ScenarioForecasts(scenario, bill, now);
  ASSERT_TRUE(months) << months.error().message;
  ASSERT_EQ(months->size(), 2U);
  const ForecastErrors errors = ErrorsOf({}, std::move(*months));
  EXPECT_EQ(errors.scenario, 2U);
  ASSERT_EQ(errors.months.size(), 2U);
  EXPECT_EQ(errors.months[0].month, "2026-08");
  EXPECT_NEAR(errors.months[0].worst_error, 0.25, 1e-12);
  EXPECT_EQ(errors.months[1].month, "2026-07");
  EXPECT_NEAR(errors.months[1].worst_error, -0.2, 1e-12);
  EXPECT_EQ(errors.months[0].worst_run, "fleet");
  EXPECT_FALSE(errors.months[0].median);  // of one month nothing can be said in general
  const std::string text = PageText(ForecastErrorsPage(errors), 120, false);
  EXPECT_NE(text.find("closed months of the scenario: 2"), std::string::npos) << text;
  EXPECT_NE(text.find("cost of a scenario"), std::string::npos) << text;
  EXPECT_NE(ForecastErrorsCsv(errors).find("2026-07,scenario_cost,1,,,,,-0.200000,fleet"), std::string::npos);
}

TEST_F(ScenarioErrorsTest, WhatCannotBeReadIsNamed) {
  const Result<std::vector<JudgedForecast>> none = ScenarioForecasts(folder_ + "/no.toml", "", Instant());
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("no.toml"), std::string::npos);
}

}  // namespace

}  // namespace idleburn
