#include "plan/forecast_error.h"

#include <gtest/gtest.h>

#include <cmath>

namespace idleburn {
namespace {

JudgedForecast Judged(const std::string& run, const std::string& month, double forecast, double actual) {
  return {run, month, ForecastQuantity::kHours, {forecast, 0.9 * forecast, 1.1 * forecast}, actual};
}

// Errors of -10 %, 0, +10 %, +20 %, +100 %: by hand.
TEST(ForecastErrorTest, AMonthByHand) {
  std::vector<JudgedForecast> forecasts;
  for (const double forecast : {9.0, 10.0, 11.0, 12.0, 20.0}) {
    forecasts.push_back(Judged("run" + std::to_string(static_cast<int>(forecast)), "2026-11", forecast, 10));
  }
  const std::vector<MonthOfErrors> months = ErrorsByMonth(forecasts);
  ASSERT_EQ(months.size(), 1U);
  EXPECT_EQ(months[0].n, 5U);
  EXPECT_NEAR(*months[0].median, 0.1, 1e-12);
  EXPECT_NEAR(*months[0].bias, (-0.1 + 0 + 0.1 + 0.2 + 1) / 5, 1e-12);
  EXPECT_NEAR(*months[0].coverage, 2.0 / 5, 1e-12);  // 9: 8.1 to 9.9, 11: 9.9 to 12.1, 12: 10.8 to 13.2
  EXPECT_FALSE(months[0].p95) << "five runs have no 95th percentile";
  EXPECT_EQ(months[0].worst_run, "run20");
  EXPECT_NEAR(months[0].worst_error, 1, 1e-12);
}

TEST(ForecastErrorTest, FewRunsSayNothingInGeneral) {
  std::vector<JudgedForecast> forecasts(4, Judged("a", "2026-10", 9, 10));
  EXPECT_FALSE(ErrorsByMonth(forecasts)[0].median);
  EXPECT_FALSE(ErrorsByMonth(forecasts)[0].bias);
  EXPECT_FALSE(ErrorsByMonth(forecasts)[0].coverage);
  EXPECT_NEAR(ErrorsByMonth(forecasts)[0].worst_error, -0.1, 1e-12);
  forecasts.resize(20, Judged("a", "2026-10", 9, 10));
  EXPECT_NEAR(ErrorsByMonth(forecasts)[0].p95.value_or(0), 0.1, 1e-12);
  EXPECT_TRUE(ErrorsByMonth({}).empty());
}

TEST(ForecastErrorTest, MonthsAndQuantitiesStandApart) {
  JudgedForecast cost = Judged("c", "2026-11", 5, 4);
  cost.quantity = ForecastQuantity::kCost;
  const std::vector<JudgedForecast> forecasts = {Judged("a", "2026-10", 1, 1), cost, Judged("b", "2026-11", 1, 2)};
  const std::vector<MonthOfErrors> months = ErrorsByMonth(forecasts);
  ASSERT_EQ(months.size(), 3U);
  EXPECT_EQ(months[0].month, "2026-11");
  EXPECT_EQ(months[0].quantity, ForecastQuantity::kHours);
  EXPECT_NEAR(months[0].worst_error, -0.5, 1e-12);
  EXPECT_EQ(months[1].quantity, ForecastQuantity::kCost);
  EXPECT_EQ(months[2].month, "2026-10");
}

// A throughput that was stated has no interval to lie in.
TEST(ForecastErrorTest, AStatedFigureIsNoMatterOfCoverage) {
  JudgedForecast stated = Judged("a", "2026-11", 10, 10);
  stated.forecast.low = stated.forecast.high = 10;
  std::vector<JudgedForecast> forecasts(5, stated);
  EXPECT_FALSE(ErrorsByMonth(forecasts)[0].coverage);
  forecasts.resize(10, Judged("b", "2026-11", 20, 10));
  EXPECT_EQ(ErrorsByMonth(forecasts)[0].coverage.value_or(1), 0);
}

}  // namespace
}  // namespace idleburn
