#include "audit/window_flag.h"

#include <gtest/gtest.h>

namespace idleburn {
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
