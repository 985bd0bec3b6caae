#include "audit/audit_plan.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/billing.h"

namespace idleburn {
namespace {

class AuditPlanTest : public ::testing::Test {
 protected:
  ~AuditPlanTest() override { std::filesystem::remove(path_); }
  Settings Load(const std::string& text) {
    std::ofstream(path_) << text;
    return Settings::Load(path_.string(), {}).value();
  }
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("idleburn_plan_" + std::to_string(getpid()) + ".toml");
};

TEST_F(AuditPlanTest, ThresholdsAreTheSettings) {
  EXPECT_EQ(ThresholdsFrom(Load("[classify]\nidle_below = 8\n"))->idle_below, 8 * kPercent);
  EXPECT_EQ(ThresholdsFrom(Load("[classify]\nheld_memory_mib = 1000000000000\n"))->held_memory,
            1'000'000'000'000LL * 1024 * 1024);
  constexpr std::int64_t kYear = 366LL * 86'400 * 1'000'000'000;
  EXPECT_EQ(ThresholdsFrom(Load("[import]\nperiod = \"366d\"\n"))->period->count(), kYear);
  EXPECT_EQ(ThresholdsFrom(Load("[import]\nmax_gap = \"366d\"\n"))->max_gap->count(), kYear);
}

TEST_F(AuditPlanTest, ThresholdsThatContradictEachOtherAreRefused) {
  EXPECT_FALSE(ThresholdsFrom(Load("[classify]\nidle_below = 80\n")));
}

TEST_F(AuditPlanTest, DefaultsAreTheThresholdsOwn) {
  const Thresholds from = ThresholdsFrom(Load("")).value();
  const Thresholds own;
  EXPECT_EQ(from.idle_below, own.idle_below);
  EXPECT_EQ(from.productive_from, own.productive_from);
  EXPECT_EQ(from.bound_from, own.bound_from);
  EXPECT_EQ(from.held_memory, own.held_memory);
  EXPECT_EQ(from.spin_sm_below, own.spin_sm_below);
  EXPECT_EQ(from.spin_power_tenths_percent, own.spin_power_tenths_percent);
  EXPECT_EQ(from.spin_cells, own.spin_cells);
  EXPECT_EQ(from.clock_loss_tenths_percent, own.clock_loss_tenths_percent);
  EXPECT_EQ(from.burst_percent, own.burst_percent);
  EXPECT_EQ(Load("").Text("price.month_hours"), std::to_string(kUsualMonthHours));
}

}  // namespace
}  // namespace idleburn
