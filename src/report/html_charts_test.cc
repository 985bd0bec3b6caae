#include "report/html_charts.h"

#include <gtest/gtest.h>

#include <regex>

#include "report/fleet_charts.h"

namespace idleburn {
namespace {

std::vector<double> WidthsIn(const std::string& html) {
  std::vector<double> widths;
  const std::regex width(R"re(<rect x="[0-9.]+" y="\d+" width="([0-9.]+)")re");
  for (std::sregex_iterator it(html.begin(), html.end(), width), end; it != end; ++it) {
    widths.push_back(std::stod((*it)[1]));
  }
  return widths;
}

TEST(HtmlCharts, LengthsAreOnOneScale) {
  const ReportChart chart = {{{"a", {{30, "fill-idle", "a idle"}, {10, "fill-under", "a under"}}},
                              {"b", {{20, "fill-idle", "b idle"}, {-5, "fill-under", "never drawn"}}}},
                             {{"fill-idle", "idle"}}};
  const std::string html = ChartHtml("GPU-hours", chart);
  const std::vector<double> widths = WidthsIn(html);
  ASSERT_EQ(widths.size(), 3U) << html;
  // The longest bar, 40, takes the whole room.
  const double room = kChartWidth - kChartLabels;
  EXPECT_NEAR(widths[0], room * 30 / 40, 0.06);
  EXPECT_NEAR(widths[1], room * 10 / 40, 0.06);
  EXPECT_NEAR(widths[2], room * 20 / 40, 0.06);
  EXPECT_EQ(html.find("never drawn"), std::string::npos);
}

TEST(HtmlCharts, NothingToDrawIsNoPicture) {
  EXPECT_EQ(ChartHtml("x", {}), "");
  const std::string zero = ChartHtml("x", {{{"a", {{0, "fill-idle", "none"}}}}, {}});
  EXPECT_TRUE(WidthsIn(zero).empty()) << zero;
}

TEST(HtmlCharts, NamesCannotLeaveTheirPlace) {
  const std::string evil = "</text><script>alert(1)</script>\"'&";
  const std::string html = ChartHtml(evil, {{{evil, {{1, "fill-idle", evil}}}}, {{"fill-idle", evil}}});
  EXPECT_EQ(html.find("<script"), std::string::npos) << html;
}

TEST(FleetCharts, ATeamsBarHasItsPhases) {
  FleetOwner team;
  team.name = "_unallocated";
  team.time.phases = {3'600'000, 0, 7'200'000, 0, 1'800'000};
  const ReportChart chart = FleetPhaseChart(std::span(&team, 1));
  ASSERT_EQ(chart.bars.size(), 1U);
  EXPECT_EQ(chart.bars[0].label, "not allocated");
  double sum = 0;
  for (const ReportBar::Part& part : chart.bars[0].parts) sum += part.size;
  EXPECT_DOUBLE_EQ(sum, 3.5);
}

TEST(FleetCharts, DaysAndWaitsHaveARowAndABarEach) {
  FleetReport report;
  EXPECT_TRUE(FleetQueueTable(report).rows.empty());
  report.kpi.idle_ms_per_day = {{1772323200, 3'600'000}, {1772409600, 0}};
  report.kpi.queue_wait = FleetQueueWait{3, 10, 70, {{60, 2}, {-1, 1}}};
  const ReportTable days = FleetDayTable(report);
  ASSERT_EQ(days.rows.size(), 2U);
  EXPECT_EQ(days.rows[0][0], "2026-03-01");
  EXPECT_EQ(days.chart.bars.size(), 2U);
  const ReportTable waits = FleetQueueTable(report);
  ASSERT_EQ(waits.rows.size(), 2U);
  EXPECT_EQ(waits.rows[0][1], "2");
  EXPECT_EQ(waits.rows[1][0], "longer");
}

}  // namespace
}  // namespace idleburn
