#include "profile/launch_processes.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace idleburn {

std::int64_t FindLaunchProcesses(Profile& profile) {
  if (profile.processes.size() < 2) return 0;
  std::vector<std::pair<std::int64_t, std::uint16_t>> launches;
  launches.reserve(profile.calls.size());
  for (const HostCall& call : profile.calls) {
    if (call.correlation != kNoCorrelation) launches.emplace_back(call.correlation, call.process);
  }
  std::sort(launches.begin(), launches.end());
  launches.erase(std::unique(launches.begin(), launches.end()), launches.end());

  std::int64_t ambiguous = 0;
  for (ProfiledDevice& device : profile.devices) {
    for (DeviceEvent& event : device.events) {
      const auto first =
          std::lower_bound(launches.begin(), launches.end(), std::pair{event.correlation, std::uint16_t{0}});
      if (first == launches.end() || first->first != event.correlation) continue;
      event.process = first->second;
      const auto next = first + 1;
      ambiguous += next != launches.end() && next->first == event.correlation ? 1 : 0;
    }
  }
  if (ambiguous > 0) profile.correlation_by_process = false;
  return ambiguous;
}

}  // namespace idleburn
