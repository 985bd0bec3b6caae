#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/spot_facts.h"
#include "plan/plan_report.h"
#include "price/catalogue.h"

namespace idleburn {

// One GPU, number and market that the run fits, at the least price that is known for it.
struct PlanOffer {
  RunOffer run;
  Market market = Market::kOnDemand;
  MemoryFit fit = MemoryFit::kFits;
  std::string price_key;  // of the catalogue, or "--price 2.49"
  std::optional<Instant> as_of;
};

// Prices of the GPU asked for, instead of the catalogue's.
struct OwnPrices {
  std::optional<Money> on_demand;
  std::optional<Money> spot;
  std::string text;  // as given
};

struct OfferQuestion {
  const Calibration* calibration = nullptr;
  const Catalogue* catalogue = nullptr;
  OwnPrices own;
  std::vector<double> gpu_counts;  // to be tried
  std::optional<UpAndDown> machines;
};

struct PlanOffers {
  std::vector<PlanOffer> offers;    // in the order of GPU, number, market
  std::vector<std::string> unfit;   // GPUs with a price that no number asked for fits
  std::vector<std::string> unrated; // GPUs with a price that no time can be estimated for
  std::size_t spot_not_offered = 0; // spot prices that are no lower than on demand
};

// Offers for a run whose samples are known. A stated throughput holds for the GPU and the number that it was stated
// for, so that only these are offered.
Result<PlanOffers> FindOffers(const PlanReport& report, const OfferQuestion& question);

}  // namespace idleburn
