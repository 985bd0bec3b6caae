#pragma once

#include <string>
#include <vector>

#include "compare/comparison_report.h"

namespace idleburn {

// "NAME=GPU_HOURS:PRICE[:cancellable]": capacity as it is bought. A bad text is a usage error.
Result<CapacityTier> ParseTier(const std::string& text);

// Fills in what the saving is in money, or why it is not said: only a saving that is shown is worth anything. Avoided
// hours are cash if the claim says that they stop being billed; with `tiers`, as far as the dearest that can be
// cancelled reach. All else is freed capacity.
Result<void> FillMoney(const std::vector<CapacityTier>& tiers, ComparisonReport& report);

}  // namespace idleburn
