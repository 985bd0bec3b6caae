// What people read is plain English: habits that ask for a second reading stay out of the program's strings and the
// documents. A pattern stands here because a sentence with it was once printed. Pages and their sentences are short.
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "places.h"
#include "support/house_rules.h"
#include "support/pages.h"
#include "support/source_tree.h"

namespace idleburn::testing {
namespace {

struct Habit {
  const char* pattern;
  const char* instead;
};

const std::vector<Habit>& Habits() {
  static const std::vector<Habit> kHabits = {
      {R"(nobody knows)", "no data, or unknown"},
      {R"(is not to be found)", "not found"},
      {R"(\bon the wall\b)", "wall time, or median and p95"},
      {R"(\bdearer\b)", "costs more"},
      {R"(\bone that is not\b)", "an unknown one"},
      {R"(no form that)", "unsupported"},
      {R"(\bof which unit\b)", "needs a unit"},
      {R"(\blost an interruption\b)", "lost per interruption"},
      {R"(younger than the change)", "postdates the change"},
      {R"(within what frameworks differ)", "not calibrated for your framework"},
      {R"(these inputs tell nothing)", "no data in these files"},
      {R"(Of a machine's GPUs those)", "only GPUs visible to the command"},
      {R"(are as without idleburn)", "are unchanged"},
      {R"(expects of a fix what)", "estimates use your own verified results"},
      {R"(What is written is as)", "the format is"},
      {R"(without showing)", "edits are detectable"},
  };
  return kHabits;
}

// The strings of a line of code.
std::string StringsOf(const std::string& line) {
  static const std::regex kString(R"("([^"\\]|\\.)*")");
  std::string text;
  for (std::sregex_iterator at(line.begin(), line.end(), kString), end; at != end; ++at) text += at->str() + " ";
  return text;
}

Faults WordFaultsOf(const SourceTree& tree) {
  Faults faults;
  for (const SourceFile& file : tree) {
    const bool code = file.path.rfind("src/", 0) == 0 && file.path.find("_test.cc") == std::string::npos;
    if (!code && !IsPage(file)) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string said = code ? StringsOf(file.lines[i]) : file.lines[i];
      if (said.empty()) continue;
      for (const Habit& habit : Habits()) {
        if (!std::regex_search(said, std::regex(habit.pattern))) continue;
        faults.push_back(file.path + ":" + std::to_string(i + 1) + ": " + habit.pattern + ": say " + habit.instead);
      }
    }
  }
  return faults;
}

TEST(PlainWords, ForbiddenHabitsStayOut) {
  const Faults faults = WordFaultsOf(ReadTree(IDLEBURN_ROOT));
  EXPECT_TRUE(faults.empty()) << Listed(faults);
}

TEST(PlainWords, PagesAndTheirSentencesAreShort) {
  const Faults faults = PageFaults(ReadTree(IDLEBURN_ROOT));
  EXPECT_TRUE(faults.empty()) << Listed(faults);
}

TEST(PlainWords, SeesPlantedPages) {
  std::string thirty;
  for (int i = 0; i < 30; ++i) thirty += "word ";
  PlantedTree tree;
  tree.Plant("README.md", std::string(149, '\n'))
      .Plant("docs/json/a.md", std::string(150, '\n'))
      .Plant("src/a.md", std::string(300, '\n') + thirty + "more.")
      .Plant("docs/a.md", "# " + thirty + "more\n\n" + thirty + ". - " + thirty + "\n\n* " + thirty + "\n  more.\n" +
                              "| " + thirty + "more |\n    " + thirty + "more\n```\n" + thirty + "more\n```\n" +
                              "`" + thirty + "` and [text](a b) " + thirty.substr(15) + "\n");
  EXPECT_EQ(PageFaults(tree.Read()),
            (Faults{"docs/a.md:5: a sentence of 31 words: word word word word word word ...",
                    "docs/json/a.md: has 150 lines"}));
}

TEST(PlainWords, SeesPlantedHabits) {
  PlantedTree tree;
  tree.Plant("src/a/a.cc", "// nobody knows\nSay(\"nobody knows what it did\");\n")
      .Plant("docs/a.md", "It is not to be found.\n")
      .Plant("src/a/a_test.cc", "\"nobody knows\"\n");
  const Faults faults = WordFaultsOf(tree.Read());
  ASSERT_EQ(faults.size(), 2U) << Listed(faults);
}

}  // namespace
}  // namespace idleburn::testing
