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

// From settings and files to the rates of a run. This is where price sources are opened; price/rate_book.h decides
// between them and opens nothing.

// The shipped catalogue with the rows of the user's file over it. An empty `file` means none.
Result<Catalogue> LoadPrices(const std::string& file, DataQuality& quality);

// Reads a price file; the result counts what was left out of it.
Result<PriceFile> OpenPrices(const std::string& path, const PriceFileOptions& options, const Catalogue& known,
                             DataQuality& quality);

// The day of a price: "2026-11-21", or "undated".
std::string DayOrUndated(const std::optional<Instant>& as_of);

// The contracts of a file; none if `file` is empty.
Result<std::vector<Contract>> LoadContracts(const std::string& file);

// Facts of a run that say what its machine costs.
inline constexpr const char* kInstanceFact = "instance";  // "aws:p5.48xlarge"
inline constexpr const char* kRegionFact = "instance.region";
inline constexpr const char* kMarketFact = "instance.market";

// The machine and the GPUs whose price is wanted. Empty: not known.
struct RateQuestion {
  std::string instance;  // of the machine that was measured live: "aws:p5.48xlarge"
  std::string region;    // of that machine: "us-east-1"
  std::string market;    // of that machine: "spot"
  std::string host;      // of GPUs that do not name theirs
  bool live = false;  // the GPUs were unknown when the price was given, so a price that fits none of them is no error
};
// Reads them from the facts of a run.
RateQuestion QuestionOf(const RunFacts& facts);

// What a command knows of prices before it knows a GPU: settings, price list and contracts, read once.
struct Prices {
  RateBook book;
  bool stated_by_flag = false;  // by --price: a price that fits no GPU is then an error
  DataQuality doubts;           // about the price list

  // The book for one machine.
  [[nodiscard]] RateBook For(const RateQuestion& question) const;
};
// Fails on errors in settings, price list or contracts, never for the lack of a price. Stale prices are not counted
// yet, because that needs the GPUs: see CountStale.
Result<Prices> OpenRates(const Settings& settings, Instant now);

// The rate of a price as given. A number has the currency of the settings; a key has its own.
Result<Rate> RateOfGiven(const Settings& settings, const Catalogue& catalogue, const StatedPrice& price, Instant now);
// Whether flags of this command say what GPUs cost. They take precedence over prices that were kept with a run.
bool PriceGiven(const Settings& settings);

// Finds the rates of the devices of a table. A callback, because the devices of a log are known only after reading
// it.
using RateFinder = std::function<Result<RateCard>(const DeviceTable& devices)>;

// The rates of GPUs of these models, in their order. For plans: there is no device yet.
Result<std::vector<Rate>> RatesOfModels(const RateBook& book, std::span<const std::string> gpu_names);
// The same as one rate (OneRate).
Result<Rate> RateOfModels(const RateBook& book, std::span<const std::string> gpu_names);
// The rate that any GPU would have, as far as settings alone decide it. Absent if it depends on the GPU.
std::optional<Rate> RateOfAny(const RateBook& book);

// The ids of all devices of a table.
std::vector<DeviceId> AllOf(const DeviceTable& devices);

// Counts the stale prices of a card, each candidate once, as doubts of the report.
void CountStale(const RateCard& card, Instant now, DataQuality& quality);

}  // namespace idleburn
