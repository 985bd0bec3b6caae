#include "report/isolate_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/json_values.h"
#include "text/figures.h"
#include "text/json.h"
#include "text/number.h"
#include "text/strings.h"
#include "trial/series.h"

// What a series of trials showed: which resource bounds a job. The page begins with the strongest statement that the
// data allow: a knob bounds the job, no knob does, the noise is too large, or nothing was measured.
//
// "Not shown" and "no effect" are kept apart everywhere. A job with noisy steps shows no effect of anything, and a
// reader would buy or cancel hardware because of it. So every effect has its interval, and the noise of unchanged runs
// is printed.
//
// Effects are of the job's own work per second (steps, samples), not of utilization: a slower GPU has a higher
// utilization.

namespace idleburn {
namespace {

using Json = nlohmann::ordered_json;

// CPUs that other programs may use before the report warns that they disturb the trials.
constexpr double kBusyOthers = 0.2;

// A measured knob with its reading. `result` points into the report.
struct Read {
  const KnobResult* result;
  KnobReading reading;
};

// The knobs that were measured, largest effect first. Effects are compared as logarithms: half the speed is as far
// from unchanged as double the speed.
std::vector<Read> ReadAll(const IsolateReport& report) {
  const std::optional<RunNoise> noise = NoiseOf(report.result);
  std::vector<Read> read;
  for (const KnobResult& knob : report.result.knobs) {
    if (knob.status == KnobStatus::kRan) read.push_back({&knob, ReadKnob(knob, noise)});
  }
  std::stable_sort(read.begin(), read.end(), [](const Read& a, const Read& b) {
    return std::abs(std::log1p(a.reading.effect)) > std::abs(std::log1p(b.reading.effect));
  });
  return read;
}

// "steps", "samples", ... It is the unit that the first run was counted in; all runs of a series use it.
std::string_view UnitPlural(const IsolateReport& report) {
  return kWorkUnitPlurals[static_cast<std::size_t>(report.result.first.unit)];
}

// How the claim of a knob continues if it holds: "CPU cores bound this job" + " in part". Absent if it does not hold.
std::optional<std::string_view> Holds(KnobFinding finding) {
  if (finding == KnobFinding::kBounds) return "";
  if (finding == KnobFinding::kPartly) return " in part";
  if (finding == KnobFinding::kAtLeastPartly) return " at least in part";
  return std::nullopt;
}

// Findings that get a sentence of their own: the claim holds, or the change worked the other way round. Other findings
// are in the table only.
bool Matters(KnobFinding finding) { return Holds(finding) || finding == KnobFinding::kOpposite; }

// One sentence for a knob: what it shows, what was changed, and the effect on speed with its interval. The effect is
// printed without sign, so its interval changes sign with it.
std::string Sentence(const IsolateReport& report, const Read& read) {
  const KnobReading& reading = read.reading;
  const Knob& knob = *read.result->knob;
  const bool opposite = reading.finding == KnobFinding::kOpposite;
  const double sign = reading.effect < 0 ? -1 : 1;
  const std::string did =
      fmt::format("{} ({} -> {}) {} {} of its {} a second", knob.changes, read.result->before, read.result->after,
                  sign < 0 ? "cost" : "gained", PercentText(std::abs(reading.effect)), UnitPlural(report));
  std::string interval = "one round, so no interval";
  if (reading.effect_interval) {
    double low = sign * reading.effect_interval->low;
    double high = sign * reading.effect_interval->high;
    if (low > high) std::swap(low, high);
    interval = StatedPercent(kConfidence) + " interval " + PercentInterval(low, high);
  }
  if (!Matters(reading.finding)) return fmt::format("{} ({})", did, interval);
  std::string claim(opposite ? knob.opposite : knob.claim);
  claim.front() =
      claim.front() >= 'a' && claim.front() <= 'z' ? static_cast<char>(claim.front() - 'a' + 'A') : claim.front();
  return fmt::format("{}{}: {} ({})", claim, Holds(reading.finding).value_or(""), did, interval);
}

// The first line. "Not shown" and "no effect" differ: with noise the result is inconclusive, and a knob may be called
// unimportant only if its interval excludes any material effect.
std::string IsolateVerdictText(const IsolateReport& report, const std::vector<Read>& read) {
  if (read.empty()) return "Unknown: no knob was measured.";
  if (Matters(read.front().reading.finding)) return Sentence(report, read.front()) + ".";
  const auto open = [](const Read& r) { return r.reading.finding == KnobFinding::kNotShown; };
  // One round has no interval, so nothing can be said for sure.
  if (read.front().reading.finding == KnobFinding::kOneRound) {
    return "Unknown after one round; at most an indication: " + Sentence(report, read.front()) + ".";
  }
  // Some interval includes both no effect and a material one.
  if (std::any_of(read.begin(), read.end(), open)) {
    return fmt::format("Inconclusive: noise exceeds any effect. The largest: {}.", Sentence(report, read.front()));
  }
  return fmt::format("No tested knob bounds this job: each changes its speed by less than {}.",
                     StatedPercent(kMaterial));
}

// "0.85 (0.80 to 0.91)", or the value alone after a single round.
std::string WithInterval(double value, const std::optional<ConfidenceInterval>& interval, double scale) {
  std::string text = ThreeDigits(scale * value);
  if (interval)
    text += fmt::format(" ({} to {})", ThreeDigits(scale * interval->low), ThreeDigits(scale * interval->high));
  return text;
}

// All measured knobs. Sensitivity is the change of speed relative to the change of the resource (docs/isolate.md).
// Sensitivity 1 means that half of the resource gives half of the speed.
ReportTable KnobTable(const IsolateReport& report, const std::vector<Read>& read) {
  ReportTable table;
  table.title = "What was changed";
  table.columns = {{"knob"}, {"change", kLeft, true}, {"speed, %"}, {"sensitivity"}, {"finding"}};
  for (const Read& r : read) {
    const KnobReading& reading = r.reading;
    table.rows.push_back(
        {std::string(r.result->knob->id), r.result->before + " -> " + r.result->after,
         WithInterval(reading.effect, reading.effect_interval, 100),
         reading.sensitivity ? WithInterval(*reading.sensitivity, reading.sensitivity_interval, 1) : "-",
         std::string(kFindingNames[static_cast<std::size_t>(reading.finding)])});
  }
  if (report.result.first.rate) {
    table.notes.push_back(
        fmt::format("Unchanged, first run: {} {} a second. Sensitivity 1: speed falls in proportion, 0: not at all.",
                    ThreeDigits(report.result.first.rate->PerSecond()), UnitPlural(report)));
  }
  return table;
}

// Knobs without a result, each with the reason: a reader must not take them for harmless.
ReportTable NotMeasured(const IsolateReport& report) {
  ReportTable list;
  list.title = "Not measured";
  for (const KnobResult& knob : report.result.knobs) {
    if (knob.status == KnobStatus::kRan) continue;
    std::string status(kKnobStatusNames[static_cast<std::size_t>(knob.status)]);
    std::replace(status.begin(), status.end(), '_', ' ');
    list.notes.push_back(fmt::format("{}: {}{}{}", knob.knob->id, status, knob.why.empty() ? "" : "; ", knob.why));
  }
  return list;
}

// What disturbed the runs of a knob. A machine that stood still comes first, because it spoils every pair; otherwise
// the longest wait is named, with its pair. Empty if nothing is known.
std::string Disturbance(const KnobResult& knob) {
  if (knob.stood_still > Nanos(0)) {
    return fmt::format("{}: this machine stood still in every pair, for {} in all: measure again when it is quiet",
                       knob.knob->id, DurationForPeople(knob.stood_still));
  }
  std::string longest;
  Nanos most{0};
  for (std::size_t i = 0; i < knob.pairs.size(); ++i) {
    for (const TrialSide side : {TrialSide::kBaseline, TrialSide::kVariant}) {
      const bool changed = side == TrialSide::kVariant;
      const Nanos wait = (changed ? knob.pairs[i].variant : knob.pairs[i].baseline).longest_wait.value_or(Nanos(0));
      if (wait <= most) continue;
      most = wait;
      longest = fmt::format("{}: longest wait {} in pair {}, {}; a longer --for reduces its weight", knob.knob->id,
                            DurationForPeople(wait), i + 1, changed ? "changed" : "unchanged");
    }
  }
  return longest;
}

// What limits the claims above: an early end, disturbances, noise, and other programs.
std::vector<std::string> Doubts(const IsolateReport& report, const std::vector<Read>& read) {
  std::vector<std::string> doubts;
  if (report.result.interrupted) {
    doubts.push_back(
        fmt::format("Ended by signal {}; the report covers the time until then.", *report.result.interrupted));
  }
  for (const Read& r : read) {
    if (std::string line = Disturbance(*r.result); !line.empty()) doubts.push_back(std::move(line) + ".");
  }
  if (const std::optional<RunNoise> noise = NoiseOf(report.result)) {
    doubts.push_back(fmt::format("Noise: unchanged runs differ by {} (standard deviation of {} runs).",
                                 PercentText(std::expm1(noise->log_sd)), noise->runs));
  }
  const std::optional<double>& others = report.result.first.other_cpus;
  if (others && *others >= kBusyOthers) {
    doubts.push_back(
        fmt::format("Other programs used {} CPUs during the first run: results about CPUs are then only an indication.",
                    ThreeDigits(*others)));
  }
  return doubts;
}

// An estimate and its interval. One round has no interval, so both ends are null.
Json EstimateJson(double estimate, const std::optional<ConfidenceInterval>& interval) {
  Json json;
  json["estimate"] = estimate;
  json["low"] = interval ? Json(interval->low) : Json(nullptr);
  json["high"] = interval ? Json(interval->high) : Json(nullptr);
  return json;
}

// How much unchanged runs differ: the standard deviation of the logarithm of their speed. It is taken over all
// unchanged runs of the series, so it is known even if every knob had one round.
Json NoiseJson(const std::optional<RunNoise>& noise) {
  if (!noise) return nullptr;
  return {{"log_sd", noise->log_sd}, {"runs", noise->runs}};
}

// One knob, measured or not. Effect and finding are null without a measurement; the pairs are listed so that a
// program can compute them again.
Json KnobJson(const KnobResult& knob, const std::optional<RunNoise>& noise) {
  Json json;
  json["id"] = knob.knob->id;
  json["status"] = kKnobStatusNames[static_cast<std::size_t>(knob.status)];
  json["reason"] = TextOrNull<Json>(knob.why);
  json["changes"] = knob.knob->changes;
  json["applied_by"] = knob.knob->applied;
  json["needs"] = knob.knob->needs;
  json["before"] = TextOrNull<Json>(knob.before);
  json["after"] = TextOrNull<Json>(knob.after);
  json["resource_ratio"] = OrNull<Json>(knob.resource_ratio);
  json["causes"] = Json::array();
  for (const std::string_view cause : knob.knob->causes) {
    if (!cause.empty()) json["causes"].push_back(cause);
  }
  json["pairs"] = Json::array();
  for (const TrialPair& pair : knob.pairs) {
    Json row;
    row["before_per_second"] = pair.baseline.PerSecond();
    row["after_per_second"] = pair.variant.PerSecond();
    row["before_longest_wait_s"] = SecondsOrNull<Json>(pair.baseline.longest_wait);
    row["after_longest_wait_s"] = SecondsOrNull<Json>(pair.variant.longest_wait);
    json["pairs"].push_back(std::move(row));
  }
  json["repeated_pairs"] = knob.repeated;
  json["stood_still_s"] = knob.stood_still > Nanos(0) ? Json(InSeconds(knob.stood_still)) : Json(nullptr);
  const bool measured = knob.status == KnobStatus::kRan;
  const KnobReading reading = measured ? ReadKnob(knob, noise) : KnobReading{};
  json["finding"] = measured ? Json(kFindingNames[static_cast<std::size_t>(reading.finding)]) : Json(nullptr);
  json["effect"] = measured ? EstimateJson(reading.effect, reading.effect_interval) : Json(nullptr);
  json["sensitivity"] =
      reading.sensitivity ? EstimateJson(*reading.sensitivity, reading.sensitivity_interval) : Json(nullptr);
  json["next"] = measured && Holds(reading.finding) ? Json(knob.knob->next) : Json(nullptr);
  return json;
}

}  // namespace

ReportPage IsolatePage(const IsolateReport& report) {
  const std::vector<Read> read = ReadAll(report);
  ReportPage page;
  page.heading = "What bounds a command";
  page.title = TitleAndIds(report.command, report.ids);
  page.verdict = IsolateVerdictText(report, read);
  for (const Read& r : read) {
    if (!Matters(r.reading.finding)) continue;
    // The verdict is the first sentence.
    if (r.result != read.front().result) page.why.push_back(Sentence(report, r) + ".");
    if (r.reading.finding != KnobFinding::kOpposite) {
      page.next.push_back(fmt::format("{}: {}", r.result->knob->id, r.result->knob->next));
    }
  }
  page.points = {{"doubt", "Doubts", Doubts(report, read)}};
  page.tables = {KnobTable(report, read), NotMeasured(report)};
  return page;
}

std::string IsolateJson(const IsolateReport& report) {
  const std::vector<Read> read = ReadAll(report);
  const Trial& first = report.result.first;
  Json document = BeginDocument<Json>("idleburn.isolate/1", report.ids);
  document["version"] = IDLEBURN_VERSION;
  document["verdict"] = Printable(IsolateVerdictText(report, read));
  document["command"] = Printable(report.command);
  document["unit"] = UnitPlural(report);
  document["rounds"] = report.spec.rounds;
  document["skip_steps"] = report.spec.bounds.skip_steps;
  document["steps"] = OrNull<Json>(report.spec.bounds.steps);
  const std::optional<Nanos>& time = report.spec.bounds.time;
  document["for_s"] = time ? Json(InSeconds(*time)) : Json(nullptr);
  document["confidence"] = kConfidence;
  document["material"] = kMaterial;
  document["interrupted"] = OrNull<Json>(report.result.interrupted);
  document["first_run"]["per_second"] = first.rate ? Json(first.rate->PerSecond()) : Json(nullptr);
  document["first_run"]["read_bytes_per_second"] = OrNull<Json>(first.read_per_second);
  document["first_run"]["other_cpus"] = OrNull<Json>(first.other_cpus);
  document["first_run"]["workers"] = OrNull<Json>(first.hooks.workers);
  document["first_run"]["synthetic"] = first.hooks.synthetic ? Json(*first.hooks.synthetic != 0) : Json(nullptr);
  document["knobs"] = Json::array();
  const std::optional<RunNoise> noise = NoiseOf(report.result);
  document["noise"] = NoiseJson(noise);
  for (const KnobResult& knob : report.result.knobs) document["knobs"].push_back(KnobJson(knob, noise));
  return JsonDocument(document);
}

}  // namespace idleburn
