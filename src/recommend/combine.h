#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace idleburn {

// What several claimed savings come to together (docs/combining.md). All shares are fractions of the original GPU
// time unless said otherwise.
struct CombineInput {
  // A saving claimed for one fix, as a fraction of the whole time.
  struct Fix {
    std::string name;
    double fraction = 0;
  };
  // A fix recovers `share` of what is left of the pool or stage that it acts on.
  struct Part {
    std::string target;  // of a pool: the fix's name; of a lane fix: the stage's
    double share = 0;
  };
  // Stalled time with one cause, on the critical path; pools are disjoint.
  struct Pool {
    std::string name;
    double share = 0;
    std::vector<Part> fixes;
  };
  struct Stage {
    std::string name;
    double ms = 0;
  };
  // Stages that run one after the other; lanes run beside each other.
  struct Lane {
    std::string name;
    std::vector<Stage> stages;
  };
  // Cuts every stage of a name, in every lane that has it.
  struct LaneFix {
    std::string name;
    std::vector<Part> cuts;
  };
  // A share of the busy time that gets `speedup` times faster; these shares are disjoint.
  struct Cheaper {
    double share = 0;
    double speedup = 1;
  };

  std::vector<Fix> fixes;
  std::optional<double> waste;  // measured share w
  std::vector<Pool> pools;
  std::vector<Lane> lanes;
  std::vector<LaneFix> lane_fixes;
  std::vector<Cheaper> cheaper;                       // counts only where `waste` is known, else busy time is not
  std::vector<std::vector<std::string>> substitutes;  // groups of fixes of which only the larger counts
  double avoided = 0;                                 // share of the runs not made at all
  double rate_cut = 0;                                // r: the price falls by this
  double overhead = 0;                                // o: extra time that the cheaper price costs (spot)
};

enum class CombineRule : std::uint8_t { kFraction, kPools, kLanes };
std::string_view Name(CombineRule rule);

struct CombineResult {
  // Share of GPU time saved by each rule, cheaper work included; absent where the input lacks what the rule needs.
  std::optional<double> lanes;
  std::optional<double> pools;
  std::optional<double> fraction;
  std::optional<double> fraction_before_cap;  // 1 - prod(1 - f), without cheaper work
  std::optional<double> cap;                  // of the fraction rule
  bool uncapped = false;                      // the headline is a fraction rule without a cap

  std::optional<CombineRule> rule;  // the headline's: lanes, else pools, else fraction; absent if no fix is on time
  double time = 0;                  // s_time by that rule
  std::optional<double> waste;      // its part on waste; absent under lanes, which are computed whole
  std::optional<double> cheaper;    // its part on busy time; absent likewise
  double rate = 0;                  // 1 - (1-r)(1+o); below 0 where the overhead eats the rate cut
  double total = 0;                 // 1 - (1-avoided)(1-time)(1-r)(1+o)
  double naive_sum = 0;             // plain sum of every claim: a warning, never a saving

  std::vector<std::string> not_in_rule;  // fixes that the headline's rule does not know of
  bool overlaps = false;                 // fixes of the headline compete for the same time
};

// The headline rule's time, in the order lanes, pools, fraction. Where no fix is claimed as a fraction, the fraction
// rule takes what each fix saves of the pools, else of the lanes' stages as if these ran one after the other. In the
// plain sum each fix counts once, by the first of these that states it.
CombineResult Combine(const CombineInput& input);

}  // namespace idleburn
