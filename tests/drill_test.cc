// `idleburn drill` from end to end, with real processes: the example trainer and each way to break it, what ends a
// drill early, and that nothing is left of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <map>

#include "places.h"
#include "support/live_command.h"
#include "support/program.h"
#include "support/read_inputs.h"
#include "support/terminal_session.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

const std::string kTrainer =
    "env PYTHONDONTWRITEBYTECODE=1 python3 " IDLEBURN_ROOT "/examples/restart_safe_trainer.py --step-seconds 0.004 ";
const std::string kDrill = "timeout 120 " IDLEBURN_PROGRAM " drill --quiet --format json ";

struct Drilled {
  ProgramRun run;
  json document;
  [[nodiscard]] std::string verdict() const { return document.value("verdict", "none: " + run.out + run.err); }
  [[nodiscard]] std::vector<std::string> reasons() const {
    return document.value("reasons", std::vector<std::string>());
  }
  [[nodiscard]] json Round(std::size_t i) const { return document.value("rounds", json::array()).at(i); }
  [[nodiscard]] json Figure(const std::string& id) const {
    for (const json& figure : document.value("figures", json::array())) {
      if (figure.at("id") == id) return figure;
    }
    return {};
  }
};

Drilled Drill(const std::string& flags, const std::string& command) {
  Drilled drilled;
  drilled.run = RunShell(kDrill + flags + " -- " + command);
  drilled.document = json::parse(drilled.run.out, nullptr, false);
  return drilled;
}

const std::string kTorn = "--scratch --signal KILL --mid-checkpoint --rounds 1 --after-steps 25";
const std::string kBreak = kTrainer + "--every 100 --break ";
const std::string kOne = "--scratch --rounds 1 --fail-on fail ";

// Drills of the example that mostly wait. A job hangs after ten seconds without progress: Python takes less to start,
// however busy the machine is.
struct DrillRow {
  const char* name;
  std::string flags;
  std::string command;
};
const std::vector<DrillRow>& Rows() {
  static const std::vector<DrillRow> kRows = {
      {"safe", "--scratch --after-steps 30..60 --uptime 6h --fail-on fail", kTrainer},
      {"killed", "--scratch --signal KILL --after-steps 150 --rounds 2", kTrainer + "--every 100"},
      {"skips", kOne + "--after-steps 30", kBreak + "skips"},
      {"repeats", kOne + "--after-steps 30", kBreak + "repeats"},
      {"restarts", kOne + "--after-steps 30", kBreak + "restarts"},
      {"hangs", kOne + "--after-steps 30 --timeout 10s", kBreak + "hangs"},
      {"ignores-term", kOne + "--after-steps 150 --grace 300ms", kBreak + "ignores-term"},
      {"order", kOne + "--after-steps 150 --signal KILL", kBreak + "order"},
      {"stale", kOne + "--after-steps 210 --signal KILL", kBreak + "stale"},
      {"ahead", kOne + "--after-steps 150 --signal KILL", kBreak + "ahead"},
      {"torn", kTorn, kTrainer + "--every 20 --checkpoint-seconds 0.5 --break torn"},
      {"whole", kTorn, kTrainer + "--every 20 --checkpoint-seconds 0.5"},
      {"silent", "--scratch --rounds 1 --after-steps 60 --checkpoint 'state*.json'", kTrainer + "--no-markers"},
      {"silent restarts", "--scratch --rounds 1 --after-steps 60", kTrainer + "--no-markers --break restarts"},
      {"resume fails", "--scratch --rounds 3 --after-steps 20 --resume \"sh -c 'echo no state here; exit 9'\"",
       kTrainer},
      {"resume does nothing", "--scratch --rounds 3 --after-steps 20 --resume 'true'", kTrainer},
  };
  return kRows;
}

// All of them at once.
class DrilledTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    drills_ = new std::map<std::string, std::shared_future<Drilled>>;
    for (const DrillRow& row : Rows()) {
      (*drills_)[row.name] = std::async(std::launch::async, [&row] { return Drill(row.flags, row.command); }).share();
    }
  }
  static void TearDownTestSuite() {
    delete drills_;
    drills_ = nullptr;
  }
  static const Drilled& Of(const std::string& name) { return drills_->at(name).get(); }

 private:
  static std::map<std::string, std::shared_future<Drilled>>* drills_;
};
std::map<std::string, std::shared_future<Drilled>>* DrilledTest::drills_ = nullptr;

using Reasons = std::vector<std::string>;

