// `idleburn fleet` against a fleet whose every GPU-second is known (../shared/data/fleet), on real engines: exact under
// every fault, however the hours are pulled.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fleet/closed_hours.h"
#include "support/engines.h"
#include "support/generated_fleets.h"
#include "support/program.h"
#include "support/service.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

constexpr const char* kScenarios[] = {"clean",         "miss", "outage",    "restart_state",
                                      "restart_reset", "ha",   "ha_merged", "skew"};
constexpr double kTolerance = 0.001;  // seconds

// Fleets are made once and one VictoriaMetrics serves all tests of the process: both take longer than a test.
class FleetTruth : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string& missing :
         {WithoutPrograms({"victoria-metrics", "prometheus", "promtool", "python3"}), GeneratedFleets::WhyNot()}) {
      if (!missing.empty()) GTEST_SKIP() << missing;
    }
    if (shared_ == nullptr) shared_ = new Shared;
  }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }

  static GeneratedFleets& Generated() { return shared_->fleets; }
  static std::string Make(const std::string& words) { return Generated().Make(words); }
  static std::string Small() { return Make("--seed 3 --formats vm --only clean,outage"); }

  // The VictoriaMetrics with these series and no others.
  static std::string Victoria(const std::string& import) {
    if (shared_->victoria.empty()) shared_->victoria = shared_->engines.Victoria();
    if (shared_->loaded == import) return shared_->victoria;
    if (!shared_->loaded.empty()) TestEngines::Forget(shared_->victoria);
    TestEngines::Load(shared_->victoria, import);
    shared_->loaded = import;
    return shared_->victoria;
  }

  [[nodiscard]] std::string LedgerPath(const std::string& name) const {
    return (folder_.path() / (name + ".sqlite")).string();
  }

  static std::string Words(const std::string& url, const std::string& ledger, const std::string& to,
                           const std::string& action = "") {
    return "fleet " + action + " --engine " + url + " --from 2026-03-02T00:00:00Z --to " + to + " --ledger " + ledger +
           " --price 2.50 --format json";
  }

  static json Fleet(const std::string& url, const std::string& ledger, const std::string& to = kEnd) {
    const ProgramRun run = RunIdleburn(Words(url, ledger, to));
    EXPECT_EQ(run.code, 0) << run.err;
    json document = json::parse(run.out, nullptr, false);
    EXPECT_TRUE(document.is_object()) << run.out;
    return document;
  }

  static constexpr const char* kEnd = "2026-03-02T06:00:00Z";
  TempFolder folder_;
  TestEngines engines_;  // of one test

 private:
  struct Shared {
    GeneratedFleets fleets;
    TestEngines engines;
    std::string victoria;
    std::string loaded;
  };
  static Shared* shared_;
};
FleetTruth::Shared* FleetTruth::shared_ = nullptr;

