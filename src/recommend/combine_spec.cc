#include "recommend/combine_spec.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "text/escape.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/suggestion.h"

namespace idleburn {
namespace {

using Part = CombineInput::Part;

constexpr double kSumTolerance = 1e-9;  // shares that make 1 by hand may exceed it in binary
constexpr double kLargestOverhead = 100;
constexpr double kLargestSpeedup = 1000;
constexpr std::string_view kPoolForm = "--pool NAME=w:fix=e,fix2=e";
constexpr std::string_view kLaneForm = "--lane NAME=stage:ms,stage:ms";
constexpr std::string_view kLaneFixForm = "--lane-fix NAME=stage:e,stage:e";
constexpr std::string_view kCheaperForm = "--cheaper SHARE:SPEEDUP, as in --cheaper .75:2";

std::string Quoted(std::string_view text) { return "'" + std::string(text.substr(0, 60)) + "'"; }

tl::unexpected<Error> Malformed(std::string_view text, std::string_view form) {
  return FailUsage("combine: cannot read " + Quoted(text) + "; write " + std::string(form));
}

// All of something may be waste, or be removed; no saving is all of the time.
enum class Whole : std::uint8_t { kNo, kMayBe };

Result<double> ReadShare(std::string_view flag, std::string_view text, Whole whole = Whole::kNo) {
  const std::optional<double> share = ParseShare(text);
  if (!share || *share < 0 || *share > 1 || (*share == 1 && whole == Whole::kNo)) {
    return FailUsage("combine: " + std::string(flag) + " " + Quoted(text) + " is not a share " +
                     (whole == Whole::kNo ? "of at least 0 and below 1" : "from 0 to 1") + "; write .35 or 35%");
  }
  return *share;
}

struct Pair {
  std::string left;  // a name, as it may be shown
  std::string_view right;
};

std::optional<Pair> SplitAt(std::string_view text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  Pair pair = {Printable(Trim(text.substr(0, at))), Trim(text.substr(at + 1))};
  if (pair.left.empty() || pair.right.empty()) return std::nullopt;
  return pair;
}

// "target SEPARATOR share, ..."
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
    return FailUsage("combine: --cheaper shortens busy time, the share 1 - W; say W with --waste W");
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
    const std::string list = Printable(text);  // as the names of the fixes are
    const std::vector<std::string_view> items = Split(list, ',');
    if (items.size() < 2) return Malformed(text, "--substitutes A,B with the names of two or more fixes");
    for (const std::string_view item : items) {
      if (std::find(names.begin(), names.end(), item) == names.end()) {
        const std::string near = NearestSpelling(item, names);
        return FailUsage("combine: --substitutes names " + Quoted(item) + ", which is no fix; " +
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
