// What fails of ours while a command runs, or after: limits, full disks, deleted files, locks, kills. The command's
// exit code stays the command's, and nothing that is lost is lost in silence.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "places.h"
#include "support/live_command.h"
#include "support/read_inputs.h"
#include "text/time_zone.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

constexpr const char* kBusy = "gpu 0\ngpu 1\nat 0s gpu 0 util=95\nat 0s gpu 1 util=95\n";

std::int64_t CountOf(const json& audit, const std::string& id) {
  for (const json& row : audit["data_quality"]) {
    if (row["id"] == id) return row["count"].get<std::int64_t>();
  }
  return 0;
}

double Now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

json HistoryOf(const LiveMachine& machine) {
  const ProgramRun run = machine.Run("$I history list --format json");
  EXPECT_EQ(run.code, 0) << run.err;
  return json::parse(run.out, nullptr, false);
}

// Of files, of descriptors, of memory: by the user, a batch system or a container. Below 60 MB of addresses the stack
// may not grow any more, and nothing can be done then.
TEST(RunLimitsTest, TheExitCodeSurvivesEveryLimit) {
  const LiveMachine machine(kBusy);
  int judged = 0;
  for (const std::string limit :
       {"-f 0", "-f 2", "-f 8", "-n 4", "-n 5", "-n 7", "-n 9", "-n 11", "-n 13", "-n 16", "-n 20", "-v 60000",
        "-v 80000", "-v 110000", "-v 150000", "-v 200000", "-v 300000"}) {
    const std::string words = " sh -c 'sleep 0.7; exit 7' </dev/null >/dev/null; echo $?; ";
    const ProgramRun run =
        machine.Run("(ulimit " + limit + ";" + words + ") 2>/dev/null; (ulimit " + limit +
                    "; $I --version >$F/version; echo $?); (ulimit " + limit + "; $I run --" + words + ")");
    if (run.out.substr(0, 4) != "7\n0\n") continue;  // nothing runs under that limit here
    ++judged;
    EXPECT_EQ(run.out, "7\n0\n7\n") << limit << "\n" << run.err;
  }
  EXPECT_GE(judged, 10);
}

// A descriptor to write to that is gone, a folder that goes away, and no home.
TEST(RunLimitsTest, TheExitCodeSurvivesWhatIsTakenAway) {
  const LiveMachine machine(kBusy);
  const ProgramRun run = machine.Run(
      "($I run -- sh -c 'sleep 0.3; exit 7'; echo $? >$F/unread) 2>&1 | true; "
      "XDG_DATA_HOME=$F/brief $I run -- sh -c 'sleep 0.5; rm -r $F/brief; sleep 0.5; exit 7'; echo $? >$F/taken; "
      "XDG_DATA_HOME=/dev/null/x HOME= $I run -- sh -c 'exit 7'; echo $? >$F/homeless; "
      "mkdir $F/at; cd $F/at; $I run -- sh -c 'rmdir $F/at; sleep 0.3; exit 7'; echo $? >$F/nowhere");
  for (const char* how : {"unread", "taken", "homeless", "nowhere"}) {
    EXPECT_EQ(ReadText(machine.Path(how)), "7\n") << how << "\n" << run.err;
  }
}

// For `record` the recording is what was asked for; for `run` it is not. The limit, 1 KiB, is below the smallest
// finished recording of two seconds: one that fits in the end is whole, and no error.
TEST(UnwrittenRecordingTest, IsADoubtOfTheReportAndAnErrorOfRecord) {
  const LiveMachine machine(kBusy);
  const std::string flags = " --hz 100 --no-history --price 2 --format json ";
  const ProgramRun full =
      machine.Run("(ulimit -f 2; $I run" + flags +
                  "--recording $F/a.idleburn -- sh -c 'sleep 2; exit 7'; echo $? >$F/code) "
                  "2>&1 | cat >$F/full; "
                  "$I run" +
                  flags +
                  "-o $F/deleted --recording $F/b.idleburn -- sh -c 'sleep 1.5; rm $F/b.idleburn; sleep 1; exit 7'; "
                  "echo $?; (sleep 1.5; rm $F/c.idleburn) & $I record" +
                  flags +
                  "--for 3s --report $F/recorded -o $F/c.idleburn; "
                  "echo $?; (ulimit -f 2; $I record" +
                  flags + "--for 2s -o $F/d.idleburn >/dev/null; echo $?)");
  EXPECT_EQ(full.out, "7\n1\n1\n") << full.err;
  EXPECT_EQ(ReadText(machine.Path("code")), "7\n");
  const std::string said = ReadText(machine.Path("full"));
  const std::size_t begin = said.find("\n{");
  ASSERT_NE(begin, std::string::npos) << said;
  const json live = json::parse(said.substr(begin + 1, said.rfind("\n}") + 1 - begin), nullptr, false);
  EXPECT_EQ(CountOf(live, "unwritten_recording"), 1) << said;
  for (const char* report : {"deleted", "recorded"}) {
    EXPECT_EQ(CountOf(machine.Json(report), "unwritten_recording"), 1) << report;
  }
  EXPECT_EQ(LinesWith(full.err, "b.idleburn: was deleted while it was written"), 2) << full.err;  // then and at the end
}

