#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "base/time.h"
#include "price/catalogue.h"
#include "price/rate_card.h"
#include "price/stated_price.h"

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

// What a price in the catalogue can be found by.
struct PriceRequest {
  std::string instance;                // of this machine, where it tells: "aws:p5.48xlarge"; else empty
  std::string region;                  // of this machine, where it tells: "us-east-1"
  std::string market;                  // likewise: "spot"
  std::vector<std::string> gpu_names;  // as their driver prints them
  Instant now;                         // decides whether a price is stale
};

// One rate for all those GPUs: from rows of this machine's instance, if it can have such GPUs, else from rows of the
// GPUs. Of an instance only rows of its region and market count, where those are known; if there is none, the others
// are candidates and settle nothing. Rows settle it if all have one price per GPU-hour; otherwise the rate has the
// reason "ambiguous_price" with the candidates, or "no_price" where a GPU has no row. Never a default, never the price
// of a similar model. A catalogue price has the other offers of its GPU as candidates.
Result<Rate> RateOfListed(const Catalogue& catalogue, const PriceRequest& request);

// The rate of a price as it is given, and that of --owned.
Result<Rate> RateOfPrice(const Catalogue& catalogue, const StatedPrice& price, Instant now);
Result<Rate> RateOfOwned(std::string_view text);

// Whether the row sells another product than that GPU, as its driver prints it; of names that are not known it is not
// told.
bool IsOtherProduct(const CatalogueRow& row, std::string_view gpu_name);

// Rows of a GPU as a driver or the catalogue names it, cheapest per GPU-hour first. None of a name that is several
// products, even if a row has no more of a name: that one is reached by its key.
std::vector<const CatalogueRow*> RowsOfGpu(const Catalogue& catalogue, std::string_view gpu_name);

}  // namespace idleburn
