// Combines savings that overlap. Adding up claims overstates them: two fixes for the same stall save it only
// once, and a saving of time leaves less time for a cheaper price to act on.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace idleburn {

// The claimed savings to combine (docs/combining.md). All shares are fractions of the original GPU time unless stated
// otherwise. A person writes them for `idleburn combine`; Advise makes them of findings.
struct CombineInput {
  // A saving claimed for one fix, as a fraction of the whole time.
  struct Fix {
    std::string name;
    double fraction = 0;
  };
  // A fix recovers `share` of what remains of its pool or stage.
  struct Part {
    // In a pool: the fix's name; in a lane fix: the stage's name.
    std::string target;
    double share = 0;
  };
  // Stalled time with one cause, on the critical path. Pools are disjoint.
  struct Pool {
    std::string name;
    double share = 0;
    std::vector<Part> fixes;
  };
  // A step of a lane with its duration.
  struct Stage {
    std::string name;
    double ms = 0;
  };
  // Stages that run one after the other. Lanes run in parallel, so the slowest one decides.
  struct Lane {
    std::string name;
    std::vector<Stage> stages;
  };
  // Cuts every stage with a given name, in every lane that has it.
  struct LaneFix {
    std::string name;
    std::vector<Part> cuts;
  };
  // A share of the busy time that becomes `speedup` times faster. These shares are disjoint.
  struct Cheaper {
    double share = 0;
    double speedup = 1;
  };

  std::vector<Fix> fixes;
  std::optional<double> waste;  // measured waste share w
  std::vector<Pool> pools;
  std::vector<Lane> lanes;
  std::vector<LaneFix> lane_fixes;
  // Counts only if `waste` is known, because otherwise busy time is not.
  std::vector<Cheaper> cheaper;
  // Groups of fixes; only the largest of each counts.
  std::vector<std::vector<std::string>> substitutes;
  // Share of the runs that are avoided altogether.
  double avoided = 0;
  double rate_cut = 0;  // r: relative cut of the price
  // O: extra time that the cheaper price costs (spot).
  double overhead = 0;
};

// How savings of time combine. Lanes know the most about the job, fractions the least.
enum class CombineRule : std::uint8_t { kFraction, kPools, kLanes };
std::string_view Name(CombineRule rule);

// What the savings amount to together.
struct CombineResult {
  // Share of GPU time saved by each rule, including cheaper work. Absent if the input lacks what the rule
  // needs.
  std::optional<double> lanes;
  std::optional<double> pools;
  std::optional<double> fraction;
  // 1 - prod(1 - f), without cheaper work.
  std::optional<double> fraction_before_cap;
  std::optional<double> cap;  // of the fraction rule
  // The headline is a fraction rule without a cap.
  bool uncapped = false;

  std::optional<CombineRule> rule;  // of the headline: lanes, else pools, else fraction; absent without a fix of time
  double time = 0;                  // s_time by that rule
  // Its part on waste; absent for lanes, which are computed as a whole.
  std::optional<double> waste;
  // Its part on busy time; absent for lanes.
  std::optional<double> cheaper;
  // 1 - (1-r)(1+o); below 0 if the overhead exceeds the cut.
  double rate = 0;
  double total = 0;  // 1 - (1-avoided)(1-time)(1-r)(1+o)
  // Sum of all claims: a warning, never a saving.
  double naive_sum = 0;

  // Fixes that the headline's rule does not cover.
  std::vector<std::string> not_in_rule;
  // Fixes of the headline compete for the same time.
  bool overlaps = false;
};

// Combines savings of time by the best rule that the input supports: lanes, then pools, then fractions
// (docs/combining.md, "Three rules for time"). If no fix is claimed as a fraction, the fraction rule uses what each
// fix saves of the pools, or else of the lanes' stages in sequence. The plain sum counts each fix once, by the first
// rule that states it.
//
// Example: fixes that recover 20 % and 30 % combine to 1 - 0.8 x 0.7 = 44 %.
//
// The input must be valid, as ReadCombineSpec leaves it; this function checks nothing.
CombineResult Combine(const CombineInput& input);

// Savings to combine, as a person writes them on the command line. A share is ".35", "0.35" or "35%".
struct CombineSpec {
  std::vector<std::string> fixes;        // F or NAME=F
  std::string waste;                     // W
  std::vector<std::string> pools;        // NAME=w:fix=e,fix2=e
  std::vector<std::string> substitutes;  // A,B
  std::vector<std::string> lanes;        // NAME=stage:ms,stage:ms
  std::vector<std::string> lane_fixes;   // NAME=stage:e,stage:e
  std::vector<std::string> cheaper;      // SHARE:SPEEDUP
  std::string avoided;
  std::string rate;
  std::string overhead;  // may exceed 1
};

// Reads and checks the specification. An error is a usage error and says how to write the value.
Result<CombineInput> ReadCombineSpec(const CombineSpec& spec);

}  // namespace idleburn
