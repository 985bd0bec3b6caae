#include "recommend/combine.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

#include "text/command_line.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {
namespace {

using Substitutes = std::vector<std::vector<std::string>>;

// One fix's claim on a pool, on a stage or on the whole time.
struct Claim {
  std::string_view fix;
  double share = 0;
};

// The group of substitutes that a fix belongs to; null if it has none.
const std::vector<std::string>* FindGroup(std::string_view fix, const Substitutes& groups) {
  const auto found = std::find_if(groups.begin(), groups.end(), [fix](const auto& group) {
    return std::find(group.begin(), group.end(), fix) != group.end();
  });
  return found == groups.end() ? nullptr : &*found;
}

// What remains of 1 after every claim takes its share of what the others left. Of substitutes, only the largest
// takes. Example: claims of 0.4 and 0.3 leave 0.6 x 0.7 = 0.42; as substitutes they leave 0.6.
double LeftOver(const std::vector<Claim>& claims, const Substitutes& groups) {
  double left = 1;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const auto* group = FindGroup(claims[i].fix, groups);
    bool beaten = false;  // by a larger substitute; of equals the first counts
    for (std::size_t j = 0; group != nullptr && j < claims.size(); ++j) {
      if (j == i || FindGroup(claims[j].fix, groups) != group) continue;
      beaten |= claims[j].share > claims[i].share || (claims[j].share == claims[i].share && j < i);
    }
    if (!beaten) left *= 1 - claims[i].share;
  }
  return left;
}

// The plain sum of claims.
double SumClaims(const std::vector<Claim>& claims) {
  return std::accumulate(claims.begin(), claims.end(), 0.0, [](double sum, const Claim& c) { return sum + c.share; });
}

// The sum of all pools.
double PoolShares(const CombineInput& input) {
  return std::accumulate(input.pools.begin(), input.pools.end(), 0.0,
                         [](double sum, const CombineInput::Pool& pool) { return sum + pool.share; });
}

// The claims on one stage.
std::vector<Claim> StageCuts(const CombineInput& input, const std::string& stage) {
  std::vector<Claim> cuts;
  for (const CombineInput::LaneFix& fix : input.lane_fixes) {
    for (const CombineInput::Part& cut : fix.cuts) {
      if (cut.target == stage) cuts.push_back({fix.name, cut.share});
    }
  }
  return cuts;
}

// Adds a share to a fix's claim.
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

// What each fix saves of its pools, as shares of the whole time.
std::vector<Claim> PoolClaims(const CombineInput& input) {
  std::vector<Claim> claims;
  for (const CombineInput::Pool& pool : input.pools) {
    for (const CombineInput::Part& part : pool.fixes) AddTo(claims, part.target, pool.share * part.share);
  }
  return claims;
}

// What each fix saves of the stages, as if they ran in sequence. These shares of the sum of all lanes serve the plain
// sum and the fraction rule. Where lanes are known, ByLanes decides.
std::vector<Claim> LaneClaims(const CombineInput& input) {
  std::vector<Claim> claims;
  double all_ms = 0;
  for (const CombineInput::Lane& lane : input.lanes) {
    for (const CombineInput::Stage& stage : lane.stages) {
      all_ms += stage.ms;
      for (const Claim& cut : StageCuts(input, stage.name)) AddTo(claims, cut.fix, stage.ms * cut.share);
    }
  }
  for (Claim& claim : claims) claim.share /= all_ms;
  return claims;
}

// Whether a fix is among the claims.
bool HasClaim(const std::vector<Claim>& claims, std::string_view fix) {
  return std::any_of(claims.begin(), claims.end(), [fix](const Claim& c) { return c.fix == fix; });
}

