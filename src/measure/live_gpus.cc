#include "measure/live_gpus.h"

#include <utility>

#include "measure/nvml_lane.h"
#include "measure/rocm_lane.h"

namespace idleburn {

LiveGpus LiveGpus::Open(const LiveGpuOptions& options, DeviceTable& devices, std::shared_ptr<RunClock> clock,
                        const TimeLine& line) {
  LiveGpus found;
  auto nvidia = NvmlLane::Open({options.nvml_library, options.period}, devices, std::move(clock), line);
  if (nvidia) found.lanes.push_back(std::move(*nvidia));
  auto amd = RocmLane::Open(options.sysfs, devices);
  if (amd) found.lanes.push_back(std::move(*amd));
  if (found.lanes.empty()) found.why_not = nvidia.error().message;
  return found;
}

}  // namespace idleburn
