#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/display.h"
#include "report/json_values.h"
#include "report/runs_view.h"
#include "text/number.h"

namespace idleburn {

// The runs of a log, and what was billed of it, for whichever `Json` its writer uses; docs/json.md documents every key.

template <typename Json, typename MoneyWriter>
Json RunsJson(const AuditReport& report, const MoneyWriter& money) {
  const std::vector<CostReport::RunCost>& runs = report.cost.runs;
  const std::vector<Money> shown = ShownRunCosts(report, CostColumnOf(report.cost));
  const std::string_view undated = IsDated(report.run.start) ? "" : "no_dates";
  Json list = Json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const CostReport::RunUsage& u = runs[i].usage;
    Json run;
    PutText(run, "start", undated.empty() ? FormatRfc3339(runs[i].span.start) : "", undated);
    PutText(run, "end", undated.empty() ? FormatRfc3339(runs[i].span.end) : "", undated);
    run["gpus"] = runs[i].gpus;
    run["gpu_hours"] = {{"window", InHours(u.WindowNs())},
                        {"observed", InHours(u.ObservedNs())},
                        {"unobserved", InHours(u.ns[kPhaseCount])},
                        {"unallocated", InHours(u.ns[kPhaseCount + 1])}};
    for (std::size_t p = 0; p < kPhaseCount; ++p) {
      Json phase;
      phase["gpu_hours"] = InHours(u.ns[p]);
      money.PutCell(phase, "cost", u.cost[p], u.cost[p]);
      run["phases"][std::string(kPhaseNames[p])] = std::move(phase);
    }
    PutNumber(run, "mean_utilization_percent", runs[i].mean_utilization, "nothing_observed");
    money.PutCell(run, "cost", shown[i], u.Total());
    list.push_back(std::move(run));
  }
  return list;
}

// Both readings of a bill: by its window, and by the lifetimes of the owners that an input names.
template <typename Json, typename MoneyWriter>
Json BilledJson(const AuditReport& report, const MoneyWriter& money) {
  Json json;
  json["by"] = Name(BilledByOf(report));
  const RecordedTime time = RecordedTimeOf(report);
  json["recorded_hours"] = InHours(time.recorded_ns);
  json["between_runs_hours"] = InHours(time.between_ns);
  const std::optional<OwnedPart> owned = OwnedPartOf(report.cost);
  PutNumber(json, "lifetimes_gpu_hours", owned ? std::optional(InHours(owned->gpu_ns)) : std::nullopt, "no_owners");
  money.Put(json, "lifetimes_cost", owned ? owned->cost : std::nullopt, owned ? "" : "no_owners");
  return json;
}

}  // namespace idleburn
