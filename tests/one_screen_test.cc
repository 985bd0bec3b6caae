// What newcomers see first: a verdict on the first line, and everything on one screen of 24 lines of 100 columns,
// however many GPUs there are and however narrow the terminal is. Nothing is lost: --full has every figure. A terminal
// that cannot show UTF-8 gets ASCII.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "places.h"
#include "support/program.h"
#include "support/smi_log.h"
#include "text/table.h"

namespace idleburn::testing {
namespace {

constexpr std::size_t kRows = 24;

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Ends with 0, has one screen of lines, and its first line says what `first` says.
void ExpectScreen(const ProgramRun& run, const std::string& first, int columns = 100) {
  EXPECT_EQ(run.code, 0) << run.err;
  const std::vector<std::string> lines = LinesOf(run.out);
  ASSERT_FALSE(lines.empty());
  EXPECT_NE(lines.front().find(first), std::string::npos) << run.out;
  EXPECT_LE(lines.size(), kRows) << run.out;
  for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), columns) << line;
}

// Metrics of so many A100 with `name` in front of each host's number.
std::string Dump(int gpus, const std::string& name) {
  std::string text;
  for (int t = 0; t < 40; ++t) {
    for (int g = 0; g < gpus; ++g) {
      text += "DCGM_FI_DEV_GPU_UTIL{gpu=\"" + std::to_string(g % 8) + "\",UUID=\"GPU-" + std::to_string(g) +
              "\",modelName=\"NVIDIA A100-SXM4-80GB\",Hostname=\"" + name + std::to_string(g / 8) + "\"} " +
              std::to_string(g * 37 % 101) + " " + std::to_string(1'788'000'000'000 + t * 30'000) + "\n";
    }
  }
  return text;
}

// A job that counts its steps and never loads a checkpoint.
const std::string kSteps = "sh -c 'i=0; while :; do sleep 0.05; i=$((i+1)); echo step $i; done'";

TEST(OneScreen, DemoShowsItsVerdictFirst) { ExpectScreen(RunIdleburn("demo"), "You paid $8.00"); }

TEST(OneScreen, LogOfNvidiaSmi) {
  const TempFolder folder;
  std::string log = "timestamp, index, uuid, name, utilization.gpu [%], power.draw [W]\n";
  for (int s = 0; s < 600; ++s) log += SmiStamp(s) + ", 0, GPU-0, NVIDIA H100 80GB HBM3, 12 %, 210 W\n";
  const std::string path = folder.Write("gpu.csv", log);
  const ProgramRun screen = RunIdleburn("audit " + path + " --timezone UTC --price 2.50 --no-color");
  ExpectScreen(screen, "You paid $0.42 for ");
  EXPECT_NE(screen.out.find("why   "), std::string::npos) << screen.out;
  EXPECT_NE(screen.out.find("next  "), std::string::npos) << screen.out;
  EXPECT_NE(screen.out.find("--full"), std::string::npos) << screen.out;
}

TEST(OneScreen, DumpsOfAnyNumberOfGpus) {
  const TempFolder folder;
  for (const int gpus : {1, 4, 5, 150, 1000}) {
    const std::string path = folder.Write(std::to_string(gpus) + ".prom", Dump(gpus, "node"));
    const ProgramRun screen = RunIdleburn("audit " + path + " --price 2");
    ExpectScreen(screen, "You paid $");
    // The rows of GPUs and the rest are all of them.
    const std::size_t more = screen.out.find(" more  ");
    EXPECT_EQ(more == std::string::npos, gpus <= 4) << screen.out;
    if (gpus == 150) {
      EXPECT_NE(screen.out.find("147 more"), std::string::npos) << screen.out;
    }
  }
}

TEST(OneScreen, LongNamesAndWithoutAPrice) {
  const TempFolder folder;
  const std::string path = folder.Write("long.prom", Dump(16, std::string(200, 'n')));
  ExpectScreen(RunIdleburn("audit " + path), "Of ");
}

TEST(OneScreen, TraceOfAProfiler) {
  ExpectScreen(RunIdleburn("audit " IDLEBURN_ROOT "/examples/starved_loader.pt.trace.json.gz"), "");
}

TEST(OneScreen, FullLosesNothing) {
  const std::string full = RunIdleburn("demo --full").out;
  for (const std::string section :
       {"Where the time went", "Per GPU", "What was measured", "Money", "Energy, clocks, bursts", "Why, with evidence",
        "What would help", "Try first (not proved)", "Machine", "How these figures were made"}) {
    EXPECT_NE(full.find("\n" + section + "\n"), std::string::npos) << section;
  }
  EXPECT_GT(LinesOf(full).size(), 4 * kRows);
}

TEST(OneScreen, PlansAndCostPlansAndClaims) {
  ExpectScreen(RunIdleburn("plan --model llama-3.1-8b --method lora --seq-len 4096 --gpu rtx4090 --samples 100000"),
               "llama-3.1-8b");
  ExpectScreen(RunIdleburn("tco " IDLEBURN_ROOT "/examples/tco.toml"), "costs");
  const std::string captures = IDLEBURN_ROOT "/tests/golden/captures/";
  ExpectScreen(RunIdleburn("compare " + captures + "before1.csv " + captures + "before2.csv --vs " + captures +
                           "after1.csv " + captures + "after2.csv --work steps=100 --no-history"),
               "INDICATED");
  ExpectScreen(RunIdleburn("combine --fix .35 --fix .30 --waste .5"), "");
}

TEST(OneScreen, TrialsAndTheDoctor) {
  ExpectScreen(RunIdleburn("doctor"), " can be measured, ");
  ExpectScreen(RunIdleburn("drill --quiet --rounds 1 --after 300ms -- " + kSteps), "FAIL");
  const ProgramRun isolate = RunIdleburn("isolate --quiet --rounds 1 --for 1s --knob cpu_affinity -- " + kSteps);
  if (isolate.code == 0) ExpectScreen(isolate, "");  // a machine with one CPU cannot try it
}

TEST(OneScreen, NarrowTerminalsHaveOneTooAndNothingIsBroken) {
  // A terminal of 40 columns, without colour and without UTF-8.
  for (const std::string locale : {"C.UTF-8", "C"}) {
    const ProgramRun run = RunShell("LC_ALL=" + locale + " NO_COLOR=1 script -qec 'stty cols 40 rows 30; exec " +
                                    IDLEBURN_PROGRAM + " demo' /dev/null");
    std::string text = run.out;
    std::erase(text, '\r');
    ExpectScreen({run.code, text, run.err}, "You paid $8.00", 40);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
  }
}

// What a command prints on a terminal with that locale. Its job has an id with a letter outside ASCII.
std::string OnTerminal(const std::string& words, const std::string& locale) {
  const TempFolder folder;
  const std::string script =
      folder.Write("run.sh", std::string("exec ") + IDLEBURN_PROGRAM + " " + words + " 2>/dev/null\n");
  return RunShell("PBS_JOBID=größe LC_ALL=" + locale + " timeout 60 script -qec 'sh " + script + "' /dev/null").out;
}

bool HasUtf8(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) > 127; });
}

