// `idleburn record` from end to end: how it ends, and that what it kept is what it printed.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <map>

#include "places.h"
#include "support/live_command.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

TEST(RecordTest, EndsAfterItsTimeAndPrintsTheAudit) {
  const LiveMachine machine("gpu 0\nat 0s gpu 0 util=95\n");
  const auto began = std::chrono::steady_clock::now();
  const ProgramRun run = machine.Run("$I record --for 2s --price 3600 --format json -o $F/k.idleburn");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  EXPECT_EQ(run.code, 0);
  json live = json::parse(run.out, nullptr, false);
  ASSERT_TRUE(live.is_object()) << run.out;
  EXPECT_GE(Seconds(live["gpu_hours"]["window"]), 1.5);
  EXPECT_LE(Seconds(live["gpu_hours"]["window"]), took.count());
  EXPECT_EQ(json::diff(live, machine.Audit("k.idleburn")), json::array());
  EXPECT_EQ(LinesWith(run.err, "recording to " + machine.Path("k.idleburn") + " for 2s"), 1);
  EXPECT_EQ(machine.Run("$I record --for 1s -o $F/k.idleburn").code, 1);
  EXPECT_EQ(json::diff(live, machine.Audit("k.idleburn")), json::array());
}

TEST(RecordTest, SignalsEndItInOrder) {
  const LiveMachine machine("gpu 0\n");
  const std::string signals[] = {"INT", "TERM", "HUP"};
  std::map<std::string, std::future<ProgramRun>> ends;
  for (const std::string& signal : signals) {
    ends[signal] = machine.Begin("$I record --price 3600 --report $F/" + signal + ".json -o $F/" + signal +
                                 ".idleburn & us=$!; until $I audit $F/" + signal +
                                 ".idleburn > /dev/null 2>&1; do sleep 0.2; done; kill -" + signal + " $us; wait $us");
  }
  for (const std::string& signal : signals) {
    const ProgramRun run = ends[signal].get();
    EXPECT_EQ(run.code, 0) << signal << run.err;
    EXPECT_FALSE(std::filesystem::exists(machine.Path(signal + ".idleburn.journal"))) << signal;
    const json live = machine.Json(signal + ".json");
    EXPECT_EQ(json::diff(live, machine.Audit(signal + ".idleburn")), json::array()) << signal;
  }
}

// nohup and shells tell us to let a signal pass.
TEST(RecordTest, AnIgnoredHangupDoesNotEndIt) {
  const LiveMachine machine("gpu 0\n");
  const ProgramRun run = machine.Run(
      "(trap '' HUP; exec $I record --for 3s --format json -o $F/k.idleburn) & us=$!; "
      "sleep 1; kill -HUP $us; wait $us");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_GE(Seconds(machine.Audit("k.idleburn")["gpu_hours"]["window"]), 2.5);
}

TEST(RecordTest, ASecondRecorderOfOneFileIsRefused) {
  const LiveMachine machine("gpu 0\n");
  auto first = machine.Begin("$I record --for 3s --price 3600 --format json -o $F/k.idleburn");
  const ProgramRun second =
      machine.Run("while [ ! -e $F/k.idleburn ]; do sleep 0.05; done; $I record --for 1s -o $F/k.idleburn");
  EXPECT_EQ(second.code, 1);
  EXPECT_EQ(std::count(second.err.begin(), second.err.end(), '\n'), 1) << second.err;
  EXPECT_EQ(LinesWith(second.err, machine.Path("k.idleburn") + ": "), 1);
  const ProgramRun end = first.get();
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(json::diff(json::parse(end.out, nullptr, false), machine.Audit("k.idleburn")), json::array());
}

constexpr const char* kTwoGpus = "gpu 0\ngpu 1\nat 0s gpu 1 util=95\n";

// Of a process: the GPUs it can see, what it does with the host, and no longer than it runs.
TEST(RecordTest, AProcessIsRecordedUntilItEnds) {
  const LiveMachine machine(kTwoGpus);
  const ProgramRun run = machine.Run(
      "CUDA_VISIBLE_DEVICES=1 timeout 4 sh -c 'while :; do :; done' & us=$!; sleep 0.3; (sleep 5.5; : > $F/late) & "
      "$I record --pid $us --price 3600 --format json -o $F/k.idleburn; code=$?; test -e $F/late && code=99; "
      "exit $code");
  ASSERT_EQ(run.code, 0) << run.err;
  const json live = json::parse(run.out, nullptr, false);
  ASSERT_TRUE(live.is_object()) << run.out;
  ASSERT_EQ(live["per_gpu"].size(), 1U);
  EXPECT_GT(Seconds(live["gpu_hours"]["effective"]), 1.5);
  EXPECT_EQ(json::diff(live, machine.Audit("k.idleburn")), json::array());
  EXPECT_EQ(machine.Audit("k.idleburn", "--all-gpus --price 3600")["per_gpu"].size(), 2U);
  EXPECT_EQ(LinesWith(run.err, "workload over "), 1) << run.err;
}

TEST(RecordTest, AProcessThatDoesNotRunIsRefused) {
  const LiveMachine machine("gpu 0\n");
  for (const std::string pid : {"99999999", "none", "-3"}) {
    const ProgramRun run = machine.Run("$I record --for 1s --pid=" + pid + " -o $F/k.idleburn");
    EXPECT_NE(run.code, 0) << pid;
    EXPECT_EQ(LinesWith(run.err, "--pid: "), 1) << run.err;
  }
}

// `with idleburn.audit():` is about its own process, whose variables may have changed since its start.
TEST(RecordTest, APartOfAProgramIsRecordedWithTheGpusItSees) {
  const LiveMachine machine(kTwoGpus);
  std::ofstream(machine.Path("part.py"))
      << "import idleburn, os, sys, time\n"
         "os.environ['CUDA_VISIBLE_DEVICES'] = '1'\n"
         "with idleburn.audit(price=3600, output=sys.argv[2], program=sys.argv[1]):\n"
         "  end = time.time() + 3\n"
         "  while time.time() < end: idleburn.step()\n";
  const ProgramRun run =
      machine.Run("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" IDLEBURN_ROOT "/python python3 $F/part.py $I $F/k.idleburn");
  ASSERT_EQ(run.code, 0) << run.err;
  const json audit = machine.Audit("k.idleburn");
  EXPECT_EQ(audit["per_gpu"].size(), 1U);
  EXPECT_NEAR(Seconds(audit["gpu_hours"]["window"]), 3, 1.5);
  EXPECT_GT(Seconds(audit["gpu_hours"]["effective"]), 1);
  EXPECT_EQ(LinesWith(run.err, "idleburn: recording: "), 1) << run.err;
}

TEST(RecordTest, WithoutAGpuTheHostIsRecorded) {
  const LiveMachine machine("gpu 0\n");
  const ProgramRun run = machine.Run(kNoGpu + std::string("$I record --for 1s --quiet -o $F/k.idleburn"));
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(LinesWith(run.err, "idleburn records only the host"), 1) << run.err;
  EXPECT_EQ(LinesWith(run.out, "the machine used "), 1) << run.out;
}

}  // namespace
}  // namespace idleburn::testing
