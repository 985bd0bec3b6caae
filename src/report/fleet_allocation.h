#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fleet/allocation_report.h"
#include "fleet/fleet_report.h"
#include "report/json_values.h"
#include "report/report_page.h"
#include "text/strings.h"

// What a scheduler allocated, as a part of a fleet's answer (report/fleet_output.h).
namespace idleburn {

// Sentences for the reasons of the verdict: allocated of what exists, and allocated without use.
std::vector<std::string> AllocationWhy(const FleetAllocation& allocation);
// Resources, then who held them. Without an allocation it has no rows.
ReportTable AllocationTable(const std::optional<FleetAllocation>& allocation);

// The key `allocation` of docs/json/fleet.md; null without one.
template <typename Json>
Json AllocationJson(const std::optional<FleetAllocation>& allocation) {
  if (!allocation) return Json(nullptr);
  const auto hours = [](const std::optional<std::int64_t>& ms) { return ms ? Json(GpuHoursOf(*ms)) : Json(nullptr); };
  Json json = {{"metrics", allocation->metrics}, {"step_s", allocation->step_s}, {"readings", allocation->readings}};
  json["resources"] = Json::array();
  for (const AllocationResource& resource : allocation->resources) {
    json["resources"].push_back({{"scheduler", resource.scheduler},
                                 {"name", Printable(resource.name)},
                                 {"capacity_gpu_hours", hours(resource.capacity_ms)},
                                 {"allocated_gpu_hours", hours(resource.allocated_ms)},
                                 {"unallocated_gpu_hours", hours(resource.UnallocatedMs())},
                                 {"unusable_gpu_hours", hours(resource.unusable_ms)}});
  }
  json["unused_gpu_hours_at_least"] = hours(allocation->unused_ms);
  json["owners"] = Json::array();
  for (const AllocationOwner& owner : allocation->owners) {
    json["owners"].push_back(
        {{"kind", owner.kind},
         {"name", Printable(owner.name)},
         {"cluster", TextOrNull<Json>(Printable(owner.cluster))},
         {"team", TextOrNull<Json>(Printable(owner.team))},
         {"gpu_hours", hours(owner.held_ms)},
         {"most_gpus", owner.most},
         {"mean_utilization_percent", owner.mean_utilization ? Json(*owner.mean_utilization * 100) : Json(nullptr)}});
  }
  json["queues"] = Json::array();
  for (const AllocationQueue& queue : allocation->queues) {
    json["queues"].push_back({{"metric", queue.metric},
                              {"unit", queue.unit},
                              {"mean", queue.mean},
                              {"most", queue.most},
                              {"newest", queue.newest}});
  }
  return json;
}

}  // namespace idleburn
