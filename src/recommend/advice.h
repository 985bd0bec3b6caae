// The answer to "what should I change, and what would it save": findings, recommendations and their combined
// saving.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "classify/totals.h"
#include "diagnose/cause_table.h"
#include "diagnose/scene.h"
#include "price/cost_report.h"
#include "recommend/saving_draws.h"
#include "telemetry/device.h"

namespace idleburn {

// What a recommendation changes: the GPU time or its price.
enum class Axis : std::uint8_t { kTime, kRate };
std::string_view Name(Axis a);

// An interval of a saving, as fractions of the original cost. Example: 0.08 means 8 % of the bill. `low` and `high`
// are bounds; `expected` is a mean and not the middle.
struct SavingRange {
  double low = 0;
  double expected = 0;
  double high = 0;
};

// Something to change, with the saving that it is expected to bring. Its texts are literals of the table of levers,
// or owned.
struct Recommendation {
  // Lever id: "stop_idle", "fix_straggler", "spot", ...
  std::string_view id;
  std::string_view title;
  Axis axis = Axis::kTime;
  std::string_view cause;  // empty for the rate axis
  // Absent: possible but not quantified, and `basis` says why.
  std::optional<SavingRange> saving;
  std::optional<Money> saving_cost;  // expected x total
  std::string how;                   // the flag, line of code or offer
  std::string_view verify_with;
  std::string basis;  // where the interval comes from
};

// Something worth trying although nothing proves its cause: the readings only suggest it. It is part of no
// saving, because several of these reach the same time.
struct TryFirst {
  std::string_view id;  // of the lever
  std::string_view title;
  std::string_view pattern;  // of the table of patterns (recommend/try_table.h)
  // Which time: "idle_stretches", "waste", "pauses", "busy".
  std::string_view reaches;
  double reachable = 0;               // that time, as a share of the cost
  SavingRange saving;                 // within [0, reachable]
  std::optional<Money> most;          // high x total
  std::string how;                    // exact settings
  std::vector<std::string> evidence;  // what this run shows for it
  // What speaks against it or cannot be seen.
  std::vector<std::string> against;
  std::string_view confirm;  // the measurement that would prove it
  std::string basis;         // where the range comes from
};

// What all recommendations save together (docs/combining.md). Fixes of time combine by their rule. Of what
// remains, the single best offer of a cheaper hour applies: offers are alternatives, because an hour has one
// price. Example: 20 % of time and then 30 % of price save 1 - 0.8 x 0.7 = 44 %, not 50 %.
struct CombinedSaving {
  // All claims added up: a warning, never a saving.
  double naive_sum = 0;
  // Lanes | pools | fraction; empty without a fix of time.
  std::string_view rule;
  double cap = 0;  // waste share w
  double time_fraction = 0;
  std::optional<double> waste_fraction;
  std::optional<double> cheaper_fraction;
  double rate_fraction = 0;     // of what remains
  std::string_view rate_lever;  // the offer's id; empty without one
  // 1 - (1 - time_fraction) x (1 - rate_fraction).
  double total_fraction = 0;
  // 5 % and 95 % points of the total; only valid if IsQuantified.
  double low = 0;
  double high = 0;
  // total_fraction x total; absent unless IsQuantified.
  std::optional<Money> cost;
  // time_fraction x total, without the offer; absent without a fix of time.
  std::optional<Money> time_cost;
};

// The result of Advise.
struct Advice {
  std::vector<Finding> findings;                // largest share first; never empty
  std::vector<Recommendation> recommendations;  // largest expected saving first
  CombinedSaving savings;
  // A lever that was considered and is not advised, with the evidence it lacks (--explain).
  struct Declined {
    std::string_view id;
    std::string why;
  };
  std::vector<Declined> declined;
  // Largest reach first; without levers recommended above.
  std::vector<TryFirst> try_first;
};

// Whether any recommendation has a saving. If none has, the total is unknown, which is not the same as zero, and a
// report must not print it as zero.
bool IsQuantified(const Advice& advice);

// What to do about the findings of Diagnose. `shares` says how much of its bound each fix is expected to recover.
//
// For each finding the levers of its cause are advised, the first with the saving. Then come cheaper hours, then what
// all of them save together, the levers that are not advised, and what to try where no cause is proved. It is a pure
// function: the same inputs give the same advice.
Advice Advise(const Scene& scene, std::vector<Finding> findings, const RecoveredShares& shares = {});

}  // namespace idleburn
