#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "plan/plan_report.h"
#include "plan/spot_facts.h"
#include "price/rate_book.h"

namespace idleburn {

// What the run would cost to rent, on every GPU that it fits. Prices are the user's own before the catalogue's, found
// exactly as an audit finds them, so that a plan and the bill that follows it agree. Each GPU, number and market with a
// price becomes an offer, and offers are weighed against the caps.

// What so many GPUs of one model cost by the user's own prices, an hour.
struct OwnPrice {
  // The price of all of them. Absent where it is not known of some.
  std::optional<Money> on_demand;
  // The same by --spot-price.
  std::optional<Money> spot;
  // The row whose price it is, where the user gave a key; its machines are priced whole. It points into the catalogue
  // of the PlanPrices.
  const CatalogueRow* row = nullptr;
  std::string currency = "USD";
  // What a report cites: "--price 2.49", "contract acme: ...".
  std::string source;
};

// The prices of a run to come: the user's own, found as an audit finds them (docs/money.md), before the catalogue's. A
// price that names no model, of all GPUs or of hardware of one's own, is that of the GPU that the plan asks for.
class PlanPrices {
 public:
  struct Question {
    // The GPU that the plan asks for, in any spelling; empty if it asks for none.
    std::string gpu;
    // The amount of --spot-price; empty if it is not given.
    std::string spot;
    // The machine that the GPUs are in, where that is known.
    std::string host;
    Instant now;
  };
  // Fails on what is wrong with the prices, and where a flag gives one of a GPU that is not named.
  static Result<PlanPrices> Open(const Settings& settings, const Question& question);

  [[nodiscard]] const Catalogue& catalogue() const { return own_.catalogue; }
  // The user's own price of `gpus` of a model, by its name in data/gpus.csv. Absent where the catalogue's prices count.
  [[nodiscard]] Result<std::optional<OwnPrice>> Of(std::string_view gpu, int gpus) const;
  // The rate that an audit would find for a model.
  [[nodiscard]] Result<Rate> RateOf(std::string_view gpu) const;
  // Whether no other GPU is to be weighed, because the price is that of the one asked for.
  [[nodiscard]] bool only_asked() const { return only_asked_; }
  // A price that is left aside, because the plan does not say which GPU it is of. Empty if there is none.
  [[nodiscard]] const std::string& remark() const { return remark_; }

 private:
  // All prices of the user's, and those of them that name a model, without the catalogue.
  RateBook own_;
  RateBook named_;
  std::string asked_;
  std::optional<Money> spot_;
  std::string spot_currency_;
  bool only_asked_ = false;
  std::string remark_;
};

// Reads an amount above 0 as --budget and --spot-price take it, with or without a $. Absent if the text is empty; the
// error names the flag.
Result<std::optional<Money>> PlanAmount(const char* flag, const std::string& text);

// One GPU, number and market that the run fits, at the least price that is known for it.
struct PlanOffer {
  RunOffer run;
  // GPUs in the machines that are priced whole. Absent where the price is a GPU's own.
  std::optional<int> rented_gpus;
  Market market = Market::kOnDemand;
  MemoryFit fit = MemoryFit::kFits;
  // The key in the catalogue, or where the user's own price comes from: "--price 2.49".
  std::string price_key;
  std::string currency = "USD";
  std::optional<Instant> as_of;
};

// What offers are looked for with. Both pointers must outlive the question.
struct OfferQuestion {
  const Calibration* calibration = nullptr;
  const PlanPrices* prices = nullptr;
  // Numbers of GPUs to be tried.
  std::vector<double> gpu_counts;
  std::optional<UpAndDown> machines;
};

// Every offer that the run fits, weighed against its caps, and what to take.
struct PlanOptions {
  std::vector<PlanOffer> offers;
  // The currency of every offer, and so of the budget.
  std::string currency = "USD";
  // In the order of `offers`.
  std::vector<RunOption> options;
  // Indices of `options`: the cheapest first, what has no cost last.
  std::vector<std::size_t> order;
  // The choice among offers that the run fits for sure, else among all.
  OptionChoice choice;
  OptionCaps caps;
  SpotFacts spot;
  // For the offer that intervals are shown for: the interval by trial on the history, hours by Daly's formula, the
  // interval at which those are least, and the one that is best for availability.
  std::optional<IntervalChoice> by_history;
  std::optional<Hours> daly;
  std::optional<Hours> daly_interval;
  std::optional<Hours> availability_interval;
  // The index of that offer: the recommended one if it is spot, else the cheapest spot offer.
  std::optional<std::size_t> interval_of;
  std::vector<std::string> warnings;

  [[nodiscard]] bool any() const { return !options.empty(); }
};

// The numbers of GPUs to try: the one that was asked for, or else powers of two that the model's parallelism divides. A
// stated speed was measured on one number of GPUs and holds for no other.
std::vector<double> GpuCountsFor(const PlannedRun& plan, bool asked);

// What a plan's options depend on besides its report.
struct OptionsQuestion {
  OfferQuestion offers;
  OptionCaps caps;
  SpotFacts spot;
  // Decides which prices are old.
  Instant now;
};

// Finds offers, weighs them and chooses. Absent where the report has no samples: there is no work to price. Fails on
// contradictory prices or caps.
Result<std::optional<PlanOptions>> MakePlanOptions(const PlanReport& report, const OptionsQuestion& question);

// Says why the caps do not hold. Empty where an option keeps them, or likely does.
std::string BrokenCaps(const PlanOptions& options);

}  // namespace idleburn
