#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "classify/totals.h"
#include "diagnose/finding.h"
#include "diagnose/scene.h"
#include "price/cost_report.h"
#include "recommend/recovered_share.h"
#include "telemetry/device.h"

namespace idleburn {

enum class Axis : std::uint8_t { kTime, kRate };
std::string_view Name(Axis a);

// An interval of a saving, as fractions of the original cost.
struct SavingRange {
  double low = 0;
  double expected = 0;
  double high = 0;
};

struct Recommendation {
  std::string_view id;  // lever id: "stop_idle", "fix_straggler", "spot", ...
  std::string_view title;
  Axis axis = Axis::kTime;
  std::string_view cause;             // empty for the rate axis
  std::optional<SavingRange> saving;  // absent: possible but not quantified, `basis` says why
  std::optional<Money> saving_cost;   // expected x total
  std::string how;                    // the flag, line of code or offer
  std::string_view verify_with;
  std::string basis;  // of the interval
};

// Something worth a try although nothing proves its cause: what the readings look like suggests it. No part of any
// saving: several of these reach the same time.
struct TryFirst {
  std::string_view id;  // of a lever
  std::string_view title;
  std::string_view pattern;           // of the table of patterns (recommend/try_patterns.h)
  std::string_view reaches;           // which time: "idle_stretches", "waste", "pauses", "busy"
  double reachable = 0;               // that time, as a share of the cost
  SavingRange saving;                 // within [0, reachable]
  std::optional<Money> most;          // high x total
  std::string how;                    // exact settings
  std::vector<std::string> evidence;  // what this run shows for it
  std::vector<std::string> against;   // and against it, or cannot show
  std::string_view confirm;           // the measurement that would prove it
  std::string basis;                  // of the range
};

// What all recommendations come to together (docs/combining.md): those of time by their rule, and of what remains the
// largest single offer of a cheaper hour. Offers are alternatives: an hour has one price.
struct CombinedSaving {
  double naive_sum = 0;   // every claim added up: a warning, never a saving
  std::string_view rule;  // lanes | pools | fraction; empty: no fix of time
  double cap = 0;         // waste share w
  double time_fraction = 0;
  std::optional<double> waste_fraction;
  std::optional<double> cheaper_fraction;
  double rate_fraction = 0;     // of what remains
  std::string_view rate_lever;  // the offer's id; empty without one
  double total_fraction = 0;    // 1 - (1 - time_fraction) x (1 - rate_fraction)
  double low = 0;               // 5 % and 95 % points of the total; meaningless unless IsQuantified
  double high = 0;
  std::optional<Money> cost;       // total_fraction x total; absent unless IsQuantified
  std::optional<Money> time_cost;  // time_fraction x total: without the offer; absent without a fix of time
};

struct Advice {
  std::vector<Finding> findings;                // largest share first; never empty: healthy or unknown otherwise
  std::vector<Recommendation> recommendations;  // largest expected saving first
  CombinedSaving savings;
  // Levers that were considered and are not advised, with the evidence they lack (--explain).
  struct Declined {
    std::string_view id;
    std::string why;
  };
  std::vector<Declined> declined;
  std::vector<TryFirst> try_first;  // the largest reach first; none that is recommended above
};

// Whether any recommendation has a saving. If none has, what all come to is not known, rather than nothing.
bool IsQuantified(const Advice& advice);

// What to do about the causes that Diagnose found. `shares`: what each fix is expected to recover of its bound.
Advice Advise(const Scene& scene, std::vector<Finding> findings, const RecoveredShares& shares = {});

}  // namespace idleburn
