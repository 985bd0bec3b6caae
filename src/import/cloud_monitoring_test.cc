#include <gtest/gtest.h>

#include "import/formats.h"
#include "support/metrics_testing.h"

namespace idleburn {
namespace {

std::unique_ptr<Imported> Import(std::string text) { return ImportText(&ImportCloudWatch, std::move(text)); }

TEST(CloudWatch, LabelsNameDeviceAndMetric) {
  const std::string text = R"({"MetricDataResults": [
    {"Id": "m1", "Label": "i-0abc 0 nvidia_smi_utilization_gpu", "StatusCode": "Complete",
     "Timestamps": ["2026-07-03T22:23:00+00:00", "2026-07-03T22:22:00+00:00"], "Values": [42.5, 0.0]},
    {"Id": "m2", "Label": "CWAgent nvidia_smi_power_draw index=1 InstanceId=i-0abc",
     "Timestamps": ["2026-07-03T22:22:00Z"], "Values": [78.28]},
    {"Id": "m3", "Label": "i-0abc 0 nvidia_smi_memory_used", "Timestamps": [1783117320], "Values": [614]},
    {"Id": "m4", "Label": "CPUUtilization", "Timestamps": ["2026-07-03T22:22:00Z"], "Values": [3]}]})";
  EXPECT_TRUE(SniffCloudWatch(text));
  const auto in = Import(text);
  ASSERT_EQ(in->error, "");
  ASSERT_EQ(in->devices.size(), 2U);
  EXPECT_EQ(in->devices[0].host, "i-0abc");
  EXPECT_EQ(in->devices[0].index, 0);
  EXPECT_EQ(in->devices[1].index, 1);
  EXPECT_EQ(in->Values(Signal::kUtilization, 0), (std::vector<std::int64_t>{0, 42'500'000}));
  EXPECT_EQ(in->Values(Signal::kPower, 1), std::vector<std::int64_t>{78'280});
  EXPECT_EQ(in->Values(Signal::kMemoryUsed, 0), std::vector<std::int64_t>{std::int64_t{614} << 20});
  EXPECT_EQ(in->samples.front().time.nanos(), 1'783'117'320 * kNanosPerSecond);
  EXPECT_TRUE(in->samples.front().Has(Signal::kMemoryUsed));  // both stamps are the same instant
  EXPECT_EQ(in->quality.Get(QualityId::kUnknownMetric).names.count("CPUUtilization"), 1U);
  EXPECT_EQ(in->quality.CountOf(QualityId::kUnitAssumed), 1);
  EXPECT_EQ(in->devices[0].counter[Index(Signal::kUtilization)], "cloudwatch.nvidia_smi_utilization_gpu");
}

TEST(CloudWatch, LabelsNameTheGpuWhereTheyCarryIt) {
  const struct {
    const char* label;
    const char* name;
    int index;
  } cases[] = {
      {"i-0abc Tesla T4 Turing 3 nvidia_smi_utilization_gpu", "Tesla T4", 3},
      {"nvidia_smi_utilization_gpu NVIDIA H100 80GB HBM3 Hopper 2 i-0abc", "NVIDIA H100 80GB HBM3", 2},
      {"CWAgent nvidia_smi_utilization_gpu name=NVIDIA A10G index=1 InstanceId=i-0abc", "NVIDIA A10G", 1},
      {"name=NVIDIA L4,index=0,nvidia_smi_utilization_gpu", "NVIDIA L4", 0},
      {"NVIDIA RTX 6000 Ada Generation 5 nvidia_smi_utilization_gpu", "NVIDIA RTX 6000 Ada Generation", 5},
      {"0 nvidia_smi_utilization_gpu", "", 0},
  };
  for (const auto& c : cases) {
    const auto in = Import(std::string(R"([{"MetricDataResults": [{"Id": "a", "Label": ")") + c.label +
                           R"(", "Timestamps": ["2026-07-03T22:22:00Z"], "Values": [1]}]}])");
    ASSERT_EQ(in->devices.size(), 1U) << c.label << in->error;
    EXPECT_EQ(in->devices[0].name, c.name);
    EXPECT_EQ(in->devices[0].index, c.index) << c.label;
  }
}

TEST(CloudWatch, QueriesBesideTheResultsNameTheirDimensions) {
  const auto in = Import(R"({"MetricDataQueries": [{"Id": "m1", "MetricStat": {"Metric": {"Namespace": "CWAgent",
      "MetricName": "nvidia_smi_utilization_gpu", "Dimensions": [{"Name": "index", "Value": "3"},
      {"Name": "name", "Value": "Tesla T4"}, {"Name": "InstanceId", "Value": "i-1"}]},
      "Period": 60, "Stat": "Average"}}],
    "MetricDataResults": [{"Id": "m1", "Label": "my label", "Timestamps": ["2026-07-03T22:22:00Z"], "Values": [7]}]})");
  ASSERT_EQ(in->error, "");
  EXPECT_EQ(in->devices[0].index, 3);
  EXPECT_EQ(in->devices[0].name, "Tesla T4");
  EXPECT_EQ(in->devices[0].host, "i-1");
  EXPECT_EQ(in->Values(Signal::kUtilization, 0), std::vector<std::int64_t>{7 * kPercent});
}

