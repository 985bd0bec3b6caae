#include "import/agent_jsonl.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace idleburn
