#include <gtest/gtest.h>

#include "import/formats.h"
#include "support/metrics_testing.h"

namespace idleburn {
namespace {

std::unique_ptr<Imported> Import(std::string text) { return ImportText(&ImportAgentJsonl, std::move(text)); }

std::string Line(int second, int wall_shift, const std::string& rest, int gpu = 0) {
  return "{\"mono_ns\": " + std::to_string((5000 + second) * kNanosPerSecond) +
         ", \"wall_ns\": " + std::to_string((1'772'445'600 + second + wall_shift) * kNanosPerSecond) +
         ", \"gpu_uuid\": \"GPU-5f3a000" + std::to_string(gpu) + "-4d1c-11ee-9a6b-a1b2c3d40000\"" + rest + "}\n";
}

TEST(AgentJsonl, TheWallClockMovesNothing) {
  NEED_SHARED_DATA("traps/15_wall_clock_steps_back");
  const std::string text = FileText(SharedData("traps/15_wall_clock_steps_back/samples.jsonl"));
  EXPECT_TRUE(SniffAgentJsonl(text.substr(0, kSniffBytes)));
  const auto in = Import(text);
  ASSERT_EQ(in->error, "");
  EXPECT_EQ(in->Values(Signal::kUtilization, 0), std::vector<std::int64_t>(601, 75 * kPercent));
  EXPECT_EQ(in->samples.front().time.nanos(), 1'772'445'600 * kNanosPerSecond);
  EXPECT_EQ(in->samples.back().time - in->samples.front().time, std::chrono::seconds(600));
  EXPECT_EQ(in->quality.CountOf(QualityId::kClockStep), 1);
  ASSERT_EQ(in->Missing(Signal::kUtilization, Unobserved::kClock), 1U);
  for (std::size_t i = 1; i + 1 < in->samples.size(); ++i) {
    if (!in->samples[i].Lacks(Signal::kUtilization)) continue;
    const Nanos unobserved = in->samples[i + 1].time - in->samples[i].time;
    EXPECT_LE(unobserved, std::chrono::seconds(1));
    EXPECT_GT(unobserved, std::chrono::milliseconds(999));
  }
  EXPECT_EQ(in->devices[0].counter[Index(Signal::kUtilization)], "agent.util_pct");
}

TEST(AgentJsonl, OneStepIsCountedOnceForAllGpus) {
  const auto in = Import(Line(0, 0, ", \"util_pct\": 1", 0) + Line(0, 0, ", \"util_pct\": 1", 1) +
                         Line(1, -3600, ", \"util_pct\": 1", 0) + Line(1, -3600, ", \"util_pct\": 1", 1));
  EXPECT_EQ(in->quality.CountOf(QualityId::kClockStep), 1);
  EXPECT_EQ(in->Missing(Signal::kUtilization, Unobserved::kClock), 2U);
  EXPECT_EQ(in->samples.back().time.nanos(), 1'772'445'601 * kNanosPerSecond);
}

TEST(AgentJsonl, DriftUnderASecondIsNoStep) {
  const auto in = Import(Line(0, 0, ", \"util_pct\": 1") + Line(1, 1, ", \"util_pct\": 1"));
  EXPECT_EQ(in->quality.CountOf(QualityId::kClockStep), 0);
  EXPECT_EQ(in->samples.size(), 2U);
}

TEST(AgentJsonl, ARebootContinuesOnTheWallClock) {
  const std::string before = Line(0, 0, ", \"util_pct\": 1");
  const auto in = Import(before + Line(-4990, 5090, ", \"util_pct\": 2") + Line(-4989, 5090, ", \"util_pct\": 3"));
  EXPECT_EQ(in->Values(Signal::kUtilization, 0), (std::vector<std::int64_t>{kPercent, 2 * kPercent, 3 * kPercent}));
  EXPECT_EQ(in->samples.back().time - in->samples.front().time, std::chrono::seconds(101));
  EXPECT_EQ(in->Missing(Signal::kUtilization, Unobserved::kClock), 1U);
}

TEST(AgentJsonl, ReadingsOfNoGpuAreUnobserved) {
  const auto in = Import(Line(0, 0, ", \"power_mw\": 4294967295, \"sm_clock_mhz\": 1980"));
  EXPECT_EQ(in->Missing(Signal::kPower, Unobserved::kInvalidCounter), 1U);
  EXPECT_EQ(in->Values(Signal::kSmClock, 0), std::vector<std::int64_t>{1'980'000});
  EXPECT_EQ(in->quality.CountOf(QualityId::kOutOfRange), 1);
}

TEST(AgentJsonl, OptionalKeysAndUnits) {
  const auto in = Import(Line(0, 0, R"(, "util_pct": 12.5, "power_w": 78.28, "memory_used_bytes": 20780679168,
      "sm_active_pct": null, "mood": 1)"));
  EXPECT_NE(in->error, "");  // a line break inside a line
  const auto ok = Import(Line(0, 0,
                              R"(, "util_pct": 12.5, "power_w": 78.28, "memory_used_bytes": 20780679168, )"
                              R"("sm_active_pct": null, "mood": 1)"));
  ASSERT_EQ(ok->samples.size(), 1U);
  EXPECT_EQ(ok->samples[0].Get(Signal::kUtilization), 12'500'000);
  EXPECT_EQ(ok->samples[0].Get(Signal::kPower), 78'280);
  EXPECT_EQ(ok->samples[0].Get(Signal::kMemoryUsed), 20'780'679'168);
  EXPECT_TRUE(ok->samples[0].Lacks(Signal::kSmActive));
  EXPECT_EQ(ok->quality.Get(QualityId::kUnknownColumn).names.count("mood"), 1U);
}

TEST(AgentJsonl, BadTornAndRepeatedLinesAreCounted) {
  const std::string good = Line(0, 0, ", \"util_pct\": 1");
  const auto in = Import(good + "{\"mono_ns\": oops}\n" + "{\"mono_ns\": 1, \"wall_ns\": 2}\n" + good +
                         Line(1, 0, ", \"util_pct\": 1") + "{\"mono_ns\": 5002");
  EXPECT_EQ(in->quality.CountOf(QualityId::kBadRow), 2);
  EXPECT_EQ(in->quality.Get(QualityId::kBadRow).first_place, "input:2");
  EXPECT_EQ(in->quality.CountOf(QualityId::kDuplicateRow), 1);
  EXPECT_EQ(in->quality.CountOf(QualityId::kTornRow), 1);
  EXPECT_EQ(in->samples.size(), 2U);
  EXPECT_NE(Import("{}\n")->error, "");
}

constexpr std::int64_t kStart = 1'783'117'320;  // seconds

std::unique_ptr<Imported> ImportLines(std::string text) { return ImportText(&ImportTelegraf, std::move(text)); }

std::string Tags(int gpu) {
  return "nvidia_smi,compute_mode=Default,host=node-1,index=" + std::to_string(gpu) +
         ",name=NVIDIA\\ H100\\ 80GB\\ HBM3,pstate=P0,uuid=GPU-aaaaaaaa-0000-0000-0000-00000000000" +
         std::to_string(gpu);
}

std::string TelegrafLine(int gpu, std::int64_t second, const std::string& fields) {
  return Tags(gpu) + " " + fields + " " + std::to_string((kStart + second) * kNanosPerSecond) + "\n";
}

TEST(Telegraf, ReadsFieldsInTheirUnits) {
  const std::string text =
      TelegrafLine(0, 0,
                   "utilization_gpu=90i,utilization_memory=40i,memory_used=1024i,memory_total=81559i,power_draw=312.25,"
                   "temperature_gpu=61i,clocks_current_sm=1980i,driver_version=\"595.71.05\",fan_speed=30i") +
      TelegrafLine(1, 0, "utilization_gpu=0i,power_draw=70.5") +
      TelegrafLine(0, 10, "utilization_gpu=100i,power_draw=400") + "cpu,cpu=cpu0,host=node-1 usage_idle=99.1 " +
      std::to_string(kStart * kNanosPerSecond) + "\n";
  EXPECT_TRUE(SniffTelegraf(text));
  const auto in = ImportLines(text);
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
  const std::string by_field = "# INFLUXDB EXPORT: 1677-09-21\n# DML\n" + TelegrafLine(0, 0, "utilization_gpu=90i") +
                               TelegrafLine(0, 10, "utilization_gpu=80i") + TelegrafLine(0, 0, "power_draw=300") +
                               TelegrafLine(0, 10, "power_draw=310");
  EXPECT_TRUE(SniffTelegraf(by_field));
  const auto in = ImportLines(by_field);
  const auto twin = ImportLines(TelegrafLine(0, 0, "utilization_gpu=90i,power_draw=300") +
                                TelegrafLine(0, 10, "utilization_gpu=80i,power_draw=310"));
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
    const auto in = ImportLines(Tags(0) + " utilization_gpu=5i " + stamp + "\n");
    ASSERT_EQ(in->samples.size(), 1U) << in->error;
    EXPECT_EQ(in->samples[0].time.nanos(), kStart * kNanosPerSecond) << stamp;
  }
}

TEST(Telegraf, BadInputIsSaid) {
  EXPECT_NE(ImportLines("cpu,host=a usage_idle=1 1783117320000000000\n")->error.find("inputs.nvidia_smi"),
            std::string::npos);
  EXPECT_NE(ImportLines(Tags(0) + " utilization_gpu=5i\n")->error.find("input:1: a line has no time"),
            std::string::npos);
  EXPECT_NE(
      ImportLines("nvidia_smi,host=a utilization_gpu=5i 1783117320000000000\n")->error.find("keep the tags index"),
      std::string::npos);
  const std::string good = TelegrafLine(0, 0, "utilization_gpu=5i");
  const auto torn = ImportLines(good + TelegrafLine(0, 10, "utilization_gpu=55i").substr(0, 150));
  EXPECT_EQ(torn->samples.size(), 1U);
  EXPECT_EQ(torn->quality.CountOf(QualityId::kTornRow), 1);
  const auto cut = ImportLines(good + Tags(0) + " utilization_gpu=55i 178311733000");  // a whole line of another time
  EXPECT_EQ(cut->samples.size(), 1U);
  EXPECT_EQ(cut->quality.CountOf(QualityId::kTornRow), 1);
  const auto bad = ImportLines(good + "what is this\n" + Tags(0) + " utilization_gpu=5i 12\n");
  EXPECT_EQ(bad->quality.CountOf(QualityId::kBadRow), 2);
  // Between two units, and beyond what nanoseconds hold.
  for (const std::string stamp : {"17831173200000000", "-1783117320", "9223372036854775807"}) {
    const auto odd = ImportLines(good + Tags(0) + " utilization_gpu=5i " + stamp + "\n");
    EXPECT_EQ(odd->samples.size(), 1U) << stamp;
    EXPECT_EQ(odd->quality.CountOf(QualityId::kBadRow), 1) << stamp;
  }
}

}  // namespace

}  // namespace idleburn
