#include "report/fleet_wasters_output.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "text/figures.h"

namespace idleburn {
namespace {

std::string WasteCell(const std::optional<Money>& waste, std::int64_t waste_ms, const FleetReport& report) {
  return waste ? Amount(*waste, report.currency) : ThreeDigits(GpuHoursOf(waste_ms));
}

}  // namespace

ReportTable FleetWastersTable(const FleetReport& report) {
  ReportTable table;
  table.title = "Jobs that waste most";
  const bool priced = report.cost.total.has_value();
  table.columns = {{"job", kLeft},   {"user", kLeft, false, true}, {priced ? "waste at least" : "GPU-hours", kRight},
                   {"cause", kLeft}, {"of the waste", kRight},     {"fix", kLeft, false, true}};
  for (const FleetWaster& waster : report.wasters) {
    std::string job = waster.job;
    std::string user = waster.user;
    double rest = 1;
    std::int64_t rest_ms = waster.waste_ms;
    std::optional<Money> rest_waste = waster.waste;
    for (const WasterCause& part : waster.causes) {
      table.rows.push_back({std::exchange(job, ""), std::exchange(user, ""),
                            WasteCell(part.waste, part.waste_ms, report), part.cause, PercentText(part.share),
                            part.fix});
      rest -= part.share;
      rest_ms -= part.waste_ms;
      if (rest_waste && part.waste) rest_waste = Money::Nano(rest_waste->nano() - part.waste->nano());
    }
    if (rest_ms <= 0) continue;
    table.rows.push_back({job, user, WasteCell(rest_waste, rest_ms, report), "unknown",
                          PercentText(std::clamp(rest, 0.0, 1.0)), waster.try_first.empty() ? "" : waster.fix});
  }
  if (!table.rows.empty()) {
    table.notes.push_back("Spin-wait and lost clock count here too, so a job may show more than in the table of jobs.");
  }
  return table;
}

}  // namespace idleburn
