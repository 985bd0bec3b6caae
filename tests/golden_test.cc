// What the commands print, held byte for byte in tests/golden: standard output, standard error and the exit code. What
// a figure ought to be is tested elsewhere; this says that nothing changed unseen. `make golden` records it anew.
#include "support/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "places.h"
#include "support/read_inputs.h"

namespace idleburn::testing {
namespace {

namespace fs = std::filesystem;

const fs::path& Root() {
  static const fs::path kRoot = fs::path(IDLEBURN_ROOT) / "tests" / "golden";
  return kRoot;
}

class Golden : public ::testing::TestWithParam<fs::path> {};

TEST_P(Golden, IsAsHeld) {
  const std::string held = ReadText(GetParam());
  const std::string now = PlayedAnew(held);
  if (std::getenv("GOLDEN_RECORD") != nullptr) {
    if (now != held) std::ofstream(GetParam(), std::ios::binary) << now;
    return;
  }
  const std::string name = GetParam().lexically_relative(IDLEBURN_ROOT).string();
  EXPECT_TRUE(now == held) << name << ": " << FirstDifference(held, now) << "If that is meant: make golden";
}

std::string NameOf(const ::testing::TestParamInfo<fs::path>& info) {
  std::string name = fs::path(info.param.lexically_relative(Root())).replace_extension().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Sessions, Golden, ::testing::ValuesIn(GoldenFiles(Root())), NameOf);

// Of these, only help and what they refuse is held: the rest tells of the machine and of the time that passes.
const std::map<std::string, std::string>& HeldInPart() {
  static const std::map<std::string, std::string> kInPart = {
      {"run", "measures a command while it runs"},          {"record", "measures this machine while time passes"},
      {"top", "measures this machine while time passes"},   {"isolate", "runs a command and measures it"},
      {"drill", "runs a command and interrupts it"},        {"doctor", "says what this machine is"},
      {"agent", "measures this machine while time passes"},
  };
  return kInPart;
}

// Commands of a session that the program took, by their first word.
std::set<std::string> CommandsTaken() {
  std::set<std::string> taken;
  for (const fs::path& file : GoldenFiles(Root())) {
    std::istringstream lines(ReadText(file));
    std::string command;
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("$ idleburn ", 0) == 0) {
        command = line.substr(11, line.find(' ', 11) - 11);
        if (line.find("--help") != std::string::npos) command.clear();
      } else if (line == "= exit 0") {
        taken.insert(command);
      }
    }
  }
  return taken;
}

TEST(GoldenSet, EveryCommandIsInIt) {
  const std::set<std::string> taken = CommandsTaken();
  std::istringstream overview(RunIdleburn("--help").out);
  int commands = 0;
  for (std::string line; std::getline(overview, line);) {
    if (line.rfind("  ", 0) != 0) continue;
    const std::string command = line.substr(2, line.find(' ', 2) - 2);
    EXPECT_NE(taken.contains(command), HeldInPart().contains(command)) << command;
    EXPECT_TRUE(fs::exists(Root() / "help" / (command + ".session"))) << command;
    ++commands;
  }
  EXPECT_GE(commands, 18);
}

TEST(GoldenSet, AnyByteThatChangesIsSeen) {
  const std::string session = PlayedAnew("# Two.\n$ idleburn combine --fix .35\n\n$ idleburn combine --fix 2\n");
  ASSERT_NE(session.find("= exit 0\n| "), std::string::npos) << session;
  ASSERT_NE(session.find("= exit 2\n! idleburn: "), std::string::npos) << session;
  EXPECT_EQ(FirstDifference(session, PlayedAnew(session)), "");
  for (const char* mark : {"\n| ", "\n! ", "\n= exit "}) {
    std::string changed = session;
    const std::size_t at = changed.find(mark) + std::string(mark).size();
    changed[at] = static_cast<char>(changed[at] ^ 1);
    const std::string difference = FirstDifference(changed, PlayedAnew(changed));
    EXPECT_NE(difference.find("$ idleburn combine --fix "), std::string::npos) << difference;
  }
}

TEST(GoldenSet, WhatIsTooLongIsHeldByItsDigest) {
  const ProgramRun run{0, std::string(60'000, 'a') + "\n", ""};
  ProgramRun other = run;
  other.out[50'000] = 'b';
  const ProgramRun binary{0, std::string("a\0b", 3), "no newline"};
  EXPECT_NE(FirstDifference(Outcome(run), Outcome(other)), "");
  EXPECT_LT(Outcome(run).size(), 400U);
  EXPECT_EQ(Outcome(binary),
            "= exit 0\n! no newline\n\\ no newline at the end\n\\ 3 bytes in all, SHA-256 "
            "59b271ae1bbcb1d31d41929817f4b16fb439eb4f31520b5ad1d5ce98920a7138\n");
}

}  // namespace
}  // namespace idleburn::testing
