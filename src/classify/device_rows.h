#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "telemetry/sample.h"

namespace idleburn {

// Rows of columns, device by device: those of each device in their order, devices in the order of their first rows.
class DeviceRows {
 public:
  // Takes the device of every row. Most logs repeat one round of devices, so the devices are often those of the call
  // before. Then the lists of rows are kept.
  void Set(std::span<const DeviceId> devices) {
    if (std::equal(devices.begin(), devices.end(), devices_.begin(), devices_.end())) return;
    devices_.assign(devices.begin(), devices.end());
    List();
  }

  // Calls use(device, its rows) for each device.
  template <typename Use>
  void ForEach(Use use) const {
    std::size_t at = 0;
    for (const Present& p : present_) {
      use(p.device, std::span(rows_).subspan(at, p.rows));
      at += p.rows;
    }
  }

 private:
  struct Present {
    DeviceId device;
    std::uint32_t rows;
  };

  void List();
  bool ListRounds();

  std::vector<DeviceId> devices_;  // of every row
  std::vector<Present> present_;
  std::vector<std::uint32_t> place_;  // by device: how many rows, then where the next one goes; 0 between uses
  std::vector<std::uint32_t> rows_;
  std::vector<DeviceId> seen_;  // in a round
};

}  // namespace idleburn
