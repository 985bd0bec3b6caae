#include "diagnose/trace_budget.h"

namespace idleburn {

std::string_view Name(IdleClass c) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"dataloader", "sync_api", "memcpy_api", "cpu_op", "host_other",
                                       "launch_latency_le30us", "queued_wait_gt30us", "no_launch_record", "tail_head"});
  static_assert(kNames.size() == kIdleClasses);
  return kNames[static_cast<std::size_t>(c)];
}

}  // namespace idleburn
