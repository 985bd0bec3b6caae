#pragma once

#include <cstdint>
#include <optional>

#include "plan/spot_formulas.h"
#include "plan/spot_trace.h"

namespace idleburn {

// Hours of work, as an estimate with its 90 % interval; the three are equal where the work is known.
struct WorkHours {
  Hours low{};
  Hours likely{};
  Hours high{};
};

// Machines by turns there and gone. Lengths are drawn from `lengths`, each as often as it was seen, else they are
// exponential with the means.
struct UpAndDown {
  Hours mean_up{};     // M
  Hours mean_down{};   // 0: a replacement is there at once
  RunLengths lengths;  // empty: none were supplied
};
UpAndDown UpAndDownOf(const SpotTrace& trace);

// Of a job on n machines, from that of one: it is up until the first of them is lost and waits for its replacement.
UpAndDown OfJob(UpAndDown of_node, int nodes);

struct SimulationSpec {
  int runs = 2000;
  std::uint64_t seed = 1;
  std::optional<Hours> deadline;  // wall-clock
};

// Of simulated runs. What depends on runs that got nowhere (kMostStays interruptions) is absent.
struct SpotOutlook {
  int runs = 0;
  int unfinished = 0;
  std::optional<Hours> wall_p50, wall_p90, wall_p95;
  std::optional<Hours> billed_mean, billed_p05, billed_p95;
  std::optional<double> interruptions_mean;
  std::optional<double> deadline_met;  // share of the runs; absent without a deadline
};

// Runs a job again and again; work is drawn for each run so that 5 % lie below `low`, 5 % above `high`
// (log-normal on either side of `likely`). A job starts at a random moment, and waits if nothing is there. Equal seeds
// give equal results.
SpotOutlook SimulateSpot(const WorkHours& work, const CheckpointedWork& job, Hours unbilled, const UpAndDown& machines,
                         const SimulationSpec& spec);

}  // namespace idleburn
