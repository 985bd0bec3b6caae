// The line that says how far long work has come, as a user sees it: on a terminal, and never elsewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>

#include "places.h"
#include "support/live_command.h"
#include "support/program.h"
#include "support/read_inputs.h"
#include "support/terminal_session.h"

namespace idleburn::testing {
namespace {

// Work that takes a little more than a second, and the words of its line.
struct LongWork {
  const char* what;
  std::string command;
  std::string line;  // a regular expression
};

std::string LogOf(int seconds) {
  std::string log = "timestamp, index, utilization.gpu [%]\n";
  for (int s = 0; s < seconds; ++s)
    log += "2026/01/01 00:00:" + std::string(s < 10 ? "0" : "") + std::to_string(s) + ".000, 0, 95 %\n";
  return log;
}

class ProgressOnTerminalTest : public ::testing::Test {
 protected:
  ProgressOnTerminalTest() {
    std::ofstream(machine_.Path("gpu.csv")) << LogOf(40);
    std::string scenario = ReadText(IDLEBURN_ROOT "/examples/tco.toml");
    const std::string_view hours = "hours = 10000";
    scenario.replace(scenario.find(hours), hours.size(), "hours = [\"9000\", \"10000\", \"12000\"]");
    std::ofstream(machine_.Path("tco.toml")) << scenario;
  }

  [[nodiscard]] std::vector<LongWork> Works() const {
    const std::string slow = "(head -n 20 $F/gpu.csv; sleep 1.5; tail -n 20 $F/gpu.csv; sleep 0.3) | ";
    const std::string steps = "sh -c 'i=0; while [ $i -lt 99 ]; do sleep 0.05; i=$((i+1)); echo step $i; done'";
    return {
        {"a pipe", slow + "$I audit - --price 2", "reading standard input: [0-9.]+ k?B, [0-9.]+ k?B/s"},
        {"an export", slow + "$I export - -o $F/out.csv", "reading standard input: [0-9.]+ k?B, [0-9.]+ k?B/s"},
        {"draws", "$I tco $F/tco.toml --draws 10000000",
         "drawing totals of naive: [0-9]+ % of 10.0M draws, [0-9.]+M"
         " draws/s, [0-9]+ s left"},
        {"a recording", "$I record --for 3s --no-history -o $F/r.idleburn", "recording: [0-9]+ % of 3 s, [12] s left"},
        {"the doctor", "$I doctor", "measuring this machine: [0-9]+ % of 2.5 s, [12] s left"},
        {"runs", "$I isolate --steps 10 --skip-steps 1 --rounds 1 --knob cpu_affinity -- " + steps,
         "running the command: [0-9]+ % of 3 runs, [0-9.]+ runs/(s|min), [0-9]+ s left"},
        {"interruptions", "$I drill --rounds 1 --after-steps 20 --resume true -- " + steps,
         "running the command: 50 % of 2 runs, [0-9.]+ runs/(s|min), [0-9]+ s left"}};
  }

  LiveMachine machine_{"gpu 0\nat 0s gpu 0 util=95\n"};
};

// How often the line was drawn: it begins at the left edge, and a message does too, but after a line break.
std::ptrdiff_t Draws(const std::string& shown) {
  std::ptrdiff_t draws = 0;
  for (std::size_t at = 0; (at = shown.find("\ridleburn: ", at)) != std::string::npos; ++at) ++draws;
  return draws;
}

// What a screen of 80 columns has at the end of each line.
std::vector<std::string> Screen(const std::string& shown) {
  std::vector<std::string> lines(1);
  std::size_t column = 0;
  for (const char c : shown) {
    if (c == '\n') {
      lines.emplace_back();
      column = 0;
    } else if (c == '\r') {
      column = 0;
    } else {
      std::string& line = lines.back();
      if (column >= line.size()) line.resize(column + 1, ' ');
      line[column++] = c;
    }
  }
  return lines;
}

TEST_F(ProgressOnTerminalTest, ShowsHowFarItIsAndTakesTheLineAway) {
  for (const LongWork& work : Works()) {
    SCOPED_TRACE(work.what);
    TerminalSession session({"sh", "-c", machine_.environment() + work.command + " >$F/stdout; echo the-end"});
    ASSERT_TRUE(session.Expect("the-end")) << session.shown();
    session.WaitForEnd();
    const std::string& shown = session.shown();
    EXPECT_TRUE(std::regex_search(shown, std::regex("\ridleburn: " + work.line))) << shown;
    EXPECT_EQ(shown.find('\x1b'), std::string::npos) << shown;
    for (const std::string& line : Screen(shown)) {
      EXPECT_FALSE(std::regex_search(line, std::regex(work.line))) << line;
    }
  }
}

TEST_F(ProgressOnTerminalTest, IsDrawnAtMostFiveTimesASecond) {
  TerminalSession session({"sh", "-c", machine_.environment() + "$I doctor >$F/stdout; echo the-end"});
  ASSERT_TRUE(session.Expect("the-end")) << session.shown();
  EXPECT_GE(Draws(session.shown()), 2);
  EXPECT_LE(Draws(session.shown()), 5 * 2);  // the doctor takes 2.5 s, and is silent in the first
}

TEST_F(ProgressOnTerminalTest, APipeAndQuietGetNothing) {
  const std::string slow = "(head -n 20 $F/gpu.csv; sleep 1.5; tail -n 20 $F/gpu.csv) | ";
  for (const std::string words : {"$I audit - --price 2 2>&1 >$F/stdout | cat",
                                  "$I audit - --price 2 --quiet >$F/stdout", "$I export - --quiet -o $F/out.csv"}) {
    TerminalSession session({"sh", "-c", machine_.environment() + slow + words + "; echo the-end"});
    ASSERT_TRUE(session.Expect("the-end")) << session.shown();
    EXPECT_EQ(Draws(session.shown()), 0) << session.shown();
  }
  // Also where standard output is the terminal and standard error is not.
  const ProgramRun run = machine_.Run("$I doctor");
  EXPECT_EQ(run.err.find("measuring"), std::string::npos) << run.err;
}

TEST_F(ProgressOnTerminalTest, ShortWorkShowsNothing) {
  TerminalSession session(
      {"sh", "-c", machine_.environment() + "$I audit $F/gpu.csv --price 2 >$F/stdout; echo the-end"});
  ASSERT_TRUE(session.Expect("the-end")) << session.shown();
  EXPECT_EQ(Draws(session.shown()), 0) << session.shown();
}

}  // namespace
}  // namespace idleburn::testing
