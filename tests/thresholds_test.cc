// Every number that decides a phase can be set, and then decides by its new value: one log, told apart by hand.
#include <gtest/gtest.h>

#include <sstream>

#include "support/program.h"
#include "support/read_inputs.h"
#include "support/smi_log.h"

namespace idleburn {
namespace {

using nlohmann::json;
using testing::AuditJsonOf;
using testing::SmiStamp;
using testing::TempFolder;

class ThresholdsTest : public ::testing::Test {
 protected:
  // 241 rows a second apart, 240 s in all; the board draws 100 W idle and is limited to 500 W.
  static std::string Log() {
    std::string text =
        "timestamp, index, utilization.gpu [%], power.draw [W], enforced.power.limit [W], memory.used [MiB], "
        "clocks.sm [MHz], clocks.max.sm [MHz], clocks_event_reasons.active\n";
    for (int s = 0; s <= 240; ++s) {
      const char* row = s < 40    ? "15 %, 100.00 W, 500.00 W, 60 MiB, 2000 MHz, 2000 MHz, 0x0"
                        : s < 80  ? "5 %, 100.00 W, 500.00 W, 60 MiB, 2000 MHz, 2000 MHz, 0x0"
                        : s < 120 ? "75 %, 400.00 W, 500.00 W, 9000 MiB, 2000 MHz, 2000 MHz, 0x0"
                        : s < 160 ? "92 %, 300.00 W, 500.00 W, 9000 MiB, 2000 MHz, 2000 MHz, 0x0"
                        : s < 163 ? "100 %, 110.00 W, 500.00 W, 9000 MiB, 2000 MHz, 2000 MHz, 0x0"
                        : s < 200 ? "100 %, 490.00 W, 500.00 W, 9000 MiB, 1900 MHz, 2000 MHz, 0x40"
                                  : "100 %, 490.00 W, 500.00 W, 9000 MiB, 2000 MHz, 2000 MHz, 0x0";
      text += SmiStamp(s) + ", 0, " + row + "\n";
    }
    return text;
  }
  struct Seconds {
    double idle = 40, underutilized = 40, productive = 40, compute_bound = 120;
    double held = 0, unknown = 40, spin = 0, clock_loss = 37;  // 5 % on little memory are somebody's
  };
  void Expect(const std::string& settings, const Seconds& seconds) {
    const std::string config = folder_.Write("idleburn.toml", "[classify]\nidle_power = 100\n" + settings);
    const json audit = AuditJsonOf(log_ + " --config " + config);
    const auto near = [&](const json& hours, double expected, const char* what) {
      EXPECT_NEAR(hours.get<double>() * 3600, expected, 1e-6) << what << " with " << settings;
    };
    near(audit["phases"]["idle"]["gpu_hours"], seconds.idle, "idle");
    near(audit["phases"]["underutilized"]["gpu_hours"], seconds.underutilized, "underutilized");
    near(audit["phases"]["productive"]["gpu_hours"], seconds.productive, "productive");
    near(audit["phases"]["compute_bound"]["gpu_hours"], seconds.compute_bound, "compute_bound");
    near(audit["idle_held_gpu_hours"], seconds.held, "held");
    near(audit["idle_unknown_gpu_hours"], seconds.unknown, "unknown");
    near(audit["spin_wait_gpu_hours"], seconds.spin, "spin-wait");
    near(audit["throttled_with_clock_loss_gpu_hours"], seconds.clock_loss, "throttled");
  }

