#include "recommend/combine.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>

namespace idleburn {
namespace {

using Substitutes = std::vector<std::vector<std::string>>;

// One fix's claim on something: a pool, a stage or the whole time.
struct Claim {
  std::string_view fix;
  double share = 0;
};

// The group that a fix is in; nullptr if it has no substitutes.
const std::vector<std::string>* GroupOf(std::string_view fix, const Substitutes& groups) {
  const auto found = std::find_if(groups.begin(), groups.end(), [fix](const auto& group) {
    return std::find(group.begin(), group.end(), fix) != group.end();
  });
  return found == groups.end() ? nullptr : &*found;
}

// What is left of 1 when every claim takes its share of what the others left; of substitutes only the largest takes.
double LeftOver(const std::vector<Claim>& claims, const Substitutes& groups) {
  double left = 1;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const auto* group = GroupOf(claims[i].fix, groups);
    bool beaten = false;  // by a substitute; of equals the first counts
    for (std::size_t j = 0; group != nullptr && j < claims.size(); ++j) {
      if (j == i || GroupOf(claims[j].fix, groups) != group) continue;
      beaten |= claims[j].share > claims[i].share || (claims[j].share == claims[i].share && j < i);
    }
    if (!beaten) left *= 1 - claims[i].share;
  }
  return left;
}

double SumOf(const std::vector<Claim>& claims) {
  return std::accumulate(claims.begin(), claims.end(), 0.0, [](double sum, const Claim& c) { return sum + c.share; });
}

double PoolShares(const CombineInput& input) {
  return std::accumulate(input.pools.begin(), input.pools.end(), 0.0,
                         [](double sum, const CombineInput::Pool& pool) { return sum + pool.share; });
}

// The claims on one stage, by the fixes that cut it.
std::vector<Claim> CutsOf(const CombineInput& input, const std::string& stage) {
  std::vector<Claim> cuts;
  for (const CombineInput::LaneFix& fix : input.lane_fixes) {
    for (const CombineInput::Part& cut : fix.cuts) {
      if (cut.target == stage) cuts.push_back({fix.name, cut.share});
    }
  }
  return cuts;
}

void AddTo(std::vector<Claim>& claims, std::string_view fix, double share) {
  const auto found = std::find_if(claims.begin(), claims.end(), [fix](const Claim& c) { return c.fix == fix; });
  if (found == claims.end()) {
    claims.push_back({fix, share});
  } else {
    found->share += share;
  }
}

// What each fix alone claims of the whole time.
std::vector<Claim> FixClaims(const CombineInput& input) {
  std::vector<Claim> claims;
  for (const CombineInput::Fix& fix : input.fixes) claims.push_back({fix.name, fix.fraction});
  return claims;
}

std::vector<Claim> PoolClaims(const CombineInput& input) {
  std::vector<Claim> claims;
  for (const CombineInput::Pool& pool : input.pools) {
    for (const CombineInput::Part& part : pool.fixes) AddTo(claims, part.target, pool.share * part.share);
  }
  return claims;
}

std::vector<Claim> LaneClaims(const CombineInput& input) {
  std::vector<Claim> claims;
  double all_ms = 0;
  for (const CombineInput::Lane& lane : input.lanes) {
    for (const CombineInput::Stage& stage : lane.stages) {
      all_ms += stage.ms;
      for (const Claim& cut : CutsOf(input, stage.name)) AddTo(claims, cut.fix, stage.ms * cut.share);
    }
  }
  for (Claim& claim : claims) claim.share /= all_ms;
  return claims;
}

bool Has(const std::vector<Claim>& claims, std::string_view fix) {
  return std::any_of(claims.begin(), claims.end(), [fix](const Claim& c) { return c.fix == fix; });
}

// All claims in the order in which they are listed, each fix once: by the first kind that states it.
std::vector<Claim> EveryClaim(const std::array<std::vector<Claim>, 3>& kinds) {
  std::vector<Claim> all;
  for (const std::vector<Claim>& kind : kinds) {
    std::copy_if(kind.begin(), kind.end(), std::back_inserter(all),
                 [known = all](const Claim& c) { return !Has(known, c.fix); });
  }
  return all;
}

// Whether two fixes cut one stage.
bool CutsMeet(const CombineInput& input) {
  return std::any_of(input.lanes.begin(), input.lanes.end(), [&input](const CombineInput::Lane& lane) {
    return std::any_of(lane.stages.begin(), lane.stages.end(),
                       [&input](const CombineInput::Stage& stage) { return CutsOf(input, stage.name).size() > 1; });
  });
}

std::optional<double> ByLanes(const CombineInput& input) {
  if (input.lanes.empty() || input.lane_fixes.empty()) return std::nullopt;
  double before = 0;
  double after = 0;
  for (const CombineInput::Lane& lane : input.lanes) {
    double lane_before = 0;
    double lane_after = 0;
    for (const CombineInput::Stage& stage : lane.stages) {
      lane_before += stage.ms;
      lane_after += stage.ms * LeftOver(CutsOf(input, stage.name), input.substitutes);
    }
    before = std::max(before, lane_before);
    after = std::max(after, lane_after);
  }
  return before > 0 ? 1 - after / before : 0;
}

std::optional<double> WasteByPools(const CombineInput& input) {
  if (input.pools.empty()) return std::nullopt;
  double saved = 0;
  for (const CombineInput::Pool& pool : input.pools) {
    std::vector<Claim> claims;
    for (const CombineInput::Part& part : pool.fixes) claims.push_back({part.target, part.share});
    saved += pool.share * (1 - LeftOver(claims, input.substitutes));
  }
  return saved;
}

// Busy time times the sum of p(1 - 1/k).
std::optional<double> CheaperWork(const CombineInput& input) {
  if (!input.waste) return std::nullopt;
  double saved = 0;
  for (const CombineInput::Cheaper& c : input.cheaper) saved += c.share * (1 - 1 / c.speedup);
  return (1 - *input.waste) * saved;
}

// Without a measured waste, fixes known only by their pools can still save no more than these.
std::optional<double> CapOf(const CombineInput& input) {
  if (input.waste) return input.waste;
  if (input.fixes.empty() && !input.pools.empty()) return PoolShares(input);
  return std::nullopt;
}

}  // namespace

