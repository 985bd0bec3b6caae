#include "config/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace idleburn {
namespace {

class SettingsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / ("idleburn_settings_" + std::to_string(getpid()) + ".toml");
  }
  void TearDown() override {
    std::filesystem::remove(path_);
    unsetenv("IDLEBURN_CFG_CLASSIFY_IDLE_BELOW");
  }
  void Write(const std::string& text) { std::ofstream(path_) << text; }
  Result<Settings> Load(const std::map<std::string, std::string>& flags = {}) {
    return Settings::Load(path_.string(), flags);
  }

  std::filesystem::path path_;
};

TEST_F(SettingsTest, FlagWinsOverEnvironmentOverFileOverDefault) {
  Write("[classify]\nidle_below = 7\nbound_from = \"95\"\n[price]\nrate = \"2.49\"\n");
  setenv("IDLEBURN_CFG_CLASSIFY_IDLE_BELOW", "8", 1);
  const Settings s = Load({{"--price", "3"}}).value();
  EXPECT_EQ(s.Text("price.rate"), "3");
  EXPECT_EQ(s.Get("price.rate").origin, "--price");
  EXPECT_EQ(s.Text("classify.idle_below"), "8");
  EXPECT_EQ(s.Get("classify.idle_below").origin, "IDLEBURN_CFG_CLASSIFY_IDLE_BELOW");
  EXPECT_EQ(s.Text("classify.bound_from"), "95");
  EXPECT_EQ(s.Get("classify.bound_from").origin, path_.string() + ":3");
  EXPECT_EQ(s.Get("classify.productive_from").origin, "default");
}

TEST_F(SettingsTest, BadSettingsNameTheirPlaceAndWhatToDo) {
  Write("[classify]\nidle_bellow = 7\n");
  EXPECT_EQ(Load().error().message,
            path_.string() + ":2: unknown setting 'classify.idle_bellow'; did you mean classify.idle_below?");
  Write("[classify]\nidle_below = 700\n");
  EXPECT_NE(Load().error().message.find(":2: '700' is not a number from 0 to 100"), std::string::npos);
  Write("[price]\nrate = 2.49\n");
  EXPECT_NE(Load().error().message.find("in quotes"), std::string::npos);
  Write("[price\n");
  EXPECT_EQ(Load().error().kind, Error::Kind::kUsage);
  for (const char* currency : {"eur", "EU", "EURO", "=E1", "XYZ"}) {
    Write("[price]\ncurrency = \"" + std::string(currency) + "\"\n");
    EXPECT_NE(Load().error().message.find("such as EUR"), std::string::npos) << currency;
  }
  Write("[price]\nmonth_hours = 5000\n");
  EXPECT_NE(Load().error().message.find("'5000' is not a whole number of hours from 1 to 744"), std::string::npos);
  Write("[price]\nmonth_hours = 744\n");
  EXPECT_TRUE(Load());
  Write("[classify]\nidle_power = \"50W\"\n");
  EXPECT_NE(Load().error().message.find("'50W' is not a number of at least 0, without a unit: 50"), std::string::npos);
}

TEST_F(SettingsTest, WhatDoesNotFitTheSumsIsRefused) {
  for (const char* key : {"period", "max_gap"}) {
    const std::string line = "[import]\n" + std::string(key) + " = \"";
    Write(line + "366d\"\n");
    EXPECT_TRUE(Load()) << key;
    Write(line + "100000d\"\n");
    EXPECT_EQ(Load().error().message, path_.string() + ":2: '100000d' is not a span of at most 366 days");
    Write(line + "200000d\"\n");  // beyond 64 bits of nanoseconds
    EXPECT_EQ(Load().error().message, path_.string() + ":2: '200000d' is not a span of time such as 5s");
  }
  Write("[classify]\nheld_memory_mib = 1000000000000\n");
  EXPECT_TRUE(Load());
  for (const char* count : {"1000000000001", "9000000000000", "0", "1.5"}) {
    Write("[classify]\nheld_memory_mib = \"" + std::string(count) + "\"\n");
    EXPECT_EQ(Load().error().message,
              path_.string() + ":2: '" + count + "' is not a whole number from 1 to 1000000000000");
  }
}

TEST_F(SettingsTest, DecimalsThatAreNotReadAreRefused) {
  struct Row {
    const char* key;
    const char* fits;
    const char* text;
    const char* wants;
  };
  for (const Row& row : {Row{"burst", "30.0", "30.5", "a whole number"},
                         Row{"spin_power_below", "15.5", "15.25", "a number with at most one decimal"},
                         Row{"clock_loss", "0.1", "0.01", "a number with at most one decimal"},
                         Row{"idle_power", "58.125", "58.0625", "a number with at most 3 decimals"},
                         Row{"idle_below", "9.999999", "9.9999999", "a number with at most 6 decimals"}}) {
    const std::string key = "[classify]\n" + std::string(row.key) + " = \"";
    Write(key + row.fits + "\"\n");
    EXPECT_TRUE(Load()) << row.key;
    Write(key + row.text + "\"\n");
    const Result<Settings> refused = Load();
    ASSERT_FALSE(refused) << row.key;
    EXPECT_EQ(refused.error().message, path_.string() + ":2: '" + row.text + "' is not " + row.wants);
  }
}

TEST_F(SettingsTest, WhatIsNoFileOfSettingsIsSaid) {
  EXPECT_NE(Settings::Load("/", {}).error().message.find("/: is a folder"), std::string::npos);
  EXPECT_EQ(Settings::Load("/proc/nowhere/at.toml", {}).error().message,
            "/proc/nowhere/at.toml: idleburn cannot open it; check the path");
}

TEST_F(SettingsTest, AMisspeltVariableIsAnErrorNotSilence) {
  Write("");
  setenv("IDLEBURN_CFG_PRICE_RAET", "9", 1);
  const Result<Settings> loaded = Load();
  unsetenv("IDLEBURN_CFG_PRICE_RAET");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().message,
            "IDLEBURN_CFG_PRICE_RAET: unknown setting in the environment; did you mean IDLEBURN_CFG_PRICE_RATE?");
}

TEST_F(SettingsTest, TheTemplateLoadsAndIsAllDefaults) {
  Write(SettingTemplate());
  const Settings s = Load().value();
  for (const SettingInfo& info : SettingTable()) EXPECT_EQ(s.Get(info.key).origin, "default");
}

}  // namespace
}  // namespace idleburn
