#include "report/fleet_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/fleet_figures.h"
#include "text/figures.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

constexpr std::size_t kMostBars = 15;

// Of web/report.css, by index of kFleetPhaseNames.
constexpr std::array<std::string_view, kFleetPhaseCount> kPhaseFills = {"fill-idle", "fill-under", "fill-productive",
                                                                        "fill-bound", "fill-unobserved"};

std::string UpToText(std::int64_t seconds) {
  return seconds < 0 ? "longer" : "up to " + SecondsForPeople(static_cast<double>(seconds));
}

}  // namespace

ReportChart FleetPhaseChart(std::span<const FleetOwner> owners) {
  ReportChart chart;
  for (const FleetOwner& owner : owners.first(std::min(owners.size(), kMostBars))) {
    ReportBar bar;
    bar.label = FleetOwnerText(owner.name);
    for (std::size_t p = 0; p < kFleetPhaseCount; ++p) {
      const double hours = GpuHoursOf(owner.time.phases[p]);
      bar.parts.push_back(
          {hours, kPhaseFills[p], fmt::format("{}, {}: {}", bar.label, kFleetPhaseWords[p], GpuHoursForPeople(hours))});
    }
    chart.bars.push_back(std::move(bar));
  }
  for (std::size_t p = 0; p < kFleetPhaseCount; ++p) chart.key.emplace_back(kPhaseFills[p], kFleetPhaseWords[p]);
  return chart;
}

ReportTable FleetDayTable(const FleetReport& report) {
  ReportTable table;
  table.title = "Idle time by day (UTC)";
  table.columns = {{"day", kLeft}, {"idle GPU-hours", kRight}};
  for (const auto& [day, ms] : report.kpi.idle_ms_per_day) {
    const std::string date = FormatUnixDay(day);
    table.rows.push_back({date, ThreeDigits(GpuHoursOf(ms))});
    table.chart.bars.push_back(
        {date, {{GpuHoursOf(ms), kPhaseFills[0], date + ": " + GpuHoursForPeople(GpuHoursOf(ms)) + " idle"}}});
  }
  return table;
}

ReportTable FleetQueueTable(const FleetReport& report) {
  ReportTable table;
  if (!report.kpi.queue_wait) return table;
  table.title = "Time in the queue";
  table.columns = {{"waited", kLeft}, {"jobs", kRight}};
  for (const auto& [up_to, jobs] : report.kpi.queue_wait->histogram) {
    const std::string label = UpToText(up_to);
    table.rows.push_back({label, std::to_string(jobs)});
    table.chart.bars.push_back(
        {label, {{static_cast<double>(jobs), "fill-productive", fmt::format("{}: {} jobs", label, jobs)}}});
  }
  return table;
}

}  // namespace idleburn