std::string Query(const std::string& id, const std::string& metric, const std::string& statistic) {
  return R"({"Id": ")" + id + R"(", "MetricStat": {"Metric": {"MetricName": ")" + metric +
         R"(", "Dimensions": []}, "Period": 60, "Stat": ")" + statistic + R"("}})";
}
std::string Answer(const std::string& id, const std::string& label, const std::string& value) {
  return R"({"Id": ")" + id + R"(", "Label": ")" + label + R"(", "Timestamps": ["2026-07-03T22:22:00Z"], "Values": [)" +
         value + "]}";
}

// Of what a dashboard asks for, only the average is how busy the GPU was: 5 samples in a minute are no 5 %.
TEST(CloudWatch, OnlyTheAverageIsAReading) {
  const auto in =
      Import("{\"MetricDataQueries\": [" + Query("a", "nvidia_smi_utilization_gpu", "Average") + "," +
             Query("b", "nvidia_smi_utilization_gpu", "Maximum") + "," +
             Query("c", "nvidia_smi_utilization_gpu", "SampleCount") + "," +
             Query("d", "nvidia_smi_power_draw", "Sum") + "," + Query("e", "nvidia_smi_power_draw", "p99.9") + "," +
             Query("f", "nvidia_smi_power_draw", "Average") + "], \"MetricDataResults\": [" + Answer("b", "x", "100") +
             "," + Answer("a", "x", "40") + "," + Answer("c", "x", "5") + "," + Answer("d", "x", "1500") + "," +
             Answer("e", "x", "390") + "," + Answer("f", "x", "300") + "]}");
  ASSERT_EQ(in->error, "");
  ASSERT_EQ(in->devices.size(), 1U);  // the statistics of one GPU are no further GPUs
  EXPECT_EQ(in->Values(Signal::kUtilization, 0), std::vector<std::int64_t>{40 * kPercent});
  EXPECT_EQ(in->Values(Signal::kPower, 0), std::vector<std::int64_t>{300'000});
  const auto& others = in->quality.Get(QualityId::kUnknownMetric);
  EXPECT_EQ(others.count, 4);
  for (const char* name : {"nvidia_smi_utilization_gpu Maximum", "nvidia_smi_utilization_gpu SampleCount",
                           "nvidia_smi_power_draw Sum", "nvidia_smi_power_draw p99.9"}) {
    EXPECT_EQ(others.names.count(name), 1U) << name;
  }
  EXPECT_EQ(in->quality.CountOf(QualityId::kSharedCopies), 0);
}

TEST(CloudWatch, LabelsAndSearchesNameTheStatistic) {
  const auto labels =
      Import("{\"MetricDataResults\": [" + Answer("a", "i-0abc Tesla T4 0 nvidia_smi_utilization_gpu Maximum", "100") +
             "," + Answer("b", "i-0abc Tesla T4 0 nvidia_smi_utilization_gpu Average", "40") + "," +
             Answer("c", "i-0abc Tesla T4 p95 0 nvidia_smi_utilization_gpu", "90") + "]}");
  ASSERT_EQ(labels->devices.size(), 1U);
  EXPECT_EQ(labels->devices[0].name, "Tesla T4");
  EXPECT_EQ(labels->Values(Signal::kUtilization, 0), std::vector<std::int64_t>{40 * kPercent});
  // One query, a result for each GPU; and nothing but a maximum is no audit.
  const std::string results = "], \"MetricDataResults\": [" + Answer("s", "0 nvidia_smi_utilization_gpu", "40") + "," +
                              Answer("s", "1 nvidia_smi_utilization_gpu", "50") + "]}";
  const auto search = [&](const std::string& statistic) {
    return Import("{\"MetricDataQueries\": [{\"Id\": \"s\", \"Expression\": \"SEARCH('{CWAgent,index} nvidia_smi', '" +
                  statistic + "', 60)\"}" + results);
  };
  EXPECT_EQ(search("Average")->devices.size(), 2U);
  const auto most = search("Maximum");
  EXPECT_NE(most->error.find("(saw nvidia_smi_utilization_gpu Maximum, nvidia_smi_utilization_gpu Maximum); ask "
                             "GetMetricData for the Average of"),
            std::string::npos)
      << most->error;
}

TEST(CloudWatch, ResultsWithoutAnIndexAreToldApartByPosition) {
  const std::string text = R"({"MetricDataResults": [
    {"Id": "a", "Label": "nvidia_smi_utilization_gpu", "Timestamps": ["2026-07-03T22:22:00Z"], "Values": [1]},
    {"Id": "b", "Label": "nvidia_smi_utilization_gpu", "Timestamps": ["2026-07-03T22:22:00Z"], "Values": [2]}]})";
  const auto in = Import(text + text);  // the second page has the same Ids
  ASSERT_EQ(in->devices.size(), 2U);
  EXPECT_EQ(in->Values(Signal::kUtilization, 1), std::vector<std::int64_t>{2 * kPercent});
  EXPECT_EQ(in->quality.CountOf(QualityId::kInferredIdentity), 4);
}

