#include "audit/open_input.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

Result<ImportOptions> OptionsOf(const std::map<std::string, std::string>& flags) {
  const Settings settings = TRY(Settings::Load("", flags));
  return ImportOptionsFrom(settings);
}

TEST(OpenInputTest, WhatAFileDoesNotSayIsReadFromFlags) {
  const Result<ImportOptions> options = OptionsOf({{"--start", "2026-07-03T22:22:01Z"},
                                                   {"--period", "500ms"},
                                                   {"--gpus", "8"},
                                                   {"--gpu-model", "H100-SXM"},
                                                   {"--power-limit", "350.5"}});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->start, Instant::FromNanos(1'783'117'321 * kNanosPerSecond));
  EXPECT_EQ(options->period, Nanos(kNanosPerSecond / 2));
  EXPECT_EQ(options->gpus, 8);
  EXPECT_EQ(options->gpu_model, "H100-SXM");
  EXPECT_EQ(options->power_limit_mw, 350'500);
}

TEST(OpenInputTest, TheStartIsInTheZoneOfTheStamps) {
  const Result<ImportOptions> berlin = OptionsOf({{"--start", "2026/07/04 00:22:01"}, {"--timezone", "Europe/Berlin"}});
  ASSERT_TRUE(berlin) << berlin.error().message;
  EXPECT_EQ(berlin->start, Instant::FromNanos(1'783'117'321 * kNanosPerSecond));
}

TEST(OpenInputTest, WrongFlagsAreUsageErrors) {
  EXPECT_NE(OptionsOf({{"--start", "noon"}}).error().message.find("--start: 'noon' is not a time"), std::string::npos);
  EXPECT_NE(OptionsOf({{"--gpus", "5000"}}).error().message.find("--gpus: one machine has at most 1024"),
            std::string::npos);
  EXPECT_FALSE(OptionsOf({{"--gpus", "0"}}));
  EXPECT_FALSE(OptionsOf({{"--power-limit", "-5"}}));
}

}  // namespace
}  // namespace idleburn