// A disk of 64 KiB, of the test's own.
TEST(UnwrittenRecordingTest, ADiskThatStaysFullIsOne) {
  const LiveMachine machine(kBusy);
  const std::string disk = machine.Path("disk");
  if (machine.Run("mkdir $F/disk && mount -t tmpfs -o size=64k none $F/disk").code != 0) {
    GTEST_SKIP() << "no small disk can be mounted here";
  }
  const ProgramRun run = machine.Run(
      "head -c 50000 /dev/zero > $F/disk/filler; XDG_DATA_HOME=$F/disk/data $I run --hz 100 --price 2 --format json -o "
      "$F/live --recording $F/disk/a.idleburn -- sh -c 'sleep 4; exit 7'; code=$?; umount $F/disk; exit $code");
  EXPECT_EQ(run.code, 7) << run.err;
  EXPECT_EQ(CountOf(machine.Json("live"), "unwritten_recording"), 1) << run.err;
}

// Nothing after the last reading is counted, and the report says why it ends there.
TEST(KilledRecorderTest, TheAuditEndsBeforeTheKillAndSaysThatTheRecorderDied) {
  const LiveMachine machine(kBusy);
  double killed = 0;
  auto ended = machine.Begin("$I record --quiet --no-history -o $F/k.idleburn >/dev/null 2>&1 & echo $! >$F/pid; wait");
  for (int look = 0; look < 600 && !std::filesystem::exists(machine.Path("k.idleburn.journal")); ++look) usleep(50'000);
  usleep(2'600'000);
  const ProgramRun living = machine.Run("$I audit --price 3600 --format json $F/k.idleburn");
  kill(static_cast<pid_t>(std::stol(ReadText(machine.Path("pid")))), SIGKILL);
  killed = Now();
  ended.wait();
  const json audit = machine.Audit("k.idleburn");
  const Result<Instant> end = ParseRfc3339(audit["window"]["end"].get<std::string>());
  ASSERT_TRUE(end);
  EXPECT_LE(static_cast<double>(end->nanos()) / 1e9, killed);
  EXPECT_GT(Seconds(audit["gpu_hours"]["observed"]), 0);
  EXPECT_EQ(CountOf(audit, "unclosed_recording"), 1);
  EXPECT_EQ(CountOf(json::parse(living.out, nullptr, false), "unclosed_recording"), 0) << living.err;
  EXPECT_EQ(LinesWith(machine.Run("$I audit --price 2 $F/k.idleburn").out, "recording has no end: the recorder was"),
            1);
}

// Both measure the same GPUs for the same time.
TEST(NestedRunTest, TheOuterRunCountsForBoth) {
  const LiveMachine machine(kBusy);
  const ProgramRun run =
      machine.Run("$I run --price 3600 --project out -- $I run --price 3600 --project in -- sh -c 'sleep 1.4; exit 7'");
  EXPECT_EQ(run.code, 7) << run.err;
  const json listing = HistoryOf(machine);
  ASSERT_EQ(listing["runs"].size(), 2U);
  const bool inner_first = listing["runs"][0]["project"] == "in";
  const json& inner = listing["runs"][inner_first ? 0 : 1];
  const json& outer = listing["runs"][inner_first ? 1 : 0];
  EXPECT_EQ(inner["parent"], outer["id"]);
  EXPECT_EQ(inner["counted_in"], outer["id"]);
  EXPECT_EQ(outer["parent"], nullptr);
  EXPECT_EQ(outer["counted_in"], nullptr);
  EXPECT_GT(inner["gpu_hours"]["window"].get<double>(), 0);
  const std::string list = machine.Run("$I history list").out;
  std::array<char, 40> hours{};
  std::snprintf(hours.data(), hours.size(), "2 runs: %.3g GPU-hours", outer["gpu_hours"]["window"].get<double>());
  EXPECT_EQ(LinesWith(list, hours.data()), 1) << list;
  EXPECT_EQ(LinesWith(list, "1 ran inside another run of this list and is not added again"), 1) << list;
  const std::string alone = machine.Run("$I history list --project in").out;
  EXPECT_EQ(LinesWith(alone, "1 run: "), 1);  // there it is the only one
  EXPECT_EQ(LinesWith(alone, "not added again"), 0) << alone;
}

// Another program writes the history and does not let go.
TEST(LockedHistoryTest, DelaysTheEndByLittleAndLosesNoRun) {
  const LiveMachine machine(kBusy);
  const std::string words = "$I run --price 2 -- sh -c 'sleep 1; exit 7'";
  const auto took = [&] {
    const double begun = Now();
    const ProgramRun run = machine.Run(words);
    EXPECT_EQ(run.code, 7) << run.err;
    return std::pair(Now() - begun, run.err);
  };
  took();
  const double free = took().first;
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(machine.Path("data/idleburn/history.sqlite").c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  const auto [locked, said] = took();
  EXPECT_LE(locked, free + 4) << said;  // it was nine seconds; the machine may be busy
  EXPECT_EQ(LinesWith(said, "idleburn keeps the run beside the history"), 1) << said;
  sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(other);
  const json runs = HistoryOf(machine)["runs"];
  ASSERT_EQ(runs.size(), 3U);
  for (const json& run : runs) EXPECT_EQ(run["exit"], "exit 7");
}

// Its parent has not asked how it ended, as in a container whose first process never does.
TEST(InterruptedRunTest, AZombieDoesNotRun) {
  const LiveMachine machine(kBusy);
  auto parent = machine.Begin("sh -c '$I run -- sleep 30 & echo $! >$F/us; exec sleep 20' >/dev/null 2>&1");
  json runs = json::array();
  for (int look = 0; look < 200 && runs.empty(); ++look) {
    usleep(100'000);
    if (std::filesystem::exists(machine.Path("data/idleburn/history.sqlite"))) runs = HistoryOf(machine)["runs"];
  }
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0]["state"], "running");
  kill(static_cast<pid_t>(std::stol(ReadText(machine.Path("us")))), SIGKILL);
  std::string state = "running";
  for (int look = 0; look < 50 && state == "running"; ++look) {
    usleep(100'000);
    state = HistoryOf(machine)["runs"][0]["state"];
  }
  EXPECT_EQ(state, "interrupted");
  parent.wait();
}

TEST(PrivateFilesTest, NobodyElseReadsWhatIsKept) {
  const LiveMachine machine(kBusy);
  const ProgramRun run = machine.Run(
      "umask 022; mkdir -p $XDG_DATA_HOME/idleburn/recordings; echo x >$XDG_DATA_HOME/idleburn/recordings/old; "
      "$I run --price 2 -- sleep 0.3; find $XDG_DATA_HOME/idleburn -type d ! -perm 700 -o -type f ! -perm 600; "
      "$I run --price 2 --no-history --recording $F/named -- sleep 0.3; stat -c %a $F/named");
  EXPECT_EQ(run.out, "644\n") << run.err;
}

TEST(KeptSecretsTest, NoneIsInTheHistoryOrTheRecording) {
  const LiveMachine machine(kBusy);
  const ProgramRun run = machine.Run(
      "$I run --price 2 --tag token=hunter2 --project https://me:hunter2@host/p -- sh -c true x --db-pass hunter2 --pw "
      "hunter2 -phunter2; grep -rl hunter2 $XDG_DATA_HOME; $I history list --format json");
  EXPECT_EQ(run.out.find("hunter2"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.front(), '{') << run.out;  // grep names no file
  EXPECT_NE(run.out.find("sh -c true x --db-pass [redacted] --pw [redacted] -p[redacted]"), std::string::npos);
}

}  // namespace
}  // namespace idleburn::testing
