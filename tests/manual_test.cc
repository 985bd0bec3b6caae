// Manual pages and completions: made of the commands' own flags, taken by the tools that read them; every example of a
// page is carried out.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "places.h"
#include "support/live_command.h"
#include "support/read_inputs.h"
#include "support/terminal_session.h"

namespace idleburn::testing {
namespace {

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// By the program's own overview: "  audit       audits files ...".
std::vector<std::string> CommandNames() {
  std::vector<std::string> names;
  for (const std::string& line : LinesOf(RunIdleburn("--help").out)) {
    if (line.rfind("  ", 0) == 0) names.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return names;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// What a reader of the page sees of a line.
std::string Shown(const std::string& line) { return Replaced(Replaced(line, "\\-", "-"), "\\(aq", "'"); }

std::vector<std::string> ExamplesOf(const std::string& page) {
  std::vector<std::string> examples;
  const std::vector<std::string> lines = LinesOf(page);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    if (lines[i] == ".RS") examples.push_back(Shown(lines[i + 1]));
  }
  return examples;
}

// A folder with what the examples name. `steps` is how long the training goes on.
void FillFolder(const LiveMachine& machine, const std::string& steps) {
  const std::string root = IDLEBURN_ROOT;
  MustRunTool("gzip -dc " + root + "/examples/finetune_4xh100.csv.gz > " + machine.Path("gpu.csv"));
  MustRunTool("cp " + root + "/examples/tco.toml " + root + "/examples/focus.csv " + root +
              "/tests/golden/captures/before*.csv " + root + "/tests/golden/captures/after*.csv " + machine.Path(""));
  std::filesystem::create_directory(machine.Path("bin"));
  std::ofstream(machine.Path("bin/python"))
      << "#!/bin/sh\nexec python3 " << root << "/examples/restart_safe_trainer.py --step-seconds 0.02 --steps " << steps
      << "\n";
  std::filesystem::permissions(machine.Path("bin/python"), std::filesystem::perms::owner_all);
}

TEST(Manual, EveryExampleOfAPageCanBeCarriedOut) {
  std::size_t pages = 0;
  for (const std::string& name : CommandNames()) {
    const ProgramRun page = RunIdleburn("man " + name);
    ASSERT_EQ(page.code, 0) << page.err;
    const std::vector<std::string> examples = ExamplesOf(page.out);
    EXPECT_FALSE(examples.empty()) << name;
    for (const std::string& example : examples) {
      const LiveMachine machine(
          "gpu 0 name=NVIDIA-GeForce-RTX-4090 memory=24564MiB\nat 0 gpu 0 memory=17GiB util=90\n");
      FillFolder(machine, name == "run" ? "100" : "1000000");
      const ProgramRun run = machine.Run("cd $F; PATH=$F/bin:$PATH; $I" + example.substr(example.find(' ')));
      // The doctor returns what it found on this machine.
      EXPECT_TRUE(run.code == 0 || name == "doctor") << example << "\n" << run.code << "\n" << run.err;
      EXPECT_TRUE(name != "doctor" || run.code <= 2) << run.code << run.err;
    }
    ++pages;
  }
  EXPECT_GT(pages, 15U);
}

TEST(Manual, HasEveryFlagOfTheHelp) {
  for (const std::string& name : CommandNames()) {
    if (name == "history") continue;  // its help lists actions, each of which has a help of its own
    const std::string page = Shown(RunIdleburn("man " + name).out);
    for (const std::string& line : LinesOf(RunIdleburn(name + " --help").out)) {
      if (line.rfind("  -", 0) != 0) continue;
      const std::string flag = line.substr(2, line.find(' ', 2) - 2);
      EXPECT_NE(page.find("\\fB" + flag + "\\fR"), std::string::npos) << name << " " << flag;
    }
  }
}

TEST(Manual, IsTakenByTheToolsThatReadIt) {
  if (const std::string missing = testing::WithoutPrograms({"mandoc"}); !missing.empty()) GTEST_SKIP() << missing;
  const TempFolder folder;
  const std::string path = folder.path().string();
  ASSERT_EQ(RunIdleburn("man -o " + path).code, 0);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path), {}),
            static_cast<std::ptrdiff_t>(CommandNames().size() + 1));
  const ProgramRun lint = RunShell("mandoc -Tlint -W warning " + path + "/*.1 | grep -v 'missing date'");
  EXPECT_EQ(lint.out, "");
  EXPECT_EQ(lint.err, "");
}

// Words that bash would offer for the last one of `line`.
std::string BashOffers(const std::string& line) {
  const ProgramRun run = RunShell("bash -c 'source <(" IDLEBURN_PROGRAM " completion bash); COMP_WORDS=(" + line +
                                  "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _idleburn 2>/dev/null; "
                                  "echo \"${COMPREPLY[*]}\"'");
  EXPECT_EQ(run.code, 0) << run.err;
  return run.out;
}

TEST(Completion, OfBashKnowsCommandsFlagsAndValues) {
  EXPECT_EQ(BashOffers("idleburn au"), "audit\n");
  EXPECT_EQ(BashOffers("idleburn audit --pr"), "--price --prices --project\n");
  EXPECT_EQ(BashOffers("idleburn audit gpu.csv --format \"\""), "text json html csv markdown\n");
  EXPECT_EQ(BashOffers("idleburn config p"), "print path\n");
  EXPECT_EQ(BashOffers("idleburn history list --st"), "--state\n");
  // Files are left to bash, and the words after two dashes to the user's command.
  EXPECT_EQ(BashOffers("idleburn audit gpu"), "\n");
  EXPECT_EQ(BashOffers("idleburn run --price 2 -- --pr"), "\n");
}

TEST(Completion, OfFishKnowsCommandsAndFlags) {
  if (const std::string missing = testing::WithoutPrograms({"fish"}); !missing.empty()) GTEST_SKIP() << missing;
  const auto offers = [](const std::string& line) {
    return RunShell("export HOME=$PWD; " IDLEBURN_PROGRAM
                    " completion fish > c.fish; fish -N -c 'source c.fish; complete -C \"" +
                    line + "\"'")
        .out;
  };
  EXPECT_EQ(LinesWith(offers("idleburn au"), "audit\t"), 1);
  EXPECT_EQ(LinesWith(offers("idleburn audit --pri"), "--price"), 2);
  EXPECT_EQ(LinesWith(offers("idleburn audit --format "), "markdown\t"), 1);
}

TEST(Completion, OfZshKnowsFlags) {
  if (const std::string missing = testing::WithoutPrograms({"zsh"}); !missing.empty()) GTEST_SKIP() << missing;
  const TempFolder folder;
  const std::string path = folder.path().string();
  ASSERT_EQ(RunShell(IDLEBURN_PROGRAM " completion zsh > " + path + "/_idleburn").code, 0);
  TerminalSession session({"sh", "-c", "cd " + path + "; ZDOTDIR=" + path + " TERM=xterm exec zsh -f -i"});
  session.Type("PS1='> '; fpath=(" + path + " $fpath); autoload -U compinit; compinit -u -D; echo loa\"\"ded\n");
  ASSERT_TRUE(session.Expect("loaded\r\n")) << session.shown();
  session.Type("idleburn audit --wind\t");
  EXPECT_TRUE(session.Expect("ow", 20'000)) << session.shown();
  session.Type(
      "\x15"
      "exit\n");
  EXPECT_EQ(session.WaitForEnd(), 0) << session.shown();
}

}  // namespace
}  // namespace idleburn::testing
