#include "report/fleet_allocation.h"

#include <fmt/format.h>

#include "report/fleet_figures.h"
#include "text/figures.h"

namespace idleburn {
namespace {

constexpr std::size_t kShownOwners = 25;  // JSON has all

}  // namespace

std::vector<std::string> AllocationWhy(const FleetAllocation& allocation) {
  std::vector<std::string> lines;
  for (const AllocationResource& resource : allocation.resources) {
    if (!resource.capacity_ms || *resource.capacity_ms == 0) continue;
    lines.push_back(fmt::format(
        "{}: {} of {} hours were allocated ({})", resource.name, ThreeDigits(GpuHoursOf(resource.allocated_ms)),
        ThreeDigits(GpuHoursOf(*resource.capacity_ms)), FleetShareText(resource.allocated_ms, resource.capacity_ms)));
  }
  if (allocation.unused_ms.value_or(0) > 0) {
    lines.push_back(fmt::format("at least {} were allocated to GPUs below 10 % busy",
                                GpuHoursForPeople(GpuHoursOf(*allocation.unused_ms))));
  }
  for (const AllocationQueue& queue : allocation.queues) {
    if (queue.most == 0) continue;
    lines.push_back(fmt::format("{} {} waited on average, {} at most ({})", ThreeDigits(queue.mean), queue.unit,
                                queue.most, queue.metric));
  }
  return lines;
}

ReportTable AllocationTable(const std::optional<FleetAllocation>& allocation) {
  ReportTable table;
  table.title = "Allocation, as the scheduler counts it";
  table.columns = {{"holder", kLeft},
                   {"", kLeft},
                   {"GPU-hours", kRight},
                   {"of capacity", kRight},
                   {"most GPUs", kRight, false, true},
                   {"utilization", kRight}};
  if (!allocation) return table;
  std::int64_t capacity = 0;
  bool known = true;
  for (const AllocationResource& resource : allocation->resources) {
    capacity += resource.capacity_ms.value_or(0);
    known = known && resource.capacity_ms.has_value();
    const auto row = [&](const char* what, std::int64_t ms) {
      table.rows.push_back(
          {resource.name, what, ThreeDigits(GpuHoursOf(ms)), FleetShareText(ms, resource.capacity_ms)});
    };
    if (resource.capacity_ms) row("capacity", *resource.capacity_ms);
    row("allocated", resource.allocated_ms);
    if (const auto free = resource.UnallocatedMs()) row("not allocated", *free);
    if (resource.unusable_ms > 0) row("not usable", resource.unusable_ms);
  }
  std::size_t shown = 0;
  for (const AllocationOwner& owner : allocation->owners) {
    if (++shown > kShownOwners) continue;
    table.rows.push_back({owner.name, owner.kind, ThreeDigits(GpuHoursOf(owner.held_ms)),
                          known ? FleetShareText(owner.held_ms, capacity) : "", std::to_string(owner.most),
                          owner.mean_utilization ? PercentText(*owner.mean_utilization) : "unknown"});
  }
  if (shown > kShownOwners) table.notes.push_back(fmt::format("{} more are in --format json", shown - kShownOwners));
  return table;
}

}  // namespace idleburn