// All claims in the order of the input. Each fix counts once, by the first kind that states it.
std::vector<Claim> EveryClaim(const std::array<std::vector<Claim>, 3>& kinds) {
  std::vector<Claim> all;
  for (const std::vector<Claim>& kind : kinds) {
    std::copy_if(kind.begin(), kind.end(), std::back_inserter(all),
                 [known = all](const Claim& c) { return !HasClaim(known, c.fix); });
  }
  return all;
}

// Whether two fixes cut the same stage.
bool CutsMeet(const CombineInput& input) {
  return std::any_of(input.lanes.begin(), input.lanes.end(), [&input](const CombineInput::Lane& lane) {
    return std::any_of(lane.stages.begin(), lane.stages.end(),
                       [&input](const CombineInput::Stage& stage) { return StageCuts(input, stage.name).size() > 1; });
  });
}

// The saving by the longest lane, before and after all cuts. Shortening any other lane saves nothing.
std::optional<double> ByLanes(const CombineInput& input) {
  if (input.lanes.empty() || input.lane_fixes.empty()) return std::nullopt;
  double before = 0;
  double after = 0;
  for (const CombineInput::Lane& lane : input.lanes) {
    double lane_before = 0;
    double lane_after = 0;
    for (const CombineInput::Stage& stage : lane.stages) {
      lane_before += stage.ms;
      lane_after += stage.ms * LeftOver(StageCuts(input, stage.name), input.substitutes);
    }
    before = std::max(before, lane_before);
    after = std::max(after, lane_after);
  }
  return before > 0 ? 1 - after / before : 0;
}

// The saving of waste by pools, which are disjoint and add up.
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

// Busy time multiplied by the sum of p(1 - 1/k) (docs/combining.md, "Cheaper work"). Absent if the waste is unknown,
// because busy time is then unknown too.
std::optional<double> CheaperWork(const CombineInput& input) {
  if (!input.waste) return std::nullopt;
  double saved = 0;
  for (const CombineInput::Cheaper& c : input.cheaper) saved += c.share * (1 - 1 / c.speedup);
  return (1 - *input.waste) * saved;
}

// The most that fixes of waste can save: the measured waste. Without it, the sum of the pools if fixes are
// known by pools only.
std::optional<double> WasteCap(const CombineInput& input) {
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

// Computes every rule, because a report shows them all, and then lets the best one decide.
CombineResult Combine(const CombineInput& input) {
  const std::array<std::vector<Claim>, 3> kinds = {FixClaims(input), PoolClaims(input), LaneClaims(input)};
  const auto stated = std::find_if(kinds.begin(), kinds.end(), [](const auto& kind) { return !kind.empty(); });
  const std::vector<Claim> claims = stated == kinds.end() ? std::vector<Claim>() : *stated;
  const std::vector<Claim> every = EveryClaim(kinds);
  const std::optional<double> cheaper = CheaperWork(input);
  CombineResult result;
  result.cap = WasteCap(input);
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
      if (!HasClaim(known, claim.fix)) result.not_in_rule.emplace_back(claim.fix);
    }
    const double apart = result.pools ? *pools_waste : result.fraction_before_cap.value_or(0);
    result.overlaps = result.lanes ? CutsMeet(input) : SumClaims(known) > apart + kSame;
  }
  const double price = (1 - input.rate_cut) * (1 + input.overhead);
  result.rate = 1 - price;
  result.total = 1 - (1 - input.avoided) * (1 - result.time) * price;
  result.naive_sum = SumClaims(every) + cheaper.value_or(0) + input.rate_cut + input.avoided;
  return result;
}

