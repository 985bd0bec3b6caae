// `idleburn run` and `idleburn record` with limits: what is said, what is done, and that nothing is done unasked.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "support/live_command.h"
#include "text/time_zone.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

constexpr const char* kIdleHeld = "gpu 0\nat 0s gpu 0 util=0 memory=20GiB procs=4242:20GiB\n";
constexpr const char* kBusy = "gpu 0\nat 0s gpu 0 util=95 memory=20GiB procs=4242:20GiB\n";
constexpr const char* kOneOfTwo =
    "gpu 0\ngpu 1\nat 0s gpu 0 util=95 memory=20GiB procs=4242:20GiB\n"
    "at 0s gpu 1 util=0 memory=20GiB procs=4243:20GiB\n";
// Idle and held, but the driver tells no utilization.
constexpr const char* kUnknown =
    "gpu 0 samples=0 gpm=0\nat 0s gpu 0 util=0 memory=20GiB procs=4242:20GiB\nfail nvmlDeviceGetUtilizationRates 3\n";

// A GPU costs 1 a second. $W is the flags all have.
struct WatchRow {
  const char* name;
  const char* script;
  const char* flags;
  const char* command;
  int code;
};
const WatchRow kRuns[] = {
    {"alert", kIdleHeld, "--watch idle-held=2s", "sleep 6", 0},
    {"budget", kBusy, "--budget 10", "sleep 12", 0},
    {"stop", kIdleHeld, "--watch 'idle-held>2s' --enforce", "sleep 100", 143},
    {"traps", kBusy, "--budget 3 --enforce",
     "sh -c 'trap \"echo saved >$F/saved; exit 7\" TERM; while :; do sleep 0.1; done'", 7},
    {"asks", kBusy, "--budget 4 --enforce --enforce-signal SIGUSR1 --grace 1s",
     "sh -c 'trap \"echo asked >$F/asked\" USR1; trap \"exit 9\" TERM; while :; do sleep 0.1; done'", 9},
    {"deaf", kBusy, "--budget 3 --enforce --enforce-signal USR2 --grace 1s", "sleep 100", 143},
    {"ignores", kBusy, "--gpu-hours 0.0005 --enforce --grace 1s", "sh -c 'trap \"\" TERM; sleep 6; exit 3'", 3},
    {"kill", kBusy, "--budget 2 --enforce --grace 1s --enforce-kill", "sh -c 'trap \"\" TERM; sleep 100'", 137},
    {"leaves", kBusy, "--budget 2 --enforce",
     "sh -c 'sh -c \"trap \\\"sleep 1; echo late >$F/late; exit\\\" TERM; while :; do sleep 0.1; done\"; true'", 143},
    {"unknown", kUnknown, "--watch idle-held=2s --enforce", "sleep 6", 0},
    {"one_of_two", kOneOfTwo, "--watch idle-held=2s --enforce", "sleep 6", 0},
};

struct WatchedRun {
  std::unique_ptr<LiveMachine> machine;
  std::future<ProgramRun> run;
  ProgramRun ended;
  json report;
};

// All runs at once, each on a machine of its own.
class WatchTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    runs_ = new std::map<std::string, WatchedRun>;
    for (const WatchRow& row : kRuns) {
      WatchedRun& run = (*runs_)[row.name];
      run.machine = std::make_unique<LiveMachine>(row.script);
      run.run = run.machine->Begin(std::string("timeout 60 $I run --price 3600 --format json -o $F/report ") +
                                   "--recording $F/kept.idleburn " + row.flags + " -- " + row.command);
    }
    for (auto& [name, run] : *runs_) {
      run.ended = run.run.get();
      run.report = run.machine->Json("report");
    }
  }
  static void TearDownTestSuite() {
    delete runs_;
    runs_ = nullptr;
  }
  static const WatchedRun& Of(const std::string& name) { return (*runs_)[name]; }
  // The kinds of its alerts, each with the start of its text up to the first ':'.
  static std::vector<std::string> AlertsOf(const std::string& name) {
    std::vector<std::string> found;
    for (const json& alert : Of(name).report["run"]["alerts"]) {
      const std::string text = alert["text"];
      found.push_back(alert["kind"].get<std::string>() + " " + text.substr(0, text.find_first_of(":;")));
    }
    return found;
  }
  static std::map<std::string, WatchedRun>* runs_;
};
std::map<std::string, WatchedRun>* WatchTest::runs_ = nullptr;
using Texts = std::vector<std::string>;

TEST_F(WatchTest, TheExitCodeIsTheCommands) {
  for (const WatchRow& row : kRuns) EXPECT_EQ(Of(row.name).ended.code, row.code) << row.name << Of(row.name).ended.err;
}

