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

TEST(HtmlCharts, LinesShareOneScaleFromZero) {
  ReportChart chart;
  chart.lines = {{"a", {{100, 0}, {200, 5}}}, {"b & c", {{150, 10}}}};
  chart.peak = "10 W";
  chart.ends = {"first", "last"};
  const std::string html = ChartHtml("x", chart);
  EXPECT_NE(html.find(R"(points="0.0,160.0 900.0,90.0" class="line line-0")"), std::string::npos) << html;
  EXPECT_NE(html.find(R"(points="450.0,20.0" class="line line-1")"), std::string::npos) << html;
  for (const char* text : {"10 W", "first", "last", "b &amp; c"}) EXPECT_NE(html.find(text), std::string::npos) << text;
  chart.lines = {{"below zero", {{0, -5}, {1, 5}}}};
  EXPECT_NE(ChartHtml("x", chart).find(R"(points="0.0,160.0 900.0,20.0")"), std::string::npos);
}

TEST(FleetPanels, EachPanelHasItsFiguresAndLines) {
  const auto rows = PanelRows();
  const auto row_of = [&](std::string_view title) {
    return std::find_if(rows.begin(), rows.end(), [&](const PanelRow& row) { return row.title == title; });
  };
  FleetReport report;
  PanelAnswer power{&*row_of("Power by node"), "GPU hardware", {{"n1", 300, 400, 200, {{0, 400.0}, {300, 200.0}}}}, 2};
  PanelAnswer up{&*row_of("Agents up"), "Overview", {{"agents", 2, 2, 2, {{300, 2.0}}}}, 0};
  report.panels = {power, up};
  const std::vector<ReportTable> tables = FleetPanelTables(report);
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].title, "GPU hardware: Power by node");
  EXPECT_EQ(tables[0].rows.at(0), (TableRow{"n1", "300 W", "400 W", "200 W"}));
  EXPECT_EQ(tables[0].notes.back(), "2 smaller series are left out.");
  EXPECT_EQ(tables[0].chart.lines.at(0).points.size(), 2U);
  EXPECT_EQ(tables[1].rows.at(0), (TableRow{"Agents up", "2"}));
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