namespace {

using Part = CombineInput::Part;

// Limits of plausible input, beyond which a value is a typing error, and the forms that errors show.
constexpr double kSumTolerance = 1e-9;  // shares that add up to 1 in decimal may exceed it in binary
constexpr double kLargestOverhead = 100;
constexpr double kLargestSpeedup = 1000;
constexpr std::string_view kPoolForm = "--pool NAME=w:fix=e,fix2=e";
constexpr std::string_view kLaneForm = "--lane NAME=stage:ms,stage:ms";
constexpr std::string_view kLaneFixForm = "--lane-fix NAME=stage:e,stage:e";
constexpr std::string_view kCheaperForm = "--cheaper SHARE:SPEEDUP, as in --cheaper .75:2";

// Quotes user input, shortened, for an error.
std::string Quoted(std::string_view text) { return "'" + std::string(text.substr(0, 60)) + "'"; }

// An error that shows the expected form.
tl::unexpected<Error> Malformed(std::string_view text, std::string_view form) {
  return FailUsage("combine: cannot read " + Quoted(text) + "; write " + std::string(form));
}

// Whether a share of 100 % is allowed. All of something may be waste; no single fix saves all time.
enum class Whole : std::uint8_t { kNo, kMayBe };

// Reads ".35", "0.35" or "35%".
Result<double> ReadShare(std::string_view flag, std::string_view text, Whole whole = Whole::kNo) {
  const std::optional<double> share = ParseShare(text);
  if (!share || *share < 0 || *share > 1 || (*share == 1 && whole == Whole::kNo)) {
    return FailUsage("combine: " + std::string(flag) + " " + Quoted(text) + " is not a share " +
                     (whole == Whole::kNo ? "of at least 0 and below 1" : "from 0 to 1") + "; write .35 or 35%");
  }
  return *share;
}

// The two sides of a separator.
struct Pair {
  std::string left;  // a printable name
  std::string_view right;
};

// The two sides of the first separator. Absent if there is none, or if a side is empty.
std::optional<Pair> SplitAt(std::string_view text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  Pair pair = {Printable(Trim(text.substr(0, at))), Trim(text.substr(at + 1))};
  if (pair.left.empty() || pair.right.empty()) return std::nullopt;
  return pair;
}

// Reads "target SEPARATOR share, ...".
Result<std::vector<Part>> ReadParts(std::string_view flag, std::string_view list, char separator,
                                    std::string_view form) {
  std::vector<Part> parts;
  for (const std::string_view item : Split(list, ',')) {
    const std::optional<Pair> pair = SplitAt(item, separator);
    if (!pair) return Malformed(item, form);
    const double share = TRY(ReadShare(std::string(flag) + " " + pair->left, pair->right, Whole::kMayBe));
    for (const Part& part : parts) {
      if (part.target == pair->left)
        return FailUsage("combine: " + Quoted(pair->left) + " is twice in " + Quoted(list));
    }
    parts.push_back({pair->left, share});
  }
  return parts;
}

// Fails if a name is given twice: its second value would silently win or be ignored.
template <typename Named>
Result<void> CheckNames(std::string_view flag, const std::vector<Named>& all) {
  std::set<std::string_view> seen;
  for (const Named& one : all) {
    if (!seen.insert(one.name).second) {
      return FailUsage("combine: " + std::string(flag) + " " + Quoted(one.name) +
                       " is given twice; give each name once");
    }
  }
  return {};
}

// Each Read function parses the values of one flag and checks them together.
Result<void> ReadFixes(const std::vector<std::string>& texts, CombineInput& input) {
  for (const std::string& text : texts) {
    const std::optional<Pair> named = SplitAt(text, '=');
    const double share = TRY(ReadShare("--fix", named ? named->right : std::string_view(text)));
    input.fixes.push_back({named ? named->left : "#" + std::to_string(input.fixes.size() + 1), share});
  }
  return CheckNames("--fix", input.fixes);
}

Result<void> ReadPools(const std::vector<std::string>& texts, CombineInput& input) {
  double sum = 0;
  for (const std::string& text : texts) {
    const std::optional<Pair> named = SplitAt(text, '=');
    const std::optional<Pair> body = named ? SplitAt(named->right, ':') : std::nullopt;
    if (!body) return Malformed(text, kPoolForm);
    const double share = TRY(ReadShare("--pool " + named->left, body->left, Whole::kMayBe));
    std::vector<Part> fixes = TRY(ReadParts("--pool", body->right, '=', kPoolForm));
    sum += share;
    input.pools.push_back({named->left, share, std::move(fixes)});
  }
  if (sum > 1 + kSumTolerance) {
    return FailUsage("combine: the shares of --pool add up to more than 1; they are disjoint parts of the GPU time");
  }
  if (input.waste && sum > *input.waste + kSumTolerance) {
    return FailUsage("combine: the shares of --pool add up to more than --waste; pools are parts of the waste");
  }
  return CheckNames("--pool", input.pools);
}

Result<void> ReadLanes(const std::vector<std::string>& texts, CombineInput& input) {
  for (const std::string& text : texts) {
    const std::optional<Pair> named = SplitAt(text, '=');
    if (!named) return Malformed(text, kLaneForm);
    CombineInput::Lane lane = {named->left, {}};
    for (const std::string_view item : Split(named->right, ',')) {
      const std::optional<Pair> stage = SplitAt(item, ':');
      if (!stage) return Malformed(item, kLaneForm);
      std::string_view ms_text = stage->right;
      if (ms_text.size() > 2 && ms_text.substr(ms_text.size() - 2) == "ms") ms_text.remove_suffix(2);
      const ScaledNumber ms = ParseScaled(Trim(ms_text), 6);
      if (ms.fault != NumberFault::kNone || ms.value <= 0) {
        return FailUsage("combine: --lane stage " + Quoted(item) + " needs its milliseconds, above 0; write stage:140");
      }
      lane.stages.push_back({stage->left, static_cast<double>(ms.value) / 1e6});
    }
    TRY(CheckNames("--lane stage", lane.stages));
    input.lanes.push_back(std::move(lane));
  }
  return CheckNames("--lane", input.lanes);
}

Result<void> ReadLaneFixes(const std::vector<std::string>& texts, CombineInput& input) {
  std::vector<std::string> stages;
  for (const CombineInput::Lane& lane : input.lanes) {
    for (const CombineInput::Stage& stage : lane.stages) stages.push_back(stage.name);
  }
  for (const std::string& text : texts) {
    const std::optional<Pair> named = SplitAt(text, '=');
    if (!named) return Malformed(text, kLaneFixForm);
    std::vector<Part> cuts = TRY(ReadParts("--lane-fix", named->right, ':', kLaneFixForm));
    for (const Part& cut : cuts) {
      if (std::find(stages.begin(), stages.end(), cut.target) != stages.end()) continue;
      const std::string hint = stages.empty() ? "name the stages with " + std::string(kLaneForm)
                                              : "did you mean " + Quoted(NearestSpelling(cut.target, stages)) + "?";
      return FailUsage("combine: --lane-fix " + Quoted(named->left) + " cuts stage " + Quoted(cut.target) +
                       ", which no --lane has; " + hint);
    }
    input.lane_fixes.push_back({named->left, std::move(cuts)});
  }
  return CheckNames("--lane-fix", input.lane_fixes);
}

Result<void> ReadCheaper(const std::vector<std::string>& texts, CombineInput& input) {
  double sum = 0;
  for (const std::string& text : texts) {
    const std::optional<Pair> pair = SplitAt(text, ':');
    if (!pair) return Malformed(text, kCheaperForm);
    const std::optional<double> share = ParseShare(pair->left);
    if (!share || *share < 0 || *share > 1) {
      return FailUsage("combine: --cheaper share " + Quoted(pair->left) + " is not from 0 to 1; write " +
                       std::string(kCheaperForm));
    }
    std::string_view factor = pair->right;
    if (factor.back() == 'x') factor.remove_suffix(1);
    const std::optional<double> speedup =
        factor.find('%') == std::string_view::npos ? ParseShare(factor) : std::nullopt;
    if (!speedup || *speedup <= 1 || *speedup > kLargestSpeedup) {
      return FailUsage("combine: --cheaper speed-up " + Quoted(pair->right) +
                       " is not above 1; 2 means twice as fast, as in .75:2");
    }
    sum += *share;
    input.cheaper.push_back({*share, *speedup});
  }
  if (sum > 1 + kSumTolerance) {
    return FailUsage(
        "combine: the shares of --cheaper add up to more than 1; they are disjoint parts of the busy time");
  }
  if (!texts.empty() && !input.waste) {
    return FailUsage("combine: --cheaper shortens busy time, the share 1 - W; give W with --waste W");
  }
  return {};
}

Result<void> ReadSubstitutes(const std::vector<std::string>& texts, CombineInput& input) {
  std::vector<std::string> names;
  for (const CombineInput::Fix& fix : input.fixes) names.push_back(fix.name);
  for (const CombineInput::Pool& pool : input.pools) {
    for (const Part& part : pool.fixes) names.push_back(part.target);
  }
  for (const CombineInput::LaneFix& fix : input.lane_fixes) names.push_back(fix.name);
  std::set<std::string> taken;
  for (const std::string& text : texts) {
    const std::string list = Printable(text);  // printable, like the names of the fixes
    const std::vector<std::string_view> items = Split(list, ',');
    if (items.size() < 2) return Malformed(text, "--substitutes A,B with the names of two or more fixes");
    for (const std::string_view item : items) {
      if (std::find(names.begin(), names.end(), item) == names.end()) {
        const std::string near = NearestSpelling(item, names);
        return FailUsage("combine: --substitutes names " + Quoted(item) + ", which is not a fix; " +
                         (near.empty() ? "name fixes as in --fix NAME=.35" : "did you mean " + Quoted(near) + "?"));
      }
      if (!taken.emplace(item).second)
        return FailUsage("combine: --substitutes names " + Quoted(item) + " twice; give each fix one group");
    }
    input.substitutes.emplace_back(items.begin(), items.end());
  }
  return {};
}

Result<void> ReadOptionalShare(std::string_view flag, const std::string& text, double& into) {
  if (text.empty()) return {};
  into = TRY(ReadShare(flag, text));
  return {};
}

Result<void> ReadOverhead(const std::string& text, CombineInput& input) {
  if (text.empty()) return {};
  const std::optional<double> overhead = ParseShare(text);
  if (!overhead || *overhead < 0 || *overhead > kLargestOverhead) {
    return FailUsage("combine: --overhead " + Quoted(text) +
                     " is not from 0 to 100; write .1 or 10% for a tenth more time");
  }
  input.overhead = *overhead;
  return {};
}

}  // namespace

Result<CombineInput> ReadCombineSpec(const CombineSpec& spec) {
  CombineInput input;
  if (!spec.waste.empty()) {
    input.waste = TRY(ReadShare("--waste", spec.waste, Whole::kMayBe));
  }
  TRY(ReadOptionalShare("--rate", spec.rate, input.rate_cut));
  TRY(ReadOptionalShare("--avoided", spec.avoided, input.avoided));
  TRY(ReadOverhead(spec.overhead, input));
  TRY(ReadFixes(spec.fixes, input));
  TRY(ReadPools(spec.pools, input));
  TRY(ReadLanes(spec.lanes, input));
  TRY(ReadLaneFixes(spec.lane_fixes, input));
  TRY(ReadCheaper(spec.cheaper, input));
  TRY(ReadSubstitutes(spec.substitutes, input));
  if (input.fixes.empty() && input.pools.empty() && input.lane_fixes.empty() && input.cheaper.empty() &&
      input.rate_cut == 0 && input.avoided == 0) {
    return FailUsage(
        "combine: no fix to combine; give some as in --fix .35 --fix .30 --waste .5 --rate .6, or see idleburn combine "
        "--help");
  }
  return input;
}

}  // namespace idleburn
