// `idleburn fleet statements` and the weeks of `idleburn fleet` on a real engine, against a fleet of known truth
// (../shared/data/fleet): under every policy the statements and what is left sum to the fleet, to the nano-unit.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/engines.h"
#include "support/generated_fleets.h"
#include "support/program.h"
#include "support/read_inputs.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Decimal text in billionths, without floating point.
long long Nano(const json& text) {
  const std::string amount = text.get<std::string>();
  const std::size_t point = amount.find('.');
  std::string digits = amount.substr(0, point) + (point == std::string::npos ? "" : amount.substr(point + 1));
  const std::size_t decimals = point == std::string::npos ? 0 : amount.size() - point - 1;
  return std::stoll(digits + std::string(9 - decimals, '0'));
}

class StatementsOfAFleet : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string& missing :
         {WithoutPrograms({"victoria-metrics", "python3", "sha256sum"}), GeneratedFleets::WhyNot()}) {
      if (!missing.empty()) GTEST_SKIP() << missing;
    }
    if (shared_ == nullptr) shared_ = new Shared;
  }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }

  static std::string Make(const std::string& words) { return shared_->fleets.Make(words); }
  static std::string Fleet() { return Make("--formats vm --only clean,restart_reset --seed 11"); }
  // The engine with the fleet that no fault meets.
  static std::string Clean() {
    if (shared_->clean.empty()) shared_->clean = shared_->engines.VictoriaWith(Fleet() + "/clean/import.jsonl");
    return shared_->clean;
  }

  [[nodiscard]] std::string Words(const std::string& url, const std::string& action, const std::string& more) const {
    return "fleet " + action + " --engine " + url + " --from 2026-03-02T00:00:00Z --to 2026-03-02T06:00:00Z --ledger " +
           (folder_.path() / "ledger.sqlite").string() + " --price 2.50 " + more;
  }

  static json Document(const std::string& words) {
    const ProgramRun run = RunIdleburn(words + " --format json");
    EXPECT_EQ(run.code, 0) << words << run.err;
    return json::parse(run.out, nullptr, false);
  }

  // The statements that a command wrote, by team, and the summary under "".
  std::map<std::string, json> Statements(const std::string& words) {
    const std::string out = (folder_.path() / ("out" + std::to_string(++written_))).string();
    const ProgramRun run = RunIdleburn(words + " --format json -o " + out);
    EXPECT_EQ(run.code, 0) << run.err;
    std::map<std::string, json> documents;
    for (const auto& file : fs::directory_iterator(out)) {
      json document = json::parse(std::ifstream(file.path()));
      const std::string team = document.value("team", "");
      documents[team] = std::move(document);
    }
    return documents;
  }

  TempFolder folder_;
  TestEngines engines_;  // of one test
  int written_ = 0;

 private:
  struct Shared {
    GeneratedFleets fleets;
    TestEngines engines;
    std::string clean;
  };
  static Shared* shared_;
};
StatementsOfAFleet::Shared* StatementsOfAFleet::shared_ = nullptr;

// Every line of a period: statements, buckets, and what no team pays.
void ExpectPeriod(std::map<std::string, json> statements, long long period) {
  const json summary = statements[""];
  statements.erase("");
  long long sum = 0;
  for (const auto& [team, statement] : statements) {
    sum += Nano(statement["total_exact"]);
    long long jobs = 0;
    for (const json& job : statement["jobs"]) jobs += Nano(job["direct_exact"]);
    EXPECT_EQ(jobs, Nano(statement["direct_exact"])) << team;
    long long shared = 0;
    for (const json& line : statement["shared_costs"]) shared += Nano(line["amount_exact"]);
    EXPECT_EQ(shared, Nano(statement["shared_exact"])) << team;
  }
  long long teams = 0;
  for (const json& team : summary["teams"]) teams += Nano(team["total_exact"]);
  EXPECT_EQ(teams, sum);
  for (const json& bucket : summary["buckets"]) sum += Nano(bucket["total_exact"]);
  for (const json& line : summary["shared_costs"]) sum += Nano(line["not_charged_exact"]);
  EXPECT_EQ(sum, period);
  EXPECT_EQ(Nano(summary["total_exact"]), period);
}

