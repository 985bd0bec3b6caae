#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "config/settings.h"
#include "price/catalogue.h"
#include "price/contract.h"
#include "price/rate_book.h"
#include "price/stated_price.h"
#include "telemetry/data_quality.h"
#include "telemetry/live_sink.h"
#include "telemetry/run_facts.h"

namespace idleburn {

// The shipped catalogue, with the rows of the user's file over it ("": none).
Result<Catalogue> LoadPrices(const std::string& file, DataQuality& quality);

// The rows of a price file; what was left out of it is in the result.
Result<PriceFile> OpenPrices(const std::string& path, const PriceFileOptions& options, const Catalogue& known,
                             DataQuality& quality);

// The day of a price: "2026-11-21", or "undated".
std::string DayOrUndated(const std::optional<Instant>& as_of);

// The contracts of a file ("": none).
Result<std::vector<Contract>> LoadContracts(const std::string& file);

// The facts of a run that tell what its machine costs.
inline constexpr const char* kInstanceFact = "instance";  // "aws:p5.48xlarge"
inline constexpr const char* kRegionFact = "instance.region";
inline constexpr const char* kMarketFact = "instance.market";

// The machine and the GPUs that a price is wanted for.
struct RateQuestion {
  std::string instance;  // of the machine measured live, where it tells: "aws:p5.48xlarge"
  std::string region;    // the same of its region: "us-east-1"
  std::string market;    // the same of its market: "spot"
  std::string host;      // of GPUs that do not tell theirs
  bool live = false;     // the GPUs were unknown when the price was given: a price that fits none of them is no error
};
// Reads them from the facts of a run.
RateQuestion QuestionOf(const RunFacts& facts);

// What a command knows of prices before it knows a GPU: the settings, the price list and the contracts, read once.
struct Prices {
  RateBook book;
  bool stated_by_flag = false;  // --price; a price that fits no GPU is then an error
  DataQuality doubts;           // of the price list

  // The book for a certain machine.
  [[nodiscard]] RateBook For(const RateQuestion& question) const;
};
// Fails on what is wrong with settings, price list or contracts, never because there is no price. Old prices are not
// counted among the doubts yet: see CountStale.
Result<Prices> OpenRates(const Settings& settings, Instant now);

// The rate of a price as it is given, in the currency of the settings where it is a number.
Result<Rate> RateOfGiven(const Settings& settings, const Catalogue& catalogue, const StatedPrice& price, Instant now);
// Whether flags say what GPUs cost, whatever was kept or is set elsewhere.
bool PriceGiven(const Settings& settings);

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

}  // namespace idleburn