  TempFolder folder_;
  std::string log_ = folder_.Write("log.csv", Log());
};

TEST_F(ThresholdsTest, WithoutSettingsTheirDefaultsDecide) { Expect("", {}); }

TEST_F(ThresholdsTest, BandsOfUtilization) {
  Expect("idle_below = 16\n", {80, 0, 40, 120, 0, 80, 0, 37});
  Expect("idle_below = 15\n", {});  // half-open
  Expect("idle_below = 5\n", {0, 80, 40, 120, 0, 0, 0, 37});
  Expect("productive_from = 76\n", {40, 80, 0, 120, 0, 40, 0, 37});
  Expect("bound_from = 93\n", {40, 40, 80, 80, 0, 40, 0, 37});
}

TEST_F(ThresholdsTest, MemoryThatHoldsAGpu) {
  Expect("held_memory_mib = 60\n", {40, 40, 40, 120, 40, 0, 0, 37});
  Expect("held_memory_mib = 61\n", {});
}

TEST_F(ThresholdsTest, PowerAndSecondsOfASpinWait) {
  Expect("spin_seconds = 3\n", {40, 40, 40, 120, 0, 40, 3, 37});
  Expect("spin_seconds = 4\n", {});
  Expect("spin_power_below = 51\n", {40, 40, 40, 120, 0, 40, 43, 37});
  Expect("spin_power_below = 50\n", {});  // (300 - 100) / (500 - 100)
}

TEST_F(ThresholdsTest, LossOfClockThatMatters) {
  Expect("clock_loss = 5\n", {});
  Expect("clock_loss = 6\n", {40, 40, 40, 120, 0, 40, 0, 0});
}

TEST_F(ThresholdsTest, ActivityOfASpinWait) {
  std::string text = "t,u,s\n";
  for (int s = 0; s <= 60; ++s) text += std::to_string(1'767'225'600 + s) + ",100,30\n";
  const std::string log = folder_.Write("sm.csv", text);
  const auto spin = [&](const std::string& settings) {
    const std::string config = folder_.Write("idleburn.toml", "[classify]\n" + settings);
    return AuditJsonOf(log + " --columns time=t:s,util=u:percent,sm_active=s:percent --config " +
                       config)["spin_wait_gpu_hours"]
               .get<double>() *
           3600;
  };
  EXPECT_NEAR(spin(""), 0, 1e-6);
  EXPECT_NEAR(spin("spin_sm_below = 30\n"), 0, 1e-6);
  EXPECT_NEAR(spin("spin_sm_below = 31\n"), 60, 1e-6);
}

// What was set decides what the findings look for, and is what their evidence says.
TEST_F(ThresholdsTest, FindingsUseAndSayWhatWasSet) {
  const auto evidence_of = [&](const std::string& arguments, const std::string& settings, const std::string& cause) {
    const std::string config = folder_.Write("idleburn.toml", "[classify]\n" + settings);
    std::string text;
    const json audit = AuditJsonOf(arguments + " --config " + config);
    for (const json& finding : audit["findings"]) {
      if (finding["cause"] == cause) text += finding["evidence"].dump();
    }
    return text;
  };
  const auto expect = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text << " lacks " << part;
  };
  std::string text = "t,g,u,s\n";
  for (int s = 0; s <= 200; ++s) {
    const std::string t = std::to_string(1'767'225'600 + s);
    text += t + ",0,88,30\n" + t + ",1,20,10\n";  // one waits, resident and with little on its SMs, for the other
  }
  const std::string pair =
      folder_.Write("pair.csv", text) + " --columns time=t:s,gpu=g,util=u:percent,sm_active=s:percent";
  EXPECT_EQ(evidence_of(pair, "", "spin_wait"), "");
  const std::string spin = evidence_of(pair, "spin_sm_below = 40\nbound_from = 85\n", "spin_wait");
  expect(spin, ">= 85 % for 200 GPU-s");
  expect(spin, "(threshold 40 %)");
  expect(spin, "GPU 1 is below 30 %");
  const std::string idle = evidence_of(log_, "idle_below = 16\nheld_memory_mib = 60\n", "idle_held");
  expect(idle, "below 16 % in stretches of 60 s or more, for 80 GPU-s");
  expect(idle, "at least 60 MiB");
  const std::string power = evidence_of(log_, "idle_power = 100\nspin_power_below = 51\n", "spin_wait");
  expect(power, "(threshold 51 %)");
  const std::string config =
      folder_.Write("idleburn.toml", "[classify]\nidle_below = 16\nbound_from = 93\nclock_loss = '4.5'\n");
  std::istringstream wrapped(testing::RunIdleburn("audit --full " + log_ + " --config " + config).out);
  std::string page;
  for (std::string word; wrapped >> word;) page += word + " ";
  expect(page, "below 16 %, ");
  expect(page, "from 93 %: ");
  expect(evidence_of(log_, "clock_loss = '4.5'\n", "throttling"), "below its maximum in that time (threshold 4.5 %)");
}

}  // namespace
}  // namespace idleburn
