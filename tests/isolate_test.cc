// `idleburn isolate` from end to end, with real processes: what it finds, what it leaves out, and that nothing is left
// of it however it ends.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "places.h"
#include "support/live_command.h"
#include "support/program.h"
#include "support/stall_watch.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

// Makes 10 steps a second for each CPU it sees, whatever else the machine has to do: it sleeps.
constexpr const char* kPerCpu =
    "sh -c 'd=$(awk \"BEGIN{print 0.1/$(nproc)}\"); i=0; while :; do sleep $d; i=$((i+1)); echo step $i; done'";
constexpr const char* kSleeps = "sh -c 'i=0; while :; do sleep 0.1; i=$((i+1)); echo step $i; done'";

struct Isolated {
  ProgramRun run;
  json document;
  double stalled = 0;  // the longest that this machine let nobody run meanwhile, in seconds
  [[nodiscard]] json Knob(const std::string& id) const {
    for (const json& knob : document.value("knobs", json::array())) {
      if (knob.at("id") == id) return knob;
    }
    ADD_FAILURE() << "no knob " << id << "\n" << run.out << run.err;
    return {};
  }
};

Isolated Isolate(const std::string& flags, const std::string& command) {
  Isolated isolated;
  const StallWatch machine;
  isolated.run = RunShell("timeout 120 " IDLEBURN_PROGRAM " isolate --format json " + flags + " -- " + command);
  isolated.stalled = machine.longest_seconds();
  isolated.document = json::parse(isolated.run.out, nullptr, false);
  return isolated;
}

// Runs of a second or two show nothing on a machine that stands still for a good part of one.
constexpr double kMostStall = 0.25;

