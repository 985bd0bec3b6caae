#include "compare/ledger_entry.h"

#include <gtest/gtest.h>

#include <cmath>

#include "history/runs.h"
#include "support/history_folder.h"

namespace idleburn {

namespace {

constexpr std::int64_t kStart = 1'763'755'200;

// Run number `i`, an hour after the one before, of `seconds` for a step.
HistoryRun KeptRun(int i, double seconds) {
  HistoryRun run;
  run.id = "run" + std::to_string(i);
  run.kind = "run";
  run.state = RunState::kEnded;
  run.started = Instant::FromNanos((kStart + 3600 * i) * kNanosPerSecond);
  run.command = "python train.py";
  run.project = "vision";
  run.exit = "exit 0";
  run.recording = "/none/" + run.id + ".idleburn";
  run.figures.gpus = 1;
  run.figures.gpu_models = "NVIDIA H100";
  run.figures.window_ns = static_cast<std::int64_t>(1e12 * seconds);
  run.figures.work_unit = "step";
  run.figures.work = 1000;
  return run;
}

ComparedInput Given(const std::string& name, int hour) {
  ComparedInput input;
  input.name = name;
  WorkTable::Block& block = input.blocks.emplace_back();
  block.run.run.start = Instant::FromNanos((kStart + 3600 * hour) * kNanosPerSecond);
  return input;
}

std::optional<KnownRuns> Ask(const test::HistoryFolder& folder, std::initializer_list<int> baseline) {
  const Result<Settings> settings = Settings::Load("", {{"--history", folder.file()}});
  EXPECT_TRUE(settings) << settings.error().message;
  ComparedSides sides;
  for (const int run : baseline) sides.before.push_back(Given("/none/run" + std::to_string(run) + ".idleburn", run));
  sides.after.push_back(Given("/none/after.idleburn", 50));
  return KnownRunsOf(sides, *settings, folder.options().now);
}

TEST(KnownRuns, OnlyRunsOfTheSameJobBeforeTheChangeCount) {
  const test::HistoryFolder folder;
  {
    SqliteDatabase history = folder.Open();
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(PutRun(history, KeptRun(i, 0.1 * (i + 1))));
    HistoryRun other = KeptRun(10, 9);
    other.command = "python train.py --large";
    ASSERT_TRUE(PutRun(history, other));
    HistoryRun failed = KeptRun(11, 9);
    failed.exit = "exit 1";
    ASSERT_TRUE(PutRun(history, failed));
    HistoryRun silent = KeptRun(12, 9);
    silent.figures.work.reset();
    ASSERT_TRUE(PutRun(history, silent));
    ASSERT_TRUE(PutRun(history, KeptRun(60, 9)));  // after the change
  }
  const std::optional<KnownRuns> known = Ask(folder, {4, 5});
  ASSERT_TRUE(known);
  ASSERT_EQ(known->baseline.size(), 2U);
  EXPECT_NEAR(known->baseline[1] - known->baseline[0], std::log(0.6 / 0.5), 1e-9);
  ASSERT_EQ(known->others.size(), 4U);
  EXPECT_NEAR(known->baseline[0] - known->others.back(), std::log(0.5 / 0.1), 1e-9);  // the newest first
  EXPECT_FALSE(Ask(folder, {4, 20})) << "one that the history does not have";
  EXPECT_FALSE(Ask(folder, {4, 10})) << "two jobs";
  EXPECT_FALSE(Ask(folder, {12})) << "no work";
}

}  // namespace

}  // namespace idleburn
