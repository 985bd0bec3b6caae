#include "config/flag_table.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

TEST(FlagTable, ComesBackFromItsText) {
  std::string text;
  std::vector<std::string> list;
  bool on = false;
  std::vector<Flag> flags = {{"input", "INPUT...", "files"}, {"--output", "FILE", "the report"}, {"--full", "", "all"}};
  flags[0].list = &list;
  flags[1].text = &text;
  flags[2].on = &on;
  const FlagTable table = ParseFlagTable(FlagTableText("Audits files.", flags));
  EXPECT_EQ(table.about, "Audits files.");
  ASSERT_EQ(table.flags.size(), 4U);
  EXPECT_EQ(table.flags[0].name, "-h,--help");
  EXPECT_EQ(table.flags[1].value, "INPUT...");
  EXPECT_EQ(table.flags[1].kind, ListedFlag::Kind::kList);
  EXPECT_EQ(table.flags[2].name, "-o,--output");
  EXPECT_EQ(table.flags[2].help, "the report");
  EXPECT_EQ(table.flags[2].kind, ListedFlag::Kind::kValue);
  EXPECT_EQ(table.flags[3].kind, ListedFlag::Kind::kSwitch);
}

TEST(FlagTable, IsTheErrorOfACommandThatIsAskedForIt) {
  std::string price;
  CommandFlags flags;
  flags.Add("--price", "RATE", "USD per GPU-hour").text = &price;
  const Result<bool> read = flags.ReadWords("audit", "Audits files.", {std::string(kListFlags)});
  ASSERT_FALSE(read);
  EXPECT_EQ(ParseFlagTable(read.error().message).flags.back().name, "--price");
}

TEST(FlagTable, KnowsTheValuesThatAHelpLists) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(ChoicesOf({"--format", "KIND", "text, json or csv (default: by -o, else text)", {}}),
            (Words{"text", "json", "csv"}));
  EXPECT_EQ(ChoicesOf({"action", "init|print|path", "what to do", {}}), (Words{"init", "print", "path"}));
  EXPECT_EQ(ChoicesOf({"scenario", "FILE|init", "scenarios", {}}), Words{"init"});
  EXPECT_EQ(ChoicesOf({"--price", "RATE", "one, or another", {}}), Words{});
}

}  // namespace
}  // namespace idleburn
