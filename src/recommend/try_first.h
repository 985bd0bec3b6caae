// What to try when no cause is proved. Plain logs often show that time is lost and not why. These suggestions
// are kept apart from recommendations and are part of no saving.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnose/cause_table.h"
#include "diagnose/scene.h"
#include "recommend/advice.h"
#include "recommend/try_table.h"

namespace idleburn {

// What this run shows against trying a lever on any of its GPUs, as a sentence; empty if nothing. `findings`
// are the proved causes.
std::string WhyNotTry(const Scene& scene, const std::vector<Finding>& findings, std::string_view lever);

// Whether a lever applies to one GPU: the hardware supports it, memory has room, and some work would change.
bool CanTry(const Scene& scene, const GpuPicture& gpu, std::string_view lever);

// Readings for and against a lever on some GPUs, in addition to its pattern.
struct Weighed {
  std::vector<std::string> evidence;
  std::vector<std::string> against;
};
// Collects these readings.
Weighed Weigh(const Scene& scene, const std::vector<const GpuPicture*>& gpus, std::string_view lever);

// What to try although no cause is proved. For each pattern that the readings show, it takes the levers of the
// table that nothing in the run refutes and that `advice` does not recommend already. Each range is [0, high],
// with high at most what the lever can reach. The largest reach comes first.
std::vector<TryFirst> FindTries(const Scene& scene, const Advice& advice, const RecoveredShares& shares);

}  // namespace idleburn
