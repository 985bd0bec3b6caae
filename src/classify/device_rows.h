#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "telemetry/sample.h"

namespace idleburn {

// Rows of columns, device by device: those of each device in their order, devices in the order of their first rows.
class DeviceRows {
 public:
  // Takes the rows [from, to) of `devices`, the device of every row.
  void Set(const DeviceId* devices, std::size_t from, std::size_t to);

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

  bool SetRounds(std::span<const DeviceId> devices, std::uint32_t from);

  std::vector<Present> present_;
  std::vector<std::uint32_t> place_;  // by device: how many rows, then where the next one goes; 0 between uses
  std::vector<std::uint32_t> rows_;
  std::vector<DeviceId> seen_;  // in a round
};

}  // namespace idleburn
