// What people read is plain English: habits that ask for a second reading stay out of the program's strings and the
// documents. A pattern stands here because a sentence with it was once printed. Pages and their sentences are short.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "places.h"
#include "support/house_rules.h"
#include "support/pages.h"
#include "support/source_tree.h"

namespace idleburn::testing {
namespace {

struct Habit {
  Habit(const char* the_pattern, const char* say) : pattern(the_pattern), instead(say), regex(the_pattern) {}
  std::string pattern;
  std::string instead;
  std::regex regex;
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

// What only the program's own strings must avoid. Documents may use these words where a sentence needs them.
const std::vector<Habit>& HabitsOfStrings() {
  static const std::vector<Habit> kHabits = {
      {R"(\bnobody\b)", "no data, or name who does it"},
      {R"(\bof which\b)", "a sentence of its own"},
      {R"(\bof whom\b)", "a sentence of its own"},
      {R"(\bwhose\b)", "a noun: \"GPUs with working peers\""},
      {R"(\blikewise\b)", "the words again"},
      {R"(\bnot to be\b)", "not, with an active verb"},
      {R"( of it[.;,]?"?$)", "name the whole"},
      {R"(\bof it[.;,] )", "name the whole"},
      {R"(\bis no (number|valid|price|time|date|share|text|list|table|size|folder|file|plain|key|month|count|proof)\b)",
       "is not a"},
      {R"(\bis none of\b)", "is not one of"},
      {R"(, so that )", "so"},
      {R"(\bthe least (it|they) can be\b)", "a lower bound"},
      {R"(\ball the same\b)", "still"},
      {R"(\banew\b)", "again"},
      {R"(\bmeanwhile\b)", "in that time"},
      {R"(\bcannot be told\b)", "idleburn cannot tell"},
      {R"(\bis not (there|known here)\b)", "does not exist, or unknown"},
      {R"(\bis there already\b)", "already exists"},
      {R"(\bon the mean\b)", "on average"},
      {R"(\bin no figure\b)", "left out"},
      {R"(\bfor people\b)", "human-readable"},
      {R"(\bat one time\b)", "at the same time"},
      {R"(\bas a rule\b)", "usually"},
      {R"(\bby turns\b)", "in turn"},
      {R"(\bmend\b)", "correct"},
      {R"(\bsay --)", "give --"},
  };
  return kHabits;
}

// A sentence, a clause after a semicolon or a colon, or a line has at most this many words.
constexpr std::size_t kMostWords = 25;

// A text of the program: adjacent literals and those joined by + are one. What stands between them reads as "X".
struct Text {
  std::size_t line = 0;
  std::string words;
};

// Whether code between two literals only joins them: nothing, "+", or "+ Name(x) +".
bool Joins(std::string_view gap) {
  const std::size_t first = gap.find_first_not_of(" \n");
  if (first == std::string_view::npos) return true;
  if (gap[first] != '+' || gap[gap.find_last_not_of(" \n")] != '+') return false;
  int depth = 0;
  for (const char c : gap) {
    depth += (c == '(' ? 1 : 0) - (c == ')' ? 1 : 0);
    if (depth < 0 || c == ';' || c == '{' || c == '}' || (c == ',' && depth == 0)) return false;
  }
  return depth == 0;
}

// Where a literal that starts at `at` ends, and its content. A raw literal starts at its R.
struct Literal {
  std::size_t end = 0;
  std::string content;
};
Literal LiteralAt(const std::string& code, std::size_t at) {
  if (code[at] == 'R') {
    const std::size_t open = code.find('(', at);
    const std::string close = ")" + code.substr(at + 2, open - at - 2) + "\"";
    const std::size_t end = code.find(close, open);
    return {end + close.size(), code.substr(open + 1, end - open - 1)};
  }
  Literal literal;
  for (literal.end = at + 1; code[literal.end] != code[at]; ++literal.end) {
    if (code[literal.end] != '\\') {
      literal.content += code[literal.end];
    } else if (code[++literal.end] == 'n') {
      literal.content += '\n';
    } else {
      literal.content += code[literal.end];
    }
  }
  ++literal.end;
  return literal;
}

// All texts of a file, without comments, includes and characters.
std::vector<Text> TextsOf(const SourceFile& file) {
  std::string code;
  for (const std::string& line : file.lines) code += (StartsWith(line, "#include") ? "" : line) + "\n";
  std::vector<Text> texts;
  std::size_t after = std::string::npos;  // the end of the literal before
  for (std::size_t at = 0; at < code.size(); ++at) {
    if (code.compare(at, 2, "//") == 0) {
      const std::size_t end = code.find('\n', at);
      code.replace(at, end - at, end - at, ' ');
      continue;
    }
    const bool digits = at > 0 && std::isalnum(static_cast<unsigned char>(code[at - 1])) != 0;
    const bool raw = code.compare(at, 2, "R\"") == 0 && !digits;
    if (code[at] == '\'' && !digits) {
      at = LiteralAt(code, at).end - 1;
      continue;
    }
    if (code[at] != '"' && !raw) continue;
    const Literal literal = LiteralAt(code, at);
    const std::string_view gap = after == std::string::npos ? ";" : std::string_view(code).substr(after, at - after);
    if (after != std::string::npos && Joins(gap)) {
      if (gap.find_first_not_of(" \n+") != std::string_view::npos) texts.back().words += "X";
      texts.back().words += literal.content;
    } else {
      const auto line = static_cast<std::size_t>(std::count(code.begin(), code.begin() + static_cast<long>(at), '\n'));
      texts.push_back({line + 1, literal.content});
    }
    after = literal.end;
    at = literal.end - 1;
  }
  return texts;
}

// Whether a text is for a machine: SQL, a page, a shell script, a formula.
bool IsForMachines(const std::string& words) {
  static const std::regex kCode(
      R"(SELECT |INSERT |CREATE |COPY |UPDATE |<[a-z/]+[ >]|compopt|compdef|complete -c| \* )");
  return std::regex_search(words, kCode);
}

// The longest part of a text, in words. A part ends at . ! ? ; : with a blank behind it, or at the end of a line.
std::size_t LongestPart(const std::string& words) {
  static const std::regex kEnd(R"([.!?;:]\s|\n)");
  static const std::regex kWord(R"([A-Za-z']*[a-z][A-Za-z'-]*)");
  std::size_t longest = 0;
  for (std::sregex_token_iterator part(words.begin(), words.end(), kEnd, -1), end; part != end; ++part) {
    const std::string one = part->str();
    const auto count = std::distance(std::sregex_iterator(one.begin(), one.end(), kWord), std::sregex_iterator());
    longest = std::max(longest, static_cast<std::size_t>(count));
  }
  return longest;
}

void Find(const std::vector<Habit>& habits, const std::string& said, const std::string& where, Faults* faults) {
  for (const Habit& habit : habits) {
    if (!std::regex_search(said, habit.regex)) continue;
    faults->push_back(where + ": " + habit.pattern + ": say " + habit.instead);
  }
}

Faults WordFaultsOf(const SourceTree& tree) {
  Faults faults;
  for (const SourceFile& file : tree) {
    const bool code = StartsWith(file.path, "src/") && IsCpp(file) && !IsTest(file);
    for (std::size_t i = 0; IsPage(file) && i < file.lines.size(); ++i) {
      Find(Habits(), file.lines[i], file.path + ":" + std::to_string(i + 1), &faults);
    }
    if (!code) continue;
    for (const Text& text : TextsOf(file)) {
      if (text.words.find(' ') == std::string::npos || IsForMachines(text.words)) continue;
      const std::string where = file.path + ":" + std::to_string(text.line);
      Find(Habits(), text.words, where, &faults);
      Find(HabitsOfStrings(), text.words, where, &faults);
      if (LongestPart(text.words) > kMostWords) faults.push_back(where + ": more than 25 words: split the sentence");
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
                              "| " + thirty + "more |\n    " + thirty + "more\n```\n" + thirty + "more\n```\n" + "`" +
                              thirty + "` and [text](a b) " + thirty.substr(15) + "\n");
  EXPECT_EQ(PageFaults(tree.Read()), (Faults{"docs/a.md:5: a sentence of 31 words: word word word word word word ...",
                                             "docs/json/a.md: has 150 lines"}));
}

TEST(PlainWords, SeesPlantedHabits) {
  PlantedTree tree;
  tree.Plant("src/a/a.cc", "// nobody knows\nSay(\"nobody knows what it did\");\n")
      .Plant("docs/a.md", "It is not to be found.\n")
      .Plant("src/a/a_test.cc", "\"nobody knows\"\n");
  const Faults faults = WordFaultsOf(tree.Read());
  // The string breaks two rules: "nobody knows", and "nobody" in a string.
  ASSERT_EQ(faults.size(), 3U) << Listed(faults);
}

TEST(PlainWords, SeesHabitsOfStrings) {
  for (const char* const planted :
       {"\"GPUs whose peers work\"", "\"captures, of which one counts\"", "\"GPU-hours that nobody offers\"",
        "\"none, likewise\"", "\"this is not to be counted\"", "\"no cause explains 3 % of it\"",
        "\"'x' is no number\"", "\"'x' is none of a, b\"", "\"read in time, so that it counts\"",
        "\"record it \"\n    \"anew\"", "\"record it an\" +\n    \"ew\"", "R\"(a file for people)\"",
        "\"use it, or say --unit\""}) {
    PlantedTree tree;
    tree.Plant("src/a/a.cc", "Say(" + std::string(planted) + ");\n");
    EXPECT_EQ(WordFaultsOf(tree.Read()).size(), 1U) << planted << Listed(WordFaultsOf(tree.Read()));
  }
}

TEST(PlainWords, SeesLongSentences) {
  std::string words;
  for (int i = 0; i < 24; ++i) words += "word ";
  const auto faults_of = [](const std::string& literals) {
    PlantedTree tree;
    tree.Plant("src/a/a.cc", "Say(" + literals + ");\n");
    return WordFaultsOf(tree.Read());
  };
  EXPECT_TRUE(faults_of("\"" + words + "word\"").empty());
  EXPECT_EQ(faults_of("\"" + words + "\"\n    \"word word\"").size(), 1U) << "adjacent literals are one text";
  EXPECT_EQ(faults_of("\"" + words + "\" + Name(x, 'y') + \" word word\"").size(), 1U) << "so are those joined by +";
  EXPECT_TRUE(faults_of("\"" + words + "end. Word word\"").empty()) << "a full stop ends a sentence";
  EXPECT_TRUE(faults_of("\"" + words + "\", \"word word\"").empty()) << "two arguments are two texts";
}

}  // namespace
}  // namespace idleburn::testing
