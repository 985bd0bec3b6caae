#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/offers.h"

namespace idleburn {

// Every offer that the run fits, weighed against its caps, and what to take.
struct PlanOptions {
  std::vector<PlanOffer> offers;
  std::string currency = "USD";    // of every offer, and so of the budget
  std::vector<RunOption> options;  // in the order of `offers`
  std::vector<std::size_t> order;  // of `options`: cheapest first, what has no cost last
  OptionChoice choice;             // of offers that the run fits for sure, else of all
  OptionCaps caps;
  SpotFacts spot;
  std::optional<IntervalChoice> by_history;    // of the recommended number of GPUs, or of the cheapest spot offer
  std::optional<Hours> daly;                   // expected hours of that offer by Daly's formula
  std::optional<Hours> daly_interval;          // the interval at which that is least
  std::optional<Hours> availability_interval;  // the one best for availability
  std::optional<std::size_t> interval_of;      // that offer
  std::vector<std::string> warnings;

  [[nodiscard]] bool any() const { return !options.empty(); }
};

struct OptionsQuestion {
  OfferQuestion offers;
  OptionCaps caps;
  SpotFacts spot;
  Instant now;  // decides which prices are old
};

// Absent where the report has no samples: there is no work to price.
Result<std::optional<PlanOptions>> MakePlanOptions(const PlanReport& report, const OptionsQuestion& question);

// Why the caps do not hold; empty where an option keeps them, or likely does.
std::string BrokenCaps(const PlanOptions& options);

// What to take and why, then the table, in `width` columns.
std::string PlanOptionsText(const PlanOptions& options, int width);

std::string_view Name(BilledBasis basis);
std::string_view Name(CapFit fit);

}  // namespace idleburn
