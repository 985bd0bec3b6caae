// The ledger of `idleburn fleet` against engines that know only a part of what the ledger knows: hours that were booked
// are never lost, whatever is asked for later.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "places.h"
#include "support/engines.h"
#include "support/generated_fleets.h"
#include "support/program.h"
#include "support/service.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

// Copies an import without the samples from FIRST up to LAST (Unix seconds).
constexpr const char* kForget = R"py(
import json, sys
first, last = int(sys.argv[3]) * 1000, int(sys.argv[4]) * 1000
with open(sys.argv[2], 'w') as out:
    for text in open(sys.argv[1]):
        row = json.loads(text)
        kept = [(t, v) for t, v in zip(row['timestamps'], row['values']) if not first <= t < last]
        if not kept: continue
        row['timestamps'], row['values'] = [t for t, _ in kept], [v for _, v in kept]
        out.write(json.dumps(row) + '\n')
)py";

constexpr std::int64_t kMidnight = 1'772'409'600;  // 2026-03-02T00:00:00Z, the first edge of the generated fleet

class FleetLedgerFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string& missing : {WithoutPrograms({"victoria-metrics", "python3"}), GeneratedFleets::WhyNot()}) {
      if (!missing.empty()) GTEST_SKIP() << missing;
    }
    if (fleets_ == nullptr) fleets_ = new GeneratedFleets;
  }
  static void TearDownTestSuite() {
    delete fleets_;
    fleets_ = nullptr;
  }

  // The samples of a generated fleet, as a file to import.
  static std::string Import(const std::string& scenario) {
    return fleets_->Make("--seed 11 --formats vm --only clean,outage,restart_reset") + "/" + scenario + "/import.jsonl";
  }

  std::string Without(const std::string& import, std::int64_t first, std::int64_t last) {
    std::string out = (folder_.path() / ("without" + std::to_string(++files_))).string();
    EXPECT_EQ(RunShell("python3 " + folder_.Write("forget.py", kForget) + " " + import + " " + out + " " +
                       std::to_string(first) + " " + std::to_string(last))
                  .code,
              0);
    return out;
  }

  [[nodiscard]] std::string Words(const std::string& url, const std::string& ledger, int from, int to) const {
    const auto hour = [](int h) {
      return h < 0 ? "2026-03-01T" + std::to_string(24 + h) + ":00:00Z"
                   : "2026-03-02T0" + std::to_string(h) + ":00:00Z";
    };
    return "fleet --engine " + url + " --from " + hour(from) + " --to " + hour(to) + " --ledger " +
           (folder_.path() / ledger).string() + " --price 2.50 --format json";
  }

  // The answer without what tells of the engine and its data.
  json Fleet(const std::string& words, json* doubts = nullptr) const {
    const ProgramRun run = RunIdleburn(words);
    EXPECT_EQ(run.code, 0) << run.err;
    json document = json::parse(run.out, nullptr, false);
    EXPECT_TRUE(document.is_object()) << run.out;
    if (doubts != nullptr) *doubts = document["data_quality"];
    for (const char* key : {"engine", "data_quality", "kpi"}) document.erase(key);
    return document;
  }

  static std::string Sentence(const json& doubts, const std::string& id) {
    for (const json& doubt : doubts) {
      if (doubt["id"] == id) return doubt["sentence"];
    }
    return {};
  }

  TempFolder folder_;
  TestEngines engines_;
  int files_ = 0;

 private:
  static GeneratedFleets* fleets_;
};
GeneratedFleets* FleetLedgerFiles::fleets_ = nullptr;

TEST_F(FleetLedgerFiles, AnEarlierFromExtendsTheLedger) {
  for (const std::string scenario : {"clean", "outage", "restart_reset"}) {
    SCOPED_TRACE(scenario);
    const std::string url = engines_.VictoriaWith(Import(scenario));
    const json whole = Fleet(Words(url, "whole" + scenario, 0, 6));
    Fleet(Words(url, "steps" + scenario, 5, 6));
    Fleet(Words(url, "steps" + scenario, 3, 6));
    EXPECT_EQ(Fleet(Words(url, "steps" + scenario, 0, 6))["per_gpu"], whole["per_gpu"]);
    EXPECT_EQ(Fleet(Words(url, "steps" + scenario, 0, 6))["by"]["team"], whole["by"]["team"]);
    engines_.Clear();
  }
}

TEST_F(FleetLedgerFiles, HoursThatTheEngineForgotAreKept) {
  const std::string import = Import("clean");
  const std::string url = engines_.VictoriaWith(import);
  const json whole = Fleet(Words(url, "kept", 0, 6));
  const std::string forgetful = engines_.VictoriaWith(Without(import, 0, kMidnight + 3 * 3600 + 300));
  const std::string empty = engines_.Victoria();
  engines_.Kill(url);
  // Each of these once threw the ledger away.
  EXPECT_EQ(Fleet(Words(forgetful, "kept", 0, 6)), whole);
  Fleet(Words(forgetful, "kept", -4, 6));
  EXPECT_EQ(Fleet(Words(forgetful, "kept", 0, 6)), whole);
  json doubts;
  const json rebuilt = Fleet(Words(forgetful, "kept", 0, 6) + " --rebuild", &doubts);
  EXPECT_EQ(rebuilt["per_gpu"], whole["per_gpu"]);
  EXPECT_EQ(rebuilt["by"]["team"], whole["by"]["team"]);
  const std::string hours = std::to_string(3 * whole["gpus"].get<int>());
  const std::string said = Sentence(doubts, "hours_kept");
  EXPECT_NE(said.find(hours), std::string::npos) << said;
  EXPECT_NE(said.find("between 2026-03-02T00:00:00Z and 2026-03-02T03:00:00Z"), std::string::npos) << said;
  EXPECT_EQ(Fleet(Words(forgetful, "kept", 0, 6)), rebuilt);
  // An engine that knows nothing any more.
  EXPECT_EQ(Fleet(Words(empty, "kept", 0, 6)), rebuilt);
  EXPECT_EQ(Fleet(Words(empty, "kept", 0, 6) + " --rebuild")["per_gpu"], whole["per_gpu"]);
}