TEST_F(StatementsOfAFleet, SumToTheFleetUnderEveryPolicy) {
  // Agents that lost their state leave time without an owner.
  const std::string url = engines_.VictoriaWith(Fleet() + "/restart_reset/import.jsonl");
  const json fleet = Document(Words(url, "", ""));
  const long long total = Nano(fleet["cost"]["total_exact"]);
  const long long unallocated = Nano(fleet["cost"]["unallocated_exact"]);
  std::map<std::string, long long> direct;
  std::string weights = "team,weight\nelsewhere,3\n";
  for (const json& team : fleet["by"]["team"]) {
    const std::string name = team["name"];
    if (name.front() != '_') direct[name] = Nano(team["cost_exact"]);
    if (name.front() != '_' && direct.size() > 1) weights += name + "," + std::to_string(direct.size()) + ".5\n";
  }
  ASSERT_GT(direct.size(), 2U);
  ASSERT_GT(unallocated, 0);
  const std::string file = folder_.Write("weights.csv", weights);
  const std::vector<std::string> policies = {"none", "uniform", "proportional", "custom --share-weights " + file,
                                             "experiments"};
  for (const std::string& policy : policies) {
    SCOPED_TRACE(policy);
    const std::string words = Words(url, "statements", "--share " + policy);
    std::map<std::string, json> plain = Statements(words);
    ExpectPeriod(plain, total);
    const json summary = plain[""];
    EXPECT_EQ(summary["status"], "closed") << summary["provisional"];
    EXPECT_EQ(Nano(summary["gpu_cost_exact"]), total);
    ASSERT_EQ(summary["teams"].size(), direct.size());
    ASSERT_EQ(summary["buckets"].size(), 1U);
    EXPECT_EQ(summary["buckets"][0]["team"], "_unknown");
    EXPECT_EQ(Nano(summary["buckets"][0]["shared_exact"]), 0);
    long long shared = 0;
    for (const json& team : summary["teams"]) {
      EXPECT_EQ(Nano(team["direct_exact"]), direct[team["team"]]);
      shared += Nano(team["shared_exact"]);
      if (policy == "uniform") {
        EXPECT_NEAR(static_cast<double>(Nano(team["shared_exact"])),
                    static_cast<double>(unallocated) / static_cast<double>(direct.size()), 1);
      }
    }
    EXPECT_EQ(shared, policy == "none" ? 0 : unallocated);
    // With cost beside the GPUs. The commitment is its owner's alone.
    std::map<std::string, json> more = Statements(
        words + " --shared-cost support=100 --shared-cost 'head nodes=0.01' --unused-commitment platform=6.00");
    ExpectPeriod(more, total + 106'010'000'000LL);
    EXPECT_EQ(more["platform"]["total_exact"], "6.00");
    EXPECT_EQ(more["platform"]["shared_exact"], "0.00");
  }
}

TEST_F(StatementsOfAFleet, CustomWeightsNameWhoIsMissing) {
  const std::string url = Clean();
  const std::string file = folder_.Write("weights.csv", "team,weight\nteam1,3\nteem2,1\n");
  const std::string words = Words(url, "statements", "--share custom --share-weights " + file);
  const json summary = Document(words);
  EXPECT_EQ(summary["weights_without_team"], json::array({"teem2"}));
  EXPECT_GT(summary["teams_without_weight"].size(), 0U);
  const std::string text = Unwrapped(RunIdleburn(words).out);
  EXPECT_NE(text.find("weights without a team in this period, not used: teem2"), std::string::npos) << text;
  EXPECT_NE(text.find("without a weight, so without shared cost: team"), std::string::npos) << text;
}

// The id is what sha256sum says of the CSV file, in every format, and asking again changes nothing.
TEST_F(StatementsOfAFleet, TheIdIsThatOfTheFile) {
  const std::string url = Clean();
  const std::string words = Words(url, "statements", "--share proportional");
  const std::map<std::string, json> first = Statements(words);
  EXPECT_EQ(first, Statements(words));
  const std::string out = (folder_.path() / "csv").string();
  ASSERT_EQ(RunIdleburn(words + " --format csv -o " + out).code, 0);
  for (const auto& [team, statement] : first) {
    if (team.empty()) continue;
    const std::string sum = RunShell("sha256sum " + out + "/team-" + team + ".csv").out;
    EXPECT_EQ(statement["statement_id"], sum.substr(0, 64)) << team;
  }
  for (const std::string format : {"text", "html", "markdown"}) {
    const std::string pages = (folder_.path() / format).string();
    ASSERT_EQ(RunIdleburn(words + " --format " + format + " -o " + pages).code, 0);
    const std::string id = first.at("team1").at("statement_id");
    const std::string ending = format == "text" ? ".txt" : format == "markdown" ? ".md" : ".html";
    EXPECT_NE(ReadText(pages + "/team-team1" + ending).find(id), std::string::npos) << format;
    EXPECT_TRUE(fs::exists(pages + "/summary" + ending));
  }
}

TEST_F(StatementsOfAFleet, AnOpenPeriodIsProvisional) {
  const std::string url = Clean();
  std::string words = Words(url, "statements", "");
  words.replace(words.find("T06:00"), 6, "T12:00");  // the engine has no hour after 07:00
  const json summary = Document(words);
  EXPECT_EQ(summary["status"], "provisional");
  EXPECT_EQ(summary["provisional"][0]["id"], "open_hours");
  EXPECT_NE(RunIdleburn(words).out.find("Provisional"), std::string::npos);
}

// A team's label is anyone's text. Its statement stays in the folder, under a name of its own.
TEST_F(StatementsOfAFleet, HostileNamesStayInTheFolder) {
  std::string lines = ReadText(Fleet() + "/clean/import.jsonl");
  const std::string teams[] = {"../../evil", "/tmp/evil", "a/b\\nc"};
  for (int i = 1; i <= 3; ++i) {
    const std::string was = "\"team\":\"team" + std::to_string(i) + "\"";
    for (std::size_t at = lines.find(was); at != std::string::npos; at = lines.find(was, at)) {
      lines.replace(at, was.size(), "\"team\":\"" + teams[i - 1] + "\"");
    }
  }
  const std::string url = engines_.VictoriaWith(folder_.Write("hostile.jsonl", lines));
  const std::map<std::string, json> statements = Statements(Words(url, "statements", ""));
  ASSERT_EQ(statements.count("../../evil"), 1U);
  std::size_t files = 0;
  std::size_t hashed = 0;
  for (const auto& file : fs::directory_iterator(folder_.path() / "out1")) {
    ++files;
    hashed += file.path().filename().string().starts_with("hashed-") ? 1U : 0U;
  }
  EXPECT_EQ(files, statements.size());
  EXPECT_EQ(hashed, 3U);
  EXPECT_FALSE(fs::exists("/tmp/evil"));
  for (const json& team : statements.at("")["teams"]) {
    EXPECT_TRUE(fs::exists(folder_.path() / "out1" / team["file"].get<std::string>())) << team["file"];
  }
}

TEST_F(StatementsOfAFleet, WhatCannotBeChargedIsOneLine) {
  const std::string url = Clean();
  const std::string bad = folder_.Write("bad.csv", "team,weight\nteam1,-1\n");
  const std::string none = folder_.Write("none.csv", "team,weight\nteem1,1\n");
  struct Case {
    std::string flags, said;
  };
  const Case cases[] = {{"--basis busy", "--basis allocated"},
                        {"--share custom --share-weights " + bad, bad + ":2"},
                        {"--share custom --share-weights " + none, "no team of this period has a weight"}};
  for (const Case& each : cases) {
    const ProgramRun run = RunIdleburn(Words(url, "statements", each.flags));
    EXPECT_NE(run.code, 0) << each.flags;
    EXPECT_EQ(run.out, "");
    EXPECT_NE(run.err.find(each.said), std::string::npos) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
  std::string unpriced = Words(url, "statements", "");
  unpriced.erase(unpriced.find("--price 2.50"), 12);
  const ProgramRun run = RunIdleburn(unpriced);
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.err.find("give --price"), std::string::npos) << run.err;
}

// Exporters tell the utilization, so a team can pay for busy time. The account is the fleet's own document.
TEST_F(StatementsOfAFleet, BusyTimeOfGaugesIsCharged) {
  const std::string url = engines_.VictoriaWith(Fleet() + "/gauges/import.jsonl");
  // The scheduler's list of jobs, from the truth.
  std::string list = "JobID|User|Account|State|Start|End\n";
  std::set<std::string> seen;
  std::ifstream truth(Fleet() + "/truth_job.csv");
  for (std::string line; std::getline(truth, line);) {
    std::vector<std::string> cells;
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t comma = std::min(line.find(',', at), line.size());
      cells.push_back(line.substr(at, comma - at));
      at = comma + 1;
    }
    if (cells[1] == "job" || !seen.insert(cells[1]).second) continue;
    const auto moment = [](const std::string& text) { return text.substr(0, 19); };
    list +=
        cells[1] + "|" + cells[4] + "|" + cells[3] + "|COMPLETED|" + moment(cells[7]) + "|" + moment(cells[8]) + "\n";
  }
  const std::string jobs = " --jobs " + folder_.Write("sacct.txt", list);
  const json fleet = Document(Words(url, "", jobs));
  std::map<std::string, long long> busy;
  for (const json& team : fleet["by"]["team"])
    busy[team["name"]] = Nano(team["cost_exact"]) - Nano(team["waste_exact"]);
  ASSERT_GT(busy.size(), 3U);
  std::map<std::string, json> statements =
      Statements(Words(url, "statements", "--basis busy --share proportional" + jobs));
  ExpectPeriod(statements, Nano(fleet["cost"]["total_exact"]));
  EXPECT_EQ(statements[""]["status"], "provisional");
  EXPECT_EQ(statements[""]["provisional"][0]["id"], "estimated");
  for (const auto& [team, statement] : statements) {
    if (team.empty()) continue;
    EXPECT_EQ(Nano(statement["direct_exact"]), busy[team]) << team;
  }
}

