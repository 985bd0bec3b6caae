// Closed hours against a naive account, and the cases that a generated fleet does not have.
#include "fleet/closed_hours.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

constexpr std::int64_t kT0 = 1'772'409'600;
constexpr std::int64_t kHourMs = 3'600'000;

PhaseMs Idle(std::int64_t ms) { return {ms, 0, 0, 0, 0}; }

// A node with one GPU and one team that were idle since `epoch`, readable at these edges.
NodeReadings IdleNode(std::int64_t epoch, const std::vector<std::int64_t>& edges) {
  NodeReadings node;
  for (const std::int64_t edge : edges) {
    node.edges.insert(edge);
    node.gpus[{"GPU-1", epoch}][edge] = Idle((edge - epoch) * 1000);
    node.teams[{"ml", epoch}][edge] = Idle((edge - epoch) * 1000);
  }
  return node;
}

TEST(ClosedHoursTest, AnHourIsTheDifferenceOfItsEdges) {
  std::optional<NodeState> state;
  std::vector<NodeSpan> spans;
  ASSERT_TRUE(BookNode("n", IdleNode(kT0 - 7200, {kT0, kT0 + 3600}), kT0, &state, &spans));
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].from, kT0);
  EXPECT_EQ(spans[0].gpus.at(0).time.phases, Idle(kHourMs));
  EXPECT_EQ(spans[0].teams.at("ml"), Idle(kHourMs));
  EXPECT_EQ(state->edge, kT0 + 3600);
}

TEST(ClosedHoursTest, HoursWithoutAnEdgeBetweenThemAreOneSpan) {
  std::optional<NodeState> state;
  std::vector<NodeSpan> spans;
  ASSERT_TRUE(BookNode("n", IdleNode(kT0 - 7200, {kT0, kT0 + 3 * 3600}), kT0, &state, &spans));
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].to - spans[0].from, 3 * 3600);
  EXPECT_EQ(spans[0].gpus.at(0).time.phases, Idle(3 * kHourMs));
}

TEST(ClosedHoursTest, ALostStateLeavesADeficitThatIsUnobserved) {
  NodeReadings node = IdleNode(kT0 - 7200, {kT0});
  const NodeReadings later = IdleNode(kT0 + 600, {kT0 + 3600});  // born ten minutes into the hour
  node.edges.insert(kT0 + 3600);
  node.gpus.insert(later.gpus.begin(), later.gpus.end());
  node.teams.insert(later.teams.begin(), later.teams.end());
  std::optional<NodeState> state;
  std::vector<NodeSpan> spans;
  ASSERT_TRUE(BookNode("n", node, kT0, &state, &spans));
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].gpus.at(0).time.reset_ms, 600'000);
  EXPECT_EQ(spans[0].gpus.at(0).time.TotalMs(), kHourMs);
  EXPECT_EQ(spans[0].teams.at("ml"), Idle(3'000'000));
  EXPECT_EQ(spans[0].teams.count("_unknown"), 0U);
}

TEST(ClosedHoursTest, CountersThatRiseFasterThanTimeAreRefused) {
  NodeReadings node = IdleNode(kT0 - 7200, {kT0, kT0 + 3600});
  node.gpus[{"GPU-1", kT0 - 7200}][kT0 + 3600][2] += 60'000;
  std::optional<NodeState> state;
  std::vector<NodeSpan> spans;
  const Result<void> booked = BookNode("n", node, kT0, &state, &spans);
  ASSERT_FALSE(booked);
  EXPECT_NE(booked.error().message.find("two agents"), std::string::npos);
  EXPECT_TRUE(spans.empty());
  EXPECT_EQ(state->edge, kT0);
}

TEST(ClosedHoursTest, AWrongEdgeCountsAsNotRead) {
  NodeReadings node = IdleNode(kT0 - 7200, {kT0, kT0 + 3600, kT0 + 7200, kT0 + 10'800});
  node.gpus[{"GPU-1", kT0 - 7200}][kT0 + 3600][2] += 60'000;
  std::optional<NodeState> state;
  std::vector<NodeSpan> spans;
  EXPECT_TRUE(BookNode("n", node, kT0, &state, &spans));
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].from, kT0);
  EXPECT_EQ(spans[0].to, kT0 + 7200);
  EXPECT_EQ(spans[0].gpus.at(0).time.phases, Idle(2 * kHourMs));
  EXPECT_EQ(spans[1].to, kT0 + 10'800);
  EXPECT_EQ(state->edge, kT0 + 10'800);
}

TEST(ClosedHoursTest, AfterADayOfWrongCountersCountingStartsAgain) {
  constexpr std::int64_t kDay = 24 * 3600;
  std::vector<std::int64_t> edges;
  for (std::int64_t edge = kT0; edge <= kT0 + kDay + 3600; edge += 3600) edges.push_back(edge);
  NodeReadings node = IdleNode(kT0 - 7200, edges);
  for (auto& [edge, phases] : node.gpus[{"GPU-1", kT0 - 7200}]) phases[2] += edge > kT0 ? 60'000 : 0;
  std::optional<NodeState> state;
  std::vector<NodeSpan> spans;
  const Result<void> booked = BookNode("n", node, kT0, &state, &spans);
  ASSERT_FALSE(booked);
  EXPECT_NE(booked.error().message.find("two agents"), std::string::npos);
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].to, kT0 + kDay);
  EXPECT_EQ(spans[0].gpus.at(0).time.phases[4], kDay * 1000);
  EXPECT_EQ(spans[0].gpus.at(0).time.reset_ms, kDay * 1000);
  EXPECT_TRUE(spans[0].teams.empty());
  EXPECT_EQ(spans[1].gpus.at(0).time.phases, Idle(kHourMs));
  EXPECT_EQ(state->edge, kT0 + kDay + 3600);
}

