#include "owners/environ_keys.h"

#include <gtest/gtest.h>

#include "support/property.h"

namespace idleburn {
namespace {

using namespace std::string_literals;

TEST(EnvironKeysTest, ReadsListedKeysOnly) {
  const EnvironKeys keys;
  const EnvironValues values = keys.ValuesIn(
      "WANDB_API_KEY=hidden\0RANK=3\0WANDB_PROJECT=vision\0HOME=/h\0SLURM_JOB_ID=12\0no equals\0=x\0"
      "WANDB_PROJECT=second\0"s);
  EXPECT_EQ(values, (EnvironValues{{"SLURM_JOB_ID", "12"}, {"WANDB_PROJECT", "vision"}}));
  EXPECT_EQ(keys.ExperimentOf(values), "vision");
}

TEST(EnvironKeysTest, RefusesKeysThatMayHoldSecrets) {
  for (const char* key : {"WANDB_API_KEY", "my_Token", "SECRET_NAME", "DB_PASSWD", "CREDITS", "AUTHOR", "COOKIE_JAR",
                          "SENTRY_DSN", "monkey"}) {
    const auto keys = EnvironKeys::Make({key});
    ASSERT_FALSE(keys) << key;
    EXPECT_EQ(keys.error().kind, Error::Kind::kUsage);
    EXPECT_NE(keys.error().message.find(key), std::string::npos);
  }
  for (const char* key : {"", "A-B", "1A", "A=B", "A\nB"}) EXPECT_FALSE(EnvironKeys::Make({key})) << key;
}

TEST(EnvironKeysTest, PutsConfiguredKeysFirst) {
  const auto keys = EnvironKeys::Make({"PAPER", "STUDY"});
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->ExperimentOf(keys->ValuesIn("WANDB_PROJECT=w\0STUDY=s\0IDLEBURN_EXPERIMENT=e\0"s)), "s");
  EXPECT_EQ(keys->ExperimentOf(keys->ValuesIn("WANDB_PROJECT=w\0PAPER=\0IDLEBURN_EXPERIMENT=e\0"s)), "e");
  EXPECT_EQ(keys->ExperimentOf({}), "");
}

TEST(EnvironKeysTest, NamesRunsByTheirLauncher) {
  EXPECT_EQ(EnvironKeys::RunOf({{"TORCHELASTIC_RUN_ID", "abc"}, {"WANDB_RUN_ID", "w"}}), "torchrun:abc");
  EXPECT_EQ(EnvironKeys::RunOf({{"TORCHELASTIC_RUN_ID", "none"}, {"WANDB_RUN_ID", "w"}}), "wandb:w");
  EXPECT_EQ(EnvironKeys::RunOf({{"RAY_JOB_ID", "01000000"}, {"RAY_SUBMISSION_ID", "raysubmit_x"}}), "ray:raysubmit_x");
  EXPECT_EQ(EnvironKeys::RunOf({{"TORCHELASTIC_RUN_ID", "none"}}), "");
}

TEST(EnvironKeysTest, BoundsAndCleansValues) {
  const EnvironKeys keys;
  const EnvironValues values =
      keys.ValuesIn("WANDB_PROJECT=\x1b[31m\nx\0IDLEBURN_EXPERIMENT="s + std::string(10'000, 'e') + "\0"s);
  EXPECT_EQ(values.at("WANDB_PROJECT"), "?[31m?x");
  EXPECT_EQ(values.at("IDLEBURN_EXPERIMENT"), std::string(kMostEnvironValue, 'e'));
  // What lies beyond the bound is not read.
  EXPECT_TRUE(keys.ValuesIn(std::string(kMostEnviron, 'x') + "\0RAY_JOB_ID=1\0"s).empty());
}

TEST(EnvironKeysTest, SurvivesAnyText) {
  test::ExpectProperty("any text", [](const std::string& text) {
    for (const auto& [key, value] : EnvironKeys().ValuesIn("RAY_JOB_ID=" + text)) {
      RC_ASSERT(value.size() <= kMostEnvironValue);
      RC_ASSERT(std::none_of(value.begin(), value.end(), [](char c) { return c >= 0 && c < ' '; }));
    }
  });
}

}  // namespace
}  // namespace idleburn
