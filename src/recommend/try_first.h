#pragma once

#include <vector>

#include "recommend/advice.h"

namespace idleburn {

// What to try although no cause is proved: for each pattern that the readings show, the levers of the table of tries
// that nothing in the run refutes and that `advice` does not recommend already. Each range is [0, high] with high at
// most what the lever can reach; the largest reach first.
std::vector<TryFirst> FindTries(const Scene& scene, const Advice& advice, const RecoveredShares& shares);

}  // namespace idleburn
