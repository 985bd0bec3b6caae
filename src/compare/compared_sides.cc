#include "compare/compared_sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "diagnose/trace_diagnosis.h"
#include "telemetry/run_facts.h"
#include "text/number.h"
#include "verify/work_csv.h"

// Sorts the inputs of a comparison into before and after. Every mistake that would turn a regression into a saving must
// be an error here: sides that were swapped, a file on both sides, captures beside runs. The judge (verify/judge.h)
// cannot notice any of them, because it only sees numbers.

namespace idleburn {

namespace {

// Names of the two settings of a switchback that tell which came first. Other names need --arms.
constexpr std::array<std::array<std::string_view, 2>, 6> kArms = {
    {{"A", "B"}, {"a", "b"}, {"before", "after"}, {"0", "1"}, {"off", "on"}, {"old", "new"}}};

using Inputs = std::vector<ComparedInput>;

// Reads the inputs in the order of the command line. The order matters: failed runs are joined with the next one.
Result<Inputs> ReadAllOf(const std::vector<std::string>& names, const InputReading& reading) {
  Inputs inputs;
  for (const std::string& name : names) {
    ComparedInput input = TRY(ReadComparedInput(name, reading));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

// A run cannot be compared with itself, nor count twice. Files are compared by hash, so a copy is found too.
Result<void> CheckDistinct(const ComparedSides& sides) {
  std::map<std::string, std::string> known;
  for (const Inputs* inputs : {&sides.before, &sides.after, &sides.untouched_before, &sides.untouched_after}) {
    for (const ComparedInput& input : *inputs) {
      const auto [at, fresh] = known.try_emplace(input.sha256, input.name);
      if (fresh) continue;
      return FailUsage(at->second == input.name
                           ? "compare: " + input.name + " is given twice; give each run once, on its side"
                           : "compare: " + at->second + " and " + input.name +
                                 " are the same file; give each run once, on its side");
    }
  }
  return {};
}

// Fails if captures and runs are mixed. Captures give seconds per step, runs give GPU-seconds per unit of work, and the
// two have no common unit.
Result<void> CheckKinds(const ComparedSides& sides) {
  std::size_t captures = 0;
  std::size_t runs = 0;
  for (const Inputs* inputs : {&sides.before, &sides.after, &sides.untouched_before, &sides.untouched_after}) {
    for (const ComparedInput& input : *inputs) ++(input.capture ? captures : runs);
  }
  if (captures > 0 && runs > 0) {
    return FailUsage("compare: profiler captures and runs cannot be compared with each other; give one kind");
  }
  return {};
}

// The names of the settings before and after. Guessing which came first would turn a regression into a saving, so
// unusual names need --arms.
Result<std::array<std::string, 2>> ArmsOf(const std::vector<WorkTable::Block>& blocks, const std::string& given,
                                          const std::string& file) {
  std::vector<std::string> met;
  for (const WorkTable::Block& block : blocks) {
    if (std::find(met.begin(), met.end(), block.arm) == met.end()) met.push_back(block.arm);
  }
  if (met.size() != 2) {
    return Fail(fmt::format("{}: its column arm names {} settings; a switchback alternates two", file, met.size()));
  }
  const auto are = [&](std::string_view a, std::string_view b) {
    return (met[0] == a && met[1] == b) || (met[0] == b && met[1] == a);
  };
  if (!given.empty()) {
    const std::size_t comma = given.find(',');
    const std::string before(Trim(given.substr(0, comma)));
    const std::string after(Trim(comma == std::string::npos ? "" : given.substr(comma + 1)));
    if (are(before, after)) return std::array{before, after};
    return FailUsage(fmt::format("compare: --arms '{}' are not the settings of {}: {}, {}", given.substr(0, 40), file,
                                 met[0].substr(0, 20), met[1].substr(0, 20)));
  }
  for (const auto& [before, after] : kArms) {
    if (are(before, after)) return std::array{std::string(before), std::string(after)};
  }
  return FailUsage(fmt::format("compare: {}: say which setting came first, for example --arms {},{}", file,
                               met[0].substr(0, 20), met[1].substr(0, 20)));
}

// Moves the blocks of files with a column arm to the sides of their settings.
Result<void> SplitArms(const std::string& arms, ComparedSides& sides) {
  Inputs whole = std::move(sides.before);
  sides.before.clear();
  for (ComparedInput& input : whole) {
    const std::array<std::string, 2> names = TRY(ArmsOf(input.blocks, arms, input.name));
    ComparedInput after;
    ComparedInput before;
    before.name = after.name = input.name;
    before.sha256 = after.sha256 = input.sha256;
    for (WorkTable::Block& block : input.blocks) {
      (block.arm == names[0] ? before : after).blocks.push_back(std::move(block));
    }
    sides.before.push_back(std::move(before));
    sides.after.push_back(std::move(after));
  }
  return {};
}

// Puts the inputs on their sides. Fails if files and flags contradict each other, for example a column arm without
// --switchback.
Result<void> PlaceBlocks(const SideRequest& request, bool switchback, ComparedSides& sides) {
  const auto has_arms = [](const ComparedInput& input) { return !input.capture && !input.blocks.front().arm.empty(); };
  const auto armed = std::find_if(sides.before.begin(), sides.before.end(), has_arms);
  if (armed != sides.before.end()) {
    if (!switchback) {
      return FailUsage("compare: " + armed->name + ": has a column arm; add --switchback to compare its settings");
    }
    if (!sides.after.empty() || !std::all_of(sides.before.begin(), sides.before.end(), has_arms)) {
      return FailUsage("compare: " + armed->name +
                       ": holds both sides of a switchback; give such files only, without --vs");
    }
    return SplitArms(request.arms, sides);
  }
  if (!request.arms.empty()) {
    return FailUsage("compare: --arms names the settings in a column arm, and no run before the change has one");
  }
  for (const ComparedInput& input : sides.after) {
    if (has_arms(input)) {
      return FailUsage("compare: " + input.name +
                       ": holds both sides of a switchback; give such files only, without --vs");
    }
  }
  if (sides.after.empty()) {
    return FailUsage("compare: no runs after the change; idleburn compare BEFORE... --vs AFTER...");
  }
  return {};
}

// The allocated GPU time of an input, over all its blocks.
double GpuSecondsOf(const ComparedInput& input) {
  double sum = 0;
  for (const WorkTable::Block& block : input.blocks) sum += block.run.run.gpu_seconds;
  return sum;
}

// The weight of an input among all data, for --exclude: its GPU time. Each capture weighs 1; captures and runs are
// never mixed.
double WeightOf(const ComparedInput& input) { return input.capture ? 1 : GpuSecondsOf(input); }

// Takes out the runs of --exclude. Each needs a reason, and its share of the data is recorded: above 5 % the comparison
// is INVALID. Otherwise one could leave out runs until the rest agrees with the claim.
Result<void> Exclude(const std::vector<std::string>& texts, ComparedSides& sides) {
  double all = 0;
  for (const Inputs* side : {&sides.before, &sides.after}) {
    for (const ComparedInput& input : *side) all += WeightOf(input);
  }
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const std::string reason(Trim(equals == std::string::npos ? "" : text.substr(equals + 1)));
    if (reason.empty()) {
      return FailUsage("compare: --exclude '" + text.substr(0, 60) + "' gives no reason; write RUN=REASON");
    }
    bool found = false;
    for (Inputs* side : {&sides.before, &sides.after}) {
      const auto at = std::find_if(side->begin(), side->end(), [&](const ComparedInput& i) { return i.name == name; });
      if (at == side->end()) continue;
      found = true;
      sides.exclusions.push_back({name + ": " + reason, all > 0 ? WeightOf(*at) / all : 0});
      for (ComparisonReport::Input& input : sides.inputs) {
        if (input.name == name) input.note = "left out: " + reason;
      }
      side->erase(at);
    }
    if (!found) return FailUsage("compare: --exclude '" + name.substr(0, 60) + "': no run has this name");
  }
  return {};
}

// Adds one row to the report for each input. Called before anything is excluded, so that the reader sees every input.
void ListInputs(const Inputs& side, bool after, std::vector<ComparisonReport::Input>* list) {
  for (const ComparedInput& input : side) {
    ComparisonReport::Input row;
    row.after = after;
    row.kind = kComparedKindNames[static_cast<std::size_t>(input.kind)];
    row.sha256 = input.sha256;
    row.name = input.name;
    row.ids = input.ids;
    if (!input.capture) row.gpu_seconds = GpuSecondsOf(input);
    for (const WorkTable::Block& block : input.blocks) {
      const MeasuredRun& run = block.run.run;
      row.observed = run.observed_fraction;
      if (run.start) row.start = row.start ? std::min(*row.start, *run.start) : *run.start;
      if (run.end) row.end = row.end ? std::max(*row.end, *run.end) : *run.end;
    }
    if (input.blocks.size() > 1) row.note = fmt::format("{} blocks", input.blocks.size());
    list->push_back(std::move(row));
  }
}

// All runs of a side, with their work in `unit`. Each block of a switchback is a run.
std::vector<MeasuredRun> RunsIn(const Inputs& side, std::optional<WorkUnit> unit) {
  std::vector<MeasuredRun> runs;
  for (const ComparedInput& input : side) {
    for (const WorkTable::Block& block : input.blocks) runs.push_back(block.run.In(unit));
  }
  return runs;
}

// Sets the remark of an input in the report. Inputs are found by hash, which is unique (CheckDistinct).
void NoteOf(ComparedSides& sides, const ComparedInput& input, const std::string& note) {
  for (ComparisonReport::Input& row : sides.inputs) {
    if (row.sha256 == input.sha256) row.note = note;
  }
}

// A failed attempt belongs to the run that then did its work: the next one of its side that ended well, or else the
// last. If none ended well, the run is unfit for a verdict.
void JoinFailures(ComparedSides& sides, Inputs& side) {
  for (std::size_t i = 0; i < side.size();) {
    const auto well = [](const ComparedInput& input) { return input.failure.empty(); };
    // Example: before = failed, good, failed. The first failure counts to the good run after it, and so does the last,
    // because no good run follows.
    // The next run that ended well, in the order of the command line.
    auto heir = std::find_if(side.begin() + static_cast<std::ptrdiff_t>(i), side.end(), well);
    if (heir == side.end()) {
      const auto last = std::find_if(side.rbegin(), side.rend(), well);
      heir = last == side.rend() ? side.end() : std::prev(last.base());
    }
    if (side[i].failure.empty()) {
      ++i;
      continue;
    }
    MeasuredRun& failed = side[i].blocks.front().run.run;
    if (heir == side.end()) {
      failed.doubts.push_back(
          {"unfit_run", "its command ended with " + side[i].failure + ", and none after it ended well"});
      ++i;
      continue;
    }
    // The work of the failed run is dropped, because nothing of it was kept.
    heir->blocks.front().run.run.gpu_seconds += failed.gpu_seconds;
    NoteOf(sides, side[i], side[i].failure + ": its time counts to " + heir->name + ", its work does not");
    side.erase(side.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

Result<ComparedSides> ReadSides(const SideRequest& request, const InputReading& reading, bool switchback) {
  std::vector<std::string> names;
  for (const auto* part : {&request.before, &request.after, &request.untouched_before, &request.untouched_after}) {
    names.insert(names.end(), part->begin(), part->end());
  }
  // The order of the checks is that of their cost: names, then contents, then kinds.
  // Before anything is read: reading may take minutes.
  TRY(CheckWorkNames("compare", reading, names));
  ComparedSides sides;
  struct Part {
    const std::vector<std::string>& names;
    Inputs& into;
  };
  for (const Part& part :
       {Part{request.before, sides.before}, Part{request.after, sides.after},
        Part{request.untouched_before, sides.untouched_before}, Part{request.untouched_after, sides.untouched_after}}) {
    part.into = TRY(ReadAllOf(part.names, reading));
  }
  TRY(CheckDistinct(sides));
  TRY(CheckKinds(sides));
  TRY(PlaceBlocks(request, switchback, sides));
  ListInputs(sides.before, false, &sides.inputs);
  ListInputs(sides.after, true, &sides.inputs);
  TRY(Exclude(request.exclude, sides));
  if (sides.before.empty() || sides.after.empty()) {
    return FailUsage("compare: nothing is left of one side after --exclude");
  }
  return sides;
}

std::optional<WorkUnit> UnitOfSides(const ComparedSides& sides, std::optional<WorkUnit> wanted) {
  if (wanted) return wanted;
  std::vector<CountedRun> runs;
  for (const Inputs* side : {&sides.before, &sides.after}) {
    for (const ComparedInput& input : *side) {
      for (const WorkTable::Block& block : input.blocks) runs.push_back(block.run);
    }
  }
  return CommonUnit(runs);
}

void FillComparison(ComparedSides& sides, std::optional<WorkUnit> unit, bool kept, Comparison& comparison) {
  if (!kept) {
    JoinFailures(sides, sides.before);
    JoinFailures(sides, sides.after);
  }
  // From here on only numbers are passed on, in one unit.
  comparison.before = RunsIn(sides.before, unit);
  comparison.after = RunsIn(sides.after, unit);
  comparison.untouched_before = RunsIn(sides.untouched_before, unit);
  comparison.untouched_after = RunsIn(sides.untouched_after, unit);
  comparison.exclusions = sides.exclusions;
  for (ComparisonReport::Input& row : sides.inputs) {
    for (const auto* runs : {&comparison.before, &comparison.after}) {
      const bool of_side = (runs == &comparison.after) == row.after;
      for (const MeasuredRun& run : *runs) {
        if (of_side && run.sha256 == row.sha256 && run.unit) row.work = row.work.value_or(0) + run.work;
      }
    }
  }
}

RunIds IdsOfSide(const ComparisonReport& report, std::optional<bool> after) {
  std::vector<RunIds> ids;
  for (const ComparisonReport::Input& input : report.inputs) {
    if (!after || *after == input.after) ids.push_back(input.ids);
  }
  return SharedIds(ids);
}

namespace {

// Captures are drawn from a fixed seed: the same files must give the same verdict.
constexpr std::uint64_t kSeed = 1;

// The device whose steps are compared: the first that has steps, or else the first.
Result<const DeviceDiagnosis*> DeviceOf(const ComparedInput& input) {
  const std::vector<DeviceDiagnosis>& devices = input.capture->trace->devices;
  if (devices.empty()) return Fail(input.name + ": no device in it did any work, so there is nothing to compare");
  const auto stepped =
      std::find_if(devices.begin(), devices.end(), [](const DeviceDiagnosis& d) { return !d.steps.steps.empty(); });
  return stepped == devices.end() ? &devices.front() : &*stepped;
}

// The rank of a capture if it belongs to a job of several ranks; absent otherwise.
std::optional<std::int64_t> RankOf(const ComparedInput& input) {
  const Profile& profile = input.capture->profiles.front();
  return profile.world_size.value_or(1) > 1 ? profile.rank : std::nullopt;
}

// Keeps one rank of a job and lists the others as left out. All ranks wait for each other, so their steps are one
// measurement and not several. The rank with the most captures stays.
void KeepOneRank(std::vector<ComparedInput>& side, std::vector<ComparisonReport::Input>& rows,
                 ComparisonReport& report) {
  std::map<std::int64_t, int> captures;
  for (const ComparedInput& input : side) {
    if (const std::optional<std::int64_t> rank = RankOf(input)) ++captures[*rank];
  }
  if (captures.size() < 2) return;
  // Of ranks with equally many captures the lowest stays.
  const std::int64_t kept = std::max_element(captures.begin(), captures.end(), [](const auto& a, const auto& b) {
                              return a.second < b.second;
                            })->first;
  const auto other = [kept](const ComparedInput& input) { return RankOf(input).value_or(kept) != kept; };
  for (const ComparedInput& input : side) {
    if (!other(input)) continue;
    const std::string why = fmt::format(
        "rank {} of a job; rank {} of that job is compared already, and all ranks are one run", *RankOf(input), kept);
    report.exclusions.push_back({input.name + ": " + why, 0});
    for (ComparisonReport::Input& row : rows) {
      if (row.name == input.name) row.note = "left out: " + why;
    }
  }
  side.erase(std::remove_if(side.begin(), side.end(), other), side.end());
}

// The budget that counts kernels and compute time of the steps alone. Time outside of steps is no work of a step.
const TraceBudget& BudgetOfSteps(const DeviceDiagnosis& device) {
  const auto steps = std::find_if(device.budgets.begin(), device.budgets.end(),
                                  [](const TraceBudget& b) { return b.window == Window::kProfilerSteps; });
  return steps == device.budgets.end() ? device.Deciding() : *steps;
}

// Converts the steps of a capture to the form of the judge. Without steps, the work per step stays unknown.
StepCapture CaptureOf(const ComparedInput& input, const DeviceDiagnosis& device) {
  StepCapture capture;
  capture.name = input.name;
  capture.sha256 = input.sha256;
  if (input.capture->quality.CountOf(QualityId::kNoTimestamp) == 0) capture.start = input.capture->run.start;
  for (const StepTime& step : device.steps.steps) {
    capture.step_seconds.push_back(static_cast<double>(step.at.Ns()) / 1e9);
  }
  if (device.steps.steps.empty()) return capture;
  const auto steps = static_cast<double>(device.steps.steps.size());
  capture.kernels_per_step = static_cast<double>(BudgetOfSteps(device).kernels.count) / steps;
  capture.compute_seconds_per_step = static_cast<double>(BudgetOfSteps(device).compute_ns) / 1e9 / steps;
  return capture;
}

// Converts one side to the form of runs. Neighbouring steps depend on each other: n steps are worth n / tau independent
// ones.
SideEstimate SideOf(const CaptureSide& side) {
  SideEstimate estimate;
  estimate.runs = side.captures;
  estimate.rows = estimate.summed = side.steps;
  if (side.steps > 0) {
    estimate.tau = side.tau;
    estimate.n_eff = static_cast<double>(side.steps) / side.tau;
  }
  return estimate;
}

// Converts the verdict to the form of one on runs, so that the same writers print it. It has no money and no avoided
// GPU-seconds: a capture covers some steps of a job, never a whole run.
SavingVerdict VerdictOfCaptures(CaptureVerdict captures) {
  SavingVerdict verdict;
  verdict.verdict = captures.verdict;
  verdict.reasons = std::move(captures.reasons);
  verdict.unit = WorkUnit::kStep;
  verdict.before = SideOf(captures.before);
  verdict.after = SideOf(captures.after);
  verdict.level = captures.level;
  verdict.fraction = captures.fraction;
  verdict.saving = captures.saving;
  verdict.saving90 = captures.saving90;
  verdict.guard = captures.guard;
  verdict.seed = captures.seed;
  verdict.retrospective = captures.retrospective;
  return verdict;
}

}  // namespace

Result<void> JudgeCaptureSides(ComparedSides& sides, const VerdictTerms& terms, ComparisonReport& report) {
  KeepOneRank(sides.before, sides.inputs, report);
  KeepOneRank(sides.after, sides.inputs, report);
  std::vector<StepCapture> captures[2];
  std::vector<const DeviceDiagnosis*> devices[2];
  for (const bool after : {false, true}) {
    for (const ComparedInput& input : after ? sides.after : sides.before) {
      const DeviceDiagnosis* device = TRY(DeviceOf(input));
      devices[after ? 1 : 0].push_back(device);
      captures[after ? 1 : 0].push_back(CaptureOf(input, *device));
    }
  }
  CaptureVerdict judged = JudgeCaptures(captures[0], captures[1], terms, kSeed);
  report.mean_step_fraction = judged.mean_fraction;
  report.verdict = VerdictOfCaptures(std::move(judged));
  // The judge counts captures with enough steps; the report shows all that were given.
  report.verdict.before.runs = static_cast<int>(captures[0].size());
  report.verdict.after.runs = static_cast<int>(captures[1].size());
  // With different work, a prediction and what came of it cannot be compared either.
  const bool comparable = report.verdict.verdict != Verdict::kInvalid;
  if (!comparable) report.mean_step_fraction.reset();
  for (std::size_t i = 0; i < std::min(devices[0].size(), devices[1].size()); ++i) {
    BeforeAfter pair = CompareCaptures(*devices[0][i], *devices[1][i]);
    if (!comparable) {  // a step of other work is shorter or longer for itself, not by the change
      pair.realised.reset();
      pair.recovered.reset();
    }
    report.captures.push_back(std::move(pair));
  }
  return {};
}

}  // namespace idleburn