// Every figure of expected.json, to the millisecond.
void ExpectTruth(const json& got, const json& expected) {
  std::map<std::string, double> lost;
  for (const json& deficit : expected["deficits"]) lost[deficit["uuid"]] += deficit["seconds"].get<double>();
  ASSERT_EQ(got["per_gpu"].size(), expected["per_gpu"].size());
  double sum = 0;
  for (const json& gpu : got["per_gpu"]) {
    const std::string uuid = gpu["uuid"];
    for (const auto& [phase, seconds] : expected["per_gpu"][uuid].items()) {
      const double more = phase == "unobserved" ? lost[uuid] : 0;
      EXPECT_NEAR(gpu["seconds"][phase].get<double>(), seconds.get<double>() + more, kTolerance) << uuid << phase;
      sum += gpu["seconds"][phase].get<double>();
    }
    EXPECT_NEAR(gpu["seconds"]["unobserved_reset"].get<double>(), lost[uuid], kTolerance) << uuid;
  }
  EXPECT_NEAR(sum, expected["gpu_seconds"].get<double>(), kTolerance);
  EXPECT_NEAR(got["gpu_hours"]["total"].get<double>() * 3600, expected["gpu_seconds"].get<double>(), kTolerance);
  std::map<std::string, json> teams;
  for (const json& team : got["by"]["team"]) teams[team["name"]] = team["gpu_hours"];
  for (const auto& [team, phases] : expected["per_team"].items()) {
    double seconds_of_team = 0;
    for (const auto& [phase, seconds] : phases.items()) seconds_of_team += seconds.get<double>();
    if (seconds_of_team == 0) continue;
    ASSERT_TRUE(teams.count(team) > 0) << team;
    for (const auto& [phase, seconds] : phases.items()) {
      EXPECT_NEAR(teams[team][phase].get<double>() * 3600, seconds.get<double>(), kTolerance) << team << " " << phase;
    }
  }
  double deficits = 0;
  for (const json& deficit : got["deficits"]) deficits += deficit["seconds"].get<double>();
  EXPECT_NEAR(deficits, expected["unobserved_reset_seconds"].get<double>(), kTolerance);
  // Counters at hours do not tell a GPU that was removed from an agent that lost its counts.
  for (const json& doubt : got["data_quality"]) {
    if (doubt["id"] != "agent_state_lost") continue;
    EXPECT_NE(doubt["sentence"].get<std::string>().find("or GPUs were removed"), std::string::npos) << doubt;
  }
  std::map<std::string, json> jobs;
  for (const json& job : got["by"]["job"]) jobs[job["name"]] = job;
  if (!expected["jobs"].is_object()) return;
  for (const auto& [name, job] : expected["jobs"].items()) {
    ASSERT_TRUE(jobs.count(name) > 0) << name;
    for (const auto& [phase, seconds] : job["phase_seconds"].items()) {
      EXPECT_NEAR(jobs[name]["gpu_hours"][phase].get<double>() * 3600, seconds.get<double>(), kTolerance)
          << "job " << name << " " << phase;
    }
    EXPECT_EQ(jobs[name]["user"], job["user"]);
    EXPECT_EQ(jobs[name]["experiment"], job["experiment"]);
  }
}

// Money: teams sum to the total, and so do GPUs, to the billionth.
void ExpectMoneyAddsUp(const json& got) {
  const auto nano = [](const json& text) { return std::llround(std::stod(text.get<std::string>()) * 1e9); };
  long long teams = 0;
  long long gpus = 0;
  for (const json& team : got["by"]["team"]) teams += nano(team["cost_exact"]);
  for (const json& gpu : got["per_gpu"]) gpus += nano(gpu["cost_exact"]);
  EXPECT_EQ(teams, nano(got["cost"]["total_exact"]));
  EXPECT_EQ(gpus, nano(got["cost"]["total_exact"]));
  EXPECT_NEAR(std::stod(got["cost"]["total_exact"].get<std::string>()), got["gpu_hours"]["total"].get<double>() * 2.5,
              1e-6);
}

TEST_F(FleetTruth, EveryFaultIsExactOnVictoriaMetrics) {
  const std::vector<std::string> fleets = {"--formats vm --seed 1", "--formats vm --seed 7 --scrape 300",
                                           "--formats vm --seed heron"};
  Generated().MakeAll(fleets);
  int ledgers = 0;
  for (const std::string& words : fleets) {
    const std::string out = Make(words);
    for (const std::string scenario : kScenarios) {
      SCOPED_TRACE(words + ", " + scenario);
      const std::string url = Victoria(out + "/" + scenario + "/import.jsonl");
      const json got = Fleet(url, LedgerPath(std::to_string(++ledgers)));
      ExpectTruth(got, json::parse(std::ifstream(out + "/" + scenario + "/expected.json")));
      ExpectMoneyAddsUp(got);
    }
  }
}

TEST_F(FleetTruth, PrometheusGivesTheSame) {
  const std::string out = Make("--seed 2 --formats om --only clean,restart_reset");
  for (const std::string scenario : {"clean", "restart_reset"}) {
    SCOPED_TRACE(scenario);
    const std::string url = engines_.PrometheusWith(out + "/" + scenario + "/scrapes.om");
    const json got = Fleet(url, LedgerPath(scenario));
    EXPECT_EQ(got["engine"]["kind"], "prometheus");
    ExpectTruth(got, json::parse(std::ifstream(out + "/" + scenario + "/expected.json")));
  }
}

