#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan_report.h"
#include "plan/prices.h"
#include "plan/spot_facts.h"

namespace idleburn {

// One GPU, number and market that the run fits, at the least price that is known for it.
struct PlanOffer {
  RunOffer run;
  std::optional<int> rented_gpus;  // in the machines that are priced whole; absent where the price is a GPU's own
  Market market = Market::kOnDemand;
  MemoryFit fit = MemoryFit::kFits;
  std::string price_key;  // of the catalogue, or where the user's own comes from: "--price 2.49"
  std::string currency = "USD";
  std::optional<Instant> as_of;
};

struct OfferQuestion {
  const Calibration* calibration = nullptr;
  const PlanPrices* prices = nullptr;
  std::vector<double> gpu_counts;  // to be tried
  std::optional<UpAndDown> machines;
};

struct PlanOffers {
  std::vector<PlanOffer> offers;         // in the order of GPU, number, market
  std::vector<std::string> unfit;        // GPUs with a price that no number asked for fits
  std::vector<std::string> unrated;      // GPUs with a price that no time can be estimated for
  std::size_t spot_not_offered = 0;      // spot prices that are no lower than on demand
  std::vector<std::string> part_priced;  // GPUs of which some have a price only: "16 x H100-80GB-SXM"
  std::size_t other_currency = 0;        // offers in USD beside own prices in another: they have no comparison
};

// Offers for a run whose samples are known. A stated throughput holds for the GPU and the number that it was stated
// for, so that only these are offered. Fails if own prices are in several currencies.
Result<PlanOffers> FindOffers(const PlanReport& report, const OfferQuestion& question);

}  // namespace idleburn
