#include "import/telegraf.h"

#include <gtest/gtest.h>

#include "support/metrics_testing.h"

namespace idleburn {
namespace {

constexpr std::int64_t kStart = 1'783'117'320;  // seconds

std::unique_ptr<Imported> Import(std::string text) { return ImportText(&ImportTelegraf, std::move(text)); }

std::string Tags(int gpu) {
  return "nvidia_smi,compute_mode=Default,host=node-1,index=" + std::to_string(gpu) +
         ",name=NVIDIA\\ H100\\ 80GB\\ HBM3,pstate=P0,uuid=GPU-aaaaaaaa-0000-0000-0000-00000000000" +
         std::to_string(gpu);
}

std::string Line(int gpu, std::int64_t second, const std::string& fields) {
  return Tags(gpu) + " " + fields + " " + std::to_string((kStart + second) * kNanosPerSecond) + "\n";
}

TEST(Telegraf, ReadsFieldsInTheirUnits) {
  const std::string text =
      Line(0, 0,
           "utilization_gpu=90i,utilization_memory=40i,memory_used=1024i,memory_total=81559i,power_draw=312.25,"
           "temperature_gpu=61i,clocks_current_sm=1980i,driver_version=\"595.71.05\",fan_speed=30i") +
      Line(1, 0, "utilization_gpu=0i,power_draw=70.5") + Line(0, 10, "utilization_gpu=100i,power_draw=400") +
      "cpu,cpu=cpu0,host=node-1 usage_idle=99.1 " + std::to_string(kStart * kNanosPerSecond) + "\n";
  EXPECT_TRUE(SniffTelegraf(text));
  const auto in = Import(text);
  ASSERT_EQ(in->error, "");
  ASSERT_EQ(in->devices.size(), 2U);
  const DeviceId gpu = in->ByUuid("GPU-aaaaaaaa-0000-0000-0000-000000000000");
  EXPECT_EQ(in->devices[gpu].name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(in->devices[gpu].host, "node-1");
  EXPECT_EQ(in->Values(Signal::kUtilization, gpu), (std::vector<std::int64_t>{90 * kPercent, kFull}));
  EXPECT_EQ(in->Values(Signal::kPower, gpu), (std::vector<std::int64_t>{312'250, 400'000}));
  EXPECT_EQ(in->Values(Signal::kMemoryUsed, gpu), std::vector<std::int64_t>{std::int64_t{1024} << 20});
  EXPECT_EQ(in->Values(Signal::kMemoryTotal, gpu), std::vector<std::int64_t>{std::int64_t{81'559} << 20});
  EXPECT_EQ(in->Values(Signal::kTemperature, gpu), std::vector<std::int64_t>{61'000});
  EXPECT_EQ(in->Values(Signal::kSmClock, gpu), std::vector<std::int64_t>{1'980'000});
  EXPECT_EQ(in->samples.front().time.nanos(), kStart * kNanosPerSecond);
  EXPECT_EQ(in->devices[gpu].counter[Index(Signal::kUtilization)], "telegraf.utilization_gpu");
  EXPECT_EQ(in->quality.Get(QualityId::kUnknownMetric).names, std::set<std::string>{"cpu"});
  EXPECT_EQ(in->quality.Get(QualityId::kUnknownColumn).names, (std::set<std::string>{"driver_version", "fan_speed"}));
}

// export-lp writes a field a line, all times of a series before the next.
TEST(Telegraf, AFieldALineIsTheSame) {
  const std::string by_field = "# INFLUXDB EXPORT: 1677-09-21\n# DML\n" + Line(0, 0, "utilization_gpu=90i") +
                               Line(0, 10, "utilization_gpu=80i") + Line(0, 0, "power_draw=300") +
                               Line(0, 10, "power_draw=310");
  EXPECT_TRUE(SniffTelegraf(by_field));
  const auto in = Import(by_field);
  const auto twin =
      Import(Line(0, 0, "utilization_gpu=90i,power_draw=300") + Line(0, 10, "utilization_gpu=80i,power_draw=310"));
  ASSERT_EQ(in->samples.size(), 2U);
  ASSERT_EQ(twin->samples.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(in->samples[i].time, twin->samples[i].time);
    EXPECT_EQ(in->samples[i].Get(Signal::kUtilization), twin->samples[i].Get(Signal::kUtilization));
    EXPECT_EQ(in->samples[i].Get(Signal::kPower), twin->samples[i].Get(Signal::kPower));
  }
}

TEST(Telegraf, StampsAreReadInTheUnitThatGivesADay) {
  for (const char* stamp : {"1783117320", "1783117320000", "1783117320000000", "1783117320000000000"}) {
    const auto in = Import(Tags(0) + " utilization_gpu=5i " + stamp + "\n");
    ASSERT_EQ(in->samples.size(), 1U) << in->error;
    EXPECT_EQ(in->samples[0].time.nanos(), kStart * kNanosPerSecond) << stamp;
  }
}

TEST(Telegraf, BadInputIsSaid) {
  EXPECT_NE(Import("cpu,host=a usage_idle=1 1783117320000000000\n")->error.find("inputs.nvidia_smi"),
            std::string::npos);
  EXPECT_NE(Import(Tags(0) + " utilization_gpu=5i\n")->error.find("input:1: a line has no time"), std::string::npos);
  EXPECT_NE(Import("nvidia_smi,host=a utilization_gpu=5i 1783117320000000000\n")->error.find("keep the tags index"),
            std::string::npos);
  const std::string good = Line(0, 0, "utilization_gpu=5i");
  const auto torn = Import(good + Line(0, 10, "utilization_gpu=55i").substr(0, 150));
  EXPECT_EQ(torn->samples.size(), 1U);
  EXPECT_EQ(torn->quality.CountOf(QualityId::kTornRow), 1);
  const auto cut = Import(good + Tags(0) + " utilization_gpu=55i 178311733000");  // a whole line of another time
  EXPECT_EQ(cut->samples.size(), 1U);
  EXPECT_EQ(cut->quality.CountOf(QualityId::kTornRow), 1);
  const auto bad = Import(good + "what is this\n" + Tags(0) + " utilization_gpu=5i 12\n");
  EXPECT_EQ(bad->quality.CountOf(QualityId::kBadRow), 2);
  // Between two units, and beyond what nanoseconds hold.
  for (const std::string stamp : {"17831173200000000", "-1783117320", "9223372036854775807"}) {
    const auto odd = Import(good + Tags(0) + " utilization_gpu=5i " + stamp + "\n");
    EXPECT_EQ(odd->samples.size(), 1U) << stamp;
    EXPECT_EQ(odd->quality.CountOf(QualityId::kBadRow), 1) << stamp;
  }
}

}  // namespace
}  // namespace idleburn