// Seconds of CPU that all of this machine used, and those that ended below this process.
struct CpuUse {
  double all = 0;
  double own = 0;
};
CpuUse CpuUseNow() {
  CpuUse use;
  std::ifstream in("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0;
  in >> name >> user >> nice >> system;
  use.all = (user + nice + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  rusage ended{};
  getrusage(RUSAGE_CHILDREN, &ended);
  for (const timeval& time : {ended.ru_utime, ended.ru_stime}) {
    use.own += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  }
  return use;
}

long Cpus() { return std::lround(std::stod(RunShell("nproc").out)); }

// Control groups whose owner, whose number ends their name, is gone.
std::vector<std::string> GroupsLeft() {
  std::vector<std::string> left;
  std::error_code failed;
  const auto options = std::filesystem::directory_options::skip_permission_denied;
  for (std::filesystem::recursive_directory_iterator at("/sys/fs/cgroup", options, failed), end; !failed && at != end;
       at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (!at->is_directory(failed) || name.rfind("idleburn-isolate-", 0) != 0) continue;
    if (!std::filesystem::exists("/proc/" + name.substr(name.rfind('-') + 1))) left.push_back(at->path().string());
  }
  return left;
}

TEST(IsolateTest, WhatFollowsTheCoresHasASensitivityOfOne) {
  if (Cpus() < 2) GTEST_SKIP() << "one CPU cannot be halved";
  const Isolated isolated = Isolate("--quiet --for 1.5s --skip-steps 1 --rounds 3 --knob cpu_affinity", kPerCpu);
  ASSERT_EQ(isolated.run.code, 0) << isolated.run.err;
  EXPECT_EQ(isolated.document.at("schema"), "idleburn.isolate/1");
  EXPECT_EQ(isolated.document.at("unit"), "steps");
  const json knob = isolated.Knob("cpu_affinity");
  EXPECT_EQ(knob.at("status"), "measured");
  EXPECT_EQ(knob.at("pairs").size(), 3U);
  if (isolated.stalled > kMostStall) GTEST_SKIP() << "this machine stood still for " << isolated.stalled << " s";
  EXPECT_NEAR(knob.at("sensitivity").at("estimate"), 1, 0.35) << isolated.run.out;
  EXPECT_LT(knob.at("sensitivity").at("low"), knob.at("sensitivity").at("estimate"));
}

TEST(IsolateTest, WhatSleepsHasASensitivityOfNone) {
  if (Cpus() < 2) GTEST_SKIP() << "one CPU cannot be halved";
  const Isolated isolated = Isolate("--quiet --for 1.5s --skip-steps 1 --rounds 3 --knob cpu_affinity", kSleeps);
  ASSERT_EQ(isolated.run.code, 0) << isolated.run.err;
  if (isolated.stalled > kMostStall) GTEST_SKIP() << "this machine stood still for " << isolated.stalled << " s";
  EXPECT_NEAR(isolated.Knob("cpu_affinity").at("sensitivity").at("estimate"), 0, 0.3) << isolated.run.out;
}

// Two processes that burn CPU, on a machine that has it for them: what others used meanwhile says whether it had.
TEST(IsolateTest, WhatBurnsCpuIsBoundByTheCores) {
  if (Cpus() != 2) GTEST_SKIP() << "needs two CPUs";
  const CpuUse before = CpuUseNow();
  const Isolated isolated =
      Isolate("--quiet --for 2s --skip-steps 2 --rounds 3 --knob cpu_affinity",
              "sh -c 'burn() { while :; do j=0; while [ $j -lt 20000 ]; do j=$((j+1)); done; echo x; done; }; "
              "{ burn & burn & wait; } | { i=0; while read -r x; do i=$((i+1)); echo step $i; done; }'");
  const CpuUse after = CpuUseNow();
  const double all = after.all - before.all;
  if (after.own - before.own < 0.85 * all)
    GTEST_SKIP() << "others used CPU meanwhile, in all were used " << all << " s";
  ASSERT_EQ(isolated.run.code, 0) << isolated.run.err;
  if (isolated.stalled > kMostStall) GTEST_SKIP() << "this machine stood still for " << isolated.stalled << " s";
  EXPECT_NEAR(isolated.Knob("cpu_affinity").at("sensitivity").at("estimate"), 1, 0.4) << isolated.run.out;
}

TEST(IsolateTest, HooksOfThePackageAreUsed) {
  if (RunShell("python3 -c 0").code != 0) GTEST_SKIP() << "no python3";
  const TempFolder folder;
  const std::string script = folder.Write(
      "train.py", "import sys, time\nsys.path.insert(0, '" IDLEBURN_ROOT
                  "/python')\nimport idleburn\nworkers = idleburn.num_workers(1)\nfast = idleburn.synthetic()\n"
                  "while True:\n    time.sleep(0.02 if fast else 0.16 / workers)\n    idleburn.step(samples=4)\n");
  const Isolated isolated =
      Isolate("--quiet --for 2s --skip-steps 1 --rounds 2 --knob workers --knob synthetic_data", "python3 " + script);
  ASSERT_EQ(isolated.run.code, 0) << isolated.run.err;
  EXPECT_EQ(isolated.document.at("first_run").at("workers"), 1);
  EXPECT_EQ(isolated.document.at("first_run").at("synthetic"), false);
  const json workers = isolated.Knob("workers");
  EXPECT_EQ(workers.at("after"), "2");
  const json synthetic = isolated.Knob("synthetic_data");
  EXPECT_TRUE(synthetic.at("sensitivity").is_null());
  if (isolated.stalled > kMostStall) GTEST_SKIP() << "this machine stood still for " << isolated.stalled << " s";
  EXPECT_NEAR(workers.at("sensitivity").at("estimate"), 1, 0.4) << isolated.run.out;
  EXPECT_GT(synthetic.at("effect").at("estimate"), 2) << isolated.run.out;  // eight times as fast
  EXPECT_EQ(isolated.document.at("verdict").get<std::string>().find("Loading its data holds this job up"), 0U);
}

TEST(IsolateTest, AKnobThatBreaksTheCommandIsLeftOut) {
  if (Cpus() < 2) GTEST_SKIP() << "one CPU cannot be halved";
  const std::string whole = std::to_string(Cpus());
  const Isolated isolated =
      Isolate("--quiet --for 1s --skip-steps 0 --rounds 2 --knob cpu_affinity --knob cpu_quota",
              "sh -c '[ $(nproc) = " + whole +
                  " ] || { echo too few >&2; exit 7; }; i=0; while :; do sleep 0.1; i=$((i+1)); echo step $i; done'");
  const json knob = isolated.Knob("cpu_affinity");
  EXPECT_EQ(knob.at("status"), "failed");
  EXPECT_NE(knob.at("reason").get<std::string>().find("exit 7"), std::string::npos) << knob;
  EXPECT_NE(knob.at("reason").get<std::string>().find("too few"), std::string::npos) << knob;
  EXPECT_TRUE(knob.at("effect").is_null());
  const std::string quota = isolated.Knob("cpu_quota").at("status");
  EXPECT_TRUE(quota == "measured" || quota == "not_available") << quota;
  EXPECT_EQ(isolated.run.code, quota == "measured" ? 0 : 1);
  EXPECT_EQ(GroupsLeft(), std::vector<std::string>());
}

// It is ended in the midst of a run whose command has a child in a session of its own that no SIGTERM ends.
void EndsWithNothingLeft(const std::string& signal, int code) {
  const TempFolder folder;
  const std::string pids = (folder.path() / "pids").string();
  const std::string command = "sh -c 'setsid sh -c \"trap : TERM; echo \\$\\$ >> " + pids +
                              "; while :; do sleep 1; done\" & echo $$ >> " + pids +
                              "; i=0; while :; do sleep 0.1; i=$((i+1)); echo step $i; done'";
  // Once the second run is on, its command has written four numbers in all.
  const ProgramRun run =
      RunShell(IDLEBURN_PROGRAM
               " isolate --quiet --for 1s --grace 2s --skip-steps 0 --rounds 9 --knob cpu_quota --knob "
               "cpu_affinity -- " +
               command + " & p=$!; while [ $(cat " + pids +
               " 2>/dev/null | wc -l) -lt 6 ]; do sleep 0.1; done; sleep 0.3; kill -" + signal + " $p; wait $p");
  EXPECT_EQ(run.code, code) << run.err;
  EXPECT_NE(run.out.find("Ended by signal"), std::string::npos) << run.out;
  std::ifstream in(pids);
  int seen = 0;
  for (std::string pid; in >> pid; ++seen) {
    EXPECT_FALSE(std::filesystem::exists("/proc/" + pid)) << "process " << pid << " is left";
  }
  EXPECT_GE(seen, 6);
  EXPECT_EQ(GroupsLeft(), std::vector<std::string>());
}

TEST(IsolateTest, SigtermLeavesNothingBehind) { EndsWithNothingLeft("TERM", 143); }
TEST(IsolateTest, CtrlCLeavesNothingBehind) { EndsWithNothingLeft("INT", 130); }

TEST(IsolateTest, WhatIgnoresSigtermIsKilledAfterItsGrace) {
  const Isolated isolated = Isolate("--quiet --for 0.5s --grace 0.3s --skip-steps 0 --rounds 1 --knob cpu_affinity",
                                    "sh -c 'trap : TERM; i=0; while :; do sleep 0.05; i=$((i+1)); echo step $i; done'");
  if (Cpus() < 2) GTEST_SKIP() << "one CPU cannot be halved";
  ASSERT_EQ(isolated.run.code, 0) << isolated.run.err;
  const json knob = isolated.Knob("cpu_affinity");
  EXPECT_EQ(knob.at("finding"), "one_round");
  EXPECT_TRUE(knob.at("effect").at("low").is_null());
}

TEST(IsolateTest, ItsOwnReportIsAllThatIsPrinted) {
  if (Cpus() < 2) GTEST_SKIP() << "one CPU cannot be halved";
  const std::string flags = " isolate --for 0.5s --skip-steps 0 --rounds 1 --knob cpu_affinity ";
  const ProgramRun hidden = RunShell(IDLEBURN_PROGRAM + flags + "-- " + kSleeps);
  EXPECT_EQ(hidden.out.find("step 1\n"), std::string::npos) << hidden.out;
  EXPECT_EQ(hidden.err.find("step 1\n"), std::string::npos);
  EXPECT_NE(hidden.err.find("cpu_affinity, round 1 of 1"), std::string::npos) << hidden.err;
  const ProgramRun shown = RunShell(IDLEBURN_PROGRAM + flags + "--show-output -- " + kSleeps);
  EXPECT_EQ(shown.out.find("step 1\n"), std::string::npos) << shown.out;
  EXPECT_NE(shown.err.find("step 1\n"), std::string::npos) << shown.err;
}

TEST(IsolateTest, SecretsInTheCommandAreNotPrinted) {
  const Isolated isolated =
      Isolate("--for 0.3s --skip-steps 0 --rounds 1 --knob cpu_quota --knob cpu_affinity",
              std::string(kSleeps) + " x --hf-token hush-hush https://me:hush-hush@host/ 'A_PASSWORD=hush-hush x'");
  ASSERT_TRUE(isolated.document.is_object()) << isolated.run.out << isolated.run.err;
  const std::string shown = isolated.document.at("command");
  const std::string end = " x --hf-token [redacted] https://me:[redacted]@host/ A_PASSWORD=[redacted]";
  ASSERT_GE(shown.size(), end.size()) << shown;
  EXPECT_EQ(shown.substr(shown.size() - end.size()), end);
  EXPECT_EQ((isolated.run.out + isolated.run.err).find("hush"), std::string::npos) << isolated.run.out;
}

TEST(IsolateTest, WhatCannotBeDoneIsSaidInOneLine) {
  struct Case {
    std::string words;
    int code;
    std::string said;
  };
  const std::vector<Case> cases = {
      {"-- no_such_command_here", 1, "no_such_command_here: command not found"},
      {"--patience 1s -- sleep 60", 1, "reported no progress"},
      {"-- true", 1, "reported no progress"},
      {"-- sh -c 'echo bad config >&2; exit 3'", 1,
       "ended with exit 3 after no progress that could be read; its last output: bad config"},
      {"--skip-steps 100 -- sh -c 'echo step 1; echo step 2; sleep 0.1'", 1, "too few to measure"},
      {"--data /proc/no/such/path -- true", 1, "/proc/no/such/path: No such file"},
      {"--rounds 0 -- true", 2, "--rounds: '0' is not a number of 1 or more"},
      {"--steps none -- true", 2, "--steps: 'none'"},
      {"--for soon -- true", 2, "--for:"},
      {"--knob speed -- true", 2, "'speed' is not one of cpu_affinity"},
      {"--format csv -- true", 2, "--format is text, json, html or markdown"},
      {"--rounds 2", 2, "no command"},
      {"python train.py --rounds 9", 2, "put two dashes before the command"},
  };
  for (const Case& c : cases) {
    const ProgramRun run =
        RunShell("timeout 60 " IDLEBURN_PROGRAM " isolate " + (c.code == 1 ? "--quiet " : std::string()) + c.words);
    EXPECT_EQ(run.code, c.code) << c.words << run.err;
    EXPECT_EQ(run.out, "") << c.words;
    EXPECT_NE(run.err.find(c.said), std::string::npos) << c.words << ": " << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
}

}  // namespace
}  // namespace idleburn::testing
