#include "history/runs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "history/open_history.h"
#include "support/history_folder.h"
#include "support/sqlite_file.h"

namespace idleburn {
namespace {

using test::HistoryFolder;
using test::QueryIntegers;

HistoryRun FullRun(const std::string& id, std::int64_t started_s) {
  HistoryRun run;
  run.id = id;
  run.kind = "run";
  run.state = RunState::kEnded;
  run.started = Instant::FromNanos(started_s * kNanosPerSecond);
  run.ended = run.started + Nanos(7);
  run.host = "node1";
  run.command = "python train.py";
  run.project = "vision";
  run.exit = "exit 0";
  run.recording = "/data/a.idleburn";
  run.version = "0.1.0";
  run.parent = "0f0f";
  run.figures.gpus = 2;
  run.figures.gpu_models = "NVIDIA H100";
  run.figures.window_ns = std::numeric_limits<std::int64_t>::max();
  run.figures.idle_ns = 0;
  run.figures.effective_ns = 0.1;
  run.figures.currency = "USD";
  run.figures.rate_nano = 2'500'000'000;
  run.figures.rate_source = "--price 2.5";
  run.figures.rates = "GPU-a=2.5,GPU-b=4";
  run.figures.cost_nano = 60'000'000'001;
  run.figures.memory_peak = 17'179'869'184;
  run.figures.pace_ns = 3;
  run.figures.pace_steps = 2;
  run.forecast = KeptForecast();
  run.forecast->plan = "gpu=l4;seq_len=512";
  run.forecast->hours = 0.1;
  run.forecast->cost_high_nano = 7;
  run.figures.findings = {{"idle_held", "confirmed", 0.4, 3, 5}, {"unknown", "unknown", 0, 0, std::nullopt}};
  run.figures.advice = {{"stop_idle", "time", "idle_held", 0.0, 0.32, 0.4, 7},
                        {"reserved", "rate", "", std::nullopt, std::nullopt, std::nullopt, std::nullopt}};
  run.inputs = {{"a.csv", "00ff"}, {"b.csv", ""}};
  run.experiments = {{"SLURM_JOB_ID", "4711"}, {"WANDB_RUN_ID", "x'; DROP TABLE runs --"}};
  run.tags = {{"team", "a b"}};
  return run;
}

void ExpectSame(const HistoryRun& a, const HistoryRun& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.state, b.state);
  EXPECT_EQ(a.started, b.started);
  EXPECT_EQ(a.ended, b.ended);
  for (const auto& column : RunColumns()) EXPECT_EQ(ColumnValue(column, a), ColumnValue(column, b)) << column.name;
  for (const auto& column : FigureColumns()) {
    EXPECT_EQ(ColumnValue(column, a.figures), ColumnValue(column, b.figures)) << column.name;
  }
  ASSERT_EQ(a.forecast.has_value(), b.forecast.has_value());
  for (const auto& column : ForecastColumns()) {
    if (!a.forecast) break;
    EXPECT_EQ(ColumnValue(column, *a.forecast), ColumnValue(column, *b.forecast)) << column.name;
  }
  EXPECT_EQ(a.experiments, b.experiments);
  EXPECT_EQ(a.tags, b.tags);
  ASSERT_EQ(a.inputs.size(), b.inputs.size());
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    EXPECT_EQ(a.inputs[i].path, b.inputs[i].path);
    EXPECT_EQ(a.inputs[i].sha256, b.inputs[i].sha256);
  }
  ASSERT_EQ(a.figures.findings.size(), b.figures.findings.size());
  for (std::size_t i = 0; i < a.figures.findings.size(); ++i) {
    EXPECT_EQ(a.figures.findings[i].cause, b.figures.findings[i].cause);
    EXPECT_EQ(a.figures.findings[i].status, b.figures.findings[i].status);
    EXPECT_EQ(a.figures.findings[i].share, b.figures.findings[i].share);
    EXPECT_EQ(a.figures.findings[i].gpu_ns, b.figures.findings[i].gpu_ns);
    EXPECT_EQ(a.figures.findings[i].cost_nano, b.figures.findings[i].cost_nano);
  }
  ASSERT_EQ(a.figures.advice.size(), b.figures.advice.size());
  for (std::size_t i = 0; i < a.figures.advice.size(); ++i) {
    EXPECT_EQ(a.figures.advice[i].id, b.figures.advice[i].id);
    EXPECT_EQ(a.figures.advice[i].cause, b.figures.advice[i].cause);
    EXPECT_EQ(a.figures.advice[i].expected, b.figures.advice[i].expected);
    EXPECT_EQ(a.figures.advice[i].cost_nano, b.figures.advice[i].cost_nano);
  }
}

