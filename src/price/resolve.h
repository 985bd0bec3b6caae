#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "base/time.h"
#include "price/catalogue.h"
#include "price/rate_book.h"
#include "price/stated_price.h"

namespace idleburn {

// What an hour of an owned GPU costs (docs/contracts.md, "Hardware of your own"):
//   ((capex - residual) / (life in years x 8760) + operation per hour) / GPUs
struct OwnedRate {
  Money per_available;            // per GPU-hour of existence; runs are priced with this
  std::optional<Money> per_used;  // per GPU-hour in use; absent without `utilisation`
  // Figures that were not given. They are named beside the rate, never silently taken for 0.
  std::vector<std::string_view> not_given;
};

// Reads the text of --owned: "capex=250000,residual=25000,life=4,gpus=8,kw=10.2,pue=1.3,tariff=0.11,hosting=2,
// utilisation=0.6". Required: capex, life (years), gpus. Optional: residual, kw, pue, tariff (per kWh), hosting and
// staff (per hour), utilisation (above 0, at most 1). Computed as an exact fraction and rounded once, half to even. A
// bad text is a usage error.
Result<OwnedRate> ParseOwned(std::string_view text);

// What a catalogue price is looked up by. Empty: not known.
struct PriceRequest {
  std::string instance;                // of this machine: "aws:p5.48xlarge"
  std::string region;                  // of this machine: "us-east-1"
  std::string market;                  // of this machine: "spot"
  std::vector<std::string> gpu_names;  // as their driver prints them
  Instant now;                         // decides whether a price is stale
};

// One rate for all GPUs of the request. Rows of this machine's instance decide if it can have such GPUs; else rows of
// the GPU models. Of an instance, only rows of its region and market count, if those are known; if there are none,
// its other rows are candidates and settle nothing.
//
// Rows settle the price only if all agree per GPU-hour. Otherwise the reason is "ambiguous_price", with the
// candidates, or "no_price" if a GPU has no row. There is no default and no price of a similar model: a wrong price
// would look like a fact.
Result<Rate> RateOfListed(const Catalogue& catalogue, const PriceRequest& request);

// The rate of a stated price: a number, a key, or the name of a GPU. A name gives the price of its offers if they
// agree, else their range without a price ("ambiguous_price"). It may be that of a family: "H100" is H100-80GB-SXM and
// H100-94GB-NVL.
Result<Rate> RateOfPrice(const Catalogue& catalogue, const StatedPrice& price, Instant now);
// The rate of --owned. Its source names the figures that were not given.
Result<Rate> RateOfOwned(std::string_view text);

// Whether the row sells another product than the GPU that the driver names. False if either is unknown.
bool IsOtherProduct(const CatalogueRow& row, std::string_view gpu_name);

// The GPU of the catalogue that a mistyped name means: "RTX-4090" for "RTX 409". Case, blanks and dashes do not count.
// Empty if none is close.
std::string MeantGpu(std::string_view text, const Catalogue& catalogue);

// Rows of a GPU by the driver's or the catalogue's name, cheapest per GPU-hour first. A name that stands for several
// products ("V100") has none, even if a row has just that name: such a row is found by its key.
std::vector<const CatalogueRow*> RowsOfGpu(const Catalogue& catalogue, std::string_view gpu_name);

}  // namespace idleburn
