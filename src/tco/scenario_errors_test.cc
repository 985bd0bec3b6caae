#include "tco/scenario_errors.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/plan_errors.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

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
  const std::string text = ForecastErrorsText(errors, 120);
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
