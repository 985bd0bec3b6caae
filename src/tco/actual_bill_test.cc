#include "tco/actual_bill.h"

#include <gtest/gtest.h>

#include "text/time_zone.h"

namespace idleburn {

// Bills made from runs in the history: which runs count, in which month, and what is said of those that do not.

namespace {

HistoryRun KeptRun(const char* started, std::optional<std::int64_t> cents) {
  HistoryRun run;
  run.kind = "run";
  run.state = RunState::kEnded;
  run.started = *ParseRfc3339(started);
  run.figures.currency = "USD";
  run.figures.rate_nano = 2'500'000'000;
  if (cents) run.figures.cost_nano = Money::Cents(*cents).nano();
  return run;
}

TEST(TcoHistory, RunsAreABillOfComputeByMonth) {
  std::vector<HistoryRun> runs = {KeptRun("2026-07-31T23:59:59Z", 500), KeptRun("2026-08-01T00:00:00Z", 250)};
  runs[1].state = RunState::kRunning;
  std::vector<std::string> told;
  const ActualBill bill = BillOfRuns(runs, "USD", told);
  EXPECT_TRUE(told.empty());
  ASSERT_EQ(bill.rows.size(), 2U);
  EXPECT_EQ(bill.rows[0].month, "2026-07");
  EXPECT_EQ(bill.rows[1].month, "2026-08");
  EXPECT_EQ(*bill.rows[1].day - *bill.rows[0].day, 1);
  EXPECT_EQ(bill.rows[0].category, CostCategory::kCompute);
  EXPECT_EQ(FormatExact(bill.rows[0].amount), "5.00");
  EXPECT_EQ(Compare(*bill.rows[0].quantity, Fraction::Of(2, 1)), 0);  // GPU-hours at 2.50
  EXPECT_FALSE(bill.rows[0].open);
  EXPECT_TRUE(bill.rows[1].open);
}

TEST(TcoHistory, WhatIsLeftOutIsTold) {
  std::vector<HistoryRun> runs = {KeptRun("2026-07-01T00:00:00Z", {}), KeptRun("2026-07-01T00:00:00Z", 1),
                                  KeptRun("2026-07-01T00:00:00Z", 1)};
  runs[1].kind = "audit";
  runs[2].figures.currency = "EUR";
  std::vector<std::string> told;
  EXPECT_TRUE(BillOfRuns(runs, "USD", told).rows.empty());
  ASSERT_EQ(told.size(), 3U);
  EXPECT_NE(told[0].find("1 of the history are left out: audits"), std::string::npos) << told[0];
  EXPECT_NE(told[1].find("without a cost"), std::string::npos);
  EXPECT_NE(told[2].find("not paid in USD"), std::string::npos);
}

}  // namespace

}  // namespace idleburn
