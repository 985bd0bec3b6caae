// A crash of `idleburn run` itself: the command goes on, is heard to its last byte, and its exit code is ours.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "support/live_command.h"
#include "support/read_inputs.h"

namespace idleburn::testing {
namespace {

constexpr const char* kBusy = "gpu 0\nat 0s gpu 0 util=95\n";
constexpr const char* kTold = "idleburn: crashed (SIG";
constexpr const char* kSignals[] = {"SEGV", "ABRT", "BUS", "FPE", "ILL"};
// Of `run`: the parent of the command.
constexpr const char* kRun = "$I run --no-history --no-recording ";

std::string CrashAnd(const std::string& signal, const std::string& after) {
  return "-- sh -c 'sleep 0.4; echo before; kill -" + signal + " $PPID; sleep 0.4; " + after + "'";
}

TEST(RunCrashTest, TheExitCodeAndTheOutputSurviveEverySignal) {
  const LiveMachine machine(kBusy);
  for (const std::string signal : kSignals) {
    for (const std::string flags : {"", "--plain "}) {
      const std::string words = kRun + flags + CrashAnd(signal, "echo after; echo told >&2; exit 7");
      const ProgramRun file = machine.Run(words);
      EXPECT_EQ(file.code, 7) << signal << flags << file.err;
      EXPECT_EQ(file.out, "before\nafter\n") << signal << flags;
      EXPECT_EQ(LinesWith(file.err, kTold + signal + "); the command goes on"), 1) << file.err;
      EXPECT_EQ(LinesWith(file.err, "told"), 1) << file.err;
      const ProgramRun pipe = machine.Run("{ " + words + "; echo $? >$F/code; } | cat");
      EXPECT_EQ(pipe.out, "before\nafter\n") << signal << flags << pipe.err;
      EXPECT_EQ(ReadText(machine.Path("code")), "7\n") << signal << flags << pipe.err;
    }
  }
}

TEST(RunCrashTest, ACommandThatIsKilledAfterwardsGivesItsSignal) {
  const LiveMachine machine(kBusy);
  EXPECT_EQ(machine.Run(kRun + CrashAnd("SEGV", "kill -9 $$")).code, 128 + SIGKILL);
  EXPECT_EQ(machine.Run(kRun + CrashAnd("ABRT", "kill -TERM $$")).code, 128 + SIGTERM);
}

// Sent to one thread, as a fault of its own would be, until there is none left.
TEST(RunCrashTest, EveryThreadMayCrash) {
  const LiveMachine machine(kBusy);
  std::ofstream(machine.Path("crash.py")) << R"(
import ctypes, os, sys, time
time.sleep(0.7)
us = os.getppid()
threads = sorted(int(t) for t in os.listdir('/proc/%d/task' % us))
if int(sys.argv[1]) >= len(threads): sys.exit(99)
ctypes.CDLL(None).tgkill(us, threads[int(sys.argv[1])], int(sys.argv[2]))
time.sleep(0.3)
print('after', flush=True)
sys.exit(7)
)";
  int threads = 0;
  for (int code = 7; code == 7; ++threads) {
    const int signal = threads % 2 == 0 ? SIGSEGV : SIGABRT;
    const ProgramRun run = machine.Run(kRun + std::string("-- python3 $F/crash.py ") + std::to_string(threads) + " " +
                                       std::to_string(signal));
    code = run.code;
    if (code == 99) break;
    EXPECT_EQ(code, 7) << threads << run.err;
    EXPECT_EQ(run.out, "after\n") << threads << run.err;
    EXPECT_EQ(LinesWith(run.err, kTold), 1) << run.err;
  }
  EXPECT_GE(threads, 6);
}

// Where the driver's library does it, on a thread that measures, and with a stack that has no room left.
TEST(RunCrashTest, ACrashOfTheDriversLibraryIsNotTheCommands) {
  const struct {
    const char* how;
    const char* signal;
  } cases[] = {{"fault", "SEGV"}, {"abort", "ABRT"}, {"throw", "ABRT"}, {"overflow", "SEGV"}};
  for (const auto& [how, signal] : cases) {
    for (const std::string call : {"nvmlInit_v2", "nvmlDeviceGetFieldValues"}) {
      const LiveMachine machine(kBusy + ("crash " + call + " ") + how + "\n");
      const ProgramRun run = machine.Run(kRun + std::string("-- sh -c 'sleep 1; echo after; exit 7'"));
      EXPECT_EQ(run.code, 7) << how << call << run.err;
      EXPECT_EQ(run.out, "after\n") << how << call << run.err;
      EXPECT_EQ(LinesWith(run.err, std::string(kTold) + signal), 1) << how << call << run.err;
    }
  }
}

// Some megabytes on both streams, with the crash in the middle of them: what was read by us before is written.
TEST(RunCrashTest, EveryByteArrivesInOrder) {
  const LiveMachine machine(kBusy);
  std::ofstream(machine.Path("print.py")) << R"(
import os, random, signal, sys
r = random.Random(7)
at = int(sys.argv[1])
for i in range(1200):
    block = r.randbytes(r.randrange(1, 9000))
    stream = 1 + (i % 3 == 0)
    while block: block = block[os.write(stream, block):]
    if i == at: os.kill(os.getppid(), signal.SIGSEGV)
sys.exit(7)
)";
  const ProgramRun expected = machine.Run("python3 $F/print.py -1");
  ASSERT_GT(expected.out.size(), 3'000'000U);
  for (const std::string at : {"300", "301", "600"}) {
    const ProgramRun run =
        machine.Run("{ " + (kRun + ("-- python3 $F/print.py " + at)) +
                    " 2>&3 | python3 -c 'import sys, time\nwhile True:\n  block = sys.stdin.buffer.read1(20000)\n"
                    "  time.sleep(0.002)\n  if not block: break\n  sys.stdout.buffer.write(block)'; } 3>$F/err");
    EXPECT_TRUE(run.out == expected.out) << at << " " << run.out.size();
    std::string err = ReadText(machine.Path("err"));
    const std::size_t told = err.find(kTold);
    ASSERT_NE(told, std::string::npos);
    EXPECT_TRUE(err.erase(told, err.find('\n', told) + 1 - told) == expected.err) << at << " " << err.size();
  }
}