// Hours at once are read with all counters of jobs. Hours one by one are read with those that they need.
TEST_F(FleetTruth, OnlyTheOwnersThatWereAskedForAreShown) {
  const std::string url = Victoria(Small() + "/clean/import.jsonl");
  const json all = Fleet(url, LedgerPath("by"));
  const ProgramRun run = RunIdleburn(Words(url, LedgerPath("by"), kEnd) + " --by user,job");
  const json some = json::parse(run.out, nullptr, false);
  ASSERT_TRUE(some.is_object()) << run.out << run.err;
  EXPECT_TRUE(some["by"]["team"].empty());
  EXPECT_TRUE(some["by"]["experiment"].empty());
  EXPECT_EQ(some["by"]["user"], all["by"]["user"]);
  EXPECT_EQ(some["by"]["job"], all["by"]["job"]);
  EXPECT_EQ(some["cost"], all["cost"]);
  const ProgramRun screen = RunIdleburn("fleet --engine " + url + " --from 2026-03-02 --to " + kEnd + " --ledger " +
                                        LedgerPath("by") + " --price 2.50 --by user");
  EXPECT_NE(screen.out.find("\n  user "), std::string::npos) << screen.out;
  EXPECT_EQ(screen.out.find("\n  team "), std::string::npos) << screen.out;
}

TEST_F(FleetTruth, HoursPulledOneByOneAreTheSameAsAtOnce) {
  const std::string out = Make("--seed 3 --formats vm --only outage,miss,restart_reset,ha");
  for (const std::string scenario : {"outage", "miss", "restart_reset", "ha"}) {
    SCOPED_TRACE(scenario);
    const std::string url = Victoria(out + "/" + scenario + "/import.jsonl");
    const std::string once = LedgerPath("once" + scenario);
    const std::string steps = LedgerPath("steps" + scenario);
    // Each run tells of its own pull, so doubts differ.
    const auto figures = [](json document) {
      document.erase("data_quality");
      return document;
    };
    const json at_once = figures(Fleet(url, once));
    for (int hour = 1; hour <= 6; ++hour) Fleet(url, steps, "2026-03-02T0" + std::to_string(hour) + ":00:00Z");
    EXPECT_EQ(figures(Fleet(url, steps)), at_once);
    // A ledger that was lost is filled again, to the same figures.
    std::filesystem::remove_all(once);
    EXPECT_EQ(figures(Fleet(url, once)), at_once);
    const ProgramRun rebuilt = RunIdleburn(Words(url, steps, kEnd) + " --rebuild");
    EXPECT_EQ(figures(json::parse(rebuilt.out)), at_once);
  }
}

TEST_F(FleetTruth, AnEngineThatDiesMidwayLosesNothing) {
  const std::string url = Victoria(Small() + "/clean/import.jsonl");
  const json whole = Fleet(url, LedgerPath("whole"));
  int failures = 0;
  for (const int questions : {4, 9, 11, 14}) {
    const std::string relay = engines_.Relay(url, {.last = questions, .longest_range = 3599});
    const ProgramRun died = RunIdleburn(Words(relay, LedgerPath("fragile"), kEnd));
    if (died.code == 0) continue;
    ++failures;
    EXPECT_EQ(died.code, 1);
    EXPECT_EQ(std::count(died.err.begin(), died.err.end(), '\n'), 1) << died.err;
    EXPECT_NE(died.err.find(relay), std::string::npos) << died.err;
  }
  EXPECT_GE(failures, 3);
  EXPECT_EQ(Fleet(url, LedgerPath("fragile"))["per_gpu"], whole["per_gpu"]);
}

TEST_F(FleetTruth, AnEngineWithLimitsIsAskedInSmallerParts) {
  const std::string url = Victoria(Small() + "/clean/import.jsonl");
  const std::string relay = engines_.Relay(url, {.longest_range = 3599});
  ExpectTruth(Fleet(relay, LedgerPath("limited")), json::parse(std::ifstream(Small() + "/clean/expected.json")));
}