// Processes that name `mark`, in their command or their environment; this shell's own are not among them.
std::string Running(const std::string& mark) {
  return RunShell("grep -lsaF " + mark +
                  " /proc/[0-9]*/cmdline /proc/[0-9]*/environ | cut -d/ -f3 | sort -u | "
                  "while read -r p; do case $(cat /proc/$p/comm 2>/dev/null) in ''|sh|grep|cut|sort) ;; *) echo $p "
                  "$(tr '\\0' ' ' < /proc/$p/cmdline);; esac; done")
      .out;
}

TEST_F(DrilledTest, ARestartSafeTrainerLosesNothingBeyondItsCheckpoint) {
  const Drilled& drilled = Of("safe");
  EXPECT_EQ(drilled.run.code, 0) << drilled.run.err;
  ASSERT_EQ(drilled.verdict(), "PASS") << drilled.run.out;
  EXPECT_EQ(drilled.reasons(), Reasons());
  EXPECT_EQ(drilled.document.at("schema"), "idleburn.drill/1");
  EXPECT_EQ(drilled.document.at("rounds_clean"), 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const json round = drilled.Round(i);
    // It saves its state on SIGTERM: nothing at all is lost.
    EXPECT_EQ(round.at("resumed_at_step"), round.at("stopped_at_step"));
    EXPECT_EQ(round.at("lost_samples"), 0);
    EXPECT_EQ(round.at("lost_beyond_checkpoint_steps"), 0);
    EXPECT_EQ(round.at("skipped_samples"), 0);
    EXPECT_EQ(round.at("repeated_samples"), 0);
    EXPECT_GT(round.at("restart_s"), 0);
  }
  EXPECT_GE(drilled.document.at("checkpoint_bytes"), 4096);
  EXPECT_EQ(drilled.document.at("checkpoint_from"), "markers");
  EXPECT_GE(drilled.Figure("step_s").at("mean"), 0.004);
  EXPECT_EQ(drilled.Figure("restart_s").at("bounds"), "interval");
  EXPECT_EQ(drilled.document.at("spot").at("uptime_s"), 21600);
}

// Without a notice the steps since the last checkpoint are lost, and no more; the order is looked at as they come
// again.
TEST_F(DrilledTest, KilledItLosesWhatCameAfterItsCheckpoint) {
  const Drilled& drilled = Of("killed");
  ASSERT_EQ(drilled.verdict(), "PASS") << drilled.run.out;
  for (std::size_t i = 0; i < 2; ++i) {
    const json round = drilled.Round(i);
    EXPECT_EQ(round.at("resumed_at_step"), round.at("checkpoint_step"));
    const int lost = round.at("stopped_at_step").get<int>() - round.at("checkpoint_step").get<int>();
    EXPECT_GT(lost, 0);
    EXPECT_EQ(round.at("lost_steps"), lost);
    EXPECT_EQ(round.at("lost_samples"), 8 * lost);
    EXPECT_EQ(round.at("order_kept"), true) << drilled.run.out;
  }
}

TEST_F(DrilledTest, ABrokenTrainerFailsWithItsReason) {
  const std::vector<std::pair<std::string, std::string>> reasons = {
      {"skips", "skips"},
      {"repeats", "repeats"},
      {"restarts", "restarts_from_zero"},
      {"hangs", "hangs"},
      {"ignores-term", "does_not_stop"},
      {"order", "order_changes"},
      {"stale", "older_checkpoint"},
      {"ahead", "ahead_of_checkpoint"},
  };
  for (const auto& [broken, reason] : reasons) {
    const Drilled& drilled = Of(broken);
    EXPECT_EQ(drilled.run.code, 3) << broken << drilled.run.err;
    EXPECT_EQ(drilled.verdict(), "FAIL") << broken;
    EXPECT_EQ(drilled.reasons(), Reasons{reason}) << drilled.run.out;
  }
}

TEST_F(DrilledTest, ATornCheckpointIsMetInTheActOfWriting) {
  const Drilled& torn = Of("torn");
  EXPECT_EQ(torn.reasons(), Reasons{"resume_failed"}) << torn.run.out;
  EXPECT_NE(torn.Round(0).at("faults").at(0).at("text").get<std::string>().find("JSONDecodeError"), std::string::npos);
  const Drilled& whole = Of("whole");
  EXPECT_EQ(whole.verdict(), "PASS") << whole.run.out;
  EXPECT_EQ(whole.Round(0).at("lost_steps"), 20);  // the one that was torn had been begun at 40
  EXPECT_GE(whole.document.at("checkpoint_s"), 0.5);
}

