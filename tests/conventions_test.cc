// What all commands have in common: their exit codes, as the manual lists them, and what they say of a mistyped word.
#include <gtest/gtest.h>

#include "cli/command.h"
#include "support/program.h"
#include "text/strings.h"

namespace idleburn::testing {
namespace {

// The first flag of a command's own that is long enough to be mistyped.
std::string FlagOf(const std::string& help) {
  for (std::size_t at = 0; (at = help.find(" --", at)) != std::string::npos; ++at) {
    const std::size_t end = help.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at + 3);
    const std::string flag = help.substr(at + 1, end - at - 1);
    if (flag.size() > 6 && flag != "--help") return flag;
  }
  return {};
}

TEST(Conventions, EveryCommandExplainsAMistypedFlag) {
  for (const Command& command : Commands()) {
    const std::string name = std::string(command.name) + (command.has_actions ? " list" : "");
    SCOPED_TRACE(name);
    const ProgramRun help = RunIdleburn(name + " --help");
    EXPECT_EQ(help.code, 0);
    EXPECT_EQ(help.err, "");
    const std::string flag = FlagOf(help.out);
    if (flag.empty()) continue;  // it has none but --help
    const ProgramRun run = RunIdleburn(name + " " + flag + "x");
    EXPECT_EQ(run.code, 2) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_NE(run.err.find("unknown flag " + flag + "x; did you mean --"), std::string::npos) << run.err;
  }
}

TEST(Conventions, AWordTooManyIsNamed) {
  for (const char* command : {"demo", "doctor", "top", "config print", "completion bash"}) {
    const ProgramRun run = RunIdleburn(std::string(command) + " extra");
    EXPECT_EQ(run.code, 2) << command;
    const std::string_view name = Split(command, ' ').front();
    EXPECT_EQ(run.err, "idleburn: " + std::string(name) + ": 'extra' is one word too many; see idleburn " +
                           std::string(name) + " --help\n");
  }
  const ProgramRun list = RunIdleburn("prices list H100");
  EXPECT_EQ(list.code, 2);
  EXPECT_EQ(list.err,
            "idleburn: prices list: 'H100' is one word too many; rows of one GPU: idleburn prices list --gpu NAME\n");
}

TEST(Conventions, AMistypedGpuGetsTheNameThatWasMeant) {
  const std::string meant = "did you mean ";
  EXPECT_NE(RunIdleburn("prices resolve 'RTX 409'").err.find("is not a product name: say RTX-4090"), std::string::npos);
  EXPECT_NE(RunIdleburn("prices resolve 'RTX 409O'").err.find(meant + "RTX-4090?"), std::string::npos);
  EXPECT_NE(RunIdleburn("prices list --gpu H10O").err.find(meant + "H100?"), std::string::npos);
  EXPECT_NE(RunIdleburn("demo --price 'GeForce RTX 509O'").err.find(meant + "the GPU RTX-5090?"), std::string::npos);
  EXPECT_NE(RunIdleburn("plan --model lama-2-7b --seq-len 512").err.find(meant + "llama-2-7b, "), std::string::npos);
}

TEST(Conventions, AMissingFileIsAFailureAndNoWrongUse) {
  for (const char* words :
       {"audit nothing.csv", "export nothing.idleburn", "tco nothing.toml", "plan nothing.toml",
        "compare nothing.csv --vs nor.csv", "claim nothing.csv -o /proc/c.json --boundary a --measure b",
        "prices import nothing.csv --provider acme"}) {
    const ProgramRun run = RunIdleburn(words);
    EXPECT_EQ(run.code, 1) << words << ": " << run.err;
    EXPECT_NE(run.err.find("No such file or directory"), std::string::npos) << run.err;
  }
}

// The manual is what scripts are written by. tests/doctor_test.cc holds that warnings are code 0.
TEST(Conventions, TheManualListsTheExitCodes) {
  const std::string page = RunIdleburn("man doctor").out;
  EXPECT_NE(page.find("doctor\\fR: a check failed"), std::string::npos) << page;
  EXPECT_EQ(page.find("returns 1 for warnings"), std::string::npos);
}

}  // namespace
}  // namespace idleburn::testing
