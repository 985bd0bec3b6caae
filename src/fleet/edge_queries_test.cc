#include "fleet/edge_queries.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

// VictoriaMetrics takes 16,384 bytes. Addresses grow by two backslashes a dot.
TEST(EdgeQueriesTest, AGroupOfNamesFitsAQuestionAsItIsWritten) {
  std::vector<std::string> names;
  for (int i = 0; i < 1500; ++i) names.push_back("10.123." + std::to_string(i / 250) + "." + std::to_string(i % 250));
  std::vector<std::string> all;
  const auto groups = NameGroups(names, 1500);
  for (const std::vector<std::string>& group : groups) {
    EXPECT_LE(NamesPattern(group).size(), 12'000U);
    all.insert(all.end(), group.begin(), group.end());
  }
  EXPECT_EQ(all, names);
  EXPECT_GT(NamesPattern(names).size() / groups.size(), 8'000U) << "groups are not much smaller than they may be";
}

TEST(EdgeQueriesTest, AGroupHasSoManyNamesAtMost) {
  EXPECT_TRUE(NameGroups({}, 2).empty());
  EXPECT_EQ(NameGroups({"a", "b", "c"}, 2), (std::vector<std::vector<std::string>>{{"a", "b"}, {"c"}}));
  const std::string huge(20'000, 'n');
  EXPECT_EQ(NameGroups({"a", huge, "b"}, 2), (std::vector<std::vector<std::string>>{{"a"}, {huge}, {"b"}}));
}

}  // namespace
}  // namespace idleburn
