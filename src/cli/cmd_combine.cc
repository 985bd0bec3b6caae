#include <array>

#include "audit/keep_run.h"
#include "cli/commands.h"
#include "config/common_flags.h"
#include "recommend/combine.h"
#include "report/combine_output.h"
#include "text/number.h"

// `idleburn combine`: what several claimed savings add up to. Savings overlap, so their plain sum is too large: two
// fixes of 50 % on the same hour do not make it free. The arithmetic is in recommend/combine.h, with its reasons in
// docs/combining.md. This file turns flags into its input. Nothing is read from files, so every figure is the user's
// own claim.

namespace idleburn {
namespace {

// More steps than any run has. Beyond that the number is a typing error.
constexpr std::int64_t kMostSteps = 1'000'000'000;
constexpr auto kCombineFormats = FormatsOf(kCombineWriters);

// The flags as they were written, before any of them is understood. `more_fixes` holds the words that belong to no
// flag.
struct CombineWords {
  CombineSpec spec;
  std::vector<std::string> more_fixes;
  std::string steps;
  std::string output;
  TextWish wish;
};

// Adds the flags. Most go straight into CombineSpec, which stays text: ReadCombineSpec checks all of it in one place.
void AddCombineFlags(CombineWords& words, CommandFlags& flags) {
  CombineSpec& spec = words.spec;
  const auto one = [&flags](const char* name, const char* value, const char* help, std::string& into) {
    flags.Add(name, value, help).text = &into;
  };
  const auto many = [&flags](const char* name, const char* value, const char* help, std::vector<std::string>& into) {
    flags.Add(name, value, help).list = &into;
  };
  many("--fix", "F|NAME=F", "a saving claimed as a share of GPU time: .35, 35%, dali=.35", spec.fixes);
  many("more", "F", "further shares after --fix", words.more_fixes);
  one("--waste", "W", "measured waste share; no fix on waste saves more", spec.waste);
  one("--rate", "R", "the price falls by this share (spot, commitment)", spec.rate);
  one("--overhead", "O", "extra time at the lower price: lost work, restarts, checkpoints", spec.overhead);
  one("--avoided", "F", "share of runs that you avoid", spec.avoided);
  many("--pool", "NAME=w:fix=e,...",
       "a stall with share w of the time; each fix recovers share e of the remaining stall", spec.pools);
  many("--substitutes", "A,B", "fixes that replace each other: only the larger counts", spec.substitutes);
  many("--lane", "NAME=stage:ms,...", "stages of a step in sequence; lanes run in parallel", spec.lanes);
  many("--lane-fix", "NAME=stage:e,...", "a fix that shortens these stages by share e", spec.lane_fixes);
  many("--cheaper", "SHARE:SPEEDUP", "share of the busy time and its speed-up: .75:2", spec.cheaper);
  one("--independent-steps", "M", "number of independent steps behind the pool shares (30)", words.steps);
  one("--output", "FILE", "write there instead of the terminal", words.output);
  flags.Add("--full", "", kFullHelp).on = &words.wish.full;
}

// Reads --independent-steps, the number of independent steps behind the pool shares. More steps make the interval of a
// saving narrower. The default is a cautious one.
Result<SavingDraws> ReadDraws(const std::string& steps) {
  SavingDraws draws;
  if (steps.empty()) return draws;
  const std::optional<std::int64_t> count = ParseInteger(steps);
  if (!count || *count < 1 || *count > kMostSteps) {
    return FailUsage("combine: --independent-steps '" + steps.substr(0, 20) + "' is not a count from 1; write 30");
  }
  draws.independent_steps = static_cast<double>(*count);
  return draws;
}

}  // namespace

Result<int> RunCombine(const std::vector<std::string>& arguments, const Environment& environment) {
  CombineWords words;
  CommandFlags flags({"output."});
  flags.Writes(kCombineFormats);
  AddCombineFlags(words, flags);
  const auto settings = TRY(flags.Read("combine", "Adds up several claimed savings that overlap.", arguments));
  if (!settings) return 0;
  const ReportFormat format = TRY(ChooseFormat(*settings, "combine", words.output, kCombineFormats));
  // `--fix .35 .30` gives one value to the flag and leaves the others as positionals.
  if (words.spec.fixes.empty() && !words.more_fixes.empty()) {
    return FailUsage("combine: '" + words.more_fixes.front().substr(0, 40) + "' has no flag; write --fix " +
                     words.more_fixes.front().substr(0, 40));
  }
  // Words that stand alone are further values of --fix.
  words.spec.fixes.insert(words.spec.fixes.end(), words.more_fixes.begin(), words.more_fixes.end());
  const SavingDraws draws = TRY(ReadDraws(words.steps));
  const CombineInput input = TRY(ReadCombineSpec(words.spec));

  const CombineAnswer answer = {input, Combine(input), DrawSaving(input, draws), draws, OwnIds()};
  TRY(WriteOutput(words.output,
                  Written(kCombineWriters, format, answer, PaperFor(environment, words.output, words.wish))));
  return 0;
}

}  // namespace idleburn