TEST_F(FleetTruth, TwoPullsAtOnceBookEachHourOnce) {
  const std::string url = Victoria(Small() + "/clean/import.jsonl");
  const json alone = Fleet(url, LedgerPath("alone"));
  for (int round = 0; round < 3; ++round) {
    const std::string ledger = LedgerPath("both" + std::to_string(round));
    const std::string words = "$IDLEBURN " + Words(url, ledger, kEnd, "pull");
    std::string shell = folder_.Write("idleburn", ProgramBytes());
    const ProgramRun run = RunShell("chmod +x " + shell + "; export IDLEBURN=" + shell + "; " + words + " & " + words +
                                    " & " + words + "; wait");
    EXPECT_EQ(run.err.find("damaged"), std::string::npos) << run.err;
    EXPECT_EQ(Fleet(url, ledger)["per_gpu"], alone["per_gpu"]) << run.err;
  }
}

TEST_F(FleetTruth, TheSchedulersJobsTellWaitsAndEnds) {
  const std::string url = Victoria(Small() + "/clean/import.jsonl");
  const json before = Fleet(url, LedgerPath("jobs"));
  EXPECT_TRUE(before["kpi"]["queue_wait_s"].is_null());
  // Waits of 0, 10, ... seconds; every job failed but the first.
  std::string list = "JobID|User|State|Submit|Eligible|Start|End\n";
  double failed = 0;
  int n = 0;
  for (const json& job : before["by"]["job"]) {
    const std::string name = job["name"];
    if (name == "_unknown") continue;
    char start[32];
    std::snprintf(start, sizeof start, "2026-03-02T01:%02d:%02d", n * 10 / 60, n * 10 % 60);
    list += name + "|u|" + (n == 0 ? "COMPLETED" : "FAILED") + "|2026-03-01T00:00:00|2026-03-02T01:00:00|" + start +
            "|2026-03-02T05:00:00\n" + name + ".batch|u|FAILED|Unknown|Unknown|" + start + "|2026-03-02T05:00:00\n";
    if (n > 0) failed += job["gpu_hours"]["total"].get<double>();
    ++n;
  }
  ASSERT_GT(n, 5);
  const ProgramRun run =
      RunIdleburn(Words(url, LedgerPath("jobs"), kEnd) + " --jobs " + folder_.Write("sacct.txt", list));
  ASSERT_EQ(run.code, 0) << run.err;
  const json kpi = json::parse(run.out)["kpi"];
  EXPECT_EQ(kpi["queue_wait_s"]["jobs"], n);
  EXPECT_EQ(kpi["queue_wait_s"]["p50"], (n + 1) / 2 * 10 - 10);
  EXPECT_EQ(kpi["queue_wait_s"]["histogram"][0]["jobs"], 2);  // 0 s and 10 s
  EXPECT_NEAR(kpi["gpu_hours_by_end"]["failed"].get<double>(), failed, 1e-9);
}

TEST_F(FleetTruth, WhatIsNoEngineIsOneLine) {
  struct Case {
    int status;
    std::string body, said;
  };
  const Case cases[] = {
      {200, "<html><body>Sign in</body></html>", "web page"},
      {401, "denied", "--token-file"},
      {200, "{\"status\":\"success\",\"data\":{\"resultType\":\"vec", "half an answer"},
      {404, "no", "prefix"},
      {200, "{\"cluster\":1}", "not that of Prometheus"},
  };
  for (const Case& each : cases) {
    const std::string url = engines_.Relay("", {.status = each.status, .body = each.body});
    const ProgramRun run = RunIdleburn(Words(url, LedgerPath("false"), kEnd));
    EXPECT_EQ(run.code, 1) << each.body;
    EXPECT_NE(run.err.find(each.said), std::string::npos) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
  const ProgramRun nobody =
      RunIdleburn(Words("http://127.0.0.1:" + std::to_string(FreePort()), LedgerPath("false"), kEnd));
  EXPECT_EQ(nobody.code, 1);
  EXPECT_NE(nobody.err.find("is it running there?"), std::string::npos) << nobody.err;
}

}  // namespace
}  // namespace idleburn::testing