std::vector<std::string> IdsOf(const std::vector<HistoryRun>& runs) {
  std::vector<std::string> ids;
  for (const HistoryRun& run : runs) ids.push_back(run.id);
  return ids;
}

TEST(RunsTest, ARunComesBackAsItWasPut) {
  const HistoryFolder folder;
  SqliteDatabase history = folder.Open();
  HistoryRun run = FullRun("aa11", 1'700'000'000);
  ASSERT_TRUE(PutRun(history, run));
  Result<HistoryRun> back = FindRun(history, "aa", "h");
  ASSERT_TRUE(back) << back.error().message;
  ExpectSame(run, *back);

  // Put again, it takes the place of what was there; a tag that was given meanwhile stays.
  ASSERT_TRUE(SetTag(history, "aa11", "note", "keep"));
  run.state = RunState::kInterrupted;
  run.figures.findings.pop_back();
  run.figures.cost_nano.reset();
  run.inputs.clear();
  run.tags = {{"team", "other"}};
  ASSERT_TRUE(PutRun(history, run));
  back = FindRun(history, "last", "h");
  ASSERT_TRUE(back);
  run.tags = {{"team", "a b"}, {"note", "keep"}};
  ExpectSame(run, *back);
}

TEST(RunsTest, AllThatHangsOnARunGoesWithIt) {
  const HistoryFolder folder;
  {
    SqliteDatabase history = folder.Open();
    ASSERT_TRUE(PutRun(history, FullRun("aa11", 1)));
    ASSERT_TRUE(RemoveRun(history, "aa11"));
  }
  for (const char* table : {"runs", "labels", "inputs", "findings", "advice"}) {
    EXPECT_EQ(QueryIntegers(folder.file(), std::string("SELECT count(*) FROM ") + table).at(0), 0) << table;
  }
}

TEST(RunsTest, FiltersMeanWhatTheySay) {
  const HistoryFolder folder;
  SqliteDatabase history = folder.Open();
  HistoryRun old = FullRun("a1", 100);
  HistoryRun cheap = FullRun("b2", 200);
  cheap.project = "text";
  cheap.figures.cost_nano = 50'000'000'000;
  cheap.tags = {{"team", "x"}};
  cheap.experiments = {{"SLURM_JOB_ID", "12"}};
  HistoryRun unpriced = FullRun("c3", 300);
  unpriced.figures.cost_nano.reset();
  unpriced.experiments.clear();
  for (const HistoryRun& run : {old, cheap, unpriced}) ASSERT_TRUE(PutRun(history, run));
  const auto ids = [&](const RunFilter& filter) { return IdsOf(ListRuns(history, filter).value()); };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(ids({}), (Ids{"c3", "b2", "a1"}));  // the newest first
  RunFilter filter;
  filter.project = "text";
  EXPECT_EQ(ids(filter), Ids{"b2"});
  filter = {};
  filter.experiment = "4711";
  EXPECT_EQ(ids(filter), Ids{"a1"});
  filter.experiment = "x'; DROP TABLE runs --";
  EXPECT_EQ(ids(filter), Ids{"a1"});
  filter = {};
  filter.tags = {{"team", "a b"}};
  EXPECT_EQ(ids(filter), (Ids{"c3", "a1"}));
  filter.tags.emplace_back("team", "x");
  EXPECT_EQ(ids(filter), Ids{});
  const struct {
    const char* bound;
    Ids ids;
  } costs[] = {{">50", {"a1"}}, {">=50", {"b2", "a1"}}, {"<50", {}}, {"<=50", {"b2"}}, {">60.000000000", {"a1"}}};
  for (const auto& row : costs) {
    filter = {};
    filter.cost = ParseCostBound(row.bound).value();
    EXPECT_EQ(ids(filter), row.ids) << row.bound;
  }
  filter = {};
  filter.since = Instant::FromNanos(200 * kNanosPerSecond);
  EXPECT_EQ(ids(filter), (Ids{"c3", "b2"}));
  filter.until = Instant::FromNanos(300 * kNanosPerSecond);
  EXPECT_EQ(ids(filter), Ids{"b2"});
  for (const char* bad : {"", "50", ">", "=>3", ">x"}) EXPECT_FALSE(ParseCostBound(bad)) << bad;
}

TEST(RunsTest, AnIdIsFoundByItsStart) {
  const HistoryFolder folder;
  SqliteDatabase history = folder.Open();
  EXPECT_EQ(FindRun(history, "last", "FILE").error().message, "FILE: no run is kept yet");
  for (const char* id : {"ab12", "ab34", "cd56"}) ASSERT_TRUE(PutRun(history, FullRun(id, 1)));
  EXPECT_EQ(FindRun(history, "c", "FILE")->id, "cd56");
  EXPECT_EQ(FindRun(history, "ab12", "FILE")->id, "ab12");
  EXPECT_EQ(FindRun(history, "ab", "FILE").error().message,
            "FILE: 'ab' is the start of 2 ids (ab12, ab34); give more characters");
  EXPECT_EQ(FindRun(history, "%", "FILE").error().message,
            "FILE: no run has an id that starts with '%'; idleburn history list shows all");
}

TEST(RunsTest, TagsAreSetAndTakenBack) {
  const HistoryFolder folder;
  SqliteDatabase history = folder.Open();
  ASSERT_TRUE(PutRun(history, FullRun("aa", 1)));
  ASSERT_TRUE(SetTag(history, "aa", "team", "new"));
  EXPECT_EQ(FindRun(history, "aa", "h")->tags.at("team"), "new");
  EXPECT_EQ(RemoveTag(history, "aa", "team").value(), true);
  EXPECT_EQ(RemoveTag(history, "aa", "team").value(), false);
  EXPECT_TRUE(FindRun(history, "aa", "h")->tags.empty());
  EXPECT_FALSE(SetTag(history, "none", "a", "b"));  // no tag without a run
}

// A command started another run: whatever both measured is in the outer one's figures.
TEST(NestedRunsTest, TheOutermostRunThatMeasuredAsMuchCounts) {
  const auto run = [](const char* id, const char* parent, std::optional<std::int64_t> window, const char* host = "n") {
    HistoryRun made;
    made.id = id;
    made.parent = parent;
    made.host = host;
    made.figures.window_ns = window;
    return made;
  };
  const std::vector<HistoryRun> all = {run("outer", "", 100),
                                       run("inner", "outer", 90),
                                       run("innermost", "inner", 50),
                                       run("elsewhere", "outer", 90, "m"),  // started over the network: other GPUs
                                       run("wider", "outer", 200),          // --all-gpus, say
                                       run("blind", "", {}),
                                       run("seeing", "blind", 10),  // the outer one saw no GPU
                                       run("orphan", "gone", 10),
                                       run("a", "b", 10),
                                       run("b", "a", 10),
                                       run("self", "self", 10),
                                       run("unread", "outer", {})};
  const std::vector<std::string> expected = {"", "outer", "outer", "", "", "", "", "", "b", "a", "", "outer"};
  EXPECT_EQ(CountedWithin(all, all), expected);
  // The middle one need not be shown for the innermost to be known as part of the outer one.
  EXPECT_EQ(CountedWithin(std::vector<HistoryRun>{all[2]}, all), std::vector<std::string>{"outer"});
}

TEST(KeptSecretsTest, LabelsAndProjectAreKeptWithoutThem) {
  const HistoryFolder folder;
  Result<SqliteDatabase> history = OpenHistory(folder.file(), folder.options());
  ASSERT_TRUE(history);
  HistoryRun run = FullRun("a", 1);
  run.project = "https://me:hunter2@host/p";
  run.tags = {{"token", "hunter2"}, {"url", "https://me:hunter2@host/p"}, {"team", "vision"}, {"tokens", "512"}};
  run.experiments = {{"WANDB_NAME", "run --api-key hunter2"}};
  ASSERT_TRUE(PutRun(*history, run));
  ASSERT_TRUE(SetTag(*history, "a", "db-pass", "hunter2"));
  const Result<std::vector<HistoryRun>> kept = ListRuns(*history);
  ASSERT_TRUE(kept);
  ASSERT_EQ(kept->size(), 1U);
  EXPECT_EQ(kept->front().project, "https://me:[redacted]@host/p");
  const std::map<std::string, std::string> tags = {{"token", "[redacted]"},
                                                   {"url", "https://me:[redacted]@host/p"},
                                                   {"team", "vision"},
                                                   {"tokens", "512"},
                                                   {"db-pass", "[redacted]"}};
  EXPECT_EQ(kept->front().tags, tags);
  EXPECT_EQ(kept->front().experiments.at("WANDB_NAME"), "run --api-key [redacted]");
  RunFilter filter;  // found by what was given
  filter.project = run.project;
  filter.tags = {{"token", "hunter2"}};
  EXPECT_EQ(ListRuns(*history, filter)->size(), 1U);
}

}  // namespace
}  // namespace idleburn
