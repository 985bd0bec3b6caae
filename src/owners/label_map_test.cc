#include "owners/label_map.h"

#include <gtest/gtest.h>

#include "support/property.h"

namespace idleburn {
namespace {

std::string ErrorOf(const std::string& text) {
  const auto map = LabelMap::Parse(text, "labels.toml");
  return map ? "" : map.error().message;
}

TEST(LabelMapTest, TakesTheFirstRuleWithALabel) {
  const auto map = LabelMap::Parse(
      "schema_version = 1\n[[rule]]\naccount = \"nlp-*\"\nproject = \"search\"\n"
      "[[rule]]\nuser = \"al?ce\"\njob_name = \"*eval*\"\nteam = \"evaluation\"\nproject = \"x\"\n"
      "[[rule]]\nnamespace = \"*\"\nteam = \"pods\"\n",
      "labels.toml");
  ASSERT_TRUE(map) << map.error().message;
  const auto labels = [&](const LabelFacts& facts) {
    const Labels found = map->LabelsOf(facts);
    return found.team + "/" + found.project;
  };
  EXPECT_EQ(labels({"alice", "nlp-1", "", "my eval 3"}), "evaluation/search");
  EXPECT_EQ(labels({"alice", "", "", "my eval 3"}), "evaluation/x");
  EXPECT_EQ(labels({"alice", "", "", "train"}), "/");
  EXPECT_EQ(labels({"", "", "default", ""}), "pods/");
  EXPECT_EQ(labels({"bob", "nlp", "", ""}), "/");
}

TEST(LabelMapTest, NamesMistakesWithTheirLine) {
  const std::string head = "schema_version = 1\n[[rule]]\n";
  EXPECT_EQ(ErrorOf(head + "acount = \"a\"\nteam = \"t\"\n"),
            "labels.toml:3: unknown key 'acount'; did you mean account?");
  EXPECT_EQ(ErrorOf("schema_version = 1\nrules = 3\n"), "labels.toml:2: unknown key 'rules'; did you mean rule?");
  EXPECT_EQ(ErrorOf("schema_version = 2\n"), "labels.toml:1: schema_version is not 1");
  EXPECT_EQ(ErrorOf(""), "labels.toml: schema_version is missing; write schema_version = 1 on top");
  EXPECT_TRUE(ErrorOf(head + "team = \"t\"\n").starts_with("labels.toml:2: the rule has no pattern"));
  EXPECT_TRUE(ErrorOf(head + "user = \"t\"\n").starts_with("labels.toml:2: the rule has no label"));
  EXPECT_TRUE(ErrorOf(head + "user = 3\n").starts_with("labels.toml:3: user is not a text"));
  EXPECT_TRUE(ErrorOf(head + "team = \"a\\nb\"\n").starts_with("labels.toml:3: team is not a text"));
  EXPECT_TRUE(ErrorOf("schema_version = 1\nrule = 3\n").starts_with("labels.toml:2: rule is not a table"));
  EXPECT_TRUE(ErrorOf("schema_version = \n").starts_with("labels.toml:1: "));
  EXPECT_FALSE(LabelMap::ReadFile("/proc/no such file"));
}

// The same by the definition, without the shortcut of the last star.
bool Naive(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') return Naive(pattern.substr(1), text) || (!text.empty() && Naive(pattern, text.substr(1)));
  return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) && Naive(pattern.substr(1), text.substr(1));
}

TEST(LabelMapTest, MatchesAsDefined) {
  test::ExpectProperty("patterns", [] {
    const auto of = [](const std::string& letters) {
      return *rc::gen::container<std::string>(rc::gen::elementOf(letters));
    };
    const std::string pattern = of("ab*?").substr(0, 8);
    const std::string text = of("ab").substr(0, 8);
    RC_ASSERT(MatchesPattern(pattern, text) == Naive(pattern, text));
  });
  EXPECT_FALSE(MatchesPattern("*a*a*a*a*a*a*a*a*a*a*b", std::string(10'000, 'a')));  // in no time
}

}  // namespace
}  // namespace idleburn
