#include "report/fleet_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/figures.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

constexpr std::size_t kMostBars = 15;

struct PhaseLook {
  std::string_view fill;  // of web/report.css
  std::string_view words;
};
// By index of kFleetPhaseNames.
constexpr std::array<PhaseLook, kFleetPhaseCount> kPhaseLooks = {{{"fill-idle", "idle"},
                                                                  {"fill-under", "underutilized"},
                                                                  {"fill-productive", "productive"},
                                                                  {"fill-bound", "compute-bound"},
                                                                  {"fill-unobserved", "no data"}}};

std::string UpToText(std::int64_t seconds) {
  return seconds < 0 ? "longer" : "up to " + SecondsForPeople(static_cast<double>(seconds));
}

}  // namespace

std::string FleetOwnerText(const std::string& name) {
  if (name == kFleetUnallocated) return "not allocated";
  if (name == kFleetUnknown) return "unknown";
  if (name == kFleetOther) return "other";
  return name;
}

ReportChart FleetPhaseChart(std::span<const FleetOwner> owners) {
  ReportChart chart;
  for (const FleetOwner& owner : owners.first(std::min(owners.size(), kMostBars))) {
    ReportBar bar;
    bar.label = FleetOwnerText(owner.name);
    for (std::size_t p = 0; p < kFleetPhaseCount; ++p) {
      const double hours = GpuHoursOf(owner.time.phases[p]);
      bar.parts.push_back({hours, kPhaseLooks[p].fill,
                           fmt::format("{}, {}: {}", bar.label, kPhaseLooks[p].words, GpuHoursForPeople(hours))});
    }
    chart.bars.push_back(std::move(bar));
  }
  for (const PhaseLook& look : kPhaseLooks) chart.key.emplace_back(look.fill, look.words);
  return chart;
}

ReportTable FleetDayTable(const FleetReport& report) {
  ReportTable table;
  table.title = "Idle time by day (UTC)";
  table.columns = {{"day", kLeft}, {"idle GPU-hours", kRight}};
  for (const auto& [day, ms] : report.kpi.idle_ms_per_day) {
    const std::string date = FormatRfc3339(Instant::FromNanos(day * kNanosPerSecond)).substr(0, 10);
    table.rows.push_back({date, ThreeDigits(GpuHoursOf(ms))});
    table.chart.bars.push_back(
        {date, {{GpuHoursOf(ms), kPhaseLooks[0].fill, date + ": " + GpuHoursForPeople(GpuHoursOf(ms)) + " idle"}}});
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
