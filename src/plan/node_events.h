#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/time.h"
#include "plan/spot_hours.h"

namespace idleburn {

// A machine was there, from its `start` until it was taken away or, if not `lost`, the history ended. Since the start
// of the history.
struct UpPeriod {
  Nanos start{};
  Nanos end{};
  bool lost = false;
};

// What filled one place of a fleet, in order of time. A machine that was taken away and the one that replaced it have
// different names, so a name has no down time; its place in the fleet has.
using SeatHistory = std::vector<UpPeriod>;

struct InterruptionHistory {
  std::string trace;  // as the file calls it; the file's name if it has no such column
  Nanos end{};        // of its last event
  std::vector<SeatHistory> seats;
};

// Rows that contradict what came before them; they were left out.
struct EventDoubt {
  std::int64_t rows = 0;
  std::string first;  // "file:line" of the first; empty if there is none
};

struct NodeEvents {
  std::vector<InterruptionHistory> histories;  // in the order in which the file begins them; at least one
  EventDoubt added_twice;                      // the node was there already
  EventDoubt removed_unknown;                  // the node was not there
};

// Reads a table with the columns t_s (seconds from the start), event (add or remove), node and, if there are several
// histories in the file, trace. A node that is added takes the seat that it had before if that is empty, else the one
// that is empty longest, else a new one. A cell that means nothing, or time that goes back within a trace, is an error
// that names file and line. Holds the periods, not the rows.
Result<NodeEvents> ReadNodeEvents(ByteSource& in);

// What a history says of one machine.
struct UptimeFacts {
  std::int64_t losses = 0;
  Hours up{};                        // in all
  std::optional<Hours> mean_uptime;  // M: time up by losses; absent if nothing was lost
  double up_fraction = 0;            // of the time since a seat was first filled
};
UptimeFacts FactsOf(const InterruptionHistory& history);

}  // namespace idleburn
