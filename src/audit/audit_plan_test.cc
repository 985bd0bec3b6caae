#include "audit/audit_plan.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/money.h"

namespace idleburn {
namespace {

TEST(GateTest, ALimitInPerCentMaySayItsSign) {
  for (const char* text : {"waste>20%", "waste>20", "unobserved>20%", "cost>20"}) {
    const auto gates = ParseGates({text});
    ASSERT_TRUE(gates) << text;
    EXPECT_EQ(gates->front().limit, Money::Cents(20'00)) << text;
  }
  for (const char* text : {"cost>20%", "waste>%", "waste>20%%", "waste20%"}) EXPECT_FALSE(ParseGates({text})) << text;
}

}  // namespace

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

namespace {

TEST(WindowFlagTest, ReadsTimesWithAndWithoutAZone) {
  const TimeZone berlin = TimeZone::Load("Europe/Berlin").value();
  const auto start = [&](std::string_view text, bool zoned) {
    return FormatRfc3339(*ParseWindow(text, zoned ? std::optional(berlin) : std::nullopt).value().start);
  };
  EXPECT_EQ(start("2026-07-01T09:00:00Z..2026-07-02", true), "2026-07-01T09:00:00Z");
  EXPECT_EQ(start("2026-07-01T09:00:00+02:00..2026-07-02", false), "2026-07-01T07:00:00Z");
  EXPECT_EQ(start("2026-07-01 09:00..2026-07-02", false), "2026-07-01T09:00:00Z");
  EXPECT_EQ(start("2026-07-01 09:00..2026-07-02", true), "2026-07-01T07:00:00Z");
  EXPECT_EQ(start("2026/07/01 09:00:00.500..2026-07-02", false), "2026-07-01T09:00:00.500Z");
  EXPECT_EQ(start("2026-07-01..2026-07-02", true), "2026-06-30T22:00:00Z");
  const RunWindow window = ParseWindow("2026-07-01..2026-07-03", std::nullopt).value();
  EXPECT_EQ(FormatRfc3339(*window.end), "2026-07-03T00:00:00Z");
  EXPECT_TRUE(window.named);
}

TEST(WindowFlagTest, RefusesWhatCannotBeMeant) {
  for (const char* text : {"", "..", "2026-07-01", "2026-07-01..", "..2026-07-01", "2026-07-01...2026-07-02",
                           "2026-07-02..2026-07-01", "2026-07-01..2026-07-01", "2026-13-01..2026-12-01", "1..2"}) {
    const Result<RunWindow> window = ParseWindow(text, std::nullopt);
    ASSERT_FALSE(window) << text;
    EXPECT_TRUE(window.error().message.starts_with("--window: ")) << window.error().message;
  }
  const std::optional<TimeZone> berlin = TimeZone::Load("Europe/Berlin").value();
  for (const char* text : {"2026-10-25 02:30..2026-10-26", "2026-03-29 02:30..2026-04-01"}) {
    EXPECT_FALSE(ParseWindow(text, berlin)) << text;
    EXPECT_TRUE(ParseWindow(text, std::nullopt)) << text;
  }
}

}  // namespace

}  // namespace idleburn
