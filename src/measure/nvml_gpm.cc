#include "measure/nvml_gpm.h"

#include <cmath>
#include <utility>

namespace idleburn {
namespace {

constexpr std::array<std::uint32_t, 8> kMetrics = {nvml::kGpmGraphics, nvml::kGpmSm,      nvml::kGpmTensor,
                                                   nvml::kGpmDram,     nvml::kGpmPcieTx,  nvml::kGpmPcieRx,
                                                   nvml::kGpmNvlinkTx, nvml::kGpmNvlinkRx};

}  // namespace

std::unique_ptr<GpmPair> GpmPair::Open(NvmlLibrary& nvml, nvml::Device board, std::optional<std::uint32_t> instance) {
  nvml::GpmSupport support = {nvml::kGpmVersion, 0};
  if (nvml.Call(nvml.gpm_support, board, &support) != nvml::kSuccess || support.supported == 0) return nullptr;
  std::unique_ptr<GpmPair> pair(new GpmPair(nvml, board, instance));
  for (nvml::GpmSample& sample : pair->samples_) {
    if (nvml.Call(nvml.gpm_alloc, &sample) != nvml::kSuccess) return nullptr;
  }
  return pair;
}

GpmPair::~GpmPair() {
  for (nvml::GpmSample sample : samples_) {
    if (sample != nullptr) nvml_.Call(nvml_.gpm_free, sample);
  }
}

std::optional<GpmPair::Activity> GpmPair::Take(nvml::Return* code) {
  nvml::GpmSample later = samples_[primed_ ? 1 : 0];
  *code = instance_ ? nvml_.Call(nvml_.gpm_mig_sample, board_, *instance_, later)
                    : nvml_.Call(nvml_.gpm_sample, board_, later);
  if (*code != nvml::kSuccess) return std::nullopt;
  if (!primed_) {
    primed_ = true;
    return std::nullopt;
  }
  nvml::GpmMetricsGet& request = *request_;
  request.version = nvml::kGpmVersion;
  request.count = kMetrics.size();
  request.first = samples_[0];
  request.second = samples_[1];
  for (std::size_t i = 0; i < kMetrics.size(); ++i) {
    request.metrics[i] = {};
    request.metrics[i].id = kMetrics[i];
  }
  *code = nvml_.Call(nvml_.gpm_metrics, &request);
  std::swap(samples_[0], samples_[1]);
  if (*code != nvml::kSuccess) return std::nullopt;
  std::array<std::optional<double>, kMetrics.size()> values;
  for (std::size_t i = 0; i < kMetrics.size(); ++i) {
    const nvml::GpmMetric& metric = request.metrics[i];
    if (metric.result == nvml::kSuccess && std::isfinite(metric.value) && metric.value >= 0) values[i] = metric.value;
  }
  Activity activity;
  activity.graphics_percent = values[0];
  activity.sm_percent = values[1];
  activity.tensor_percent = values[2];
  activity.dram_percent = values[3];
  activity.pcie_tx_mib_s = values[4];
  activity.pcie_rx_mib_s = values[5];
  activity.nvlink_tx_mib_s = values[6];
  activity.nvlink_rx_mib_s = values[7];
  return activity;
}

}  // namespace idleburn
