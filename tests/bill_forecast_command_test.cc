// `idleburn bill forecast` from a ledger: sums by team, budgets and unusual days of a fleet that this test invents.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/money.h"
#include "support/made_ledger.h"
#include "support/named_keys.h"
#include "support/program.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

constexpr std::int64_t kSeptember20 = 1'789'862'400;  // 2026-09-20T00:00:00Z
constexpr std::int64_t kGpuHour = 3'600'000;

class BillForecastCommand : public ::testing::Test {
 protected:
  // Four GPUs: vision holds two, nlp one, and one is free. On 2026-10-08 vision runs a sweep on the free one.
  [[nodiscard]] std::string Ledger(int days) const {
    const std::string path = (folder_.path() / fmt::format("ledger-{}", days)).string();
    std::vector<MadeHour> hours;
    for (int h = 0; h < days * 24; ++h) {
      MadeHour hour{"n", kSeptember20 + h * 3600LL, {}, {}, {}, 0, 1};
      for (int gpu = 0; gpu < 4; ++gpu)
        hour.gpus.emplace_back(fmt::format("GPU-{}", gpu), PhaseMs{0, 0, 0, kGpuHour, 0});
      hour.jobs = {{{"c", "train", "", "vision", ""}, {0, 0, 0, 2 * kGpuHour, 0}},
                   {{"c", "serve", "", "nlp", ""}, {0, 0, 0, kGpuHour, 0}}};
      if (h / 24 == 18) {
        hour.jobs.push_back({{"c", "sweep", "", "vision", ""}, {0, 0, 0, kGpuHour, 0}});
      } else {
        hour.unallocated = {0, 0, 0, kGpuHour, 0};
      }
      hours.push_back(std::move(hour));
    }
    WriteLedger(path, hours);
    return path;
  }
  static json Forecast(const std::string& words) {
    const ProgramRun run = RunIdleburn("bill forecast --price 2 --month 2026-10 --format json " + words);
    EXPECT_EQ(run.code, 0) << run.err;
    json document = json::parse(run.out, nullptr, false);
    EXPECT_TRUE(document.is_object()) << run.out;
    return document;
  }

  TempFolder folder_;
};

TEST_F(BillForecastCommand, TheEndOfTheMonthByTeam) {
  const std::string budgets = folder_.Write("budgets.csv", "team,budget\nvision,3000\nnlp,1400\ngone,5\n");
  const std::string ledger = Ledger(21);
  const json forecast = Forecast("--ledger " + ledger + " --budgets " + budgets);
  ExpectNamed(forecast, "bill-forecast.md");
  EXPECT_EQ(forecast["days"], 10);
  EXPECT_EQ(forecast["days_left"], 21);
  EXPECT_EQ(forecast["history"]["start"], "2026-09-20");
  // 4 GPUs x 24 h x $2 a day.
  EXPECT_EQ(forecast["whole"]["spent"], "1920.00");
  EXPECT_EQ(forecast["whole"]["expected"], "5952.00");
  EXPECT_EQ(forecast["whole"]["low"], forecast["whole"]["high"]);
  std::map<std::string, json> teams;
  std::int64_t spent = 0;
  for (const json& team : forecast["teams"]) {
    teams[team["team"]] = team;
    spent += Money::Parse(team["spent_exact"].get<std::string>()).value().nano();
  }
  EXPECT_EQ(spent, Money::Cents(192'000).nano());
  EXPECT_EQ(teams["vision"]["spent"], "1008.00");  // 96 a day, and 48 of the sweep
  EXPECT_EQ(teams["nlp"]["expected"], "1488.00");
  EXPECT_EQ(teams["nlp"]["budget_verdict"], "will_exceed");
  EXPECT_EQ(teams["nlp"]["budget_exceeded_day"], "2026-10-30");  // 29 days of 48 are 1,392
  // 96 a day come to 3,024, and the day of the sweep says that days differ.
  EXPECT_EQ(teams["vision"]["budget_verdict"], "may_exceed");
  EXPECT_EQ(forecast["budgets_without_team"], json::array({"gone"}));
  ASSERT_EQ(forecast["anomalies"].size(), 2U) << forecast["anomalies"];
  for (const json& anomaly : forecast["anomalies"]) {
    EXPECT_EQ(anomaly["day"], "2026-10-08");
    if (anomaly["team"] == "vision") {
      EXPECT_EQ(anomaly["job"], "sweep");
      EXPECT_EQ(anomaly["cost"], "144.00");
      EXPECT_EQ(anomaly["usual"], "96.00");
    } else {
      EXPECT_EQ(anomaly["team"], "_unallocated");
    }
  }
}

TEST_F(BillForecastCommand, AbstainsAndFitsOneScreen) {
  const std::string ledger = Ledger(13);
  const ProgramRun text = RunIdleburn("bill forecast --price 2 --month 2026-10 --ledger " + ledger);
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_LE(std::count(text.out.begin(), text.out.end(), '\n'), 24) << text.out;
  EXPECT_EQ(text.out.rfind("2026-10 will have cost $5,952.00 at its end", 0), 0U) << text.out;
  const json few = Forecast("--ledger " + Ledger(5));
  EXPECT_TRUE(few["whole"]["expected"].is_null());
  EXPECT_EQ(few["whole"]["expected_reason"], "too_few_days");
  EXPECT_EQ(RunIdleburn("bill forecast --month 2026-10 --ledger " + ledger).code, 1) << "there is no price";
  EXPECT_EQ(RunIdleburn("bill forecast --price 2").code, 2);
  EXPECT_EQ(RunIdleburn("bill forecast --price 2 --ledger " + ledger + " --budgets " +
                        folder_.Write("bad.csv", "team,budget\na,-5\n"))
                .code,
            1);
  EXPECT_EQ(RunIdleburn("bill forecast --price 2 --ledger " + ledger + " --month soon").code, 2);
}

}  // namespace
}  // namespace idleburn::testing
