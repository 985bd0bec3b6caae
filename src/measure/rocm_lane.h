#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/lane.h"
#include "measure/live_gpus.h"
#include "os/kept_file.h"
#include "telemetry/device.h"

namespace idleburn {

// AMD GPUs, read from files of the kernel's amdgpu driver below <sysfs>/class/drm. It needs no library, because the
// kernel shows these values to every user. docs/measuring.md, "AMD" lists the files.
class RocmLane : public Lane {
 public:
  // Enters the GPUs in `devices` through `out`. Fails if there is none. `sysfs` is "/sys"; a test has its own folder.
  static Result<std::unique_ptr<RocmLane>> Open(const std::string& sysfs, DeviceTable& devices, LiveSink& out);

  // The GPUs that it reads.
  [[nodiscard]] std::vector<MeasuredGpu> Measured(const DeviceTable& devices) const;
  void Tick(Instant now, LiveSink& out) override;

 private:
  struct Counter {
    Signal signal;
    std::int64_t multiply;  // multiply and divide convert the file's unit to the signal's
    std::int64_t divide;
    bool fast;  // read at every tick; otherwise once a second
    KeptFile file;
  };
  struct Gpu {
    DeviceId id = 0;
    std::vector<Counter> counters;
  };
  RocmLane() = default;
  Gpu OpenGpu(const std::string& folder, int index, DeviceTable& devices, LiveSink& out);

  OpenFileBudget files_{4096, 0};  // enough to keep all counters open
  std::string buffer_;
  std::vector<Gpu> gpus_;
  Every slow_{Nanos(kNanosPerSecond)};
  std::vector<Sample> row_;
};

}  // namespace idleburn
