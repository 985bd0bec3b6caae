#include "report/history_output.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "report/ledger_output.h"
#include "support/documented_keys.h"
#include "text/figures.h"

namespace idleburn {
namespace {

using Json = nlohmann::json;

HistoryRun FullRun() {
  HistoryRun run;
  run.id = "0123456789abcdef0123456789abcdef";
  run.kind = "run";
  run.state = RunState::kEnded;
  run.started = Instant::FromNanos(1'763'755'200 * kNanosPerSecond);
  run.ended = run.started + Nanos(2 * kNanosPerHour);
  run.host = "node1";
  run.command = "python train.py";
  run.folder = "/srv/vision";
  run.project = "vision";
  run.exit = "exit 0";
  run.recording = "/data/a.idleburn";
  run.version = "0.1.0";
  RunFigures& f = run.figures;
  f.gpus = 2;
  f.gpu_models = "NVIDIA H100";
  f.window_ns = f.observed_ns = 4 * kNanosPerHour;
  f.unobserved_ns = f.underutilized_ns = f.productive_ns = 0;
  f.idle_ns = f.compute_bound_ns = 2 * kNanosPerHour;
  f.effective_ns = 2.0 * kNanosPerHour;
  f.currency = "USD";
  f.rate_nano = 2'500'000'000;
  f.rate_source = "catalogue: x";
  f.rates = "GPU-a=2.5,GPU-b=4";
  f.rate_as_of_ns = 1'763'596'800 * kNanosPerSecond;
  f.cost_nano = 10'000'000'000;
  f.waste_nano = 5'000'000'000;
  f.waste_share = 0.5;
  f.work_unit = "step";
  f.work = 1000;
  f.findings = {{"idle_held", "confirmed", 0.5, 2 * kNanosPerHour, 5'000'000'000}};
  f.advice = {{"stop_idle", "time", "idle_held", 0.0, 0.4, 0.5, 4'000'000'000}};
  run.inputs = {{"a.csv", "00ff"}};
  run.experiments = {{"SLURM_JOB_ID", "4711"}, {"WANDB_PROJECT", "bert"}};
  run.tags = {{"team", "a|b"}};
  return run;
}

HistoryRun BareRun() {
  HistoryRun run;
  run.id = "fedcba98";
  run.kind = "record";
  run.figures.advice = {{"spot", "rate", "", {}, {}, {}, {}}};
  run.figures.findings = {{"unknown", "unknown", 0, 0, {}}};
  run.inputs = {{"b.csv", ""}};
  return run;
}

HistoryListing Listing() { return {"/data/history.sqlite", {FullRun(), BareRun()}, 9}; }

LedgerReport Report() {
  LedgerRow claimed;
  claimed.row = 1;
  claimed.kind = "claimed";
  claimed.tool = "idleburn 0.1.0";
  claimed.claim = "c0ffee";
  LedgerRow compared = claimed;
  compared.row = 2;
  compared.kind = "compared";
  compared.claim = "beef";
  compared.boundary = "jobs";
  compared.unit = "step";
  compared.measure = "num_workers";
  compared.verdict = "VERIFIED";
  compared.retrospective = 0;
  compared.predicted = 0.4;
  compared.bound = 0.5;
  compared.fraction = 0.3;
  compared.low = 0.2;
  compared.high = 0.4;
  compared.avoided_gpu_seconds = 60;
  compared.currency = "USD";
  compared.cashable_nano = 80'000'000'000;
  compared.freed_gpu_hours = 16;
  compared.inputs = {{"before", "a", "01"}, {"after", "b", ""}};
  LedgerRow lost = compared;
  lost.row = 3;
  lost.verdict = "NOT_SHOWN";
  LedgerRow correction = claimed;
  correction.row = 4;
  correction.kind = "correction";
  correction.corrects = 1;
  correction.note = "wrong runs";
  LedgerRow other = compared;
  other.row = 5;
  other.claim = "abba";
  LedgerReport report;
  report.file = "/data/history.sqlite";
  report.rows = {claimed, compared, lost, correction, other, claimed};
  report.rows.back().row = 6;
  report.rows.back().claim = "dada";
  report.view = ViewLedger(report.rows);
  return report;
}

// Started by a plan: 2.5 hours were forecast, and it took 2.
HistoryRun LaunchedRun() {
  HistoryRun run = FullRun();
  run.forecast = KeptForecast();
  run.forecast->basis = "probe";
  run.forecast->currency = "USD";
  run.forecast->hours = 2.5;
  run.forecast->hours_low = 2.25;
  run.forecast->hours_high = 2.75;
  return run;
}

TEST(HistoryOutputTest, AForecastStandsBesideWhatCame) {
  HistoryRun running = LaunchedRun();
  running.state = RunState::kRunning;
  running.exit.clear();
  const nlohmann::json runs =
      nlohmann::json::parse(HistoryJson({"h.sqlite", {LaunchedRun(), running, FullRun()}, 3}))["runs"];
  const nlohmann::json& hours = runs[0]["forecast"]["figures"][0];
  EXPECT_EQ(hours["quantity"], "hours");
  EXPECT_EQ(hours["forecast"], 2.5);
  EXPECT_EQ(hours["actual"], 2);
  EXPECT_EQ(hours["error"], 0.25);
  EXPECT_EQ(hours["inside"], false);
  EXPECT_EQ(runs[1]["forecast"]["figures"][0]["forecast"], 2.5);
  EXPECT_TRUE(runs[1]["forecast"]["figures"][0]["actual"].is_null());
  EXPECT_TRUE(runs[1]["forecast"]["partial"].is_null());
  EXPECT_TRUE(runs[2]["forecast"].is_null());
}

TEST(HistoryOutputTest, EveryKeyIsDocumented) {
  HistoryRun failed = LaunchedRun();
  failed.exit = "exit 7";
  failed.parent = "0123456789abcdef";
  HistoryListing nested = {"h.sqlite", {LaunchedRun(), failed}, 2};
  nested.within[failed.id] = failed.parent;
  test::ExpectDocumented("idleburn.history/1", std::array{HistoryJson(Listing()), HistoryJson(nested)});
  test::ExpectDocumented("idleburn.ledger/1", std::array{LedgerJson(Report())});
}

TEST(HistoryOutputTest, TheTableSaysWhatIsKnownAndWhatIsNot) {
  const std::string text = HistoryText(Listing(), 140);
  EXPECT_NE(text.find("01234567  2025-11-21 20:00  vision   python train.py       2 h        2"), std::string::npos)
      << text;
  EXPECT_NE(text.find("4   $10.00  $5.00 (50.0 %)  exit 0"), std::string::npos) << text;
  EXPECT_NE(text.find("unknown"), std::string::npos);
  EXPECT_NE(text.find("2 runs: 4 GPU-hours (1 without known ones), $10.00, 1 without a known cost; 7 more match, "
                      "--limit shows them\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(HistoryText({"FILE", {}, 0}, 80), "no run matches in FILE\n");
  HistoryListing fresh;
  fresh.empty = true;
  EXPECT_EQ(HistoryText(fresh, 80), "no run is kept yet; idleburn run -- CMD keeps one\n");
}

TEST(HistoryOutputTest, TheTableSaysHowLongARunTookAndHowItEnded) {
  const auto row = [](RunState state, const std::string& exit, std::int64_t seconds) {
    HistoryRun run = FullRun();
    run.state = state;
    run.exit = exit;
    run.ended = run.started + Nanos(seconds * kNanosPerSecond);
    if (state != RunState::kEnded) run.ended.reset();
    const std::string text = HistoryText({"h.sqlite", {run}, 1}, 200);
    const nlohmann::json json = nlohmann::json::parse(HistoryJson({"h.sqlite", {run}, 1}))["runs"][0];
    // The last word of the row is in the document too.
    const std::string end = json["end_state"];
    EXPECT_NE(text.find("(50.0 %)  " + end + "\n"), std::string::npos) << text;
    EXPECT_EQ(json["exit"], exit.empty() ? nlohmann::json() : nlohmann::json(exit));
    EXPECT_EQ(json["duration_s"], run.ended ? nlohmann::json(seconds) : nlohmann::json());
    const std::string duration = run.ended ? DurationForPeople(*run.ended - run.started) : "unknown";
    EXPECT_NE(text.find(" " + duration + "     2 "), std::string::npos) << text;
    return end;
  };
  EXPECT_EQ(row(RunState::kEnded, "exit 0", 9'960), "exit 0");
  EXPECT_EQ(row(RunState::kEnded, "exit 1", 3), "failed 1");
  EXPECT_EQ(row(RunState::kEnded, "exit 127", 3), "failed 127");
  EXPECT_EQ(row(RunState::kEnded, "signal 9 (SIGKILL)", 3), "signal 9");
  EXPECT_EQ(row(RunState::kEnded, "signal 11 (SIGSEGV), core dumped", 3), "signal 11");
  EXPECT_EQ(row(RunState::kEnded, "", 3), "ended");
  EXPECT_EQ(row(RunState::kInterrupted, "", 3), "interrupted");
  EXPECT_EQ(row(RunState::kRunning, "", 3), "running");
}

TEST(HistoryOutputTest, UnknownHoursAreNotNone) {
  const std::string none = HistoryText({"/data/history.sqlite", {BareRun()}, 1}, 100);
  EXPECT_NE(none.find("1 run: unknown GPU-hours, 1 without a known cost"), std::string::npos) << none;
}

TEST(HistoryOutputTest, IdsAreAsLongAsTheyMustBe) {
  HistoryRun a = FullRun();
  HistoryRun b = FullRun();
  b.id[9] = 'x';
  EXPECT_EQ(ShortIds({a, BareRun()}), (std::vector<std::string>{"01234567", "fedcba98"}));
  EXPECT_EQ(ShortIds({a, b}), (std::vector<std::string>{"0123456789ab", "012345678xab"}));
  EXPECT_EQ(ShortIds({a, a}).size(), 2U);
}

TEST(HistoryOutputTest, TablesForSpreadsheetsHaveARowForEachRun) {
  HistoryListing listing = Listing();
  listing.runs[0].command = "=cmd|' /C calc'!A0";
  std::istringstream csv(HistoryCsv(listing));
  std::vector<std::string> lines;
  for (std::string line; std::getline(csv, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].substr(0, 22), "id,kind,state,started,");
  EXPECT_NE(lines[1].find(",'=cmd"), std::string::npos) << lines[1];  // no formula
  EXPECT_NE(lines[1].find(",4.000000000,4.000000000,"), std::string::npos) << lines[1];
  EXPECT_NE(lines[1].find(",USD,2.50,"), std::string::npos) << lines[1];
  const auto commas = [](const std::string& line) { return std::count(line.begin(), line.end(), ','); };
  EXPECT_EQ(commas(lines[0]), commas(lines[1]));
  EXPECT_EQ(commas(lines[0]), commas(lines[2]));
  std::istringstream ledger(LedgerCsv(Report()));
  std::string header;
  std::getline(ledger, header);
  int rows = 0;
  for (std::string line; std::getline(ledger, line); ++rows) EXPECT_EQ(commas(header), commas(line)) << line;
  EXPECT_EQ(rows, 6);
}

TEST(HistoryOutputTest, EachLineOfAnExportIsADocument) {
  std::istringstream lines(HistoryLines(Listing(), Report().rows));
  std::vector<Json> documents;
  for (std::string line; std::getline(lines, line);) documents.push_back(Json::parse(line));
  ASSERT_EQ(documents.size(), 8U);
  EXPECT_EQ(documents[0]["cost"]["total_exact"], "10.00");
  EXPECT_EQ(documents[1]["cost"]["total"], nullptr);
  EXPECT_EQ(documents[3]["kind"], "compared");
}

TEST(HistoryOutputTest, TheLedgerKeepsCashAndFreedCapacityApart) {
  const std::string text = LedgerText(Report(), 160);
  EXPECT_EQ(text.find("Verified: 1 claim: $80.00 cashable, and 16 GPU-hours freed.\n"
                      "Lost again: 1 claim: $80.00 cashable, and 16 GPU-hours freed.\n"
                      "Claimed and not yet judged: 1. A claim is not a saving.\n"),
            0U)
      << text;
  EXPECT_NE(text.find("num_workers"), std::string::npos);
  EXPECT_NE(text.find("40.0 %"), std::string::npos);
  const Json json = Json::parse(LedgerJson(Report()));
  ASSERT_EQ(json["levers"].size(), 1U);
  EXPECT_DOUBLE_EQ(json["levers"][0]["ratio"], 0.75);
  EXPECT_EQ(json["levers"][0]["pairs"], 2);
  EXPECT_EQ(json["claims"][0]["standing"], "lost_again");
}

TEST(HistoryOutputTest, ARunSaysWhatItCostWhyAndWhatWouldHelp) {
  const std::string text = RunText(FullRun(), 100);
  EXPECT_EQ(text.find("It cost $10.00 for 4 GPU-hours; waste: $5.00 (50.0 %).\n"), 0U) << text;
  for (const char* part :
       {"  price        $2.50 a GPU-hour (catalogue: x of 2025-11-20)\n", "idle_held", "stop_idle",
        "  experiment   SLURM_JOB_ID=4711 WANDB_PROJECT=bert\n", "  recording    /data/a.idleburn\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(RunText(BareRun(), 100).find("No GPU-hours are known of this run.\n"), 0U);
}

}  // namespace
}  // namespace idleburn