TEST_F(DrilledTest, WithoutMarkersTheRestIsUnknownAndSaidSo) {
  const Drilled& drilled = Of("silent");
  EXPECT_EQ(drilled.run.code, 0);
  EXPECT_EQ(drilled.verdict(), "CANNOT_TELL") << drilled.run.out;
  EXPECT_EQ(drilled.reasons(), Reasons{"samples_unknown"});
  EXPECT_EQ(drilled.Round(0).at("resumed_at_step"), drilled.Round(0).at("stopped_at_step"));
  EXPECT_TRUE(drilled.Round(0).at("skipped_samples").is_null());
  EXPECT_EQ(drilled.document.at("checkpoint_from"), "files");
  EXPECT_GE(drilled.document.at("checkpoint_bytes"), 4096);
  const Drilled& zero = Of("silent restarts");
  EXPECT_EQ(zero.verdict(), "FAIL");
  EXPECT_EQ(zero.reasons(), (Reasons{"restarts_from_zero", "samples_unknown"}));
}

TEST(DrillTest, ProcessesThatAreLeftWouldBeFound) {
  const TempFolder folder;
  const std::string mark = folder.path().filename().string();
  const std::string pid = RunShell("env MARK=" + mark + " sleep 60 >/dev/null 2>&1 & echo $!").out;
  std::string found;
  for (int look = 0; look < 200 && found.empty(); ++look) found = Running(mark);
  EXPECT_NE(found.find("sleep 60"), std::string::npos) << found;
  MustRunTool("kill " + pid);
}

// The whole tree gets the signal, and none of it is left, though the workers would outlive the trainer.
TEST(DrillTest, ChildrenGetTheSignalAndNoneIsLeft) {
  for (const std::string flags : {"--signal TERM --grace 2s", "--signal KILL"}) {
    const TempFolder folder;
    const std::string mark = folder.path().filename().string();
    const std::string stubborn = "env MARK=" + mark + " sh -c 'trap : TERM INT; setsid sleep 60 & exec " + kTrainer +
                                 "--folder " + folder.path().string() + " --workers 2'";
    const Drilled drilled = Drill("--rounds 1 --after-steps 30 " + flags, stubborn);
    EXPECT_EQ(drilled.document.value("rounds_done", 0), 1) << drilled.run.out << drilled.run.err;
    EXPECT_EQ(Running(mark), "");
  }
}

// What somebody started before he became us by exec is our child, and none of the command's.
TEST(DrillTest, ChildrenThatWereThereBeforeAreLeftAlone) {
  const TempFolder folder;
  const std::string pid = folder.path().string() + "/pid";
  const ProgramRun run = RunShell("sleep 60 >/dev/null 2>&1 & echo $! > " + pid + "; exec " + kDrill +
                                  "--scratch --rounds 1 --after-steps 10 -- " + kTrainer);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(RunShell("p=$(cat " + pid + "); kill -0 $p && kill $p && echo lives").out, "lives\n");
}

// The user ends it amid a leg; the trainer ignores the signal, its workers do not hear of it.
TEST(DrillTest, EndedByTheUserItLeavesNothing) {
  for (const auto& [signal, code] : {std::pair("INT", 130), std::pair("TERM", 143)}) {
    const TempFolder folder;
    const std::string mark = folder.path().filename().string();
    const std::string begun = (folder.path() / "begun").string();
    const ProgramRun run = RunShell(
        "TMPDIR=" + folder.path().string() +
        " " IDLEBURN_PROGRAM " drill --quiet --scratch --grace 300ms --after 100s -- env MARK=" + mark +
        " sh -c 'touch " + begun + "; exec " + kTrainer + "--workers 1 --break ignores-term' & p=$!; while [ ! -e " +
        begun + " ]; do sleep 0.05; done; sleep 0.3; kill -" + signal + " $p; wait $p");
    EXPECT_EQ(run.code, code) << run.err;
    EXPECT_NE(run.out.find("CANNOT TELL: the drill ended before"), std::string::npos) << run.out;
    EXPECT_EQ(Running(mark), "");
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      EXPECT_EQ(entry.path().filename(), "begun") << "is left";
    }
  }
}

TEST(DrillTest, CtrlCEndsItAndTheTerminalIsAsItWas) {
  const TempFolder folder;
  const std::string mark = folder.path().filename().string();
  // The job takes the terminal's echo away and is killed before it can give it back.
  TerminalSession session(
      {"sh", "-c",
       "trap : INT; stty -a > " + folder.path().string() +
           "/before; " IDLEBURN_PROGRAM " drill --quiet --show-output --grace 300ms --after 100s -- env MARK=" + mark +
           " sh -c 'trap : INT; stty -echo -icanon; i=0; while :; do i=$((i+1)); echo step $i; "
           "sleep 0.05; done'; echo code $?; stty -a > " +
           folder.path().string() + "/after"});
  ASSERT_TRUE(session.Expect("step 5"));
  session.Type("\x03");
  if (!session.Expect("code 130")) session.Type("\x03");
  session.WaitForEnd();
  EXPECT_NE(session.shown().find("code 130"), std::string::npos) << session.shown();
  EXPECT_EQ(ReadText(folder.path().string() + "/before"), ReadText(folder.path().string() + "/after"));
  EXPECT_EQ(Running(mark), "");
}