TEST(ClosedHoursTest, AMigInstanceCountsByItsShare) {
  NodeReadings node;
  node.edges = {kT0, kT0 + 3600};
  node.slices["MIG-1"] = {1, 7};
  node.gpus[{"MIG-1", kT0 - 7200}] = {{kT0, Idle(7'200'000 / 7)}, {kT0 + 3600, Idle((7'200'000 + kHourMs) / 7)}};
  std::optional<NodeState> state;
  std::vector<NodeSpan> spans;
  ASSERT_TRUE(BookNode("n", node, kT0, &state, &spans));
  EXPECT_EQ(spans.at(0).gpus.at(0).time.reset_ms, 0);
  EXPECT_EQ(spans[0].gpus[0].time.TotalMs(), kHourMs / 7);
}

TEST(ClosedHoursTest, AnAgentThatBeganInTheWindowOwesNothingForBefore) {
  std::optional<NodeState> state;
  std::vector<NodeSpan> spans;
  ASSERT_TRUE(BookNode("n", IdleNode(kT0 + 5400, {kT0 + 7200, kT0 + 10800}), kT0, &state, &spans));
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].gpus.at(0).time.TotalMs(), 1'800'000);
  EXPECT_EQ(spans[0].gpus.at(0).time.reset_ms, 0);
}

TEST(ClosedHoursTest, AGpuThatIsGoneIsUnobservedOnce) {
  NodeReadings node = IdleNode(kT0 - 7200, {kT0, kT0 + 3600, kT0 + 7200});
  node.gpus[{"GPU-2", kT0 - 7200}][kT0] = Idle(7'200'000);
  node.teams[{"ml", kT0 - 7200}][kT0][0] += 7'200'000;
  for (const int h : {1, 2}) node.teams[{"ml", kT0 - 7200}][kT0 + h * 3600][0] += 7'200'000;
  std::optional<NodeState> state;
  std::vector<NodeSpan> spans;
  ASSERT_TRUE(BookNode("n", node, kT0, &state, &spans));
  ASSERT_EQ(spans.size(), 2U);
  ASSERT_EQ(spans[0].gpus.size(), 2U);
  EXPECT_EQ(spans[0].gpus[1].time.reset_ms, kHourMs);
  EXPECT_EQ(spans[0].gpus[1].time.phases[kFleetUnobserved], kHourMs);
  EXPECT_EQ(spans[1].gpus.size(), 1U);
}

TEST(ClosedHoursTest, TimeOfATeamThatNoJobExplainsIsOfAnUnknownJob) {
  std::optional<NodeState> state;
  std::vector<NodeSpan> spans;
  ASSERT_TRUE(BookNode("n", IdleNode(kT0 - 7200, {kT0, kT0 + 3600}), kT0, &state, &spans));
  EXPECT_EQ(spans.at(0).jobs.at({"", "_unknown", "", "ml", ""}), Idle(kHourMs));
}

TEST(ClosedHoursTest, TimeOfJobsBeyondTheirTeamIsToldByTeamAndPhase) {
  NodeReadings node = IdleNode(kT0 - 7200, {kT0, kT0 + 3600});
  node.jobs[{"c", "1", "u", "ml", "e"}].twin[kT0 + 3600] = Idle(kHourMs);
  node.jobs[{"c", "2", "u", "ml", "e"}].twin[kT0 + 3600] = Idle(60'000);
  std::optional<NodeState> state;
  std::vector<NodeSpan> spans;
  ASSERT_TRUE(BookNode("n", node, kT0, &state, &spans));
  EXPECT_EQ(spans.at(0).jobs_over, (std::map<std::string, PhaseMs>{{"ml", Idle(60'000)}}));
  EXPECT_EQ(spans.at(0).jobs.size(), 2U);
}

TEST(WasteBoundsTest, FollowTheBandsOfUtilization) {
  const WasteBounds waste = WasteOf({{1000, 1000, 1000, 1000, 1000}, 0});
  EXPECT_EQ(waste.low_ms, 900 + 300 + 100);
  EXPECT_EQ(waste.high_ms, 1000 + 900 + 300 + 100);
}

}  // namespace
}  // namespace idleburn