// A search under a label of the user's own: one Id and one label for all GPUs, page after page.
TEST(CloudWatch, ResultsOfOneSearchAreToldApartByPosition) {
  const auto page = [](int minute) {
    std::string text = R"({"MetricDataResults": [)";
    for (int gpu = 0; gpu < 3; ++gpu) {
      text += std::string(gpu == 0 ? "" : ",") +
              R"({"Id": "s", "Label": "nvidia_smi_utilization_gpu", "Timestamps": [)" + "\"2026-07-03T22:2" +
              std::to_string(minute) + ":00Z\"], \"Values\": [" + std::to_string(10 * gpu + minute) + "]}";
    }
    return text + "]}";
  };
  const auto in = Import("[" + page(0) + "," + page(1) + "]" + page(2));
  ASSERT_EQ(in->devices.size(), 3U);
  for (DeviceId gpu = 0; gpu < 3; ++gpu) {
    const std::int64_t ten = static_cast<std::int64_t>(gpu) * 10 * kPercent;
    EXPECT_EQ(in->Values(Signal::kUtilization, gpu), (std::vector{ten, ten + kPercent, ten + 2 * kPercent}));
  }
}

TEST(CloudWatch, ReadingsOfNoGpuAreUnobserved) {
  const auto in = Import(R"({"MetricDataResults": [{"Id": "a", "Label": "0 nvidia_smi_power_draw",
    "Timestamps": ["2026-07-03T22:22:00Z", "2026-07-03T22:23:00Z"], "Values": [4294967.295, 300]}]})");
  EXPECT_EQ(in->Values(Signal::kPower, 0), std::vector<std::int64_t>{300'000});
  EXPECT_EQ(in->Missing(Signal::kPower, Unobserved::kInvalidCounter), 1U);
  EXPECT_EQ(in->quality.CountOf(QualityId::kOutOfRange), 1);
}

TEST(CloudWatch, NothingKnownIsAnErrorAndTornPagesAreCounted) {
  EXPECT_NE(Import(R"({"MetricDataResults": []})")->error.find("no known GPU metric"), std::string::npos);
  const auto in = Import(R"({"MetricDataResults": [{"Id": "a", "Label": "0 nvidia_smi_utilization_gpu",
    "Timestamps": ["2026-07-03T22:22:00Z", "yesterday"], "Values": [101, 2, 3]}]} {"MetricDataRes)");
  EXPECT_EQ(in->quality.CountOf(QualityId::kTornRow), 1);
  EXPECT_EQ(in->quality.CountOf(QualityId::kBadRow), 2);
  EXPECT_EQ(in->quality.CountOf(QualityId::kOutOfRange), 1);
}

std::unique_ptr<Imported> ImportGcp(std::string text) { return ImportText(&ImportGcpMonitoring, std::move(text)); }

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
  const auto in = ImportGcp(text);
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
    const auto in = ImportGcp(text);
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
  const auto in = ImportGcp(text);
  ASSERT_EQ(in->error, "");
  EXPECT_EQ(in->Values(Signal::kGrEngineActive, 0), std::vector<std::int64_t>{25 * kPercent});
  EXPECT_EQ(in->owners.SharesOf(0).at(0).owner, "pod ml/train");
  EXPECT_EQ(in->devices[0].host, "n1");
}

TEST(GcpMonitoring, ReadingsOfNoGpuAreUnobserved) {
  const auto in = ImportGcp("{\"timeSeries\": [" + Memory("used", "18446744073709551") + "]}");
  EXPECT_TRUE(in->Values(Signal::kMemoryUsed, 0).empty());
  EXPECT_EQ(in->Missing(Signal::kMemoryUsed, Unobserved::kInvalidCounter), 1U);
  EXPECT_EQ(in->quality.CountOf(QualityId::kOutOfRange), 1);
}

TEST(GcpMonitoring, NothingKnownIsAnError) {
  const auto in = ImportGcp(R"({"timeSeries": [{"metric": {"type": "compute.googleapis.com/instance/cpu/utilization"},
    "points": [{"interval": {"endTime": "2026-07-03T22:22:00Z"}, "value": {"doubleValue": 0.5}}]}]})");
  EXPECT_NE(in->error.find("saw compute.googleapis.com/instance/cpu/utilization"), std::string::npos) << in->error;
  EXPECT_FALSE(SniffGcpMonitoring("{\"cards\": 1}"));
}

}  // namespace

}  // namespace idleburn
