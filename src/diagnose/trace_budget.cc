#include "diagnose/trace_budget.h"

namespace idleburn {

std::string_view Name(IdleClass c) {
  constexpr std::array<std::string_view, kIdleClasses> kNames = {
      "dataloader",         "sync_api",         "memcpy_api", "cpu_op", "host_other", "launch_latency_le30us",
      "queued_wait_gt30us", "no_launch_record", "tail_head"};
  return kNames[static_cast<std::size_t>(c)];
}

std::int64_t TraceBudget::HostWaitNs() const {
  std::int64_t ns = 0;
  for (auto c = static_cast<std::size_t>(IdleClass::kDataloader); c <= static_cast<std::size_t>(IdleClass::kHostOther);
       ++c) {
    ns += (*idle_by_class)[c];
  }
  return ns;
}

std::int64_t TraceBudget::LaunchToStartNs() const {
  return IdleNs(IdleClass::kLaunchLatency) + IdleNs(IdleClass::kQueuedWait);
}

}  // namespace idleburn
