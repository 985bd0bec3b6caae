#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/finding.h"
#include "diagnose/scene.h"
#include "diagnose/waste_left.h"

namespace idleburn {

// A cause must hold at least this share of observed time to be worth naming (lowest threshold in use by peers).
inline constexpr double kMaterialShare = 0.03;

// A finding of a row of the cause table: title, share, refuters and the next step. Evidence, bound and the waste that
// it explains are the caller's. `where`: the devices that lost the time, in what proportion; none: all, as they were
// observed.
Finding MakeFinding(const Scene& scene, std::string_view cause, Status status, std::int64_t gpu_ns,
                    const DeviceShares& where = {});

// What GPU time of those devices costs at their rates. Absent if none of them has one.
std::optional<Money> CostOfTime(const CostReport& cost, std::int64_t gpu_ns, const DeviceShares& where = {});

// The largest first: by the waste they explain, or its cost where an hour has several prices; then by time.
void SortByLoss(const CostReport& cost, std::vector<Finding>& findings);

double Seconds(std::int64_t ns);

// The counter of a signal of the first device that has readings of it.
std::string CounterOf(const Scene& scene, Signal s);

}  // namespace idleburn
