#include "import/gcp_monitoring.h"

#include <gtest/gtest.h>

#include "support/metrics_testing.h"

namespace idleburn {
namespace {

std::unique_ptr<Imported> Import(std::string text) { return ImportText(&ImportGcpMonitoring, std::move(text)); }

constexpr std::string_view kUtilization = R"({"metric": {"type": "agent.googleapis.com/gpu/utilization",
  "labels": {"gpu_number": "1", "model": "NVIDIA L4", "uuid": "GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000"}},
  "resource": {"type": "gce_instance", "labels": {"instance_id": "42", "zone": "z", "project_id": "p"}},
  "valueType": "DOUBLE", "points": [
   {"interval": {"startTime": "2026-07-03T22:22:00Z", "endTime": "2026-07-03T22:23:00Z"},
    "value": {"doubleValue": 95.5}},
   {"interval": {"endTime": "2026-07-03T22:22:00Z"}, "value": {"doubleValue": 0}}]})";

std::string Memory(std::string_view state, std::string_view bytes) {
  return R"({"metric": {"type": "agent.googleapis.com/gpu/memory/bytes_used", "labels": {"gpu_number": "1",
    "uuid": "GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000", "memory_state": ")" +
         std::string(state) + R"("}}, "resource": {"labels": {"instance_id": "42"}}, "points": [
    {"interval": {"endTime": "2026-07-03T22:22:00Z"}, "value": {"int64Value": ")" +
         std::string(bytes) + R"("}}]})";
}

TEST(GcpMonitoring, ReadsTheOpsAgent) {
  const std::string text = "{\"timeSeries\": [" + std::string(kUtilization) + "," + Memory("used", "20780679168") +
                           "," + Memory("free", "64740130816") + "], \"unit\": \"%\"}";
  EXPECT_TRUE(SniffGcpMonitoring(text));
  const auto in = Import(text);
  ASSERT_EQ(in->error, "");
  ASSERT_EQ(in->devices.size(), 1U);
  EXPECT_EQ(in->devices[0].name, "NVIDIA L4");
  EXPECT_EQ(in->devices[0].host, "42");
  EXPECT_EQ(in->devices[0].index, 1);
  EXPECT_EQ(in->Values(Signal::kUtilization, 0), (std::vector<std::int64_t>{0, 95'500'000}));
  EXPECT_EQ(in->Values(Signal::kMemoryUsed, 0), std::vector<std::int64_t>{20'780'679'168});
  EXPECT_EQ(in->samples[1].time - in->samples[0].time, std::chrono::seconds(60));
  EXPECT_EQ(in->quality.CountOf(QualityId::kUnknownMetric), 1);
}

TEST(GcpMonitoring, PagesMayFollowEachOtherOrStandInAList) {
  const std::string first = "{\"timeSeries\": [" + std::string(kUtilization) + "], \"nextPageToken\": \"x\"}";
  const std::string second = "{\"timeSeries\": [" + Memory("used", "20780679168") + "]}";
  const std::string series = "[" + std::string(kUtilization) + "," + Memory("used", "20780679168") + "]";
  for (const std::string& text :
       {first + second, first + "\n" + second + "\n{}\n", "[" + first + "," + second + ", {}]", series}) {
    EXPECT_TRUE(SniffGcpMonitoring(text));
    const auto in = Import(text);
    ASSERT_EQ(in->error, "") << text;
    EXPECT_EQ(in->Values(Signal::kUtilization, 0), (std::vector<std::int64_t>{0, 95'500'000}));
    EXPECT_EQ(in->Values(Signal::kMemoryUsed, 0), std::vector<std::int64_t>{20'780'679'168});
    EXPECT_EQ(in->quality.CountOf(QualityId::kBadRow), 0);
  }
}

TEST(GcpMonitoring, ReadsAListOfSeriesAndManagedPrometheus) {
  const std::string text = R"([{"metric": {"type": "prometheus.googleapis.com/DCGM_FI_PROF_GR_ENGINE_ACTIVE/gauge",
    "labels": {"gpu": "0", "UUID": "GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000", "exported_pod": "train",
    "exported_namespace": "ml"}}, "resource": {"type": "prometheus_target", "labels": {"instance": "n1:9400"}},
    "points": [{"interval": {"endTime": "2026-07-03T22:22:00Z"}, "value": {"doubleValue": 0.25}}]}])";
  EXPECT_TRUE(SniffGcpMonitoring(text));
  const auto in = Import(text);
  ASSERT_EQ(in->error, "");
  EXPECT_EQ(in->Values(Signal::kGrEngineActive, 0), std::vector<std::int64_t>{25 * kPercent});
  EXPECT_EQ(in->owners.SharesOf(0).at(0).owner, "pod ml/train");
  EXPECT_EQ(in->devices[0].host, "n1");
}

TEST(GcpMonitoring, ReadingsOfNoGpuAreUnobserved) {
  const auto in = Import("{\"timeSeries\": [" + Memory("used", "18446744073709551") + "]}");
  EXPECT_TRUE(in->Values(Signal::kMemoryUsed, 0).empty());
  EXPECT_EQ(in->Missing(Signal::kMemoryUsed, Unobserved::kInvalidCounter), 1U);
  EXPECT_EQ(in->quality.CountOf(QualityId::kOutOfRange), 1);
}

TEST(GcpMonitoring, NothingKnownIsAnError) {
  const auto in = Import(R"({"timeSeries": [{"metric": {"type": "compute.googleapis.com/instance/cpu/utilization"},
    "points": [{"interval": {"endTime": "2026-07-03T22:22:00Z"}, "value": {"doubleValue": 0.5}}]}]})");
  EXPECT_NE(in->error.find("saw compute.googleapis.com/instance/cpu/utilization"), std::string::npos) << in->error;
  EXPECT_FALSE(SniffGcpMonitoring("{\"cards\": 1}"));
}

}  // namespace
}  // namespace idleburn
