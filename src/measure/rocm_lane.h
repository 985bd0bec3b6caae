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

// AMD's GPUs, as the kernel's amdgpu driver shows them below <sysfs>/class/drm: no library is needed.
class RocmLane : public Lane {
 public:
  // Fails with one line if there is none. Enters the GPUs in `devices`, by way of `out`.
  static Result<std::unique_ptr<RocmLane>> Open(const std::string& sysfs, DeviceTable& devices, LiveSink& out);

  [[nodiscard]] std::vector<MeasuredGpu> Measured(const DeviceTable& devices) const;
  void Tick(Instant now, LiveSink& out) override;

 private:
  struct Counter {
    Signal signal;
    std::int64_t multiply;  // file's unit to the signal's
    std::int64_t divide;
    bool fast;  // read at every tick, else once a second
    KeptFile file;
  };
  struct Gpu {
    DeviceId id = 0;
    std::vector<Counter> counters;
  };
  RocmLane() = default;
  Gpu OpenGpu(const std::string& folder, int index, DeviceTable& devices, LiveSink& out);

  OpenFileBudget files_{4096, 0};  // every counter's: they are read at every tick
  std::string buffer_;
  std::vector<Gpu> gpus_;
  Every slow_{Nanos(kNanosPerSecond)};
  std::vector<Sample> row_;
};

}  // namespace idleburn
