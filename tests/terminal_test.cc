// `idleburn run` on a terminal, as a user meets it: the program itself with all its threads, not only what runs
// commands in it (workload_test.cc has that).
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>
#include <utility>

#include "support/live_command.h"
#include "support/read_inputs.h"
#include "support/terminal_session.h"

namespace idleburn::testing {
namespace {

constexpr const char* kRun = "$I run --price 3600 --recording $F/kept.idleburn -- ";

class TerminalTest : public ::testing::Test {
 protected:
  // Words of a shell that the terminal's end does not take along, and what the terminal's modes are on both sides.
  [[nodiscard]] std::vector<std::string> Between(const std::string& words) const {
    return {"sh", "-c",
            machine_.environment() + "trap : INT TERM; stty -a > $F/before; " + words +
                "; echo code-$?; stty -a > $F/after"};
  }
  void ExpectModesAsBefore() const {
    EXPECT_NE(ReadText(machine_.Path("before")), "");
    EXPECT_EQ(ReadText(machine_.Path("before")), ReadText(machine_.Path("after")));
  }
  [[nodiscard]] std::string Script(const std::string& text) const {
    std::ofstream(machine_.Path("script.py")) << text;
    return "python3 $F/script.py";
  }
  // The number that a program has written there.
  [[nodiscard]] pid_t Pid(const std::string& name) const {
    std::string text;
    for (int i = 0; i < 1200 && text.find('\n') == std::string::npos; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      text = std::ifstream(machine_.Path(name)).good() ? ReadText(machine_.Path(name)) : "";
    }
    return text.empty() ? -1 : std::stoi(text);
  }
  // Of the run that was kept.
  void ExpectAnAudit() const { EXPECT_EQ(machine_.Audit("kept.idleburn")["per_gpu"].size(), 1U); }

