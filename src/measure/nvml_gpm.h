#pragma once

#include <array>
#include <memory>
#include <optional>

#include "measure/nvml_library.h"

namespace idleburn {

// Activity of one device over the time between two of the driver's samples (GPM; Hopper and later).
class GpmPair {
 public:
  struct Activity {  // absent: not on this device
    std::optional<double> graphics_percent;
    std::optional<double> sm_percent;
    std::optional<double> tensor_percent;
    std::optional<double> dram_percent;
    std::optional<double> pcie_tx_mib_s;
    std::optional<double> pcie_rx_mib_s;
    std::optional<double> nvlink_tx_mib_s;
    std::optional<double> nvlink_rx_mib_s;
  };

  // `board` is asked for; `instance` is the MIG instance on it, absent for the whole of it. Null if the device or the
  // library cannot do it. `nvml` outlives the pair.
  static std::unique_ptr<GpmPair> Open(NvmlLibrary& nvml, nvml::Device board, std::optional<std::uint32_t> instance);
  ~GpmPair();
  GpmPair(const GpmPair&) = delete;
  GpmPair& operator=(const GpmPair&) = delete;

  // What happened since the last call, which lies at least 200 ms back; absent the first time, and when the driver
  // fails. `code` says how.
  std::optional<Activity> Take(nvml::Return* code);

 private:
  GpmPair(NvmlLibrary& nvml, nvml::Device board, std::optional<std::uint32_t> instance)
      : nvml_(nvml), board_(board), instance_(instance), request_(std::make_unique<nvml::GpmMetricsGet>()) {}

  NvmlLibrary& nvml_;
  nvml::Device board_;
  std::optional<std::uint32_t> instance_;
  std::array<nvml::GpmSample, 2> samples_{};
  bool primed_ = false;                           // samples_[0] holds the earlier one
  std::unique_ptr<nvml::GpmMetricsGet> request_;  // 13 kB
};

}  // namespace idleburn
