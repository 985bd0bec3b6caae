#include "report/combine_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "plan/spot_formulas.h"
#include "report/json_values.h"
#include "text/figures.h"
#include "text/json.h"

// The answer of `idleburn combine`: what several savings come to together. People add claims up, and the sum is nearly
// always too large. So the text prints the plain sum beside the result and says which rule takes the difference off.
//
// The same input and seed give the same text. Shares in JSON are rounded to twelve decimals, so that a decimal that was
// given comes back as it was typed.

namespace idleburn {
namespace {

using Json = nlohmann::ordered_json;

// Half of the last printed decimal of a per cent. Smaller differences are not visible, so they need no warning.
constexpr double kSameFraction = 5e-4;

// One rule of docs/combining.md: its value, if the input allows it, and the flags that it would need.
struct RuleRow {
  CombineRule rule;
  std::optional<double> CombineResult::*value;
  std::string_view lacks;
};

// In the order in which they decide: the first rule with a value gives the headline. Every rule is printed, also one
// without a value: it then says which flags would give it one.
constexpr std::array<RuleRow, 3> kRules = {{
    {CombineRule::kLanes, &CombineResult::lanes, "--lane NAME=stage:ms,... and --lane-fix NAME=stage:e,..."},
    {CombineRule::kPools, &CombineResult::pools, "--pool NAME=w:fix=e,..."},
    {CombineRule::kFraction, &CombineResult::fraction, "--fix F, or --cheaper SHARE:SPEEDUP with --waste W"},
}};

// How far the headline can be trusted. Without a fix on time it is exact. Only the lanes rule models what runs at the
// same time; the other rules give upper bounds. A reader takes any single figure for a promise, so the basis is printed
// beside it.
std::string_view CombineBasis(const CombineResult& result) {
  if (!result.rule) return "exact: only price and avoided runs, no fix on time";
  if (*result.rule == CombineRule::kLanes) return "the longest lane, recomputed with every fix";
  return "an upper bound, because the overlap of the fixes is unknown";
}

// The first sentence: the combined saving and its factors, in the order in which they apply. A negative total is a cost
// and is said as one. The order is that of the computation: runs that are not made, then less time, then a cheaper
// hour. With a fix on time the figure takes every claim in full, so it is "at most".
std::string Headline(const CombineAnswer& answer) {
  const CombineResult& result = answer.result;
  std::string parts;
  const auto add = [&parts](double fraction, std::string_view of) {
    if (fraction != 0) parts += (parts.empty() ? "" : ", then ") + PercentText(fraction) + " of the " + std::string(of);
  };
  add(answer.input.avoided, "runs");
  if (result.rule) {
    parts += (parts.empty() ? "" : ", then ") + PercentText(result.time) + " of the GPU time";
  }
  add(result.rate, "price");
  if (result.total < 0) {
    return "These fixes together cost " + PercentText(-result.total) + " more than the bill is now: " + parts + ".";
  }
  return std::string("These fixes together save ") + (result.rule ? "at most " : "") + PercentText(result.total) +
         " of the bill: " + parts + ".";
}

// One rule with its value, or with the flags it lacks. The fraction rule also prints its value before the cap. "<-
// decides" marks the rule of the headline.
std::string RuleText(const RuleRow& row, const CombineResult& result) {
  const std::optional<double>& value = result.*row.value;
  if (!value) return fmt::format("not given; needs {}", row.lacks);
  std::string text = PercentText(*value);
  if (result.rule == row.rule) text += " <- decides";
  if (row.rule == CombineRule::kFraction && result.fraction_before_cap) {
    text += result.cap ? fmt::format(" ({} before the cap, the waste of {})", PercentText(*result.fraction_before_cap),
                                     PercentText(*result.cap))
                       : " (no cap: the waste is not given; --waste W)";
  }
  return text;
}

// Why the plain sum of the claims is not the saving. Lists every cause that applies, so that a reader who added the
// claims up finds the mistake.
std::string WhyNoSaving(const CombineInput& input, const CombineResult& result) {
  std::string why;
  const auto add = [&why](bool holds, const std::string& cause) {
    if (holds) why += (why.empty() ? "" : "; ") + cause;
  };
  const bool capped = result.rule == CombineRule::kFraction && result.cap && result.fraction_before_cap &&
                      *result.fraction_before_cap > *result.cap;
  const bool on_time = result.rule && result.time != 0;
  const bool cuts_price = input.rate_cut > 0 && (on_time || input.avoided > 0);
  add(result.overlaps, "the sum counts overlaps twice");
  add(capped, "no fix on waste saves more than the waste, " + PercentText(result.cap.value_or(0)));
  add(result.rule == CombineRule::kLanes && input.lanes.size() > 1, "lanes run in parallel, but the sum adds them up");
  add(cuts_price, "a price cut applies only to what the fixes leave");
  add(on_time && input.avoided > 0, "avoided runs need no fix");
  add(!result.not_in_rule.empty(), "not all of these claims are in this figure");
  add(input.overhead > 0, "the sum leaves out the overhead");
  return why.empty() ? "" : " It is not a saving: " + why + ".";
}

// A warning for each claim that the deciding rule cannot place. Without it, a typing error in a name would silently
// drop a claim.
void AddLeftOut(const CombineInput& input, const CombineResult& result, std::vector<std::string>* lines) {
  const std::string_view where = result.rule == CombineRule::kLanes ? "lane" : "pool";
  for (const std::string& name : result.not_in_rule) {
    const bool is_fix = std::any_of(input.fixes.begin(), input.fixes.end(),
                                    [&name](const CombineInput::Fix& fix) { return fix.name == name; });
    lines->push_back(fmt::format("Warning: {} {} is in no {} and not in this figure.",
                                 is_fix ? "--fix" : "the pool's fix", name, where));
  }
}

// What to beware of. The break-even of spot is always printed with a rate cut, because a cut without its overhead
// looks better than it is.
std::vector<std::string> CombineWarnings(const CombineAnswer& answer) {
  const CombineInput& input = answer.input;
  const CombineResult& result = answer.result;
  std::vector<std::string> lines;
  AddLeftOut(input, result, &lines);
  if (std::abs(result.naive_sum - result.total) >= kSameFraction) {
    lines.push_back(fmt::format("Warning: the plain sum of these claims is {}.{}", PercentText(result.naive_sum),
                                WhyNoSaving(input, result)));
  }
  if (result.rule == CombineRule::kLanes && !input.cheaper.empty()) {
    lines.emplace_back(
        "Warning: --cheaper is not in the lanes rule, which cannot know its stage; write it as --lane-fix.");
  }
  if (input.rate_cut > 0) {
    lines.push_back(
        fmt::format("Spot: a price cut of {} pays off while lost work and restarts add less than {} to the time. {}",
                    PercentText(input.rate_cut), PercentText(BreakEvenOverhead(input.rate_cut)),
                    input.overhead > 0 ? fmt::format("You gave {}.", PercentText(input.overhead))
                                       : std::string("You gave no such overhead (--overhead O).")));
  } else if (input.overhead > 0) {
    lines.emplace_back("Warning: --overhead without --rate only costs; give the rate cut that it buys.");
  }
  return lines;
}

// How the interval was drawn: number of draws, seed, distributions and what was not drawn (docs/combining.md). The
// same seed gives the same interval.
std::vector<std::string> HowDrawn(const CombineAnswer& answer) {
  if (!answer.result.rule) return {"Nothing was drawn: no fix is on time."};
  std::vector<std::string> lines = {
      fmt::format("The interval runs from the 5 % to the 95 % point of {} draws with seed {}; the median is {}.",
                  ThreeDigits(static_cast<double>(answer.draws.count)), answer.draws.seed,
                  PercentText(answer.drawn.median)),
      fmt::format("Every fix recovers its claim x Beta({:g},1), with mean {:g}.", kRecoveryShape,
                  kRecoveryShape / (kRecoveryShape + 1)),
      fmt::format("Fixes on one pool or stage share a Gaussian copula with correlation {:g}.", kPoolCorrelation)};
  if (!answer.input.pools.empty()) {
    lines.push_back(
        fmt::format("The shares of the pools follow Dirichlet({:g} x shares).", answer.draws.independent_steps));
  }
  lines.emplace_back(
      "Caps and maxima act inside each draw. The rate, the overhead, the speed-ups and the runs avoided are as given.");
  if (*answer.result.rule != CombineRule::kLanes) {
    lines.emplace_back("Without lanes the low end is 0, because another lane may take over.");
  }
  return lines;
}

// Rounds to twelve decimals. Sums of decimal fractions have binary noise: 0.6587500000000001 stands for 0.65875.
double Rounded(double share) { return std::round(share * 1e12) / 1e12; }
Json RoundedOrNull(const std::optional<double>& share) { return share ? Json(Rounded(*share)) : Json(nullptr); }

}  // namespace

std::string CombineText(const CombineAnswer& answer, const Paper& paper) {
  // With --full nothing is cut or dropped.
  Paper roomy = paper;
  if (paper.full) roomy.rows = std::numeric_limits<std::size_t>::max();
  const std::size_t lines_of_one = paper.full ? roomy.rows : 3;
  Screen screen(roomy);
  const CombineResult& result = answer.result;
  screen.Add(LineRank::kUseful, "", IdsText(answer.ids), lines_of_one);
  screen.Add(LineRank::kAlways, "", Headline(answer), lines_of_one);
  // The headline takes every claim in full, which can be more than nine in ten draws reach.
  const std::string expected =
      result.rule ? fmt::format("Claims rarely come true in full: expect {} (90 % interval; {}).",
                                PercentInterval(answer.drawn.low, answer.drawn.high), CombineBasis(result))
                  : fmt::format("{}.", CombineBasis(result));
  screen.Add(LineRank::kNeeded, "", expected, lines_of_one);
  screen.Blank();
  screen.Add(LineRank::kUseful, "", "GPU time saved, by rule", lines_of_one);
  for (const RuleRow& row : kRules) {
    screen.Add(result.rule == row.rule ? LineRank::kNeeded : LineRank::kUseful, fmt::format("  {:<10}", Name(row.rule)),
               RuleText(row, result), lines_of_one);
  }
  if (result.cheaper && !answer.input.cheaper.empty()) {
    screen.Add(LineRank::kUseful, "",
               fmt::format("Less waste saves {} of the GPU time, and faster busy time saves {}.",
                           PercentText(result.waste.value_or(0)), PercentText(*result.cheaper)),
               lines_of_one);
  }
  const auto add = [&](const std::vector<std::string>& lines) {
    if (!lines.empty()) screen.Blank();
    for (const std::string& line : lines) screen.Add(LineRank::kUseful, "", line, lines_of_one);
  };
  add(CombineWarnings(answer));
  if (paper.full) add(HowDrawn(answer));
  if (!paper.full) screen.Add(LineRank::kAlways, "", "All figures: --full.");
  return std::move(screen).Take();
}

std::string CombineJson(const CombineAnswer& answer) {
  const CombineInput& input = answer.input;
  const CombineResult& result = answer.result;
  Json json = BeginDocument<Json>("idleburn.combine/1", answer.ids);
  json["total_fraction"] = Rounded(result.total);
  json["low"] = Rounded(answer.drawn.low);
  json["median"] = Rounded(answer.drawn.median);
  json["high"] = Rounded(answer.drawn.high);
  json["basis"] = CombineBasis(result);
  json["rule"] = result.rule ? Json(Name(*result.rule)) : Json(nullptr);
  for (const RuleRow& row : kRules) json["rules"][std::string(Name(row.rule))] = RoundedOrNull(result.*row.value);
  json["time_fraction"] = Rounded(result.time);
  json["waste_fraction"] = RoundedOrNull(result.waste);
  json["cheaper_fraction"] = RoundedOrNull(result.cheaper);
  json["fraction_before_cap"] = RoundedOrNull(result.fraction_before_cap);
  json["cap"] = RoundedOrNull(result.cap);
  json["uncapped"] = result.uncapped;
  json["avoided_fraction"] = input.avoided;
  json["rate_cut"] = input.rate_cut;
  json["overhead"] = input.overhead;
  json["rate_fraction"] = Rounded(result.rate);
  json["break_even_overhead"] = input.rate_cut > 0 ? Json(Rounded(BreakEvenOverhead(input.rate_cut))) : Json();
  json["naive_sum"] = Rounded(result.naive_sum);
  json["not_in_rule"] = result.not_in_rule;
  json["draws"] = {{"count", answer.draws.count},
                   {"seed", answer.draws.seed},
                   {"independent_steps", answer.draws.independent_steps},
                   {"recovery", fmt::format("Beta({:g},1)", kRecoveryShape)},
                   {"correlation", kPoolCorrelation}};
  return JsonDocument(json);
}

}  // namespace idleburn
