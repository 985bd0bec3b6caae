#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/settings.h"
#include "price/rate_book.h"
#include "price/stated_price.h"
#include "telemetry/data_quality.h"
#include "telemetry/live_sink.h"
#include "telemetry/run_facts.h"

namespace idleburn {

// Whose price is looked for.
struct RateQuestion {
  std::string instance;  // of the machine measured live, where it tells: "aws:p5.48xlarge"
  std::string region;    // likewise
  std::string market;    // likewise
  std::string host;      // of GPUs that do not tell theirs
  Instant now;
  bool live = false;  // the GPUs were not known when the price was given: one that fits none of them is no error then
};

// The rate of a price as it is given, in the currency of the settings where it is a number.
Result<Rate> RateOfGiven(const Settings& settings, const Catalogue& catalogue, const StatedPrice& price, Instant now);
// Whether flags say what GPUs cost, whatever was kept or is set elsewhere.
bool PriceGiven(const Settings& settings);

// By what prices are found: the user's settings, price list and contracts, and the machine. Fails on what is wrong with
// those, never because there is no price. Old prices are not counted in `quality` yet: see CountStale.
Result<RateBook> OpenRates(const Settings& settings, const RateQuestion& question, DataQuality& quality);

// The rates of the devices of a table, as they come to be known.
using RateFinder = std::function<Result<RateCard>(const DeviceTable& devices)>;

// The rates of GPUs of those models, in their order.
Result<std::vector<Rate>> RatesOfModels(const RateBook& book, std::span<const std::string> gpu_names);
// What GPUs of those models have in common as a rate, see OneRate.
Result<Rate> RateOfModels(const RateBook& book, std::span<const std::string> gpu_names);
// The one rate that any GPU has, as far as the settings alone decide that.
std::optional<Rate> RateOfAny(const RateBook& book);

std::vector<DeviceId> AllOf(const DeviceTable& devices);

void CountStale(const RateCard& card, Instant now, DataQuality& quality);

// What of this machine decides the price, as facts of a run; nothing where it does not tell. The network is asked only
// if `ask_cloud`, for a second at most; that nothing came of it is then said on standard error.
std::vector<RunFact> MachineFacts(bool ask_cloud);
// What such facts say.
RateQuestion QuestionOf(const RunFacts& facts);

}  // namespace idleburn