// Weeks against the generator's spans. A Sunday evening, a whole week, and the morning after it.
TEST_F(StatementsOfAFleet, WeeksAreThoseOfTheTruth) {
  const std::string made = Make(
      "--formats vm --only clean --nodes 1 --gpus 1 --hours 180 --scrape 300 --gauge-scrape 3600 --seed 18 "
      "--start 2026-03-01T18:00:00Z");
  const std::string url = engines_.VictoriaWith(made + "/clean/import.jsonl");
  std::string words = Words(url, "", "");
  words.replace(words.find("2026-03-02T00:00"), 16, "2026-03-01T18:00");
  words.replace(words.find("2026-03-02T06:00"), 16, "2026-03-09T06:00");
  const json fleet = Document(words);
  const json weeks = fleet["trends"];
  std::map<std::string, std::map<std::string, double>> truth;
  const json expected = json::parse(std::ifstream(made + "/clean/expected.json"));
  for (const json& span : expected["spans"]) {
    const std::string from = span["from"];
    const std::string week = from < "2026-03-02" ? "2026-W09" : from < "2026-03-09" ? "2026-W10" : "2026-W11";
    for (const auto& [phase, seconds] : span["phase_seconds"].items()) truth[week][phase] += seconds.get<double>();
  }
  ASSERT_EQ(weeks.size(), 3U);
  long long cost = 0;
  for (const json& week : weeks) {
    const std::string name = week["week"];
    EXPECT_EQ(week["partial"].get<bool>(), name != "2026-W10") << name;
    EXPECT_TRUE(week["change"].is_null()) << name;
    for (const auto& [phase, seconds] : truth.at(name)) {
      EXPECT_NEAR(week["gpu_hours"][phase].get<double>() * 3600, seconds, 0.001) << name << " " << phase;
    }
    long long teams = 0;
    double hours = 0;
    for (const json& team : week["by_team"]) {
      teams += Nano(team["cost_exact"]);
      hours += team["gpu_hours"]["total"].get<double>();
    }
    EXPECT_EQ(teams, Nano(week["cost_exact"])) << name;
    EXPECT_NEAR(hours, week["gpu_hours"]["total"].get<double>(), 1e-9) << name;
    cost += Nano(week["cost_exact"]);
  }
  EXPECT_EQ(cost, Nano(fleet["cost"]["total_exact"]));
  EXPECT_EQ(weeks[1]["cost"], "420.00");  // 168 h at $2.50
  const std::string text = RunIdleburn(words + " --full").out;
  EXPECT_NE(text.find("2026-W09, partial"), std::string::npos) << text;
  EXPECT_NE(text.find("Partial weeks are not compared"), std::string::npos) << text;
}

}  // namespace
}  // namespace idleburn::testing