std::string_view Name(CombineRule rule) {
  switch (rule) {
    case CombineRule::kLanes:
      return "lanes";
    case CombineRule::kPools:
      return "pools";
    case CombineRule::kFraction:
      break;
  }
  return "fraction";
}

CombineResult Combine(const CombineInput& input) {
  const std::array<std::vector<Claim>, 3> kinds = {FixClaims(input), PoolClaims(input), LaneClaims(input)};
  const auto stated = std::find_if(kinds.begin(), kinds.end(), [](const auto& kind) { return !kind.empty(); });
  const std::vector<Claim> claims = stated == kinds.end() ? std::vector<Claim>() : *stated;
  const std::vector<Claim> every = EveryClaim(kinds);
  const std::optional<double> cheaper = CheaperWork(input);
  CombineResult result;
  result.cap = CapOf(input);
  result.lanes = ByLanes(input);

  const std::optional<double> pools_waste = WasteByPools(input);
  if (pools_waste) result.pools = *pools_waste + cheaper.value_or(0);
  double fraction_waste = 0;
  if (!claims.empty()) {
    result.fraction_before_cap = 1 - LeftOver(claims, input.substitutes);
    fraction_waste = std::min(*result.fraction_before_cap, result.cap.value_or(1));
  }
  if (!claims.empty() || (cheaper && !input.cheaper.empty())) result.fraction = fraction_waste + cheaper.value_or(0);

  if (result.lanes) {
    result.rule = CombineRule::kLanes;
    result.time = *result.lanes;
  } else {
    if (result.pools) {
      result.rule = CombineRule::kPools;
    } else if (result.fraction) {
      result.rule = CombineRule::kFraction;
    }
    result.waste = pools_waste.value_or(fraction_waste);
    result.cheaper = cheaper;
    result.time = *result.waste + cheaper.value_or(0);
    result.uncapped = !result.pools && !claims.empty() && !result.cap;
  }
  if (result.rule) {
    constexpr double kSame = 1e-12;
    const std::vector<Claim>& known = result.lanes ? kinds[2] : result.pools ? kinds[1] : kinds[0];
    for (const Claim& claim : every) {
      if (!Has(known, claim.fix)) result.not_in_rule.emplace_back(claim.fix);
    }
    const double apart = result.pools ? *pools_waste : result.fraction_before_cap.value_or(0);
    result.overlaps = result.lanes ? CutsMeet(input) : SumOf(known) > apart + kSame;
  }
  const double price = (1 - input.rate_cut) * (1 + input.overhead);
  result.rate = 1 - price;
  result.total = 1 - (1 - input.avoided) * (1 - result.time) * price;
  result.naive_sum = SumOf(every) + cheaper.value_or(0) + input.rate_cut + input.avoided;
  return result;
}

}  // namespace idleburn