TEST(DrillTest, ACopyIsWorkedOnAndRemoved) {
  const TempFolder folder;
  const std::string seed = folder.Write("seed.txt", "7");
  const std::string script =
      folder.Write("job.sh", "cat seed.txt; pwd > " + folder.path().string() + "/../where.$$; mv " +
                                 folder.path().string() + "/../where.$$ " + folder.path().string() +
                                 "/where; echo x >> seed.txt; i=0; "
                                 "while :; do i=$((i+1)); echo step $i; sleep 0.02; done\n");
  const Drilled drilled = Drill("--rounds 1 --after-steps 5 --copy " + folder.path().string(), "sh ./job.sh");
  EXPECT_EQ(drilled.document.value("rounds_done", 0), 1) << drilled.run.err;
  EXPECT_EQ(ReadText(seed), "7");
  std::string where = ReadText(folder.path().string() + "/where");
  where.resize(where.size() - 1);
  EXPECT_NE(where.find("idleburn-scratch."), std::string::npos) << where;
  EXPECT_FALSE(std::filesystem::exists(where));
  EXPECT_EQ(drilled.reasons(), (Reasons{"restarts_from_zero", "samples_unknown"}));
}

TEST(DrillTest, WhatCannotBeDoneIsSaidInOneLine) {
  struct Case {
    std::string words;
    int code;
    std::string said;
  };
  const std::string steps = " -- sh -c 'i=0; while :; do i=$((i+1)); echo step $i; sleep 0.02; done'";
  const std::vector<Case> cases = {
      {"-- no_such_command_here", 1, "the command could not be started: no_such_command_here: command not found"},
      {"--after-steps 3 --resume 'no_such_resume --now'" + steps, 1,
       "the resume command could not be started: no_such_resume: command not found"},
      {"--timeout 500ms -- sleep 60", 1, "reported no progress"},
      {"-- true", 1, "ended with exit 0 and reported no progress; print steps"},
      {"-- sh -c 'echo bad config; exit 3'", 1,
       "ended with exit 3 and reported no progress; its last output: bad config"},
      {"--after 9s -- sh -c 'echo step 1; echo step 2; sleep 0.2'", 1, "before it was interrupted; lower --after"},
      {"--copy /proc/no/such/folder -- true", 1, "/proc/no/such/folder: not a folder"},
      {"--resume \"train 'x\" -- true", 2, "has a quote without an end"},
      {"--rounds 0 -- true", 2, "--rounds: '0' is not a number of 1 or more"},
      {"--after soon -- true", 2, "--after: 'soon'"},
      {"--after 9s..2s -- true", 2, "--after: '9s..2s' has its end before its start"},
      {"--after-steps 5.. -- true", 2, "--after-steps:"},
      {"--signal FREEZE -- true", 2, "'FREEZE' is not one of SIGTERM, SIGKILL, SIGINT"},
      {"--signal KILL --grace 3s -- true", 2, "SIGKILL ends at once"},
      {"--as moon -- true", 2, "'moon' is not one of aws, gcp, azure"},
      {"--fail-on never -- true", 2, "'never' is not fail"},
      {"--nodes 0 -- true", 2, "--nodes: '0'"},
      {"--format csv -- true", 2, "--format is text, json, html or markdown"},
      {"--rounds 2", 2, "no command"},
      {"python train.py --rounds 9", 2, "put two dashes before the command"},
  };
  for (const Case& c : cases) {
    const ProgramRun run =
        RunShell("timeout 60 " IDLEBURN_PROGRAM " drill " + (c.code == 1 ? "--quiet " : std::string()) + c.words);
    EXPECT_EQ(run.code, c.code) << c.words << run.err;
    EXPECT_EQ(run.out, "") << c.words;
    EXPECT_NE(run.err.find(c.said), std::string::npos) << c.words << ": " << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
}

TEST_F(DrilledTest, AResumeCommandThatFailsIsAVerdict) {
  const Drilled& drilled = Of("resume fails");
  EXPECT_EQ(drilled.run.code, 0);
  EXPECT_EQ(drilled.verdict(), "FAIL");
  EXPECT_EQ(drilled.reasons(), Reasons{"resume_failed"});
  EXPECT_EQ(drilled.document.at("rounds_done"), 1);
  EXPECT_NE(drilled.Round(0).at("faults").at(0).at("text").get<std::string>().find("exit 9"), std::string::npos);
  const Drilled& done = Of("resume does nothing");
  EXPECT_EQ(done.reasons(), Reasons{"no_progress"});
}

}  // namespace
}  // namespace idleburn::testing
