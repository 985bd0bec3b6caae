#include "plan/node_events.h"

#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <string_view>

#include "text/csv.h"
#include "text/number.h"

namespace idleburn {
namespace {

constexpr std::array<std::string_view, 3> kColumns = {"t_s", "event", "node"};
constexpr int kNanoDecimals = 9;

// A fleet while its events are read.
struct Fleet {
  InterruptionHistory history;
  std::map<std::string, std::size_t, std::less<>> seat_of;  // the last seat of every node seen
  std::deque<std::size_t> vacant;                           // longest first

  [[nodiscard]] bool Present(std::string_view node) const {
    const auto found = seat_of.find(node);
    return found != seat_of.end() && occupant[found->second] == found->first;
  }

  void Fill(std::string_view node, Nanos at) {
    const std::size_t seat = TakeSeat(node);
    occupant[seat] = node;
    seat_of.insert_or_assign(std::string(node), seat);
    history.seats[seat].push_back({at, at, false});
  }

  void Empty(std::string_view node, Nanos at) {
    const std::size_t seat = seat_of.find(node)->second;
    occupant[seat].clear();
    history.seats[seat].back().end = at;
    history.seats[seat].back().lost = true;
    vacant.push_back(seat);
  }

  void End() {
    for (SeatHistory& seat : history.seats) {
      if (!seat.back().lost) seat.back().end = history.end;
    }
  }

 private:
  std::size_t TakeSeat(std::string_view node) {
    auto choice = vacant.begin();
    const auto own = seat_of.find(node);
    for (auto seat = vacant.begin(); own != seat_of.end() && seat != vacant.end(); ++seat) {
      if (*seat == own->second) choice = seat;
    }
    if (choice == vacant.end()) {
      history.seats.emplace_back();
      occupant.emplace_back();
      return history.seats.size() - 1;
    }
    const std::size_t seat = *choice;
    vacant.erase(choice);
    return seat;
  }

  std::vector<std::string> occupant;  // of each seat; empty: vacant
};

void Note(const CsvTable& table, EventDoubt& doubt) {
  if (doubt.rows++ == 0) doubt.first = table.Where();
}

Result<Nanos> ReadTime(const CsvTable& table) {
  const ScaledNumber seconds = ParseScaled(table.Cell("t_s"), kNanoDecimals);
  if (seconds.fault != NumberFault::kNone || seconds.value < 0) {
    return table.Bad("t_s", "is no time; write seconds from the start of the history, like 480.0");
  }
  return Nanos(seconds.value);
}

Result<void> AddEvent(const CsvTable& table, Fleet& fleet, NodeEvents& events) {
  const Nanos at = TRY(ReadTime(table));
  if (at < fleet.history.end) return table.Bad("t_s", "is earlier than the row before it; sort each trace by time");
  fleet.history.end = at;
  const std::string_view node = table.Cell("node");
  if (node.empty()) return table.Bad("node", "is empty; name the machine of each event");
  const std::string_view event = table.Cell("event");
  if (event != "add" && event != "remove") return table.Bad("event", "is no event; write add or remove");
  const bool add = event == "add";
  if (fleet.Present(node) == add) {
    Note(table, add ? events.added_twice : events.removed_unknown);
  } else if (add) {
    fleet.Fill(node, at);
  } else {
    fleet.Empty(node, at);
  }
  return {};
}

}  // namespace

Result<NodeEvents> ReadNodeEvents(ByteSource& in) {
  CsvTable table(in);
  TRY(table.ReadHeader());
  TRY(table.Require(kColumns));
  const bool named = table.Has("trace");
  NodeEvents events;
  std::vector<Fleet> fleets;
  std::map<std::string, std::size_t, std::less<>> fleet_of;
  while (true) {
    const bool more = TRY(table.Next());
    if (!more) break;
    const std::string_view trace = named ? table.Cell("trace") : std::string_view(in.name());
    const auto known = fleet_of.find(trace);
    const std::size_t index = known != fleet_of.end() ? known->second : fleets.size();
    if (known == fleet_of.end()) {
      fleet_of.emplace(trace, index);
      fleets.emplace_back().history.trace = trace;
    }
    TRY(AddEvent(table, fleets[index], events));
  }
  if (fleets.empty()) return Fail(in.name() + ": no events under the header; add rows of added and removed nodes");
  for (Fleet& fleet : fleets) {
    fleet.End();
    events.histories.push_back(std::move(fleet.history));
  }
  return events;
}

UptimeFacts FactsOf(const InterruptionHistory& history) {
  UptimeFacts facts;
  Hours observed{};
  for (const SeatHistory& seat : history.seats) {
    observed += history.end - seat.front().start;
    for (const UpPeriod& period : seat) {
      facts.up += period.end - period.start;
      facts.losses += period.lost ? 1 : 0;
    }
  }
  if (facts.losses > 0) facts.mean_uptime = facts.up / static_cast<double>(facts.losses);
  if (observed > Hours{}) facts.up_fraction = facts.up / observed;
  return facts;
}

}  // namespace idleburn
