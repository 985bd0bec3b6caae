#include <fmt/format.h>

#include <algorithm>

#include "audit/keep_run.h"
#include "cli/commands.h"
#include "compare/compared_input.h"
#include "compare/judged_by.h"
#include "compare/ledger_entry.h"
#include "config/common_flags.h"
#include "config/flag_values.h"
#include "price/find_rate.h"
#include "telemetry/run_facts.h"
#include "text/figures.h"
#include "text/strings.h"
#include "text/table.h"
#include "text/time_zone.h"

// `idleburn claim` fixes before a change how its saving will be judged: runs, unit, factors, confidence and price. All
// that could be chosen after the result is known must be in the claim, because whoever sees the result first can choose
// the terms that make it look good (docs/claim-and-compare.md, "What a claim holds").
//
// The command fails early rather than write a claim that could never be verified: baseline runs that differ, a unit
// that a run does not count, a factor that nobody told.

namespace idleburn {
namespace {

// The flags as they were written. ClaimOf checks them.
struct ClaimRequest {
  // Names as given: files, or runs of the history.
  std::vector<std::string> baseline;
  std::string output;
  std::string boundary;
  std::string measure;
  // The share that the user expects to save, such as "28%". It judges nothing, but the ledger compares it with the
  // result.
  std::string predicted;
  // How the baseline was picked: "all", "worst", or empty.
  std::string picked;
  std::vector<std::string> factors;
  std::vector<std::string> work;
  JudgedBy judged;
  bool no_history = false;
  bool quiet = false;
};

// Enters the factors of the baseline into the claim. Runs that differ in a factor are refused: it cannot be held fixed
// if it was not fixed before. The error names the two runs, because one of them is usually there by mistake.
Result<void> TakeFactors(const std::vector<ComparedInput>& inputs, Claim& claim) {
  std::map<std::string, std::string> first_in;
  for (const ComparedInput& input : inputs) {
    for (const WorkTable::Block& block : input.blocks) {
      for (const auto& [key, value] : block.run.run.factors) {
        const auto [at, fresh] = claim.factors.try_emplace(key, value);
        if (fresh) first_in[key] = input.name;
        if (fresh || at->second == value) continue;
        return Fail(
            fmt::format("claim: the baseline runs differ in {}: '{}' in {}, '{}' in {}; use runs with equal settings",
                        key, at->second.substr(0, 60), first_in[key], value.substr(0, 60), input.name));
      }
    }
  }
  return {};
}

// Sets the unit of the claim: as stated, or what all baseline runs count. Every run must count it, because a saving
// could not be judged otherwise. A claim without baseline runs must state its unit.
Result<void> TakeUnit(const ClaimRequest& request, const std::vector<ComparedInput>& inputs, Claim& claim) {
  std::vector<CountedRun> runs;
  for (const ComparedInput& input : inputs) {
    for (const WorkTable::Block& block : input.blocks) runs.push_back(block.run);
  }
  const bool given = !request.judged.unit.empty();
  if (!given) {
    const std::optional<WorkUnit> common = runs.empty() ? std::nullopt : CommonUnit(runs);
    if (common) claim.unit = *common;
    if (!common && !runs.empty()) {
      return Fail("claim: the baseline runs count no common unit of work; add --work, or give --unit");
    }
    if (runs.empty()) return FailUsage("claim: --unit is missing; without baseline runs it names the unit of work");
  }
  for (const ComparedInput& input : inputs) {
    for (const WorkTable::Block& block : input.blocks) {
      if (!block.run.Counts(claim.unit)) {
        return Fail(fmt::format("claim: {} counts no {}; idleburn could not judge a saving with it", input.name,
                                kWorkUnitPlurals[static_cast<std::size_t>(claim.unit)]));
      }
    }
  }
  return {};
}

// Reads the runs of the baseline. Captures are refused, because they are judged by steps and not by money. Copies of
// one file are found by their hash: a run that counts twice would make the baseline look steadier than it is.
Result<std::vector<ComparedInput>> ReadBaseline(const std::vector<std::string>& names, const InputReading& reading) {
  TRY(CheckWorkNames("claim", reading, names));
  std::vector<ComparedInput> inputs;
  for (const std::string& name : names) {
    ComparedInput input = TRY(ReadComparedInput(name, reading));
    if (input.capture) {
      return Fail("claim: " + name +
                  ": is a profiler's capture, which cannot show a saving in money; use recordings or logs of work as "
                  "the baseline");
    }
    const auto same = std::find_if(inputs.begin(), inputs.end(),
                                   [&](const ComparedInput& other) { return other.sha256 == input.sha256; });
    if (same != inputs.end()) {
      return FailUsage("claim: " + same->name + " and " + name + " are the same run; give each run once");
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

// Reads --picked. Its absence is a value of its own: the saving must then exceed what picking the worst runs would make
// (docs/claim-and-compare.md, "Runs and jobs that were picked for being bad").
Result<BaselineChoice> ParsePicked(const std::string& text) {
  if (text.empty()) return BaselineChoice::kUnknown;
  if (text == "all") return BaselineChoice::kAll;
  if (text == "worst") return BaselineChoice::kWorst;
  return FailUsage("claim: --picked '" + text.substr(0, 20) +
                   "' is neither all (every run of these jobs in that time, or a random draw) nor worst");
}

// Builds and seals the claim. The price is fixed here too, so that it cannot be chosen after the result is known. Seal
// comes last, because the hash covers everything before it.
Result<Claim> ClaimOf(const ClaimRequest& request, const Settings& settings, Instant now, Progress& progress) {
  Claim claim;
  claim.written = now;
  claim.ids = OwnIds();
  claim.boundary = request.boundary;
  claim.measure = request.measure;
  TRY(request.judged.Take("claim", claim));
  InputReading reading = TRY(ReadingFrom(settings, request.factors, request.work));
  reading.path_of = [&settings, now](const std::string& name) { return FileOrKeptRun(name, settings, now); };
  reading.progress = &progress;
  claim.factors = reading.factors;
  if (!request.predicted.empty()) {
    claim.predicted = TRY(FlagShare("claim", "--predicted", request.predicted));
  }
  claim.choice = TRY(ParsePicked(request.picked));
  const Prices prices = TRY(OpenRates(settings, now));
  const RateBook rates = prices.For({});
  const std::vector<ComparedInput> inputs = TRY(ReadBaseline(request.baseline, reading));
  const Rate rate = TRY(MeanRateOf(rates, inputs));
  claim.rate_before = rate.per_gpu_hour;
  claim.currency = rate.currency;
  TRY(TakeFactors(inputs, claim));
  TRY(TakeUnit(request, inputs, claim));
  for (const ComparedInput& input : inputs) {
    // The hash lets `compare` see that it judges the same runs.
    claim.baseline.push_back({input.name, input.blocks.front().run.run.sha256});
  }
  // A misspelled --changes would let the changed factor differ and hold another one fixed. Nobody would notice until
  // the verdict is INVALID.
  if (!claim.changed_factor.empty() && !inputs.empty() && !claim.factors.contains(claim.changed_factor)) {
    const std::string known = ListText(claim.factors, ", ", [](const auto& factor) { return factor.first; });
    return FailUsage("claim: --changes " + claim.changed_factor.substr(0, 40) + ": the baseline has no such factor (" +
                     (known.empty() ? "it has none" : "it has " + known) + "); give its value with --factor");
  }
  Seal(claim);
  return claim;
}

// What the choice of the baseline means for the verdict, in words.
std::string_view HowPicked(BaselineChoice choice) {
  switch (choice) {
    case BaselineChoice::kAll:
      return "all runs, or a random draw";
    case BaselineChoice::kWorst:
      return "by the value under judgement, so no saving can be verified from it";
    case BaselineChoice::kUnknown:
      break;
  }
  return "not given (--picked): a saving must exceed the effect of picking the worst tenth";
}

// The price that the claim fixes. Without one, the saving is in GPU-hours.
std::string ClaimPrice(const Claim& claim) {
  if (!claim.rate_before) return "none: the saving will be in GPU-hours; a price at comparison turns it into dollars";
  const std::string before = UnitPrice(*claim.rate_before, claim.currency) + " a GPU-hour";
  return claim.rate_after ? before + ", then " + UnitPrice(*claim.rate_after, claim.currency) : before;
}

// The claim for the terminal: everything that it fixes, and the next step. A user should see at once what cannot be
// changed any more.
std::string Told(const Claim& claim, const std::string& path) {
  std::string text = fmt::format("Claim {} is in {}; edits are detectable.\n", claim.id, path);
  std::vector<TableRow> rows = {
      {"what", claim.boundary},
      {"change", claim.measure + (claim.changed_factor.empty() ? "" : " (changes " + claim.changed_factor + ")")},
      {"judged by", fmt::format("GPU-seconds per {}, {} confidence, smallest effect {}{}",
                                kWorkUnitNames[static_cast<std::size_t>(claim.unit)], StatedPercent(claim.level),
                                StatedPercent(claim.smallest_effect),
                                claim.stop == StopRule::kSequential ? ", repeated looks" : ", one look")}};
  if (claim.predicted) rows.push_back({"predicted", PercentText(*claim.predicted) + " saved"});
  rows.push_back({"price", ClaimPrice(claim)});
  for (const Claim::BaselineRun& run : claim.baseline) rows.push_back({"baseline", run.name});
  // A switchback alternates the setting, so how its runs were picked does not matter.
  const bool may_be_picked = !claim.baseline.empty() && claim.design == ClaimDesign::kRuns;
  if (may_be_picked) rows.push_back({"picked", std::string(HowPicked(claim.choice))});
  for (const auto& [key, value] : claim.factors) rows.push_back({"must stay", key + " = " + value});
  // The factor that the measure changes need not stay.
  std::erase_if(rows, [&](const TableRow& row) {
    return row[0] == "must stay" && row[1].starts_with(claim.changed_factor + " = ");
  });
  const std::string ids = IdsText(claim.ids.value_or(RunIds{}));
  if (!ids.empty()) rows.push_back({"ids", ids});
  rows.push_back({"written", FormatRfc3339(claim.written)});
  rows.push_back({"sha256", claim.sha256});
  std::vector<TableColumn> columns(2);
  columns[1].wraps = true;
  text += LayOutTable(columns, rows, 120, 2);
  text += "\nNext: make the change, measure at least 3 runs (best in random order with 3 more baseline runs), then\n" +
          fmt::format("  idleburn compare BEFORE... --vs AFTER... --claim {}\n", path);
  return text;
}

}  // namespace

Result<int> RunClaim(const std::vector<std::string>& arguments, const Environment& environment) {
  ClaimRequest request;
  CommandFlags flags({"price.", "import.", "history.file"});
  flags.Add("baseline", "RUN...", "recordings, logs of work or ids of the history from before the change").list =
      &request.baseline;
  Flag& output = flags.Add("--output", "FILE", "the claim file; it must not exist yet");
  output.text = &request.output;
  output.required = true;
  Flag& boundary = flags.Add("--boundary", "TEXT", "the jobs in the claim: a name or selector");
  boundary.text = &request.boundary;
  boundary.required = true;
  Flag& measure = flags.Add("--measure", "TEXT", "the change, in words or as the id of a recommendation");
  measure.text = &request.measure;
  measure.required = true;
  flags.Add("--factor", "KEY=VALUE", "a fact that must not change (repeatable): precision=bf16, data=...").list =
      &request.factors;
  flags.Add("--work", "[RUN:]LIST", "work done, if a run does not report it: samples=200000,...").list = &request.work;
  flags.Add("--predicted", "SHARE", "the claimed saving").text = &request.predicted;
  flags.Add("--picked", "HOW", "choice of the baseline: all (every run in that time, or a random draw) or worst").text =
      &request.picked;
  request.judged.AddTo(flags);
  flags.Add("--no-history", "", "do not write to the ledger").on = &request.no_history;
  flags.Add("--quiet", "", "no progress on standard error").on = &request.quiet;
  const auto settings = TRY(flags.Read("claim", "Records, before a change, how its saving will be judged.", arguments));
  if (!settings) return 0;
  Progress progress = Progress::OnStandardError(environment, request.quiet);
  const Claim claim = TRY(ClaimOf(request, *settings, environment.now, progress));
  progress.End();
  // The file comes first. An entry in the ledger for a claim that nobody has could never be judged.
  TRY(WriteClaim(claim, request.output));
  if (!request.no_history) KeepInLedger(ClaimEntry(claim, environment.now), *settings, environment.now);
  TRY(Print(Told(claim, request.output)));
  return 0;
}

}  // namespace idleburn
