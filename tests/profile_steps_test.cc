// `idleburn run --profile-steps`: the trace of steady steps that the Python package makes in the command. A small
// module stands in for torch; its contract is torch's public API.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "places.h"
#include "support/live_command.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

const std::string kPython =
    "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" IDLEBURN_ROOT "/python:" IDLEBURN_ROOT "/tests/programs/torch_standin ";

// A program of that many steps.
std::string Training(int steps, const std::string& imports = "idleburn, torch") {
  return "python3 -c 'import time, " + imports + "\nfor i in range(" + std::to_string(steps) +
         "):\n    time.sleep(0.02)\n    idleburn.step()\n'";
}

std::string Words(const std::string& flags, const std::string& command) {
  return kPython + "timeout 120 $I run --no-history " + flags + " --format json -o $F/run.json -- " + command;
}

TEST(ProfileSteps, ATraceOfSteadyStepsIsDiagnosedWithTheRun) {
  const LiveMachine machine("gpu 0\n");
  const ProgramRun run = machine.Run(Words("--profile-steps 20", Training(60)));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.err.find("no trace"), std::string::npos) << run.err;
  const json document = machine.Json("run.json");
  ASSERT_EQ(document["traced"].size(), 1U);
  EXPECT_EQ(document["traced"][0]["steps"], 20);
  EXPECT_EQ(document["traced"][0]["median_ms"], 10.0);
  EXPECT_EQ(document["billed"]["by"], "recording") << "the run itself is still what was paid for";
}

// Whatever is missing, the command and its exit code are unchanged, and one line says what to do.
TEST(ProfileSteps, WithoutATraceOneLineSaysHow) {
  const LiveMachine machine("gpu 0\n");
  const ProgramRun silent = machine.Run(Words("--profile-steps 20", "sh -c 'sleep 0.3; exit 3'"));
  EXPECT_EQ(silent.code, 3);
  EXPECT_EQ(LinesWith(silent.err, "--profile-steps: no trace of 20 steps: the command did not call idleburn.step()"), 1)
      << silent.err;
  const ProgramRun no_torch = machine.Run(Words("--profile-steps 20", Training(30, "idleburn")));
  EXPECT_EQ(LinesWith(no_torch.err, "it did not import torch"), 1) << no_torch.err;
  const ProgramRun few = machine.Run(Words("--profile-steps 20", Training(5)));
  EXPECT_EQ(LinesWith(few.err, "it reported 5 steps, and the first 10 are not profiled"), 1) << few.err;
  const ProgramRun failing = machine.Run(Words(
      "--profile-steps 20",
      "python3 -c 'import idleburn, torch\ntorch.profiler.profile = None\nfor i in range(30): idleburn.step()\n'"));
  EXPECT_EQ(failing.code, 0);
  EXPECT_EQ(LinesWith(failing.err, "torch.profiler failed"), 1) << failing.err;
}

// A program that ends in the middle leaves the steps so far.
TEST(ProfileSteps, AProgramThatEndsEarlyLeavesItsSteps) {
  const LiveMachine machine("gpu 0\n");
  const ProgramRun run = machine.Run(Words("--profile-steps 50", Training(25)));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(machine.Json("run.json")["traced"][0]["steps"], 14);  // 25 less 10 skipped and one of warm-up
}

TEST(ProfileSteps, TheNumberOfStepsIsChecked) {
  const LiveMachine machine("gpu 0\n");
  for (const char* steps : {"0", "many", "20000"}) {
    const ProgramRun run = machine.Run(Words(std::string("--profile-steps ") + steps, "true"));
    EXPECT_EQ(run.code, 2) << steps;
    EXPECT_NE(run.err.find("is not a number of steps from 1 to 10000"), std::string::npos) << run.err;
  }
}

}  // namespace
}  // namespace idleburn::testing