TEST(AsciiTerminal, NoCommandPrintsOtherCharacters) {
  const TempFolder folder;
  const std::string history = " --history " + (folder.path() / "history.db").string();
  const std::string captures = IDLEBURN_ROOT "/tests/golden/captures/";
  const std::string plan =
      "plan --no-history --model llama-2-7b --method lora --seq-len 1024 --gpu a100 --samples 1000";
  const std::string log = IDLEBURN_ROOT "/examples/finetune_4xh100.csv.gz --timezone UTC --price 3";
  RunIdleburn("audit " + log + history);
  const std::vector<std::string> commands = {
      "audit " + log,
      "audit --full " + log,
      "demo",
      "demo --full",
      plan,
      plan + " --full",
      "plan --step 45%@220ms --step-to 80%",
      "plan --errors" + history,
      "tco " IDLEBURN_ROOT "/examples/tco.toml --full",
      "compare --full " + captures + "before1.csv " + captures + "before2.csv --vs " + captures + "after1.csv " +
          captures + "after2.csv --work steps=100 --no-history",
      "combine --fix .35 --fix .30 --waste .5 --full",
      "doctor",
      "doctor --full",
      "drill --quiet --full --rounds 1 --after 300ms -- " + kSteps,
      "isolate --quiet --full --rounds 1 --for 1s --knob cpu_affinity -- " + kSteps,
      "history list" + history,
      "ledger" + history,
      "prices list",
      "config print",
      "man",
      "--help"};
  for (const std::string& words : commands) {
    const std::string text = OnTerminal(words, "C");
    EXPECT_FALSE(text.empty()) << words;
    EXPECT_FALSE(HasUtf8(text)) << words << "\n" << text;
  }
  // The same commands print more where the terminal can show it.
  for (const std::string& words : {std::string("demo --full"), plan + " --full", std::string("doctor --full")}) {
    EXPECT_TRUE(HasUtf8(OnTerminal(words, "C.UTF-8"))) << words;
  }
}

// A program reads a document byte for byte, also from a terminal.
TEST(AsciiTerminal, DocumentsKeepTheirBytes) {
  EXPECT_TRUE(HasUtf8(OnTerminal("doctor --format json", "C")));
  EXPECT_TRUE(HasUtf8(OnTerminal("doctor --format markdown", "C")));
}

}  // namespace
}  // namespace idleburn::testing
