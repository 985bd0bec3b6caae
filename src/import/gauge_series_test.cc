#include "import/gauge_series.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace idleburn {
namespace {

bool Has(const std::string& name, bool utilization) {
  const std::vector<GaugeName> gauges = FleetGauges();
  return std::any_of(gauges.begin(), gauges.end(),
                     [&](const GaugeName& gauge) { return gauge.name == name && gauge.utilization == utilization; });
}

TEST(GaugeSeriesTest, EveryExportersUtilizationIsAskedFor) {
  for (const char* name :
       {"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL_RATIO", "dcgm_gpu_utilization", "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
        "DCGM_FI_PROF_SM_CYCLES_ACTIVE_TOTAL", "nvidia_smi_utilization_gpu_ratio", "gpu_utilization",
        "gpu_utilization_Percentage", "nvidia_gpu_duty_cycle", "all_smi_gpu_utilization", "gpu_device_utilization"}) {
    EXPECT_TRUE(Has(name, true)) << name;
  }
  for (const char* name : {"DCGM_FI_DEV_POWER_USAGE", "nvidia_smi_gpu_info", "nvidia_gpu_jobId"}) {
    EXPECT_TRUE(Has(name, false)) << name;
  }
  EXPECT_FALSE(Has("DCGM_FI_DEV_GPU_TEMP", true) || Has("DCGM_FI_DEV_GPU_TEMP", false));
}

TEST(GaugeSeriesTest, LabelsNameTheGpuAndItsOwner) {
  const GaugeSeries series = GaugeSeriesOf(
      "DCGM_FI_DEV_GPU_UTIL", {{"UUID", "GPU-1"}, {"Hostname", "node1"}, {"gpu", "3"}, {"hpc_job", "48211"}});
  EXPECT_EQ(series.gpu.uuid, "GPU-1");
  EXPECT_EQ(series.gpu.host, "node1");
  EXPECT_EQ(series.gpu.index, 3);
  EXPECT_EQ(series.owner, "job 48211");
  EXPECT_TRUE(series.reading);
  EXPECT_FALSE(GaugeSeriesOf("DCGM_FI_DEV_POWER_USAGE", {{"UUID", "GPU-1"}}).reading);
  EXPECT_FALSE(GaugeSeriesOf("node_load1", {{"UUID", "GPU-1"}}).reading);
}

// DCGM exports one for instances too, which is not a reading.
TEST(GaugeSeriesTest, AMigInstanceHasNoUtilization) {
  const std::vector<std::pair<std::string, std::string>> labels = {
      {"UUID", "GPU-1"}, {"GPU_I_ID", "3"}, {"GPU_I_PROFILE", "1g.10gb"}};
  EXPECT_FALSE(GaugeSeriesOf("DCGM_FI_DEV_GPU_UTIL", labels).reading);
  EXPECT_TRUE(GaugeSeriesOf("DCGM_FI_PROF_GR_ENGINE_ACTIVE", labels).reading);
}

}  // namespace
}  // namespace idleburn