TEST_F(FleetLedgerFiles, ARebuildKeepsHoursWhereTheEngineHasAHole) {
  const std::string import = Import("clean");
  const std::string url = engines_.VictoriaWith(import);
  const json whole = Fleet(Words(url, "holed", 0, 6));
  // The edges at 02:00 and 03:00 are gone: the engine gives one span of three hours.
  const std::string holed = engines_.VictoriaWith(Without(import, kMidnight + 2 * 3600, kMidnight + 4 * 3600));
  const json coarse = Fleet(Words(holed, "coarse", 0, 6));
  const json rebuilt = Fleet(Words(holed, "holed", 0, 6) + " --rebuild");
  EXPECT_EQ(rebuilt["per_gpu"], whole["per_gpu"]);
  EXPECT_EQ(rebuilt["by"]["team"], whole["by"]["team"]);
  // The hour inside the hole can still be asked for.
  EXPECT_EQ(Fleet(Words(holed, "holed", 2, 3))["gpu_hours"]["total"], whole["gpus"]);
  EXPECT_EQ(coarse["gpu_hours"]["total"], whole["gpu_hours"]["total"]);
}

TEST_F(FleetLedgerFiles, NodesThatADyingPullDidNotReachLackNoHour) {
  const std::string url = engines_.Victoria();
  const std::string loader = std::string(IDLEBURN_ROOT) + "/bench/fleet_scale.py";
  ASSERT_EQ(RunShell("python3 " + loader + " " + url + " --nodes 620 --gpus 1 --hours 30").code, 0);
  Ask({url + "/internal/force_flush"});
  const auto words = [&](const std::string& engine, const std::string& ledger) {
    return "fleet --engine " + engine + " --from 2026-03-01T01:00:00Z --to 2026-03-02T06:00:00Z --ledger " +
           (folder_.path() / ledger).string() + " --format json";
  };
  const json whole = Fleet(words(url, "whole"));
  EXPECT_EQ(whole["gpu_hours"]["total"], 620 * 29);
  // It dies after the first day of the first 250 nodes. The others were not read at all.
  const std::string relay = engines_.Relay(url, {.last = 13});
  EXPECT_EQ(RunIdleburn(words(relay, "died")).code, 1);
  const json rest = Fleet(words(url, "died"));
  EXPECT_EQ(rest["per_gpu"], whole["per_gpu"]);
  EXPECT_EQ(rest["by"]["team"], whole["by"]["team"]);
}

TEST_F(FleetLedgerFiles, DaysComeFromTheLedgerWithoutAnEngine) {
  const std::string url = engines_.Victoria();
  const std::string loader = std::string(IDLEBURN_ROOT) + "/bench/fleet_scale.py";
  const ProgramRun loaded = RunShell("python3 " + loader + " " + url + " --nodes 3 --hours 52");
  ASSERT_EQ(loaded.code, 0) << loaded.err;
  Ask({url + "/internal/force_flush"});
  const std::string window = " --from 2026-03-01T00:00:00Z --to 2026-03-03T04:00:00Z";
  const std::string ledger = " --ledger " + (folder_.path() / "days").string();
  ASSERT_EQ(RunIdleburn("fleet pull --engine " + url + window + ledger).code, 0);
  engines_.Clear();
  const ProgramRun run = RunIdleburn("fleet days" + window + ledger + " --format json");
  ASSERT_EQ(run.code, 0) << run.err;
  std::map<std::string, double> phases;
  std::map<std::string, double> days;
  const json document = json::parse(run.out);
  for (const json& row : document["days"]) {
    days[row["day"]] += row["gpu_hours"]["total"].get<double>();
    for (const auto& [phase, hours] : row["gpu_hours"].items()) phases[phase] += hours.get<double>();
  }
  EXPECT_EQ(days.size(), 3U);
  EXPECT_NEAR(days["2026-03-01"], 24 * 24, 1e-9);
  EXPECT_NEAR(days["2026-03-03"], 24 * 4, 1e-9);
  // What the loader says that it loaded.
  std::istringstream truth(loaded.out);
  for (std::string word; truth >> word;) {
    const std::size_t sign = word.find('=');
    EXPECT_NEAR(phases[word.substr(0, sign)], std::stod(word.substr(sign + 1)), 1e-4) << word;
  }
  const ProgramRun none = RunIdleburn("fleet days" + window + " --ledger " + (folder_.path() / "none").string());
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("there is no ledger here"), std::string::npos) << none.err;
}

}  // namespace
}  // namespace idleburn::testing
