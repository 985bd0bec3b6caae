#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fleet/fleet_ledger.h"

namespace idleburn::testing {

// One hour of one machine, invented. Jobs, what no job held and what was lost must sum to the GPUs.
struct MadeHour {
  std::string node;
  std::int64_t hour = 0;  // its begin, Unix seconds
  std::vector<std::pair<std::string, PhaseMs>> gpus;
  std::vector<std::pair<JobKey, PhaseMs>> jobs;
  PhaseMs unallocated{};
  std::int64_t lost_ms = 0;  // unobserved time of the first GPU that its agent lost
  std::int64_t hours = 1;    // of the span
};

// Writes a ledger in a new folder. `hours` are in order of time.
inline void WriteLedger(const std::string& path, const std::vector<MadeHour>& hours) {
  Result<FleetLedger> ledger = FleetLedger::Open(path, Nanos{kNanosPerSecond});
  ASSERT_TRUE(ledger.has_value()) << ledger.error().message;
  std::map<std::string, std::int64_t> edges;
  std::map<std::string, NodePulls> months;  // by month, then by node
  for (const MadeHour& hour : hours) {
    const std::int64_t end = hour.hour + hour.hours * 3600;
    NodePulls& pulls = months[MonthOf(end)];
    const auto [pull, fresh] = pulls.try_emplace(hour.node);
    if (fresh && edges.count(hour.node) != 0) pull->second.edge_before = edges[hour.node];
    pull->second.after.edge = edges[hour.node] = end;
    NodeSpan span{hour.node, hour.hour, end, {}, {}, {}, {}};
    for (const auto& [uuid, phases] : hour.gpus) span.gpus.push_back({uuid, {phases, 0}});
    if (hour.lost_ms > 0) {
      span.gpus[0].time.phases[kFleetUnobserved] += hour.lost_ms;
      span.gpus[0].time.reset_ms = hour.lost_ms;
    }
    for (const auto& [job, phases] : hour.jobs) {
      span.jobs[job] = phases;
      for (std::size_t p = 0; p < phases.size(); ++p) span.teams[job.team][p] += phases[p];
    }
    for (std::size_t p = 0; p < hour.unallocated.size(); ++p) {
      if (hour.unallocated[p] > 0) span.teams[kFleetUnallocated][p] += hour.unallocated[p];
    }
    pull->second.spans.push_back(std::move(span));
  }
  for (const auto& [month, pulls] : months) {
    const auto late = ledger->Write(hours.front().hour, pulls);
    ASSERT_TRUE(late.has_value()) << late.error().message;
    ASSERT_TRUE(late->empty()) << "an hour of " << *late->begin() << " was not written";
  }
}

}  // namespace idleburn::testing
