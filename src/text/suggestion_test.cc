#include "text/suggestion.h"

#include <gtest/gtest.h>

#include <vector>

namespace idleburn {

namespace {

TEST(SpellingTest, CountsEdits) {
  EXPECT_EQ(EditDistance("", "abc"), 3U);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
  EXPECT_EQ(EditDistance("price", "pirce"), 1U);
  EXPECT_EQ(EditDistance("same", "same"), 0U);
}

TEST(SpellingTest, FindsTheNearest) {
  const std::vector<std::string> flags = {"--prices", "--period", "--price"};
  EXPECT_EQ(NearestSpelling("--prise", flags), "--price");
  EXPECT_EQ(NearestSpelling("x", std::vector<std::string>{}), "");
}

TEST(SuggestionTest, OnlyWhatIsNearIsMeant) {
  const std::vector<std::string> known = {"run", "audit", "horizon_months"};
  EXPECT_EQ(SuggestionFor("adit", known), "did you mean audit?");
  EXPECT_EQ(SuggestionFor("rnu", known), "did you mean run?");
  EXPECT_EQ(SuggestionFor("horizon", known), "did you mean horizon_months?");
  EXPECT_EQ(SuggestionFor("adamv", std::vector<std::string>{"adamw", "adam"}), "did you mean adamw?");
  EXPECT_EQ(SuggestionFor("fleet", known), "give one of run, audit, horizon_months");
  EXPECT_EQ(MeantBy("serve", known), "");
  EXPECT_EQ(SuggestionFor("serve", {}), "there is none");
}

}  // namespace

}  // namespace idleburn
