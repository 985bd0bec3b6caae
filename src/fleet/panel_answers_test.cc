#include "fleet/panel_answers.h"

#include <gtest/gtest.h>

#include "fleet/dashboards.h"

namespace idleburn {
namespace {

TEST(PanelAnswersTest, QueriesHaveNoVariablesLeft) {
  for (const PanelRow& row : PanelRows()) {
    if (row.dashboard != DashboardId::kCluster && row.dashboard != DashboardId::kAgent) continue;
    const std::string query = WithoutVariables(DashboardQuery(row), 7200, 600);
    EXPECT_EQ(query.find('$'), std::string::npos) << query;
  }
  EXPECT_EQ(WithoutVariables("rate(a{node=~\"$node\"}[$__rate_interval]) + increase(b[$__range])", 7200, 600),
            "rate(a{node=~\".*\"}[600s]) + increase(b[7200s])");
}

}  // namespace
}  // namespace idleburn
