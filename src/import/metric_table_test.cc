#include "import/metric_table.h"

#include <gtest/gtest.h>

#include "telemetry/sample.h"

namespace idleburn {
namespace {

TEST(MetricTable, AliasesOfAFieldAreFound) {
  for (const auto& [old_name, new_name] : std::vector<std::pair<std::string, std::string>>{
           {"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL_RATIO"},
           {"DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS"},
           {"DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "DCGM_FI_DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS"},
           {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"},
           {"DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_XID_ERROR"},
           {"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "DCGM_FI_DEV_NVLINK_THROUGHPUT_TOTAL"},
           {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO"},
           {"DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_SM_UTIL_RATIO"},
           {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_TENSOR_UTIL_RATIO"},
           {"DCGM_FI_PROF_DRAM_ACTIVE", "DCGM_FI_PROF_DRAM_UTIL_RATIO"}}) {
    const Metric* a = FindMetric(old_name);
    const Metric* b = FindMetric(new_name);
    ASSERT_TRUE(a != nullptr && b != nullptr) << old_name;
    EXPECT_EQ(a->field, b->field) << old_name;
    EXPECT_EQ(a->scale, b->scale) << old_name;
    EXPECT_EQ(a->signal, b->signal) << old_name;
  }
  EXPECT_EQ(FindMetric("nvidia_smi_energy_joules")->signal, Signal::kEnergy);  // without its _total
  EXPECT_EQ(FindMetric("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION_total")->field, 156);
  EXPECT_EQ(FindMetric("DCGM_FI_DEV_GPU_UTILS"), nullptr);
  EXPECT_EQ(FindMetric("_total"), nullptr);
}

// Every metric of /metrics that a signal has a place for; a reason's bit is that of its name.
TEST(MetricTable, OthersThanDcgmAreKnown) {
  for (const char* name : {"nvidia_smi_power_draw_instant_watts", "nvidia_smi_power_draw_average_watts",
                           "all_smi_mig_instance_utilization_gpu", "all_smi_mig_instance_memory_used_bytes",
                           "all_smi_energy_consumed_joules_total"}) {
    EXPECT_NE(FindMetric(name), nullptr) << name;
  }
  for (const std::string when : {"event", "throttle"}) {
    for (std::size_t bit = 0; bit < kEventReasonCount; ++bit) {
      const std::string name =
          "nvidia_smi_clocks_" + when + "_reasons_" + std::string(kEventReasonTable[bit].nvidia_smi);
      const Metric* metric = FindMetric(name);
      ASSERT_NE(metric, nullptr) << name;
      EXPECT_EQ(metric->role, MetricRole::kEventReason);
      EXPECT_EQ(metric->field, bit);
    }
  }
}

TEST(MetricTable, ScalesAreExact) {
  const auto value = [](std::string_view text, Scale scale) { return ReadScaled(text, scale).value; };
  EXPECT_EQ(value("37", Scale::kPercentage), 37'000'000);
  EXPECT_EQ(value("0.714", Scale::kRatio), 71'400'000);
  EXPECT_EQ(value("631.95", Scale::kWatt), 631'950);
  EXPECT_EQ(value("1.98e+09", Scale::kHertz), 1'980'000);
  EXPECT_EQ(value("1410", Scale::kMegahertz), 1'410'000);
  EXPECT_EQ(value("81559", Scale::kMebibyte), 85'520'809'984);
  EXPECT_EQ(value("0.5", Scale::kMebibyte), 524'288);
  EXPECT_EQ(value("2.0780679168e+10", Scale::kByte), 20'780'679'168);
  EXPECT_EQ(value("20480", Scale::kNvlinkRate), 20'971'520'000);
  EXPECT_EQ(value("-3", Scale::kCelsius), -3'000);
  EXPECT_EQ(ReadScaled("-3", Scale::kWatt).doubt, QualityId::kOutOfRange);
}

// An all-ones register is no reading, whichever unit it stands in.
TEST(MetricTable, WhatNoGpuCanReportIsOutOfRange) {
  const struct {
    Scale scale;
    const char* largest;  // that a GPU might have
    const char* absurd;
  } cases[] = {
      {Scale::kPercentage, "100.5", "101"},
      {Scale::kRatio, "1.005", "1.01"},
      {Scale::kWatt, "100000", "4294967.295"},
      {Scale::kMilliwatt, "100000000", "4294967295"},
      {Scale::kMegahertz, "99999", "9e15"},
      {Scale::kHertz, "9e10", "18446744073709551615"},
      {Scale::kMebibyte, "8388608", "4294967295"},
      {Scale::kByte, "8796093022208", "18446744073709551615"},
      {Scale::kCelsius, "250", "65535"},
      {Scale::kMask, "2147483647", "4294967295"},
      {Scale::kCount, "1000000000", "4294967295"},
      {Scale::kBytePerSecond, "1e14", "18446744073709551615"},
      {Scale::kMebibytePerSecond, "95000000", "4294967295"},
      {Scale::kNvlinkRate, "97000000", "4294967295"},
      {Scale::kMillijoule, "9223372036854775807", "18446744073709551615"},
      {Scale::kNumber, "9223372036854775807", "18446744073709551615"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(ReadScaled(c.largest, c.scale).doubt, std::nullopt) << c.largest;
    EXPECT_EQ(ReadScaled(c.absurd, c.scale).doubt, QualityId::kOutOfRange) << c.absurd;
    if (c.scale != Scale::kCelsius) {
      EXPECT_EQ(ReadScaled("-3e6", c.scale).doubt, QualityId::kOutOfRange) << c.absurd;
    }
  }
}

TEST(MetricTable, CodesForNoValueDependOnTheFieldsType) {
  const auto doubt = [](std::string_view text, FieldType type) { return ReadScaled(text, Scale::kNumber, type).doubt; };
  for (const std::string_view code : {"9223372036854775792", "9223372036854775795", "9223372036854775808",
                                      "9223372036854776000", "9.223372036854776e+18"}) {
    EXPECT_EQ(doubt(code, FieldType::kInt64), QualityId::kSentinelValue) << code;
    EXPECT_EQ(doubt(code, FieldType::kInt32), QualityId::kSentinelValue) << code;
    EXPECT_NE(doubt(code, FieldType::kPlain), QualityId::kSentinelValue) << code;
  }
  for (const std::string_view code : {"140737488355328", "140737488355331.0", "1.40737488355329e+14"}) {
    EXPECT_EQ(doubt(code, FieldType::kDouble), QualityId::kSentinelValue) << code;
    EXPECT_EQ(doubt(code, FieldType::kInt64), std::nullopt) << code;  // a cycle counter passes here
  }
  EXPECT_EQ(doubt("140737488355332", FieldType::kDouble), std::nullopt);
  EXPECT_EQ(doubt("140737488355328.5", FieldType::kDouble), std::nullopt);
  EXPECT_EQ(doubt("2147483632", FieldType::kInt32), QualityId::kSentinelValue);
  EXPECT_EQ(doubt("2147483635", FieldType::kInt32), QualityId::kSentinelValue);
  EXPECT_EQ(doubt("2147483636", FieldType::kInt32), std::nullopt);
  EXPECT_EQ(doubt("2147483632", FieldType::kInt64), std::nullopt);
}

TEST(MetricTable, LabelsAreReadInEverySpelling) {
  const SeriesIdentity dcgm = Identify({{"gpu", "5"},
                                        {"UUID", "GPU-1"},
                                        {"device", "nvidia3"},
                                        {"modelName", "NVIDIA H100"},
                                        {"Hostname", "n1"},
                                        {"instance", "10.0.0.5:9400"},
                                        {"GPU_I_ID", ""},
                                        {"pod", ""},
                                        {"jobid", "7"}},
                                       true);
  EXPECT_EQ(dcgm.device.index, 5);
  EXPECT_EQ(dcgm.device.uuid, "GPU-1");
  EXPECT_EQ(dcgm.device.name, "NVIDIA H100");
  EXPECT_EQ(dcgm.device.host, "n1");
  EXPECT_FALSE(dcgm.device.mig);
  EXPECT_EQ(dcgm.owner, "job 7");
  const Labels labels = {{"device", "nvidia3"}, {"instance", "[fe80::1]:9400"}, {"pod_name", "p"}};
  const SeriesIdentity bare = Identify(labels, true);
  EXPECT_EQ(bare.device.index, 3);
  EXPECT_EQ(bare.device.host, "[fe80::1]");
  EXPECT_EQ(bare.owner, "pod p");
  EXPECT_EQ(Identify(labels, false).owner, "");
}

}  // namespace
}  // namespace idleburn