  LiveMachine machine_{"gpu 0\nat 0s gpu 0 util=95\n"};
};

constexpr const char* kReport = "All figures: --full.";

TEST_F(TerminalTest, CtrlCEndsTheCommandAndTheReportComes) {
  TerminalSession session(Between(kRun + std::string("sh -c 'echo re\"\"ady; exec sleep 600'")));
  ASSERT_TRUE(session.Expect("ready\r\n")) << session.shown();
  session.Type("\x03");
  EXPECT_TRUE(session.Expect("the command ended with signal 2 (SIGINT)")) << session.shown();
  EXPECT_TRUE(session.Expect(kReport)) << session.shown();
  EXPECT_TRUE(session.Expect("code-130\r\n")) << session.shown();
  session.WaitForEnd();
  ExpectModesAsBefore();
  ExpectAnAudit();
}

// A batch system's signal reaches the command once, and its own exit code is ours.
TEST_F(TerminalTest, ASignalToTheProgramIsTheCommandsToAnswer) {
  TerminalSession session(Between("sh -c 'echo $$ > $F/pid; exec " + std::string(kRun) + Script(R"(
import signal, sys, time
heard = []
signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
print('re' + 'ady', flush=True)
while not heard: time.sleep(0.01)
time.sleep(0.5)
print('heard-%d' % len(heard), flush=True)
sys.exit(7)
)") + "'"));
  ASSERT_TRUE(session.Expect("ready\r\n")) << session.shown();
  kill(Pid("pid"), SIGTERM);
  EXPECT_TRUE(session.Expect("heard-1\r\n")) << session.shown();
  EXPECT_TRUE(session.Expect(kReport)) << session.shown();
  EXPECT_TRUE(session.Expect("code-7\r\n")) << session.shown();
  session.WaitForEnd();
  ExpectAnAudit();
}

TEST_F(TerminalTest, ANewWindowSizeArrivesWithItsSignal) {
  TerminalSession session(Between(kRun + Script(kTellsItsSize)));
  ASSERT_TRUE(session.Expect("80 24\r\n")) << session.shown();
  session.Resize(50, 132);
  EXPECT_TRUE(session.Expect("132 50\r\n")) << session.shown();
  EXPECT_TRUE(session.Expect("code-0\r\n")) << session.shown();
  session.WaitForEnd();
}

TEST_F(TerminalTest, CtrlZGivesTheShellBackAndFgTheCommand) {
  TerminalSession shell({"sh", "-c", machine_.environment() + "PS1='$ ' TERM=dumb exec bash --norc --noprofile -i"});
  ASSERT_TRUE(shell.Expect("$ "));
  shell.Type(kRun + std::string("sh -c 'echo re\"\"ady; exec cat'\n"));
  ASSERT_TRUE(shell.Expect("ready\r\n")) << shell.shown();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(StopsAndGoesOn(shell)) << shell.shown();
  }
  shell.Type("\x04");
  ASSERT_TRUE(shell.Expect(kReport)) << shell.shown();
  ASSERT_TRUE(shell.Expect("$ ")) << shell.shown();
  shell.Type("echo code-$?\n");
  EXPECT_TRUE(shell.Expect("code-0\r\n")) << shell.shown();
  shell.Type("exit\n");
  shell.WaitForEnd();
  ExpectAnAudit();
}

// Programs of curses set the modes of the terminal that they write to.
constexpr const char* kCurses = R"(
import curses, os, sys
def main(screen):
    open(os.environ['F'] + '/pid', 'w').write('%d\n' % os.getpid())
    screen.addstr(0, 0, 'rea' + 'dy')
    screen.refresh()
    for row in (1, 2):
        key = screen.getch()
        screen.addstr(row, 0, 'got-%d' % key)
        screen.refresh()
curses.wrapper(main)
)";

TEST_F(TerminalTest, AProgramOfCursesGetsEachKeyAndNothingIsEchoed) {
  for (const std::string run : {"", "$I run --no-recording --no-history -- "}) {
    TerminalSession session(Between(run + Script(kCurses)));
    ASSERT_TRUE(session.Expect("ready")) << session.shown();
    session.Type("q");  // and no Enter
    ASSERT_TRUE(session.Expect("got-113", 10'000)) << session.shown();
    session.Type("\r");  // which is no newline there
    ASSERT_TRUE(session.Expect("got-", 10'000)) << session.shown();
    EXPECT_EQ(session.shown().find('q'), std::string::npos) << session.shown();
    EXPECT_TRUE(session.Expect("code-0\r\n")) << session.shown();
    session.WaitForEnd();
    ExpectModesAsBefore();
  }
}

TEST_F(TerminalTest, WhatAKilledProgramOfCursesLeftIsTakenBack) {
  TerminalSession session(Between(kRun + Script(kCurses)));
  ASSERT_TRUE(session.Expect("ready")) << session.shown();
  session.Type("q");
  ASSERT_TRUE(session.Expect("got-113", 10'000)) << session.shown();
  kill(Pid("pid"), SIGKILL);
  EXPECT_TRUE(session.Expect("code-137\r\n")) << session.shown();
  session.WaitForEnd();
  ExpectModesAsBefore();
}

// When we are killed ourselves, whoever goes on copying takes them back.
TEST_F(TerminalTest, ModesAreTakenBackWhenWeAreKilled) {
  TerminalSession session(Between("sh -c 'echo $$ > $F/us; exec " + std::string(kRun) + Script(kCurses) +
                                  "'; sleep 1; kill -9 $(cat $F/pid)"));
  ASSERT_TRUE(session.Expect("ready")) << session.shown();
  session.Type("q");
  ASSERT_TRUE(session.Expect("got-113", 10'000)) << session.shown();
  kill(Pid("us"), SIGKILL);
  EXPECT_TRUE(session.Expect("code-0")) << session.shown();
  session.WaitForEnd();
  ExpectModesAsBefore();
}

// After a crash of ours the terminal is the command's as before: its modes, each key, its size; and then the user's.
TEST_F(TerminalTest, AProgramOfCursesOutlivesACrashOfOurs) {
  TerminalSession session(Between("sh -c 'echo $$ > $F/us; exec " + std::string(kRun) + Script(kCurses) + "'"));
  ASSERT_TRUE(session.Expect("ready")) << session.shown();
  session.Type("q");
  ASSERT_TRUE(session.Expect("got-113", 10'000)) << session.shown();
  kill(Pid("us"), SIGSEGV);
  ASSERT_TRUE(session.Expect("crashed (SIGSEGV)", 10'000)) << session.shown();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  session.Type("z");  // and no Enter
  EXPECT_TRUE(session.Expect("got-122", 10'000)) << session.shown();
  EXPECT_TRUE(session.Expect("code-0\r\n", 10'000)) << session.shown();
  EXPECT_EQ(session.shown().find('z'), std::string::npos) << session.shown();
  session.WaitForEnd();
  ExpectModesAsBefore();
}

TEST_F(TerminalTest, TheTerminalServesTheCommandAfterACrashOfOurs) {
  TerminalSession shell({"sh", "-c", machine_.environment() + "PS1='$ ' TERM=dumb exec bash --norc --noprofile -i"});
  ASSERT_TRUE(shell.Expect("$ "));
  shell.Type("stty -a > $F/before\n");
  ASSERT_TRUE(shell.Expect("$ "));
  shell.Type(kRun + std::string("sh -c 'kill -ABRT $PPID; sleep 0.5; echo re\"\"ady; exec cat'\n"));
  ASSERT_TRUE(shell.Expect("crashed (SIGABRT)")) << shell.shown();
  ASSERT_TRUE(shell.Expect("ready\r\n")) << shell.shown();
  ASSERT_TRUE(StopsAndGoesOn(shell)) << shell.shown();
  shell.Type("\x03");
  ASSERT_TRUE(shell.Expect("$ ")) << shell.shown();
  shell.Type("echo code-$?; stty -a > $F/after\n");
  EXPECT_TRUE(shell.Expect("code-130\r\n")) << shell.shown();
  shell.Type(kRun + std::string("sh -c 'kill -SEGV $PPID; sleep 0.5; exec " + Script(kTellsItsSize) + "'\n"));
  ASSERT_TRUE(shell.Expect("80 24\r\n")) << shell.shown();
  shell.Resize(50, 132);
  EXPECT_TRUE(shell.Expect("132 50\r\n")) << shell.shown();
  shell.Type("exit\n");
  shell.WaitForEnd();
  ExpectModesAsBefore();
}

// A shell that leaves the modes alone: what it finds is what we have left.
TEST_F(TerminalTest, WhileAProgramOfCursesIsStoppedTheModesAreTheShells) {
  TerminalSession shell({"sh", "-c", machine_.environment() + "export PS1='$ '; exec dash -i"});
  ASSERT_TRUE(shell.Expect("$ "));
  shell.Type("stty -a > $F/before\n");
  ASSERT_TRUE(shell.Expect("$ "));
  shell.Type(kRun + Script(kCurses) + "\n");
  ASSERT_TRUE(shell.Expect("ready")) << shell.shown();
  shell.Type("q");
  ASSERT_TRUE(shell.Expect("got-113", 10'000)) << shell.shown();
  shell.Type("\x1a");
  ASSERT_TRUE(shell.Expect("Stopped")) << shell.shown();
  shell.Type("stty -a > $F/after; echo at-$((40 + 2))\n");
  ASSERT_TRUE(shell.Expect("at-42\r\n", 10'000)) << shell.shown();
  ExpectModesAsBefore();
  shell.Type("fg\n");
  ASSERT_TRUE(shell.Expect("got-113", 10'000)) << shell.shown();  // drawn anew
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  shell.Type("z");
  EXPECT_TRUE(shell.Expect("got-122", 10'000)) << shell.shown();
  EXPECT_TRUE(shell.Expect(kReport)) << shell.shown();
  shell.Type("stty -a > $F/after; exit\n");
  shell.WaitForEnd();
  ExpectModesAsBefore();
}

// Not by curses, and with nothing shown in between.
TEST_F(TerminalTest, EchoThatIsSwitchedOffOnTheOutputIsOff) {
  TerminalSession session(
      Between(kRun + std::string("sh -c 'stty -echo <&1; sleep 1; echo re\"\"ady; read x; stty echo <&1; sleep 1; "
                                 "echo now; read y; echo got-$x-$y'")));
  ASSERT_TRUE(session.Expect("ready\r\n")) << session.shown();
  session.Type("hidden\n");
  ASSERT_TRUE(session.Expect("now\r\n")) << session.shown();
  session.Type("seen\n");
  ASSERT_TRUE(session.Expect("seen\r\ngot-hidden-seen\r\n")) << session.shown();
  EXPECT_EQ(session.shown().find("hidden"), session.shown().find("got-hidden") + 4) << session.shown();
  session.WaitForEnd();
  ExpectModesAsBefore();
}

// A report is drawn in what the locale says that the terminal shows; a file of it is UTF-8 wherever it was written.
TEST_F(TerminalTest, ATerminalThatShowsNoUtf8IsGivenAscii) {
  const struct {
    const char* locale;
    bool utf8;
  } cases[] = {{"LC_ALL=C", false},
               {"LC_ALL= LC_CTYPE=POSIX LANG=C.UTF-8", false},
               {"LC_ALL= LC_CTYPE= LANG=de_DE.ISO-8859-1", false},
               {"LC_ALL=C.UTF-8 LANG=C", true},
               {"LC_ALL= LC_CTYPE=en_US.utf8 LANG=C", true},
               {"LC_ALL= LC_CTYPE= LANG=", true}};
  for (const auto& [locale, utf8] : cases) {
    TerminalSession session(Between(std::string(locale) + " $I demo; LC_ALL=C $I demo > $F/demo.txt"));
    ASSERT_TRUE(session.Expect("code-0\r\n")) << session.shown();
    session.WaitForEnd();
    const std::string& shown = session.shown();
    const bool ascii = std::all_of(shown.begin(), shown.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
    EXPECT_EQ(ascii, !utf8) << locale << shown;
    EXPECT_NE(shown.find(utf8 ? "█ compute-bound" : "# compute-bound"), std::string::npos) << locale << shown;
    EXPECT_NE(ReadText(machine_.Path("demo.txt")).find("█ compute-bound"), std::string::npos);
  }
}

TEST_F(TerminalTest, OnlyNoColorThatSaysSomethingTakesTheColourAway) {
  for (const auto& [value, coloured] : {std::pair("NO_COLOR=", true), std::pair("NO_COLOR=0", false)}) {
    TerminalSession session(Between(value + std::string(" $I demo")));
    ASSERT_TRUE(session.Expect("code-0\r\n")) << session.shown();
    session.WaitForEnd();
    EXPECT_EQ(session.shown().find('\x1b') != std::string::npos, coloured) << value;
  }
}

}  // namespace
}  // namespace idleburn::testing
