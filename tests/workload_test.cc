// A workload behaves under us as it does without us: each test runs the same words both ways.
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <sstream>
#include <thread>

#include "places.h"
#include "support/program.h"
#include "support/read_inputs.h"
#include "support/terminal_session.h"

namespace idleburn::testing {
namespace {

enum class Mode { kWithout, kPlain, kWatched };
constexpr Mode kModes[] = {Mode::kWithout, Mode::kPlain, Mode::kWatched};

// Words that run what follows them: none, or our stand-in for `idleburn run --`.
std::vector<std::string> Prefix(Mode mode, const std::string& end_file) {
  if (mode == Mode::kWithout) return {};
  return {IDLEBURN_WORKLOAD_PROBE, mode == Mode::kPlain ? "plain" : "watched", end_file};
}

std::string PrefixText(Mode mode, const std::string& end_file) {
  std::string text;
  for (const std::string& word : Prefix(mode, end_file)) text += word + " ";
  return text;
}

ProgramRun RunUnder(Mode mode, const std::string& words) { return RunShell(PrefixText(mode, "end") + words); }

// How the workload ended, as the probe was told, after `before` prepared the shell.
std::string EndOf(Mode mode, const std::string& words) {
  const TempFolder folder;
  const std::string file = (folder.path() / "end").string();
  RunShell(PrefixText(mode, file) + words);
  const std::string text = ReadText(file);
  return text.substr(0, text.find('\n'));
}

std::vector<std::string> Under(Mode mode, const std::string& end_file, std::vector<std::string> command) {
  std::vector<std::string> words = Prefix(mode, end_file);
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

// Words of the shell that wait until `test` holds, for a minute at most.
std::string Until(const std::string& test) {
  return "for i in $(seq 1200); do [ " + test + " ] && break; sleep 0.05; done";
}

template <typename Condition>
bool Eventually(Condition condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(WorkloadTest, ExitCodesPassThrough) {
  for (const Mode mode : kModes) {
    EXPECT_EQ(RunUnder(mode, "true").code, 0);
    EXPECT_EQ(RunUnder(mode, "sh -c 'exit 7'").code, 7);
    EXPECT_EQ(RunUnder(mode, "sh -c 'exit 255'").code, 255);
    EXPECT_EQ(RunUnder(mode, "sh -c 'kill -9 $$'").code, 128 + SIGKILL);
    EXPECT_EQ(RunUnder(mode, "sh -c 'kill -TERM $$'").code, 128 + SIGTERM);
  }
  EXPECT_EQ(EndOf(Mode::kPlain, "sh -c 'exit 7'"), "exit 7");
  EXPECT_EQ(EndOf(Mode::kWatched, "sh -c 'kill -9 $$'"), "signal 9 (SIGKILL)");
}

TEST(WorkloadTest, WhatCannotStartIsOneLineAndTheShellsCode) {
  const TempFolder folder;
  const std::string data = folder.Write("data.txt", "text");
  const std::string lost = folder.Write("lost.sh", "#!/proc/no/such/interpreter\n");
  MustRunTool("chmod +x " + lost);
  const struct {
    std::string command;
    int code;
    std::string line;
  } cases[] = {
      {"no-such-command-here", 127, "no-such-command-here: command not found; check its name and PATH"},
      {"./no/such/file", 127, "./no/such/file: no such file; check the path"},
      {"/tmp", 126, "/tmp: is a directory; name the program in it"},
      {data, 126,
       data +
           ": no permission to execute it: Permission denied; make it executable (chmod +x) or name its interpreter"},
      {lost, 126, lost + ": the interpreter in its first line does not exist; correct that line"},
  };
  for (const auto& c : cases) {
    for (const Mode mode : {Mode::kPlain, Mode::kWatched}) {
      const ProgramRun run = RunUnder(mode, c.command + " argument");
      EXPECT_EQ(run.code, c.code) << c.command;
      EXPECT_EQ(run.err, "probe: " + c.line + "\n");
      EXPECT_EQ(run.out, "");
    }
  }
}

TEST(WorkloadTest, InputFolderArgumentsAndEnvironmentPassThrough) {
  for (const Mode mode : kModes) {
    const std::string under = PrefixText(mode, "end");
    EXPECT_EQ(RunShell("printf 'a\\nb' | " + under + "cat").out, "a\nb");
    EXPECT_EQ(RunShell("cd / && " + PrefixText(mode, "/dev/null") + "pwd").out, "/\n");
    EXPECT_EQ(RunShell("X='a b' " + under + "sh -c 'echo \"$X|$1\"' sh 'c  d' ").out, "a b|c  d\n");
  }
  EXPECT_EQ(RunShell("IDLEBURN_RUN_ID=old " + PrefixText(Mode::kPlain, "end") + "env | grep -c IDLEBURN_RUN_ID").out,
            "1\n");
}

// What is not a terminal does not become one, and the other way round.
TEST(WorkloadTest, TerminalsStayTerminalsAndPipesPipes) {
  const std::string ask = "python3 -c 'import os; print([os.isatty(i) for i in (0, 1, 2)])'";
  for (const Mode mode : kModes) {
    EXPECT_EQ(RunShell(PrefixText(mode, "end") + ask).out, "[False, False, False]\n");
    TerminalSession all({"sh", "-c", PrefixText(mode, "/dev/null") + ask});
    EXPECT_EQ(all.WaitForEnd(), 0);
    EXPECT_EQ(all.shown(), "[True, True, True]\r\n");
    TerminalSession piped({"sh", "-c", PrefixText(mode, "/dev/null") + ask + " | cat"});
    EXPECT_EQ(piped.WaitForEnd(), 0);
    EXPECT_EQ(piped.shown(), "[True, False, True]\r\n");
  }
}

// Every byte, in order, of more than any buffer holds; the two streams apart where they go apart.
TEST(WorkloadTest, PipedOutputIsByteIdentical) {
  const std::string words =
      "python3 -c 'import os, random; r = random.Random(7); "
      "[os.write(1 + (i % 3 == 0), r.randbytes(r.randrange(1, 9000))) for i in range(900)]'";
  const ProgramRun without = RunShell(words);
  ASSERT_GT(without.out.size(), 2'000'000U);
  ASSERT_GT(without.err.size(), 1'000'000U);
  for (const Mode mode : {Mode::kPlain, Mode::kWatched}) {
    const ProgramRun with = RunUnder(mode, words);
    EXPECT_TRUE(with.out == without.out);
    EXPECT_TRUE(with.err == without.err);
  }
}

// Standard output and error in one place keep their order.
TEST(WorkloadTest, SharedOutputKeepsItsOrder) {
  const std::string words =
      "python3 -c 'import os; [os.write(1 + i % 2, b\"line %d\\n\" % i) for i in range(20000)]' 2>&1";
  std::string expected;
  for (int i = 0; i < 20'000; ++i) expected += "line " + std::to_string(i) + "\n";
  for (const Mode mode : kModes) {
    EXPECT_TRUE(RunUnder(mode, words).out == expected);
    EXPECT_TRUE(RunShell(PrefixText(mode, "end") + words + " | cat").out == expected);
  }
}

TEST(WorkloadTest, TheWatcherSeesEveryByteOfEachStream) {
  const ProgramRun run = RunUnder(Mode::kWatched, "sh -c 'printf 12345; printf 123 >&2'; sed -n 2p end");
  EXPECT_EQ(run.out, "123455 3\n");
  EXPECT_EQ(run.err, "123");
}

// A reader that goes away ends the writer, by SIGPIPE as ever.
TEST(WorkloadTest, AReaderThatGoesAwayEndsTheWorkload) {
  for (const Mode mode : {Mode::kPlain, Mode::kWatched}) {
    const TempFolder folder;
    const std::string file = (folder.path() / "end").string();
    EXPECT_EQ(RunShell(PrefixText(mode, file) + "yes | head -n 2").out, "y\ny\n");
    EXPECT_TRUE(Eventually([&] { return ReadText(file).substr(0, 19) == "signal 13 (SIGPIPE)"; }));
  }
}

TEST(WorkloadTest, AFullDiskIsNamed) {
  const TempFolder folder;
  const std::string file = (folder.path() / "end").string();
  RunShell(PrefixText(Mode::kWatched, file) + "sh -c 'echo text; sleep 0.2; echo more' >/dev/full");
  EXPECT_NE(ReadText(file).find("standard output cannot be written: No space left on device"), std::string::npos);
}

TEST(WorkloadTest, AWorkloadMayCloseItsOutputEarly) {
  for (const Mode mode : kModes) {
    const ProgramRun run = RunUnder(mode, "sh -c 'echo a; exec >&- 2>&-; sleep 0.2; exit 3'");
    EXPECT_EQ(run.out, "a\n");
    EXPECT_EQ(run.code, 3);
  }
  EXPECT_EQ(RunShell(PrefixText(Mode::kWatched, "end") + "sh -c 'echo e >&2; exit 4' >&-").code, 4);
}

// It ends when its main process does; what it left running goes on and holds nobody up.
TEST(WorkloadTest, ADaemonIsLeftAlone) {
  for (const Mode mode : {Mode::kPlain, Mode::kWatched}) {
    const TempFolder folder;
    const std::string mark = (folder.path() / "daemon").string();
    const std::string go = (folder.path() / "go").string();
    const std::string daemon = folder.Write("daemon.sh", Until("-e " + go) + "; echo $$ > " + mark);
    const ProgramRun run = RunUnder(mode, "sh -c '(setsid sh " + daemon + " &); echo started; exit 5'");
    EXPECT_EQ(run.code, 5);
    EXPECT_EQ(run.out, "started\n");
    EXPECT_FALSE(std::filesystem::exists(mark));  // nobody waited for it
    static_cast<void>(folder.Write("go", ""));
    EXPECT_TRUE(Eventually([&] { return std::filesystem::exists(mark); }));
  }
}

// What a process that was left running prints later still arrives, and who reads sees the end when it ends.
TEST(WorkloadTest, LateLinesOfAProcessLeftRunningArrive) {
  for (const Mode mode : kModes) {
    const std::string words = PrefixText(mode, "/dev/null") + "sh -c '(sleep 0.4; echo late; echo later) & echo now'";
    EXPECT_EQ(RunShell(words + " | cat").out, "now\nlate\nlater\n");
    TerminalSession session({"sh", "-c", words + "; read stay"});
    EXPECT_TRUE(session.Expect("later\r\n"));
    EXPECT_EQ(session.shown(), "now\r\nlate\r\nlater\r\n");
    session.Type("\n");
    EXPECT_EQ(session.WaitForEnd(), 0);
  }
}

// By somebody, or because the machine ran out of memory: what reads the workload's output is gone with us.
TEST(WorkloadTest, WhenWeAreKilledTheWorkloadGoesOnToBeHeard) {
  for (const Mode mode : {Mode::kPlain, Mode::kWatched}) {
    const TempFolder folder;
    const std::string one = (folder.path() / "one").string();
    const std::string words = PrefixText(mode, "/dev/null") + "sh -c 'echo one; " + Until("-s " + one) +
                              "; kill -9 $PPID; sleep 0.3; echo two; echo three >&2; sleep 0.1; echo four'";
    const ProgramRun apart = RunShell("{ " + words + "; } 2>end | tee " + one + "; cat end >&2; rm " + one);
    EXPECT_EQ(apart.out, "one\ntwo\nfour\n");
    EXPECT_NE(apart.err.find("three\n"), std::string::npos);
    TerminalSession session({"sh", "-c", words + "; read stay"});
    EXPECT_TRUE(session.Expect("one\r\n"));
    static_cast<void>(folder.Write("one", "seen"));
    for (const char* line : {"two\r\n", "three\r\n", "four\r\n"}) EXPECT_TRUE(session.Expect(line)) << line;
    session.Type("\n");
    session.WaitForEnd();
  }
}

// An orphan of the workload becomes ours and leaves no zombie while the workload runs.
TEST(WorkloadTest, OrphansAreWaitedFor) {
  const ProgramRun run =
      RunUnder(Mode::kPlain, "sh -c '(sh -c \"echo \\$\\$ > orphan; exit 1\" &); " + Until("-s orphan") + "; " +
                                 Until("! -e /proc/$(cat orphan)") + "; test ! -e /proc/$(cat orphan) && echo gone'");
  EXPECT_EQ(run.out, "gone\n");
}

// CPU time of all processes that this one has waited for, and of those that they had waited for.
std::int64_t ReapedNanos() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  return (std::int64_t{used.ru_utime.tv_sec} + used.ru_stime.tv_sec) * 1'000'000'000 +
         (std::int64_t{used.ru_utime.tv_usec} + used.ru_stime.tv_usec) * 1000;
}

TEST(WorkloadTest, UseOfProcessesThatEndedIsCounted) {
  const TempFolder folder;
  const std::string file = (folder.path() / "end").string();
  const std::string script = folder.Write("burn.py", R"(
import os, sys, time
while time.process_time() < 0.3: pass
with open(sys.argv[1], "w") as f: f.write("%d %d" % (os.getpid(), time.process_time_ns()))
)");
  const std::string burn = "python3 " + script + " ";
  const std::int64_t before = ReapedNanos();
  RunShell(PrefixText(Mode::kPlain, file) + "sh -c '(setsid " + burn + "orphan &); " + burn + "child; " +
           Until("-s orphan") + "; " + Until("! -e /proc/$(cut -d\" \" -f1 orphan)") + "; cp orphan child " +
           folder.path().string() + "'");
  const std::int64_t spent = ReapedNanos() - before;  // by the kernel's count of everything that ended below us
  const auto truth = [&](const char* name) {
    long long pid = 0;
    long long ns = 0;
    const std::string told = ReadText(folder.path() / name);
    EXPECT_EQ(std::sscanf(told.c_str(), "%lld %lld", &pid, &ns), 2) << name;
    return ns;
  };
  const std::string text = ReadText(file);
  long long own = 0;
  long long all = 0;
  ASSERT_EQ(std::sscanf(text.c_str(), "exit 0\ncpu %lld reaped %lld", &own, &all), 2) << text;
  constexpr std::int64_t kGrain = 10'000'000;  // of the kernel's clocks
  EXPECT_GE(own, truth("child") - kGrain);
  EXPECT_GE(all, own + truth("orphan") - kGrain);
  EXPECT_LE(all, spent + kGrain);
}

// Seconds of CPU that each of many processes burns and tells, against what was measured of the tree: worker processes
// that come and go, an orphan in a session of its own, and one that is still there when the workload ends.
TEST(WorkloadTest, TheProcessTreeIsMeasuredToItsTruth) {
  const TempFolder folder;
  const std::string file = (folder.path() / "end").string();
  const std::string script = folder.Write("tree.py", R"(
import os, sys, time
def burn(seconds):
    while time.process_time() < seconds: pass
    with open(sys.argv[2], "ab", 0) as f: f.write(b"%d\n" % time.process_time_ns())
def ticks(): return os.path.getsize(sys.argv[3]) if os.path.exists(sys.argv[3]) else 0
def await_ticks(n):
    n += ticks()
    while ticks() < n: time.sleep(0.01)
for i in range(6):                       # workers, waited for
    if os.fork() == 0: burn(0.1); os._exit(0)
if os.fork() == 0:                       # an orphan
    os.setsid()
    if os.fork() == 0:
        with open(sys.argv[4], "w") as f: f.write("%d" % os.getpid())
        burn(0.4); time.sleep(600); os._exit(0)
    os._exit(0)
for i in range(7): os.wait()
block = os.urandom(1 << 20)
with open(sys.argv[1], "wb") as f: f.write(block)
burn(0.2)
while open(sys.argv[2]).read().count("\n") < 8: time.sleep(0.01)
await_ticks(15)                          # a second's looks at the least
os._exit(0)
)");
  const std::int64_t before = ReapedNanos();
  RunShell(std::string(IDLEBURN_WORKLOAD_PROBE) + " measured " + file + " python3 " + script + " " + file + ".data " +
           file + ".truth " + file + ".ticks " + file + ".orphan");
  const std::int64_t ended = ReapedNanos() - before;  // by the kernel's count: all but the orphan, and the probe itself
  kill(std::stoi(ReadText(file + ".orphan")), SIGKILL);
  std::int64_t truth = 0;
  std::size_t processes = 0;
  std::istringstream told(ReadText(file + ".truth"));
  for (std::int64_t ns = 0; told >> ns; ++processes) truth += ns;
  ASSERT_EQ(processes, 8U);
  EXPECT_GE(truth, 1'200'000'000);
  const std::string text = ReadText(file);
  const auto value = [&](const std::string& name) {
    const std::size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stoll(text.substr(at + name.size() + 2));
  };
  // Times of /proc are in ticks of 10 ms, of the user's and the kernel's apart.
  constexpr std::int64_t kOrphan = 400'000'000;
  EXPECT_GE(value("cpu_time"), truth - 100'000'000) << text;
  EXPECT_LE(value("cpu_time"), ended + kOrphan + 100'000'000) << text;
  EXPECT_GE(value("most_processes"), 2);
  EXPECT_GE(value("write_chars"), 1 << 20);
  EXPECT_GE(value("cpu_wait"), 0);
  EXPECT_GE(value("cpus"), 1);
}

// Signals. The script counts each one it gets, and ends on the third kind.
constexpr const char* kCounting = R"(
import signal, sys, time
got = []
for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), lambda s, f: got.append(s))
print("ready", flush=True)
end = time.time() + 10
while not got and time.time() < end:
    time.sleep(0.01)
time.sleep(0.15)
print(len(got), flush=True)
)";

// Starts the counting script and sends it `signal` by `send`, a function of the pid that the user knows.
template <typename Send>
std::string Counted(Mode mode, const std::string& signal_name, Send send) {
  const TempFolder folder;
  const std::string script = folder.Write("count.py", kCounting);
  const std::string end = (folder.path() / "end").string();
  TerminalSession session(Under(mode, end, {"python3", script, signal_name}));
  if (!session.Expect("ready\r\n")) return "not ready: " + session.shown();
  send(session);
  if (session.WaitForEnd() != 0) return "failed: " + session.shown();
  const std::string& shown = session.shown();
  return shown.substr(shown.rfind("ready") + 7);
}

// To our process alone, to its group, and from the keyboard: each time the workload gets it once.
TEST(WorkloadTest, SignalsArriveExactlyOnce) {
  for (const Mode mode : kModes) {
    for (const auto& [name, number] :
         {std::pair("SIGTERM", SIGTERM), std::pair("SIGINT", SIGINT), std::pair("SIGHUP", SIGHUP),
          std::pair("SIGQUIT", SIGQUIT), std::pair("SIGUSR1", SIGUSR1), std::pair("SIGUSR2", SIGUSR2)}) {
      const int signal = number;
      EXPECT_EQ(Counted(mode, name, [&](const TerminalSession& s) { kill(s.pid(), signal); }), "1\r\n") << name;
      EXPECT_EQ(Counted(mode, name, [&](const TerminalSession& s) { kill(-s.pid(), signal); }), "1\r\n") << name;
    }
    EXPECT_EQ(Counted(mode, "SIGINT", [](const TerminalSession& s) { s.Type("\x03"); }), "^C1\r\n");
    EXPECT_EQ(Counted(mode, "SIGQUIT", [](const TerminalSession& s) { s.Type("\x1c"); }), "^\\1\r\n");
  }
}

// Which of us a busy machine lets run first does not matter: what is sent to the group is not passed on once more.
TEST(WorkloadTest, ASignalToTheGroupIsKnownBeforeTheWitnessRuns) {
  for (const Mode mode : {Mode::kPlain, Mode::kWatched}) {
    const auto send = [](const TerminalSession& session) {
      const std::string children = "ps -o pid=,comm= --ppid " + std::to_string(session.pid());
      const pid_t witness = std::stoi(RunShell(children + " | awk '/signal-witness/ {print $1}'").out);
      kill(witness, SIGSTOP);
      kill(-session.pid(), SIGINT);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // a second one would come within these
      kill(witness, SIGCONT);
    };
    EXPECT_EQ(Counted(mode, "SIGINT", send), "1\r\n");
  }
}

// While we still prepare, nothing has been started that could get it.
TEST(WorkloadTest, ASignalBeforeTheStartMeansNoStart) {
  const TempFolder folder;
  const std::string go = (folder.path() / "go").string();
  TerminalSession session({IDLEBURN_WORKLOAD_PROBE, "late", go, "echo", "started"});
  EXPECT_TRUE(session.Expect("prepared\r\n"));
  session.Type("\x03");
  EXPECT_TRUE(session.Expect("^C"));
  static_cast<void>(folder.Write("go", ""));
  EXPECT_EQ(session.WaitForEnd(), 128 + SIGINT);
  EXPECT_EQ(session.shown(), "prepared\r\n^Cprobe: echo: not started, by signal 2 (SIGINT)\r\n");
  std::filesystem::remove(go);
  TerminalSession ignored(
      {"sh", "-c", "trap '' HUP; exec \"$@\"", "sh", IDLEBURN_WORKLOAD_PROBE, "late", go, "echo", "started"});
  EXPECT_TRUE(ignored.Expect("prepared\r\n"));
  kill(ignored.pid(), SIGHUP);
  static_cast<void>(folder.Write("go", ""));
  EXPECT_EQ(ignored.WaitForEnd(), 0);
}

TEST(WorkloadTest, CtrlCEndsWhatDoesNotCatchIt) {
  for (const Mode mode : kModes) {
    TerminalSession session(Under(mode, "/dev/null", {"cat"}));
    session.Type("hello\n");
    EXPECT_TRUE(session.Expect("hello\r\nhello\r\n"));
    session.Type("\x03");
    EXPECT_EQ(session.WaitForEnd(), 128 + SIGINT);
    EXPECT_EQ(session.shown(), "hello\r\nhello\r\n^C");
  }
}

TEST(WorkloadTest, InteractiveOutputIsByteIdentical) {
  std::string shown[3];
  for (const Mode mode : kModes) {
    TerminalSession session(Under(mode, "/dev/null", {"python3", "-q", "-i"}));
    EXPECT_TRUE(session.Expect(">>> "));
    session.Type("import shutil, sys\n");
    EXPECT_TRUE(session.Expect(">>> "));
    session.Type("print(shutil.get_terminal_size(), '\\x1b[31mred\\x1b[0m \\u00e4')\n");
    EXPECT_TRUE(session.Expect("\r\n>>> "));
    session.Type("sys.stderr.write('to error\\n')\n");
    EXPECT_TRUE(session.Expect("\r\n>>> "));
    session.Type("\x04");
    EXPECT_EQ(session.WaitForEnd(), 0);
    shown[static_cast<int>(mode)] = session.shown();
  }
  EXPECT_NE(shown[0].find("columns=80, lines=24"), std::string::npos);
  EXPECT_EQ(shown[1], shown[0]);
  EXPECT_EQ(shown[2], shown[0]);
}

// More than a terminal holds, and for a while nobody looks at it: the program waits, and not a byte is lost.
TEST(WorkloadTest, AFullTerminalHoldsTheProgramUpAndLosesNothing) {
  std::string expected;
  for (int i = 1; i <= 20'000; ++i) expected += "line " + std::to_string(i) + "\r\n";
  for (const Mode mode : kModes) {
    TerminalSession session(Under(mode, "/dev/null", {"seq", "-f", "line %.0f", "20000"}));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_EQ(waitpid(session.pid(), nullptr, WNOHANG), 0);  // it waits
    EXPECT_EQ(session.WaitForEnd(), 0);
    EXPECT_TRUE(session.shown() == expected) << static_cast<int>(mode) << " " << session.shown().size();
  }
}

TEST(WorkloadTest, ANewWindowSizeArrivesWithItsSignal) {
  const TempFolder folder;
  const std::string script = folder.Write("size.py", kTellsItsSize);
  for (const Mode mode : kModes) {
    TerminalSession session(Under(mode, "/dev/null", {"python3", script}));
    EXPECT_TRUE(session.Expect("80 24\r\n"));
    session.Resize(50, 132);
    EXPECT_TRUE(session.Expect("132 50\r\n"));
  }
}

const std::vector<std::string> kShell = {"env", "PS1=$ ", "TERM=dumb", "bash", "--norc", "--noprofile", "-i"};

// A shell with job control: Ctrl-Z gives it the terminal, fg gives it back, bg lets it run on.
TEST(WorkloadTest, JobControlWorks) {
  for (const Mode mode : kModes) {
    TerminalSession shell(kShell);
    ASSERT_TRUE(shell.Expect("$ "));
    shell.Type(PrefixText(mode, "/dev/null") + "sh -c 'echo re\"\"ady; exec cat'\n");
    ASSERT_TRUE(shell.Expect("ready\r\n")) << shell.shown();
    shell.Type("one\n");
    ASSERT_TRUE(shell.Expect("one\r\none\r\n")) << shell.shown();
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(StopsAndGoesOn(shell)) << shell.shown();
    }
    shell.Type("\x03");
    ASSERT_TRUE(shell.Expect("$ ")) << shell.shown();
    shell.Type("echo code-$?\n");
    EXPECT_TRUE(shell.Expect("code-130\r\n")) << shell.shown();
    shell.Type("exit\n");
    shell.WaitForEnd();
  }
}

TEST(WorkloadTest, AProgramThatStopsItselfGivesTheShellBack) {
  for (const Mode mode : kModes) {
    TerminalSession shell(kShell);
    ASSERT_TRUE(shell.Expect("$ "));
    shell.Type(PrefixText(mode, "/dev/null") +
               "python3 -c 'import os, signal; os.kill(os.getpid(), signal.SIGTSTP); print(6 * 7)'\n");
    ASSERT_TRUE(shell.Expect("Stopped")) << shell.shown();
    shell.Type("fg\n");
    ASSERT_TRUE(shell.Expect("42\r\n")) << shell.shown();
    shell.Type("exit\n");
    shell.WaitForEnd();
  }
}

// A job in the background that asks for input is stopped until it is called to the front.
TEST(WorkloadTest, ABackgroundReaderWaitsForTheTerminal) {
  for (const Mode mode : kModes) {
    TerminalSession shell(kShell);
    ASSERT_TRUE(shell.Expect("$ "));
    shell.Type(PrefixText(mode, "/dev/null") + "python3 -c 'print(input() * 2)' &\n");
    ASSERT_TRUE(shell.Expect("$ "));
    bool stopped = false;  // as soon as it has come so far as to ask
    for (int look = 0; look < 20 && !stopped; ++look) {
      shell.Type("jobs\n");
      stopped = shell.Expect("Stopped", 500);
    }
    ASSERT_TRUE(stopped) << shell.shown();
    shell.Type("fg\n");
    ASSERT_TRUE(shell.Expect("python3")) << shell.shown();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    shell.Type("ab\n");
    ASSERT_TRUE(shell.Expect("abab\r\n")) << shell.shown();
    shell.Type("exit\n");
    shell.WaitForEnd();
  }
}

// Whoever started the tests: what stops in them, or ends beside something stopped, hangs up none of their processes.
TEST(WorkloadTest, CommandsOfTheTestsHaveASessionOfTheirOwn) {
  EXPECT_NE(std::stoi(RunShell("ps -o sid= -p $$").out), getsid(0));
}

// When we are killed, a workload that has our output itself lives on.
TEST(WorkloadTest, KillingUsDoesNotKillThePlainWorkload) {
  const ProgramRun run = RunShell(PrefixText(Mode::kPlain, "end") + "sh -c 'echo > on; " + Until("-e killed") +
                                  "; echo done; echo > over' & us=$!; " + Until("-e on") +
                                  "; kill -9 $us; wait $us; echo > killed; " + Until("-e over"));
  EXPECT_EQ(run.out, "done\n");
}

// The user leaves while nobody reads our output: we do not wait for that reader.
TEST(WorkloadTest, AStuckReaderDoesNotHoldUsForever) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execl(IDLEBURN_WORKLOAD_PROBE, IDLEBURN_WORKLOAD_PROBE, "watched", "/dev/null", "head", "-c", "120000", "/dev/zero",
          nullptr);
    _exit(127);
  }
  int held = 0;  // bytes that nobody reads
  EXPECT_TRUE(Eventually([&] { return ioctl(ends[0], FIONREAD, &held) == 0 && held > 0; }));
  const std::string children = "ps -o comm= --ppid " + std::to_string(pid);
  EXPECT_TRUE(Eventually([&] { return RunShell(children).out.find("head") == std::string::npos; }));  // it has ended
  EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), 0);
  kill(pid, SIGTERM);
  int status = 0;
  EXPECT_TRUE(Eventually([&] { return waitpid(pid, &status, WNOHANG) == pid; }));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace idleburn::testing
