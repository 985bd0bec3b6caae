#include "plan/node_events.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "support/property.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

using std::chrono::seconds;

Result<NodeEvents> Read(const std::string& text) {
  StringSource in(text, "events.csv");
  return ReadNodeEvents(in);
}

std::string ErrorOf(const std::string& text) {
  const Result<NodeEvents> events = Read(text);
  return events ? "" : events.error().message;
}

constexpr std::string_view kHeader = "trace,t_s,event,node\n";

TEST(NodeEventsTest, SeatsAreFilledAgain) {
  const NodeEvents events = Read(std::string(kHeader) +
                                 "a,0,add,n1\na,10,add,n2\na,100,remove,n1\na,110,remove,n2\n"
                                 "a,130.5,add,n3\na,200,add,n4\na,300,remove,n3\n")
                                .value();
  ASSERT_EQ(events.histories.size(), 1U);
  const InterruptionHistory& history = events.histories[0];
  EXPECT_EQ(history.trace, "a");
  EXPECT_EQ(history.end, seconds(300));
  ASSERT_EQ(history.seats.size(), 2U);
  ASSERT_EQ(history.seats[0].size(), 2U);  // the longest empty is filled first
  EXPECT_EQ(history.seats[0][0].end, seconds(100));
  EXPECT_TRUE(history.seats[0][0].lost);
  EXPECT_EQ(history.seats[0][1].start, std::chrono::milliseconds(130'500));
  EXPECT_EQ(history.seats[0][1].end, seconds(300));
  EXPECT_TRUE(history.seats[0][1].lost);
  ASSERT_EQ(history.seats[1].size(), 2U);
  EXPECT_EQ(history.seats[1][1].start, seconds(200));
  EXPECT_EQ(history.seats[1][1].end, seconds(300));  // still there when the history ends
  EXPECT_FALSE(history.seats[1][1].lost);
  EXPECT_EQ(events.added_twice.rows + events.removed_unknown.rows, 0);
}

TEST(NodeEventsTest, FactsByHand) {
  // Two seats: up 100 + 170 and 100 + 100 s, lost three times; seen for 300 and 290 s.
  const NodeEvents events = Read(std::string(kHeader) +
                                 "a,0,add,n1\na,10,add,n2\na,100,remove,n1\na,110,remove,n2\n"
                                 "a,130,add,n3\na,200,add,n4\na,300,remove,n3\n")
                                .value();
  const UptimeFacts facts = FactsOf(events.histories[0]);
  EXPECT_EQ(facts.losses, 3);
  EXPECT_DOUBLE_EQ(facts.up / seconds(1), 470);
  EXPECT_DOUBLE_EQ(*facts.mean_uptime / seconds(1), 470.0 / 3);
  EXPECT_DOUBLE_EQ(facts.up_fraction, 470.0 / 590);
}

TEST(NodeEventsTest, NothingLostHasNoMeanUptime) {
  const UptimeFacts facts = FactsOf(Read("t_s,event,node\n0,add,a\n60,add,b\n")->histories[0]);
  EXPECT_FALSE(facts.mean_uptime);
  EXPECT_EQ(facts.up_fraction, 1);
}

TEST(NodeEventsTest, ANameThatComesBackTakesItsOwnSeat) {
  const NodeEvents events =
      Read("t_s,event,node\n0,add,a\n0,add,b\n10,remove,a\n20,remove,b\n30,add,b\n40,add,a\n").value();
  const InterruptionHistory& history = events.histories[0];
  EXPECT_EQ(history.trace, "events.csv");
  EXPECT_EQ(history.seats[0][1].start, seconds(40));
  EXPECT_EQ(history.seats[1][1].start, seconds(30));
}

TEST(NodeEventsTest, TracesAreKeptApart) {
  const NodeEvents events = Read(std::string(kHeader) + "b,5,add,n\na,0,add,n\nb,9,remove,n\na,1,remove,n\n").value();
  ASSERT_EQ(events.histories.size(), 2U);
  EXPECT_EQ(events.histories[0].trace, "b");
  EXPECT_EQ(events.histories[1].end, seconds(1));
}

TEST(NodeEventsTest, ContradictionsAreCounted) {
  const NodeEvents events =
      Read("t_s,event,node\n0,add,a\n1,add,a\n2,remove,b\n3,remove,a\n4,remove,a\n5,add,a\n").value();
  EXPECT_EQ(events.added_twice.rows, 1);
  EXPECT_EQ(events.added_twice.first, "events.csv:3");
  EXPECT_EQ(events.removed_unknown.rows, 2);
  EXPECT_EQ(events.removed_unknown.first, "events.csv:4");
  EXPECT_EQ(events.histories[0].seats[0].size(), 2U);
}

TEST(NodeEventsTest, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(ErrorOf("t_s,event\n0,add\n"), "events.csv:1: no column 'node' in the header; add it");
  EXPECT_EQ(ErrorOf("t_s,event,node\n"), "events.csv: no events under the header; add rows of added and removed nodes");
  EXPECT_EQ(ErrorOf("t_s,event,node\nsoon,add,a\n"),
            "events.csv:2: t_s: 'soon' is no time; write seconds from the start of the history, like 480.0");
  EXPECT_EQ(ErrorOf("t_s,event,node\n-1,add,a\n"),
            "events.csv:2: t_s: '-1' is no time; write seconds from the start of the history, like 480.0");
  EXPECT_EQ(ErrorOf("t_s,event,node\n5,add,a\n4,add,b\n"),
            "events.csv:3: t_s: '4' is earlier than the row before it; sort each trace by time");
  EXPECT_EQ(ErrorOf("t_s,event,node\n5,moved,a\n"), "events.csv:2: event: 'moved' is no event; write add or remove");
  EXPECT_EQ(ErrorOf("t_s,event,node\n5,add,\n"), "events.csv:2: node: '' is empty; name the machine of each event");
}

// Whatever happens to a fleet, its seats hold as many machines as are there, and their time up is what was added less
// what was removed, which a set of names and a sum say too.
TEST(NodeEventsTest, SeatsHoldWhatIsThere) {
  test::ExpectProperty("time up", [] {
    std::string text = "t_s,event,node\n";
    std::map<int, std::int64_t> there;
    std::int64_t at = 0;
    std::int64_t up = 0;
    std::int64_t losses = 0;
    std::size_t most = 0;
    const int rows = *rc::gen::inRange(1, 60);
    for (int i = 0; i < rows; ++i) {
      at += *rc::gen::inRange(0, 50);
      const int node = *rc::gen::inRange(0, 8);
      const auto known = there.find(node);
      text += std::to_string(at) + (known == there.end() ? ",add,n" : ",remove,n") + std::to_string(node) + "\n";
      if (known == there.end()) {
        there.emplace(node, at);
        most = std::max(most, there.size());
      } else {
        up += at - known->second;
        ++losses;
        there.erase(known);
      }
    }
    for (const auto& [node, since] : there) up += at - since;
    const NodeEvents events = Read(text).value();
    const UptimeFacts facts = FactsOf(events.histories[0]);
    RC_ASSERT(facts.losses == losses);
    RC_ASSERT(events.histories[0].seats.size() == most);
    RC_ASSERT(std::abs(facts.up / seconds(1) - static_cast<double>(up)) < 1e-6);
    for (const SeatHistory& seat : events.histories[0].seats) {
      for (std::size_t i = 0; i < seat.size(); ++i) {
        RC_ASSERT(seat[i].start <= seat[i].end);
        if (i > 0) RC_ASSERT(seat[i - 1].end <= seat[i].start);
        RC_ASSERT(seat[i].lost || i + 1 == seat.size());
      }
    }
  });
}

}  // namespace
}  // namespace idleburn