TEST_F(WatchTest, EveryRunIsAudited) {
  for (const WatchRow& row : kRuns) {
    EXPECT_GT(Seconds(Of(row.name).report["gpu_hours"]["window"]), 2) << row.name;
    const json again = Of(row.name).machine->Audit("kept.idleburn");
    EXPECT_EQ(again["run"]["alerts"], Of(row.name).report["run"]["alerts"]) << row.name;
  }
}

TEST_F(WatchTest, IdleHeldIsSaidOnceAndNothingIsDone) {
  ASSERT_EQ(AlertsOf("alert").size(), 1U) << Of("alert").ended.err;
  EXPECT_EQ(LinesWith(Of("alert").ended.err, "alert: GPU 0 has been idle for "), 1) << Of("alert").ended.err;
  EXPECT_EQ(LinesWith(Of("alert").ended.err, "while a process holds its memory (limit 2 s), "), 1);
  EXPECT_EQ(LinesWith(Of("alert").ended.err, " so far"), 1);
  EXPECT_EQ(LinesWith(Of("alert").ended.err, "--enforce"), 0);
}

TEST_F(WatchTest, ABudgetIsSaidAt80And100) {
  EXPECT_EQ(AlertsOf("budget"), (Texts{"alert 80 % of the budget is spent", "alert 100 % of the budget is spent"}));
  // What is said to be spent is what the time since the start costs, at 1 a second: to the cent what the audit would
  // say, had the run ended with that reading.
  const json& report = Of("budget").report;
  const auto instant = [](const json& text) { return ParseRfc3339(text.get<std::string>())->nanos(); };
  for (const json& alert : report["run"]["alerts"]) {
    const std::string text = alert["text"];
    const double spent = std::stod(text.substr(text.find('$') + 1));
    const auto lasted = static_cast<double>(instant(alert["time"]) - instant(report["window"]["start"])) / 1e9;
    EXPECT_NEAR(spent, lasted, 0.0051) << text;
    EXPECT_LE(spent, std::stod(report["cost"]["total"].get<std::string>())) << text;
  }
}

TEST_F(WatchTest, AnIdleJobIsStoppedWhenAskedFor) {
  EXPECT_EQ(AlertsOf("stop").size(), 2U) << Of("stop").report["run"];
  EXPECT_EQ(AlertsOf("stop").back(), "enforced SIGTERM sent to 1 process");
  EXPECT_EQ(LinesWith(Of("stop").ended.err, "--enforce: SIGTERM sent to 1 process"), 1) << Of("stop").ended.err;
}

TEST_F(WatchTest, AJobThatTrapsTheSignalSavesItself) {
  EXPECT_TRUE(std::filesystem::exists(Of("traps").machine->Path("saved")));
}

TEST_F(WatchTest, AJobIsAskedToCheckpointBeforeTheEnd) {
  EXPECT_TRUE(std::filesystem::exists(Of("asks").machine->Path("asked")));
  const Texts alerts = AlertsOf("asks");
  const std::string asked = "enforced SIGUSR1 sent to 1 process to ask for a checkpoint";
  EXPECT_EQ(std::count(alerts.begin(), alerts.end(), asked), 1) << Of("asks").report["run"];
  EXPECT_EQ(alerts.back().substr(0, 21), "enforced SIGTERM sent");
}

TEST_F(WatchTest, ASignalThatNobodyHandlesIsNotSent) {
  EXPECT_EQ(LinesWith(Of("deaf").ended.err, "SIGUSR2 was not sent: no process of the command handles it"), 1)
      << Of("deaf").ended.err;
}

TEST_F(WatchTest, AJobThatIgnoresItIsLeftToRun) {
  EXPECT_EQ(LinesWith(Of("ignores").ended.err, "the command still runs 1 s after SIGTERM; idleburn lets it run"), 1)
      << Of("ignores").ended.err;
  EXPECT_EQ(AlertsOf("ignores").front().substr(0, 6), "alert ");
}

TEST_F(WatchTest, AndEndedWhenThatWasAskedFor) {
  EXPECT_EQ(LinesWith(Of("kill").ended.err, "--enforce: SIGKILL sent to"), 1) << Of("kill").ended.err;
  EXPECT_LT(Seconds(Of("kill").report["gpu_hours"]["window"]), 30);
}

TEST_F(WatchTest, WhatTheCommandLeavesBehindMayFinish) {
  EXPECT_TRUE(std::filesystem::exists(Of("leaves").machine->Path("late")));
}

TEST_F(WatchTest, WhatIsNotKnownIsNotIdle) {
  EXPECT_EQ(AlertsOf("unknown"), Texts{});
  EXPECT_GT(Seconds(Of("unknown").report["gpu_hours"]["unobserved"]), 4);
}

