#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"

namespace idleburn {

// What an hour of a GPU that is owned costs (docs/money.md):
//   ((capex - residual) / (life in years x 8760) + operation per hour) / GPUs
struct OwnedRate {
  Money per_available;            // per GPU-hour of existence: what the product prices with
  std::optional<Money> per_used;  // per GPU-hour in use; absent without `utilisation`
  // Figures that were not given and are not in the rate. They are named beside it, never taken for 0 in silence.
  std::vector<std::string_view> not_given;
};

// From the text of --owned: "capex=250000,residual=25000,life=4,gpus=8,kw=10.2,pue=1.3,tariff=0.11,hosting=2,
// utilisation=0.6". Required: capex, life (years), gpus. Optional: residual, kw, pue, tariff (per kWh), hosting and
// staff (per hour), utilisation (0 to 1). Computed exactly and rounded once, half to even. A bad text is a usage
// error.
Result<OwnedRate> ParseOwned(std::string_view text);

}  // namespace idleburn
