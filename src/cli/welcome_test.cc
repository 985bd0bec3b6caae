#include "cli/welcome.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace idleburn {
namespace {

// The commands that are offered.
std::vector<std::string> StepsOf(const Surroundings& here) {
  const std::string text = WelcomeText(here);
  std::vector<std::string> steps;
  for (std::size_t at = text.find("\n  idleburn "); at != std::string::npos; at = text.find("\n  idleburn ", at + 1)) {
    steps.push_back(text.substr(at + 3, text.find("   ", at + 3) - at - 3));
  }
  return steps;
}

using Steps = std::vector<std::string>;

TEST(WelcomeTest, OffersThreeCommandsThatFitWhatIsHere) {
  EXPECT_EQ(StepsOf({}), (Steps{"idleburn demo", "idleburn doctor", "idleburn plan --model llama-3.1-8b"}));
  EXPECT_EQ(StepsOf({"/dev/nvidiactl", {}, "", 0}),
            (Steps{"idleburn record --for 1m", "idleburn top", "idleburn doctor"}));
  EXPECT_EQ(StepsOf({"/dev/nvidiactl", {}, "train.py", 0}),
            (Steps{"idleburn run -- python train.py", "idleburn top", "idleburn doctor"}));
  EXPECT_EQ(StepsOf({"", {"gpu.csv"}, "train.py", 0}),
            (Steps{"idleburn audit gpu.csv", "idleburn audit gpu.csv -o audit.html", "idleburn doctor"}));
  EXPECT_EQ(StepsOf({"", {}, "", 7}),
            (Steps{"idleburn history list", "idleburn history show last", "idleburn doctor"}));
  EXPECT_EQ(StepsOf({"/dev/nvidiactl", {"gpu.csv"}, "train.py", 7}),
            (Steps{"idleburn audit gpu.csv", "idleburn run -- python train.py", "idleburn history list"}));
}

TEST(WelcomeTest, SaysWhatIsHereInTwelveLines) {
  const Surroundings full{"/dev/nvidiactl", {"a.csv", "b.csv", "c.csv", "d.csv", "e.csv"}, "train.py", 1};
  const std::string text = WelcomeText(full);
  EXPECT_NE(text.find("NVIDIA driver found: /dev/nvidiactl\n"), std::string::npos) << text;
  EXPECT_NE(text.find("a.csv, b.csv, c.csv and 2 more\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" 1 run\n"), std::string::npos) << text;
  for (const Surroundings& here : {full, Surroundings{}}) {
    const std::string shown = WelcomeText(here);
    EXPECT_LE(std::count(shown.begin(), shown.end(), '\n'), 12) << shown;
  }
  EXPECT_NE(WelcomeText({}).find("no NVIDIA driver found\n"), std::string::npos);
}

// A history that cannot be read is not an empty one.
TEST(WelcomeTest, SaysWhyTheHistoryIsNotRead) {
  const std::string text = WelcomeText({"", {}, "", Fail("history.sqlite: is damaged")});
  EXPECT_NE(text.find("not read: history.sqlite: is damaged\n"), std::string::npos) << text;
}

TEST(WelcomeTest, ANameStaysOneWordOfTheShell) {
  EXPECT_EQ(ShellWord("logs/gpu-1.csv.gz"), "logs/gpu-1.csv.gz");
  EXPECT_EQ(ShellWord("my log.csv"), "'my log.csv'");
  EXPECT_EQ(ShellWord("it's.csv"), "'it'\\''s.csv'");
  EXPECT_EQ(ShellWord("$(reboot).csv"), "'$(reboot).csv'");
  EXPECT_EQ(ShellWord("-o.csv"), "./-o.csv");
}

}  // namespace
}  // namespace idleburn
