#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "telemetry/device.h"

namespace idleburn {

// Watches for one UUID on two hosts at once, in one input or in several: a machine that was cloned, or labels that are
// wrong. Joined, the readings of two GPUs would be those of one that costs half. One GPU whose host changes its name
// (an exporter's pod that starts again) stays one. Wrong for exporters that call one machine by two unlike names: such
// an input is refused, too.
class HostWatch {
 public:
  // When series of one host gave readings of a device.
  struct Stay {
    Instant first = Instant::FromNanos(INT64_MAX);
    Instant last = Instant::FromNanos(INT64_MIN);
    void See(Instant time);
  };

  // The stay of `device` on `host`, good as long as the watch.
  Stay* Track(DeviceId device, const std::string& host) { return &stays_[device][host]; }
  // At the end of an input: an error if a device was on two hosts at the same time.
  [[nodiscard]] Result<void> Verdict(const std::string& file, const DeviceTable& devices) const;

 private:
  std::map<DeviceId, std::map<std::string, Stay>> stays_;
};

// Whether two names mean one machine: "node7" and "Node7.example.com".
bool IsOneHost(std::string_view a, std::string_view b);

}  // namespace idleburn
