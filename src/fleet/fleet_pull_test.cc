// Pulls against an engine of this process: other pulls at the same time, long names, and labels that a scrape renamed.
#include "fleet/fleet_pull.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <regex>
#include <system_error>

#include "support/scripted_engine.h"

namespace idleburn {
namespace {

constexpr std::int64_t kStart = 1'774'742'400;  // 2026-03-29T00:00:00Z
constexpr Nanos kWait{kNanosPerSecond};

// What an engine has of one node with one GPU and one team, idle since two hours before the start. `labels` names the
// node: "\"node\":\"a\"".
std::string SeriesOfNode(const std::string& labels, const testing::ScriptedQuestion& question) {
  const std::string& expression = question.expression;
  if (expression.starts_with("count by (node, exported_node)")) {
    return "[{\"metric\":{" + labels + "},\"value\":[" + std::to_string(question.time) + ",\"1\"]}]";
  }
  const bool stamp = expression.find("idleburn_closed_timestamp_seconds") != std::string::npos;
  const bool gpu = expression.find("idleburn_gpu_phase_closed_seconds_total") != std::string::npos;
  const bool team = expression.find("idleburn_owner_phase_closed_seconds_total") != std::string::npos;
  if (!stamp && !gpu && !team) return "[]";
  const std::int64_t epoch = kStart - 2 * kEdgeSeconds;
  const std::string more = stamp ? ""
                                 : R"(,"phase":"idle","epoch":")" + std::to_string(epoch) + "\"," +
                                       (gpu ? R"("uuid":"GPU-1")" : R"("team":"ml")");
  std::string values;
  for (std::int64_t at = question.start; at <= question.end; at += kEdgeSeconds) {
    const std::int64_t edge = at - kReadEdgeAfter;
    values += (values.empty() ? "[" : ",[") + std::to_string(at) + ",\"" + std::to_string(stamp ? edge : edge - epoch) +
              "\"]";
  }
  return "[{\"metric\":{" + labels + more + "},\"values\":[" + values + "]}]";
}

class FleetPullTest : public ::testing::Test {
 protected:
  FleetPullTest() : folder_(::testing::TempDir() + "pull.XXXXXX") { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~FleetPullTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  FleetLedger Open() { return FleetLedger::OpenToPull(folder_ + "/ledger", kWait).value(); }
  static std::int64_t HoursOf(FleetLedger& ledger) {
    std::int64_t ms = 0;
    const auto add = [&](const LedgerCell& cell) { ms += cell.time.TotalMs(); };
    EXPECT_TRUE(ledger.ForEach(CellKind::kGpu, kStart, kStart + 30 * kDaySeconds, add));
    return ms / (kEdgeSeconds * 1000);
  }
  static PullRequest Hours(int hours) { return {kStart, kStart + hours * kEdgeSeconds}; }

  std::string folder_;
};

// While the engine answers a pull of six hours, another pull books four of them.
TEST_F(FleetPullTest, APullThatLostARaceGoesOnFromWhatTheOtherBooked) {
  const auto answer = [](const auto& question) { return SeriesOfNode("\"node\":\"a\"", question); };
  testing::ScriptedEngine quiet(answer);
  Engine other = quiet.Open();
  std::function<void()> meanwhile;
  testing::ScriptedEngine busy([&](const auto& question) {
    if (meanwhile && question.expression.find("closed_timestamp_seconds[50m]") == std::string::npos) {
      std::exchange(meanwhile, nullptr)();
    }
    return answer(question);
  });
  Engine engine = busy.Open();
  FleetLedger ledger = Open();
  ASSERT_TRUE(PullHours(engine, ledger, Hours(2)));
  ASSERT_EQ(HoursOf(ledger), 2);
  meanwhile = [&] {
    FleetLedger same = Open();
    EXPECT_TRUE(PullHours(other, same, Hours(4)));
  };
  const auto pull = PullHours(engine, ledger, Hours(6));
  ASSERT_TRUE(pull) << pull.error().message;
  EXPECT_FALSE(meanwhile);
  EXPECT_EQ(pull->edges.at("a"), Hours(6).last);
  EXPECT_EQ(ledger.Marks(kStart).value().at("a").edge, Hours(6).last);
  EXPECT_EQ(HoursOf(ledger), 6);
}

// Whether the matchers of an expression hold for the label `node` of a scrape and what it renamed.
bool Matches(const std::string& expression, const std::string& node, const std::string& renamed) {
  const std::regex matcher("((?:exported_)?node)=(~?)\"([^\"]*)\"");
  for (auto each = std::sregex_iterator(expression.begin(), expression.end(), matcher); each != std::sregex_iterator();
       ++each) {
    const std::string& value = (*each)[1] == "node" ? node : renamed;
    if ((*each)[2] == "" ? value != (*each)[3] : !std::regex_match(value, std::regex((*each)[3].str()))) return false;
  }
  return true;
}

// Prometheus without honor_labels renames the agents' label `node` if the target has one. Some targets may have none.
TEST_F(FleetPullTest, ANodeIsFoundThoughTheScrapeRenamedItsLabel) {
  for (const bool mixed : {false, true}) {
    testing::ScriptedEngine served([&](const auto& question) {
      std::string all;
      const auto add = [&](const std::string& node, const std::string& renamed) {
        if (!Matches(question.expression, node, renamed)) return;
        const std::string more = renamed.empty() ? "" : ",\"exported_node\":\"" + renamed + "\"";
        const std::string series = SeriesOfNode("\"node\":\"" + node + "\"" + more, question);
        if (series != "[]") all += (all.empty() ? "" : ",") + series.substr(1, series.size() - 2);
      };
      add("the-scraper", "b");
      if (mixed) add("a", "");
      return "[" + all + "]";
    });
    Engine engine = served.Open();
    FleetLedger ledger = FleetLedger::OpenToPull(folder_ + (mixed ? "/mixed" : "/renamed"), kWait).value();
    const auto pull = PullHours(engine, ledger, Hours(6));
    ASSERT_TRUE(pull) << pull.error().message;
    EXPECT_EQ(pull->replicated_nodes, 0);
    EXPECT_EQ(HoursOf(ledger), mixed ? 12 : 6);
    EXPECT_EQ(pull->edges.count("b"), 1U);
    EXPECT_EQ(pull->edges.count("the-scraper"), 0U);
  }
}

}  // namespace
}  // namespace idleburn