TEST_F(WatchTest, OneIdleGpuOfTwoIsSaidAndStopsNothing) {
  const Texts alerts = AlertsOf("one_of_two");
  ASSERT_EQ(alerts.size(), 1U);
  EXPECT_EQ(alerts[0].substr(0, 28), "alert GPU 1 has been idle fo");
}

TEST(WatchRecordTest, OnlySays) {
  const LiveMachine machine(kIdleHeld);
  const ProgramRun run = machine.Run(
      "$I record --for 6s --quiet --watch idle-held=2s --gpu-hours 0.001 --report $F/text -o $F/k.idleburn && "
      "cat $F/text");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(LinesWith(run.err, "alert: GPU 0 has been idle for "), 1) << run.err;
  EXPECT_EQ(LinesWith(run.err, "alert: 100 % of the GPU-hours are used"), 1) << run.err;
  EXPECT_EQ(LinesWith(run.out, "100 % of the GPU-hours are used"), 1) << run.out;
}

struct BadRow {
  const char* flags;
  const char* says;
};

TEST(WatchRecordTest, WrongLimitsAreRefusedBeforeTheCommandBegins) {
  const LiveMachine machine(kBusy);
  const BadRow rows[] = {
      {"--budget 5", "no price is known before the start; give --price"},
      {"--price A100=1 --budget 5", "give a price for all others too"},
      {"--price 1 --budget 0", "not an amount above 0"},
      {"--price 1 --budget 5USD", "not an amount above 0"},
      {"--gpu-hours 0", "not a number above 0"},
      {"--gpu-hours 5h", "not a number above 0"},
      {"--watch idle-held", "has no limit"},
      {"--watch idle-held=15", "is not a span of time"},
      {"--watch idle=15m", "is not a limit"},
      {"--enforce", "has no limit"},
      {"--on-alert true", "needs a limit"},
      {"--gpu-hours 5 --grace 5s", "does nothing without --enforce"},
      {"--gpu-hours 5 --enforce --grace 5", "is not a span of time"},
      {"--gpu-hours 5 --enforce --enforce-signal SIGKILL", "is not one of SIGUSR1"},
  };
  for (const BadRow& row : rows) {
    const ProgramRun run = machine.Run("$I run " + std::string(row.flags) + " -- touch $F/began");
    EXPECT_EQ(run.code, 2) << row.flags;
    EXPECT_EQ(LinesWith(run.err, row.says), 1) << row.flags << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
  EXPECT_FALSE(std::filesystem::exists(machine.Path("began")));
  EXPECT_EQ(machine.Run("$I record --for 1s --budget 5 -o $F/k").code, 2);
}

// Without a GPU no limit can hold: it is said at once, to whoever is to hear of alerts, and in the report.
TEST(WatchNothingTest, WithoutAGpuItIsSaidThatNothingIsWatched) {
  const LiveMachine machine(kNoGpu);
  const std::string tell = " --on-alert 'echo \"$IDLEBURN_ALERT_KIND $IDLEBURN_ALERT\" >> $F/told' ";
  const ProgramRun run = machine.Run("$I run --price 2 --budget 5 --enforce" + tell +
                                     "--format json -o $F/report -- sleep 1.5; echo $?; $I run -- true");
  EXPECT_EQ(run.out, "0\n") << run.err;
  EXPECT_EQ(LinesWith(run.err, "alert: no limit can take effect, because no GPU is measured ("), 1) << run.err;
  EXPECT_EQ(machine.Json("report")["run"]["alerts"].size(), 1U);
  const ProgramRun record = machine.Run("$I record --for 1s --watch idle-held=5m" + tell + "-o $F/r; cat $F/told");
  EXPECT_EQ(LinesWith(record.out, "warn no limit can take effect"), 2) << record.out << record.err;
}

// An alert reaches the command that was named, as it was said; what that starts is none of the workload's.
TEST(WatchTellTest, AlertsReachTheCommand) {
  const LiveMachine machine(kIdleHeld);
  const ProgramRun run = machine.Run(
      "timeout 60 $I run --price 3600 --watch idle-held=1s --enforce --on-alert 'sleep 1; echo "
      "\"$IDLEBURN_ALERT_KIND $IDLEBURN_ALERT\" >> $F/told; echo heard; exit 4' -- sh -c 'echo mine; sleep 50'");
  EXPECT_EQ(run.code, 143) << run.err;
  EXPECT_EQ(run.out, "mine\n");
  const ProgramRun told = machine.Run("cat $F/told");
  EXPECT_EQ(told.out.find("stop GPU 0 has been idle for "), 0U) << told.out;
  EXPECT_EQ(LinesWith(run.err, "heard"), 1) << run.err;
  EXPECT_EQ(LinesWith(run.err, "--on-alert: it ended with exit 4; the alert may not have arrived"), 1) << run.err;
}

}  // namespace
}  // namespace idleburn::testing
