#include "fleet/dashboards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "fleet/dashboard_panels.h"

namespace idleburn {
namespace {

using nlohmann::json;

std::vector<json> Documents() {
  std::vector<json> documents;
  for (const FleetDashboard& dashboard : FleetDashboards()) documents.push_back(json::parse(dashboard.json));
  return documents;
}

// Panels that overlap another one or leave the grid.
std::vector<std::string> Misplaced(const json& document) {
  std::vector<std::string> misplaced;
  std::set<std::pair<int, int>> taken;
  for (const json& panel : document["panels"]) {
    const json& place = panel["gridPos"];
    bool good =
        place["w"] > 0 && place["h"] > 0 && place["x"] >= 0 && place["x"].get<int>() + place["w"].get<int>() <= 24;
    for (int x = 0; x < place["w"]; ++x) {
      for (int y = 0; y < place["h"]; ++y)
        good = taken.emplace(place["x"].get<int>() + x, place["y"].get<int>() + y).second && good;
    }
    if (!good) misplaced.push_back(panel["title"]);
  }
  return misplaced;
}

TEST(DashboardsTest, FiveDocumentsForFiveQuestions) {
  std::set<std::string> files;
  for (const FleetDashboard& dashboard : FleetDashboards()) {
    files.insert(dashboard.file);
    const json document = json::parse(dashboard.json);
    EXPECT_EQ(document["uid"].get<std::string>() + ".json", dashboard.file);
    EXPECT_GT(document["panels"].size(), 5U);
    EXPECT_EQ(dashboard.json.back(), '\n');
  }
  EXPECT_EQ(files, (std::set<std::string>{"idleburn-agent.json", "idleburn-cluster.json", "idleburn-cost.json",
                                          "idleburn-job.json", "idleburn-team.json"}));
}

TEST(DashboardsTest, PanelsDoNotOverlap) {
  for (const json& document : Documents()) EXPECT_EQ(Misplaced(document), std::vector<std::string>{});
  json planted = Documents().front();
  planted["panels"][2]["gridPos"]["x"] = 0;
  EXPECT_FALSE(Misplaced(planted).empty());
  json wide = Documents().front();
  wide["panels"][0]["gridPos"]["w"] = 25;
  EXPECT_FALSE(Misplaced(wide).empty());
}

// Every panel of the table is in exactly one document, with all its queries.
TEST(DashboardsTest, ShowEveryRowOnce) {
  std::size_t panels = 0;
  std::size_t queries = 0;
  for (const json& document : Documents()) {
    std::set<int> ids;
    for (const json& panel : document["panels"]) {
      ids.insert(panel["id"].get<int>());
      ++panels;
      std::set<std::string> refs;
      for (const json& target : panel.value("targets", json::array())) refs.insert(target["refId"]);
      queries += refs.size();
    }
    EXPECT_EQ(ids.size(), document["panels"].size());
  }
  std::size_t sections = 0;
  std::size_t more = 0;
  for (const PanelRow& row : PanelRows()) {
    sections += row.kind == PanelKind::kSection ? 1 : 0;
    more += row.kind == PanelKind::kMore ? 1 : 0;
  }
  EXPECT_EQ(panels, PanelRows().size() - more);
  EXPECT_EQ(queries, PanelRows().size() - sections);
}

TEST(DashboardsTest, RowsOfOneDashboardFollowEachOther) {
  std::set<DashboardId> ended;
  DashboardId now = PanelRows().front().dashboard;
  for (const PanelRow& row : PanelRows()) {
    if (row.dashboard != now) {
      ended.insert(now);
      now = row.dashboard;
      EXPECT_EQ(row.kind, PanelKind::kSection) << row.title;
    }
    EXPECT_FALSE(ended.contains(row.dashboard)) << row.title;
    const bool query = row.kind != PanelKind::kSection;
    EXPECT_EQ(query, !row.expression.empty()) << row.title;
    EXPECT_EQ(query, !row.legend.empty()) << row.title;
    EXPECT_EQ(row.kind == PanelKind::kMore, row.title.empty()) << row.expression;
    EXPECT_EQ(query && row.kind != PanelKind::kMore, row.width > 0) << row.title;
  }
}

// A title is a short name in plain words, once on its dashboard.
TEST(DashboardsTest, TitlesArePlain) {
  for (const json& document : Documents()) {
    std::set<std::string> titles;
    for (const json& panel : document["panels"]) {
      const std::string title = panel["title"];
      EXPECT_TRUE(titles.insert(title).second) << title;
      EXPECT_TRUE(std::isupper(static_cast<unsigned char>(title.front())) != 0) << title;
      EXPECT_LE(title.size(), 45U) << title;
      EXPECT_EQ(title.find_first_of("_$.{"), std::string::npos) << title;
      const std::string about = panel.value("description", ".");
      EXPECT_TRUE(about.ends_with('.')) << about;
    }
  }
}

// A reader of an amount must see that it is not a bill.
TEST(DashboardsTest, MoneyIsCalledAnEstimate) {
  std::size_t amounts = 0;
  for (const json& document : Documents()) {
    for (const json& panel : document["panels"]) {
      const std::string title = panel["title"];
      std::string all;
      for (const json& target : panel.value("targets", json::array())) all += target["expr"].get<std::string>();
      if (all.find("* on") == std::string::npos || all.find("price_per_hour") == std::string::npos) continue;
      ++amounts;
      EXPECT_TRUE(title.ends_with("(estimate)")) << title;
      EXPECT_NE(panel["description"].get<std::string>().find("Bills come from idleburn fleet"), std::string::npos)
          << title;
    }
  }
  EXPECT_GE(amounts, 8U);
}

// Every variable that a query uses is declared on its dashboard, and every declared one is used.
TEST(DashboardsTest, VariablesAreDeclaredAndUsed) {
  for (const json& document : Documents()) {
    std::set<std::string> declared;
    for (const json& variable : document["templating"]["list"]) declared.insert(variable["name"]);
    EXPECT_TRUE(declared.contains("datasource") && declared.contains("node"));
    const std::string panels = document["panels"].dump();
    for (const char* const name : {"datasource", "node", "cluster", "team", "job"}) {
      const std::string variable = name;
      const bool used = panels.find("$" + variable + "\\\"") != std::string::npos ||
                        panels.find("${" + variable + "}") != std::string::npos;
      EXPECT_EQ(used, declared.contains(variable)) << document["title"] << " " << variable;
    }
  }
}

// Two engines that write into one are no second fleet: each counter and gauge is taken once before it is summed.
TEST(DashboardsTest, NoSumCountsACopyOfAnEngine) {
  const std::regex rise("(rate|increase)\\(");
  const std::regex once(R"(max by \([a-z, ]+\) \((rate|increase)\()");
  const std::regex raw(R"((sum|count)( by \([a-z, ]+\))? ?\(idleburn_)");
  const auto count = [](const std::string& text, const std::regex& what) {
    return std::distance(std::sregex_iterator(text.begin(), text.end(), what), std::sregex_iterator());
  };
  for (const json& document : Documents()) {
    for (const json& panel : document["panels"]) {
      for (const json& target : panel.value("targets", json::array())) {
        const std::string query = target["expr"];
        EXPECT_EQ(count(query, rise), count(query, once)) << query;
        const bool counts_groups = query.find("count(count by") != std::string::npos;
        EXPECT_EQ(count(query, raw), counts_groups ? 1 : 0) << query;
        EXPECT_EQ(std::count(query.begin(), query.end(), '('), std::count(query.begin(), query.end(), ')')) << query;
      }
    }
  }
}

}  // namespace
}  // namespace idleburn