// The report goes to a pipe with a name, and waits for a reader.
TEST(RunCrashTest, ACrashAfterTheEndKeepsTheExitCode) {
  const LiveMachine machine(kBusy);
  const ProgramRun run = machine.Run(
      "mkfifo $F/report; $I run --no-history --no-recording -o $F/report -- sh -c 'sleep 0.5; echo $PPID >$F/us; "
      "exit 7' & run=$!; while ! grep -q . $F/us; do sleep 0.05; done 2>/dev/null; us=$(cat $F/us); "
      "while [ \"$(cat /proc/$us/wchan)\" != wait_for_partner -a $((i += 1)) -lt 100 ]; do sleep 0.05; done; "
      "kill -SEGV $us; wait $run; echo $?");
  EXPECT_EQ(run.out, "7\n") << run.err;
  EXPECT_EQ(LinesWith(run.err, "idleburn: crashed (SIGSEGV); the command had ended"), 1) << run.err;
}

// As before the crash: a signal of a batch system is passed on, once.
TEST(RunCrashTest, SignalsReachTheCommandAsEver) {
  const LiveMachine machine(kBusy);
  std::ofstream(machine.Path("heard.py")) << R"(
import os, signal, sys, time
heard = []
signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
time.sleep(0.3)
os.kill(os.getppid(), signal.SIGABRT)
time.sleep(0.5)
os.kill(os.getppid(), signal.SIGTERM)
for i in range(500):
    if not heard: time.sleep(0.01)
time.sleep(0.3)
sys.exit(len(heard))
)";
  for (const std::string flags : {"", "--plain "}) {
    EXPECT_EQ(machine.Run(kRun + flags + "-- python3 $F/heard.py").code, 1) << flags;
  }
}

TEST(RunCrashTest, ASignalThatIsIgnoredStaysIgnoredForTheCommand) {
  const LiveMachine machine(kBusy);
  EXPECT_EQ(machine.Run(std::string("trap '' ABRT; ") + kRun + "-- sh -c 'kill -ABRT $$; echo alive'").out, "alive\n");
}

// It ends us as it would have ended us before, and does not go round in circles; the command is heard all the same.
TEST(RunCrashTest, ASecondCrashEndsUs) {
  const LiveMachine machine(kBusy);
  const ProgramRun run = machine.Run("{ " + (kRun + CrashAnd("SEGV", "kill -SEGV $PPID; sleep 0.4; echo after")) +
                                     "; echo $? >$F/code; } | cat");
  EXPECT_EQ(ReadText(machine.Path("code")), "139\n") << run.err;
  EXPECT_EQ(run.out, "before\nafter\n") << run.err;
}

TEST(RunCrashTest, RecordCrashesAsEver) {
  const LiveMachine machine(kBusy);
  const ProgramRun run =
      machine.Run("$I record --no-history -o $F/r.idleburn & us=$!; sleep 1; kill -SEGV $us; wait $us; echo $?");
  EXPECT_EQ(run.out, "139\n") << run.err;
}

}  // namespace
}  // namespace idleburn::testing
