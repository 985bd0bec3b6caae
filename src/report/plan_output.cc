#include "report/plan_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "config/flag_values.h"
#include "plan/gpu_rate.h"
#include "plan/memory.h"
#include "plan/published_rate.h"
#include "plan/training_time.h"
#include "report/display.h"
#include "report/json_values.h"
#include "report/plan_parts.h"
#include "text/figures.h"
#include "text/json.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/time_zone.h"

// A plan as text and JSON, the short answer about a step's utilization, and the outcome of a launched run's forecast.
// They share one file because all three say what a run will take.
//
// Every figure has an interval and a basis. Predictions of memory and speed differ between frameworks by more than
// people expect, so a bare number would be believed too much. The basis says how near the measured runs are: the user's
// own, the same model, the same framework, or none (docs/plan-options.md, "Intervals and accuracy").
//
// A figure that cannot be computed names the flag that would make it known. No default is put in its place.
namespace idleburn {
namespace {

using Json = nlohmann::ordered_json;

// A part of the memory of one GPU.
struct PartRow {
  const char* name;
  double PeakMemory::*value;
  const char* meaning;  // null: BreakdownTable says it with figures
};

// The parts add up to the peak. `phase` is the larger of two phases that are never in memory together.
constexpr std::array<PartRow, 5> kParts = {{
    {"resident", &PeakMemory::resident, "weights, optimizer states, master copies, adapters"},
    {"gathered", &PeakMemory::gathered, "shards from other GPUs, and layers unpacked from 4 bits"},
    {"gradients", &PeakMemory::gradients, "gradients that persist between passes"},
    {"phase", &PeakMemory::phase, nullptr},
    {"context", &PeakMemory::context, "CUDA context and libraries"},
}};

// How near the published runs are to this one: the nearer, the narrower the interval.
std::string_view NearnessText(Nearness nearness) {
  switch (nearness) {
    case Nearness::kModel:
      return "published runs of this model with this framework";
    case Nearness::kFramework:
      return "published runs of other models with this framework";
    case Nearness::kGpu:
      return "published runs of this framework on other GPUs";
    case Nearness::kUnknown:
      return "published runs of other frameworks";
  }
  return "";
}

// Whether the user's own runs tell this figure. They take precedence over published runs.
bool Measured(const PlanReport& report, std::optional<LikelyRange> Evidence::*figure) {
  return report.evidence && ((*report.evidence).*figure).has_value();
}

// What the memory figure rests on. A measured peak beats any prediction. Coefficients are fitted per framework, so the
// figure of an unknown framework is not calibrated.
std::string MemoryBasis(const PlanReport& report) {
  if (Measured(report, &Evidence::peak_bytes)) return report.evidence->text;
  if (report.plan.run.facts.kind == ModelKind::kCountOnly) return "its published count of parameters";
  const Nearness nearness = report.memory.nearness;
  return std::string(NearnessText(nearness)) +
         (nearness == Nearness::kUnknown ? "; not calibrated for your framework" : "");
}

// The same as an id for programs: "model", "probe". Ids stay the same if a sentence is reworded.
std::string_view BasisName(const PlanReport& report, std::optional<LikelyRange> Evidence::*figure, Nearness nearness) {
  return Measured(report, figure) ? Name(report.evidence->kind) : Name(nearness);
}

// Two probes of different size separate the fixed time of a pass from the time that grows with its size. This names the
// speed that larger passes approach. Nothing without two sizes.
void AddPass(const PlanReport& report, std::vector<std::string>* lines) {
  if (!report.evidence || !report.evidence->pass) return;
  const AffinePass& pass = *report.evidence->pass;
  const RunReading& first = report.evidence->runs.front();
  const RunReading& other = report.evidence->runs.back();
  const double tokens = first.row.run.MicroTokens() * first.row.run.DataParallel() / first.row.run.gpus;
  const double seconds = tokens / *first.tokens_s;
  lines->push_back(fmt::format(
      "A pass takes {}; {} of it does not depend on its size (micro-batch {} x {} tokens "
      "against {} x {}); larger passes approach {} tokens/s per GPU.",
      SecondsForPeople(seconds), PercentText(pass.fixed_s / seconds), first.row.run.micro_batch, first.row.run.sequence,
      other.row.run.micro_batch, other.row.run.sequence, ThreeDigits(tokens / (seconds - pass.fixed_s))));
}

// A change with its peak, what it costs in GPU-time, and whether it changes what is learned.
std::string ChangeText(const FitChange& change) {
  std::string text = fmt::format("{} ({} likely, at most {}", ListText(change.changes, ", then "),
                                 BinaryBytes(change.memory.likely), BinaryBytes(change.memory.high));
  constexpr double kAsFast = 0.02;
  if (change.gpu_time) {
    text += std::abs(*change.gpu_time - 1) < kAsFast
                ? "; as fast"
                : fmt::format("; {} times the GPU-hours", ThreeDigits(*change.gpu_time));
  }
  return text + (change.same_result ? ")" : "; another result)");
}

// The verdict on a model whose activations are not modelled: a lower bound, which can only rule a GPU out.
void AddLeastVerdict(const PlanReport& report, ReportPage* page) {
  page->verdict = fmt::format("{} holds at least {} per GPU: weights, gradients and states.",
                              report.plan.run.facts.name, BinaryBytes(report.memory.likely));
  const std::optional<GpuRate> gpu = RateOf(report.plan.run.run.gpu);
  if (!gpu) return;
  const double capacity = gpu->memory_gib * kGib;
  page->verdict +=
      JudgeFit(report.memory, capacity) == MemoryFit::kNo
          ? fmt::format(" It does not fit on {} ({} usable).", gpu->gpu, BinaryBytes(capacity))
          : fmt::format(" Its activations are not modelled, so whether it fits on {} is not known.", gpu->gpu);
  page->next.emplace_back("Measure 20 steps on it: idleburn plan --probe, with the command behind two dashes.");
}

// How much memory the run needs, whether it fits on the GPU asked for, and if not, the cheapest change that makes it
// fit. Without a GPU in the question only the first part. The interval decides: if the likely value fits and the high
// end does not, the run is "tight".
void AddPlanVerdict(const PlanReport& report, ReportPage* page) {
  const RunConfig& run = report.plan.run.run;
  if (std::isinf(report.memory.high)) return AddLeastVerdict(report, page);
  page->verdict =
      fmt::format("{} needs {} per GPU, {} to {} (90 % interval; as nvidia-smi shows it).",
                  report.plan.run.facts.name.empty() ? "The run" : report.plan.run.facts.name,
                  BinaryBytes(report.memory.likely), BinaryBytes(report.memory.low), BinaryBytes(report.memory.high));
  const std::optional<GpuRate> gpu = RateOf(run.gpu);
  if (!gpu) return;
  const double capacity = gpu->memory_gib * kGib;
  const MemoryFit fit = JudgeFit(report.memory, capacity);
  page->verdict += fmt::format(" {} on {} ({} usable).",
                               fit == MemoryFit::kFits    ? "It fits"
                               : fit == MemoryFit::kTight ? "It is tight: it may run out of memory"
                                                          : "It does not fit",
                               gpu->gpu, BinaryBytes(capacity));
  if (fit == MemoryFit::kFits) return;
  if (report.changes.empty()) {
    page->next.emplace_back("No known change makes it fit; take a larger GPU or tensor parallelism.");
    return;
  }
  page->next.push_back("Cheapest change that makes it fit: " + ChangeText(report.changes.front()) + ".");
  if (report.changes.size() < 2) return;
  constexpr std::size_t kOthers = 2;
  std::vector<std::string> others;
  for (std::size_t i = 1; i < report.changes.size() && i <= kOthers; ++i)
    others.push_back(ChangeText(report.changes[i]));
  page->next.push_back("Or " + ListText(others, "; or ") + ".");
}

// Warnings of the plan and of its options. Text and JSON print the same list.
std::vector<std::string> WarningsOf(const PlanAnswer& answer) {
  std::vector<std::string> warnings = answer.report.warnings;
  if (answer.options) {
    warnings.insert(warnings.end(), answer.options->warnings.begin(), answer.options->warnings.end());
  }
  return warnings;
}

// Parameters that one token passes. In a mixture of experts that is a part of all. A stated number is used only if the
// count does not know the layout of the model. Time follows these, memory follows all.
double ActiveParams(const ModelFacts& facts) {
  if (!facts.plain && facts.stated_active) return static_cast<double>(*facts.stated_active);
  const ParamCounts counts = CountParams(facts);
  return counts.active_body + counts.embedding + counts.head + counts.other;
}

// The size of the model. In a mixture of experts, memory follows all parameters and time follows those that a token
// passes.
std::string CountText(const ModelFacts& facts) {
  const double all = CountParams(facts).total();
  const double active = ActiveParams(facts);
  const std::string passed = active < all ? ", " + ThreeDigits(active / 1e9) + " B of them active per token" : "";
  return fmt::format("Model: {} B parameters{}", ThreeDigits(all / 1e9), passed);
}

// The memory of one GPU by part, in GiB. Of the two phases only the larger counts, so its row names both. It shows what
// to change: an optimizer in 8 bits shrinks `resident`, recomputation shrinks `phase`.
ReportTable BreakdownTable(const PlanReport& report) {
  ReportTable table = {"Memory of one GPU", {{"part"}, {"GiB", kRight}, {"what it is", kLeft, true}}, {}, {}};
  for (const PartRow& part : kParts) {
    const std::string meaning =
        part.meaning != nullptr
            ? part.meaning
            : fmt::format("mostly the larger of two: forward and backward {}, optimizer step {}",
                          BinaryBytes(report.parts.forward_backward), BinaryBytes(report.parts.step));
    table.rows.push_back({part.name, ThreeDigits(report.parts.*part.value / kGib), meaning});
  }
  table.rows.push_back({"total", ThreeDigits(report.parts.total() / kGib), "likely peak"});
  return table;
}

// Which GPUs the run fits on, with the margin at the high end of the interval.
ReportTable FitTable(const PlanReport& report) {
  ReportTable table = {"Every GPU", {{"GPU"}, {"usable GiB", kRight}, {"fit"}, {"margin", kRight}}, {}, {}};
  for (const GpuFit& fit : report.fits) {
    const bool known = std::isfinite(fit.margin);
    table.rows.push_back({fit.gpu, ThreeDigits(fit.capacity / kGib),
                          known || fit.fit == MemoryFit::kNo ? std::string(Name(fit.fit)) : "unknown",
                          known ? PercentText(fit.margin) : "unknown"});
  }
  table.notes = {"fits: the high end leaves 3 %; tight: only the likely value fits; margin: (usable - high) / usable"};
  return table;
}

// The GPU that throughput and time refer to. Null if none was asked for. The options may recommend another one. Names
// are compared after RateOf, since users write "h100" and the table has its own spelling.
const GpuFit* AskedGpu(const PlanReport& report) {
  const std::optional<GpuRate> gpu = RateOf(report.plan.run.run.gpu);
  const auto asked = std::find_if(report.fits.begin(), report.fits.end(),
                                  [&gpu](const GpuFit& fit) { return gpu && fit.gpu == gpu->gpu; });
  return asked == report.fits.end() ? nullptr : &*asked;
}

// " on H100-SXM", with a warning if the run does not fit there: the speed is then of a run that cannot start.
std::string OnGpu(const PlanReport& report) {
  const GpuFit* asked = AskedGpu(report);
  return asked == nullptr ? "" : " on " + asked->gpu + (asked->fit == MemoryFit::kNo ? " (does not fit)" : "");
}

// The same name for programs.
Json GpuOrNull(const PlanReport& report) {
  const GpuFit* asked = AskedGpu(report);
  return asked == nullptr ? Json() : Json(asked->gpu);
}

}  // namespace

// How many epochs a cap in GPU-hours holds. Overheads are shown, because not all paid time is training.
void AddCapLines(const PlanReport& report, std::vector<std::string>* lines) {
  if (!report.cap || !report.length) return;
  const double gpus = report.plan.run.run.gpus;
  const double speed = report.length->samples_per_s * 60;
  std::string epochs;
  std::string speeds;
  for (const double overhead : kShownOverheads) {
    const CapFacts cap = CapOf(*report.plan.budget_gpu_hours, *report.plan.samples, speed, gpus, overhead);
    const char* comma = epochs.empty() ? "" : ", ";
    epochs += fmt::format("{}{}, whole {:.0f} at {}", comma, ThreeDigits(cap.epochs), cap.whole_epochs,
                          StatedPercent(overhead));
    speeds += fmt::format("{}{} at {}", comma, ThreeDigits(cap.samples_per_min), StatedPercent(overhead));
  }
  lines->push_back(fmt::format(
      "Cap: an epoch takes {}, {} of the cap. Epochs that fit, by overhead: {}. Samples a minute for one epoch: {}.",
      GpuHoursForPeople(report.cap->gpu_hours_per_epoch), PercentText(report.cap->share_per_epoch), epochs, speeds));
}

// What was assumed, and every warning. One screen shows the first, so each says how many there are.
std::vector<std::string> PlanNotes(const PlanAnswer& answer) {
  std::vector<std::string> notes;
  const std::vector<std::string>& assumed = answer.report.plan.assumed;
  if (!assumed.empty()) notes.push_back("Assumed: " + ListText(assumed, "; ") + ".");
  const std::vector<std::string> warnings = WarningsOf(answer);
  for (std::size_t i = 0; i < warnings.size(); ++i) {
    const std::string place = warnings.size() > 1 ? fmt::format(" {} of {}", i + 1, warnings.size()) : "";
    notes.push_back(fmt::format("Warning{}: {}.", place, warnings[i]));
  }
  return notes;
}

namespace {

// Time and speed, each with its 90 % interval and basis. A figure that is unknown names the flag that would tell it. A
// stated speed goes before the prediction for the time, and both are printed.
std::vector<std::string> TimeLines(const PlanAnswer& answer) {
  const PlanReport& report = answer.report;
  std::vector<std::string> lines;
  const std::string gpu = OnGpu(report);
  if (report.hours && report.length) {
    const RunLength& length = *report.length;
    const auto time = [](double hours) { return SecondsForPeople(3600 * hours); };
    lines.push_back(
        fmt::format("Time{}: {}, {} to {} (90 %); {}; {} an epoch; {} optimizer steps an epoch of batch {}.", gpu,
                    time(report.hours->likely), time(report.hours->low), time(report.hours->high),
                    GpuHoursForPeople(length.gpu_hours), SecondsForPeople(60 * length.minutes_per_epoch),
                    ThreeDigits(length.steps_per_epoch), ThreeDigits(report.effective_batch)));
    lines.emplace_back("This leaves out warm-up, evaluation, checkpoints and stalls.");
    AddCapLines(report, &lines);
  } else if (!report.plan.samples) {
    lines.emplace_back("Time: unknown without --samples.");
  } else if (answer.options && answer.options->any()) {
    lines.emplace_back("Time and throughput depend on the GPU. The options list the hours on each.");
    lines.emplace_back("Give --gpu for more about one GPU, or --probe to measure here.");
    return lines;
  } else {
    lines.emplace_back("Time: unknown without a throughput.");
  }
  if (report.tokens_per_s) {
    const bool samples = report.plan.run.facts.kind == ModelKind::kCountOnly;
    lines.push_back(fmt::format("Throughput{}: {} {}/s per GPU likely, {} to {} (90 % interval; {}).", gpu,
                                ThreeDigits(report.tokens_per_s->likely), samples ? "samples" : "tokens",
                                ThreeDigits(report.tokens_per_s->low), ThreeDigits(report.tokens_per_s->high),
                                BasisText(report)));
    AddPass(report, &lines);
  } else {
    lines.emplace_back("Throughput: unknown without --gpu or --probe.");
  }
  if (report.stated_tokens_per_s) {
    lines.push_back(fmt::format("{}: {} tokens/s per GPU; the time follows it.",
                                report.plan.measured ? "Measured" : "Stated",
                                ThreeDigits(*report.stated_tokens_per_s)));
  }
  AddMeasuredLines(report, &lines);
  return lines;
}

// What a run leaves on disk, and what serving the model takes. Disks are often ordered before the run, and checkpoints
// are several times the weights.
ReportTable FileList(const PlanReport& report) {
  // An example length for serving, in tokens.
  constexpr double kServed = 8192;
  return {
      "Files",
      {},
      {},
      {fmt::format("The trained weights take {}, a checkpoint with AdamW's states {}.",
                   BinaryBytes(report.weights_file), BinaryBytes(report.checkpoint_file)),
       fmt::format("The served model needs {} of keys and values per token: {} for a sequence of {}.",
                   BinaryBytes(report.kv_bytes_per_token), BinaryBytes(kServed * report.kv_bytes_per_token), kServed)}};
}

// An interval with its likely value under the key `name`.
Json Range(double likely, double low, double high, const char* name) {
  return {{name, likely}, {"low", low}, {"high", high}};
}

// Counts of parameters, computed from the layout of the model and not read from its name.
Json ModelJson(const ModelFacts& facts) {
  return {{"name", facts.name}, {"parameters", CountParams(facts).total()}, {"active_parameters", ActiveParams(facts)}};
}

// All sizes are in bytes, as nvidia-smi counts them for the device. `metric` says so, because frameworks report less:
// their own figures leave out the CUDA context.
Json PlannedMemoryJson(const PlanReport& report) {
  Json memory = Range(report.memory.likely, report.memory.low, report.memory.high, "bytes");
  memory["metric"] = "device";
  memory["basis"] = BasisName(report, &Evidence::peak_bytes, report.memory.nearness);
  for (const PartRow& part : kParts) memory["breakdown"][part.name] = report.parts.*part.value;
  memory["phases"] = {{"forward_backward", report.parts.forward_backward}, {"step", report.parts.step}};
  memory["fits"] = Json::array();
  for (const GpuFit& fit : report.fits) {
    memory["fits"].push_back(
        {{"gpu", fit.gpu}, {"capacity", fit.capacity}, {"fits", Name(fit.fit)}, {"margin", fit.margin}});
  }
  memory["change"] = nullptr;
  memory["changes"] = Json::array();
  for (const FitChange& change : report.changes) {
    Json json = Range(change.memory.likely, change.memory.low, change.memory.high, "bytes");
    json["changes"] = change.changes;
    json["gpu_time"] = OrNull<Json>(change.gpu_time);
    json["gpus"] = change.gpus;
    json["same_result"] = change.same_result;
    memory["changes"].push_back(json);
  }
  if (!report.changes.empty()) memory["change"] = memory["changes"].front();
  return memory;
}

// Null without a throughput and a number of samples. It is the time of training steps alone, as the text says.
Json TimeJson(const PlanReport& report) {
  if (!report.hours || !report.length) return nullptr;
  Json time = Range(report.hours->likely, report.hours->low, report.hours->high, "hours");
  time["gpu"] = GpuOrNull(report);
  time["gpu_hours"] = report.length->gpu_hours;
  time["minutes_per_epoch"] = report.length->minutes_per_epoch;
  time["steps_per_epoch"] = report.length->steps_per_epoch;
  time["effective_batch"] = report.effective_batch;
  time["samples_per_s"] = report.length->samples_per_s;
  time["tokens_per_s"] = report.length->tokens_per_s;
  return time;
}

// What measured steps say of the planned one. Null without them.
Json MeasuredJson(const PlannedRun& plan) {
  if (!plan.measured) return nullptr;
  const StepForecast& forecast = *plan.measured;
  const StepLine& line = forecast.line;
  Json json = Range(forecast.seconds.likely, forecast.seconds.low, forecast.seconds.high, "step_s");
  json["by"] = forecast.by;
  json["size"] = forecast.size;
  json["inside"] = line.Measured(forecast.size);
  json["fixed"] = Range(line.fixed.likely, line.fixed.low, line.fixed.high, "seconds");
  json["per_unit"] = Range(line.slope.likely, line.slope.low, line.slope.high, "seconds");
  json["units_per_s"] = 1 / line.slope.likely;
  json["worst_residual"] = line.worst_residual;
  json["points"] = Json::array();
  for (const MeasuredStep& step : line.points) {
    json["points"].push_back({{"size", step.size},
                              {"seconds", step.seconds},
                              {"rounding_s", step.rounding},
                              {"fitted_s", line.At(step.size)}});
  }
  return json;
}

// An unknown duration is null, since 0 h would be the fastest option.
Json HoursOrNull(const std::optional<Hours>& hours) { return hours ? Json(hours->count()) : Json(nullptr); }

// The caps and whether the options keep them. Null if no cap was given. `kept` is null if there are no options to
// judge.
Json CapsJson(const PlanAnswer& answer) {
  const PlanReport& report = answer.report;
  const OptionCaps caps = answer.options ? answer.options->caps : OptionCaps();
  if (!report.cap && !caps.deadline && !caps.budget) return nullptr;
  Json json;
  json["kept"] = answer.options ? Json(BrokenCaps(*answer.options).empty()) : Json(nullptr);
  json["deadline_hours"] = HoursOrNull(caps.deadline);
  PutMoney(json, "amount", caps.budget, answer.options ? answer.options->currency : "USD");
  json["cap_gpu_hours"] = OrNull<Json>(report.plan.budget_gpu_hours);
  if (!report.cap) return json;
  json["gpu_hours_per_epoch"] = report.cap->gpu_hours_per_epoch;
  json["share_per_epoch"] = report.cap->share_per_epoch;
  json["epochs"] = report.cap->epochs;
  json["whole_epochs"] = report.cap->whole_epochs;
  json["samples_per_min"] = report.cap->samples_per_min;
  return json;
}

// One offer with its time and cost. Amounts are in the currency of the offer. Quantities that depend on the rate of
// losses are null if it is unknown.
Json OptionJson(const PlanOffer& offer, const RunOption& option, const OptionCaps& caps) {
  const auto cost = [&](Money CostRange::*part) {
    return option.cost ? std::optional<Money>((*option.cost).*part) : std::nullopt;
  };
  Json json = {{"gpu", offer.run.gpu}, {"count", offer.run.gpus}, {"machines", offer.run.nodes}};
  json["market"] = Name(offer.market);
  json["fits"] = Name(offer.fit);
  PutMoney(json, "per_gpu_hour", offer.run.per_gpu_hour, offer.currency);
  json["rented_gpus"] = OrNull<Json>(offer.rented_gpus);
  json["price"] = offer.price_key;
  json["price_as_of"] = offer.as_of ? Json(FormatRfc3339(*offer.as_of)) : Json(nullptr);
  json["basis"] = Name(option.basis);
  json["hours"] = option.billed_hours ? Json(option.billed_hours->likely.count()) : Json(nullptr);
  json["gpu_hours"] = option.gpu_hours ? Json(option.gpu_hours->likely.count()) : Json(nullptr);
  PutMoney(json, "cost", cost(&CostRange::likely), offer.currency);
  PutMoney(json, "low", cost(&CostRange::low), offer.currency);
  PutMoney(json, "high", cost(&CostRange::high), offer.currency);
  json["wall_clock_p50"] = HoursOrNull(option.wall_p50);
  json["wall_clock_p95"] = HoursOrNull(option.wall_p95);
  json["checkpoint_interval_s"] = option.interval ? Json(option.interval->count() * 3600) : Json(nullptr);
  json["expected_interruptions"] = OrNull<Json>(option.interruptions);
  json["overhead"] = OrNull<Json>(option.overhead);
  json["break_even_overhead"] = OrNull<Json>(option.break_even);
  json["saving"] = OrNull<Json>(option.saving);
  json["budget_gpu_hours"] = caps.budget ? Json(MaxGpuHours(*caps.budget, offer.run.per_gpu_hour)) : Json(nullptr);
  json["deadline_met"] = OrNull<Json>(option.deadline_met);
  json["deadline"] = Name(option.deadline);
  json["budget"] = Name(option.budget);
  json["gpu_hours_cap"] = Name(option.gpu_hours_cap);
  json["pareto"] = option.pareto;
  return json;
}

// What the spot figures rest on, and the checkpoint intervals by the formulas and by history.
Json SpotJson(const PlanOptions& plan) {
  Json json;
  json["machines_from"] = plan.spot.machines_from;
  json["restart_from"] = plan.spot.launch_from;
  json["missing"] = plan.spot.missing;
  json["daly_hours"] = HoursOrNull(plan.daly);
  const auto seconds = [](const std::optional<Hours>& span) { return span ? Json(span->count() * 3600) : Json(); };
  json["daly_interval_s"] = seconds(plan.daly_interval);
  json["availability_interval_s"] = seconds(plan.availability_interval);
  json["by_history"] = nullptr;
  if (plan.by_history) {
    json["by_history"] = {{"best_interval_s", plan.by_history->best.count() * 3600},
                          {"young_interval_s", plan.by_history->young.count() * 3600},
                          {"regret", plan.by_history->regret},
                          {"tried", plan.by_history->tried}};
  }
  return json;
}

// Options are numbered by their place in the list, cheapest first, and `recommended` and `nearest` refer to that
// number. Numbers and not names, since two offers may have the same GPU and market.
void PutOptions(Json& json, const std::optional<PlanOptions>& plan) {
  json["options"] = Json::array();
  json["currency"] = plan ? plan->currency : "USD";
  json["recommended"] = json["nearest"] = json["spot"] = nullptr;
  if (!plan) return;
  for (std::size_t place = 0; place < plan->order.size(); ++place) {
    const std::size_t i = plan->order[place];
    json["options"].push_back(OptionJson(plan->offers[i], plan->options[i], plan->caps));
    if (plan->choice.best == i) json["recommended"] = {{"option", place}, {"tight", plan->choice.tight}};
    if (plan->choice.nearest == i) json["nearest"] = {{"option", place}, {"overshoot", plan->choice.overshoot}};
  }
  json["spot"] = SpotJson(*plan);
}

// The user's own runs behind the plan. Null if it rests on published runs alone.
Json EvidenceJson(const PlanReport& report) {
  if (!report.evidence) return nullptr;
  const Evidence& evidence = *report.evidence;
  Json json = {{"kind", Name(evidence.kind)}, {"text", evidence.text}};
  json["tokens_factor"] = evidence.tokens_factor;
  json["peak_factor"] = evidence.peak_factor;
  json["runs"] = Json::array();
  for (const RunReading& run : evidence.runs) {
    json["runs"].push_back({{"at", FormatRfc3339(run.at)},
                            {"micro_batch", run.row.run.micro_batch},
                            {"seq_len", run.row.run.sequence},
                            {"steps", run.steps},
                            {"seconds", run.seconds},
                            {"step_s", run.steps > 0 ? Json(run.seconds / static_cast<double>(run.steps)) : Json()},
                            {"tokens_per_s_per_gpu", OrNull<Json>(run.tokens_s)},
                            {"peak_bytes", OrNull<Json>(run.peak_bytes)}});
  }
  json["pass"] = nullptr;
  if (evidence.pass) {
    json["pass"] = {{"fixed_s", evidence.pass->fixed_s}, {"s_per_pflop", evidence.pass->per_flop_s * 1e15}};
  }
  return json;
}

// The launched run and how its forecast came true.
Json OutcomeJson(const HistoryRun& run) {
  Json json = {{"run", run.id}, {"exit", run.exit}};
  json.update(ForecastJson<Json>(run));
  return json;
}

}  // namespace

std::string BasisText(const PlanReport& report) {
  if (Measured(report, &Evidence::tokens_s)) return report.evidence->text;
  if (report.tokens_per_s && report.plan.run.facts.kind == ModelKind::kCountOnly) {
    return "a published rate of " + PublishedSample(report.plan.run);
  }
  return report.tokens_per_s ? std::string(NearnessText(report.tokens_per_s->nearness)) : "unknown";
}

namespace {

// "Fits: H100-80GB-SXM, H200-141GB and 15 more. Tight: MI210-64GB." Without a line for those on which it does not fit.
std::string FitsInShort(const PlanReport& report) {
  if (std::isinf(report.memory.high)) return "Not known: the activations of this kind of model are not modelled.";
  constexpr std::size_t kNamed = 4;
  std::string text;
  for (const auto& [fit, title] : {std::pair(MemoryFit::kFits, "Fits"), std::pair(MemoryFit::kTight, "Tight")}) {
    std::vector<std::string> names;
    for (const GpuFit& gpu : report.fits) {
      if (gpu.fit == fit) names.push_back(gpu.gpu);
    }
    if (names.empty()) continue;
    const std::size_t more = names.size() > kNamed ? names.size() - kNamed : 0;
    names.resize(names.size() - more);
    text += fmt::format("{}{}: {}{}.", text.empty() ? "" : " ", title, ListText(names),
                        more > 0 ? fmt::format(" and {} more", more) : "");
  }
  return text.empty() ? "It fits on no GPU of the table." : text;
}

}  // namespace

ReportPage PlanPage(const PlanAnswer& answer) {
  const PlanReport& report = answer.report;
  if (report.plan.no_model) return WorkPage(answer);
  ReportPage page;
  page.heading = "Plan of a run";
  page.title = TitleAndIds(CountText(report.plan.run.facts), answer.ids);
  AddPlanVerdict(report, &page);
  page.why = {"Basis: " + MemoryBasis(report) + "."};
  if (answer.options) AddPlanOptions(*answer.options, &page);
  page.points.push_back({"time", "Time and throughput", TimeLines(answer)});
  page.points.push_back({"GPUs", "Which GPUs fit", {FitsInShort(report)}});
  page.points.push_back({"note", "Assumed, and warnings", PlanNotes(answer)});
  page.tables.insert(page.tables.end(), {BreakdownTable(report), FileList(report), FitTable(report)});
  return page;
}

std::string PlanJson(const PlanAnswer& answer) {
  const PlanReport& report = answer.report;
  Json json = BeginDocument<Json>("idleburn.plan/1", answer.ids);
  const bool model = !report.plan.no_model;
  json["model"] = model ? ModelJson(report.plan.run.facts) : Json();
  json["memory"] = model ? PlannedMemoryJson(report) : Json();
  json["throughput"] = nullptr;
  if (report.tokens_per_s) {
    json["throughput"] =
        Range(report.tokens_per_s->likely, report.tokens_per_s->low, report.tokens_per_s->high, "tokens_per_s_per_gpu");
    json["throughput"]["gpu"] = GpuOrNull(report);
    json["throughput"]["basis"] = BasisName(report, &Evidence::tokens_s, report.tokens_per_s->nearness);
  }
  json["files"] = nullptr;
  if (model) {
    json["files"] = {{"weights_bytes", report.weights_file},
                     {"checkpoint_bytes", report.checkpoint_file},
                     {"kv_bytes_per_token", report.kv_bytes_per_token}};
  }
  json["roofline"] = nullptr;
  if (report.roofline) {
    json["roofline"] = {{"implied_flops", report.roofline->implied_flops},
                        {"ceiling_flops", report.roofline->ceiling_flops}};
  }
  json["measured"] = MeasuredJson(report.plan);
  json["time"] = TimeJson(report);
  PutOptions(json, answer.options);
  json["warnings"] = WarningsOf(answer);
  json["assumed"] = report.plan.assumed;
  json["budget"] = CapsJson(answer);
  json["evidence"] = EvidenceJson(report);
  json["forecast"] = answer.run && answer.run->forecast ? OutcomeJson(*answer.run) : Json();
  return JsonDocument(json);
}

namespace {

// Reads "45%@220ms" or "45%". A share of 0 is an error, because no change of the step could reach a target from it.
Result<StepAnswer::Side> ParseStep(const char* flag, const std::string& text) {
  const std::size_t at = text.find('@');
  const double share = TRY(FlagShare("plan", flag, text.substr(0, at)));
  if (share <= 0) return FailUsage(fmt::format("plan: {}: a step without GPU use has no target", flag));
  StepAnswer::Side use{share, {}};
  if (at == std::string::npos) return use;
  const Nanos span = TRY(FlagSpan("plan", flag, text.substr(at + 1), Nanos()));
  if (span <= Nanos()) return FailUsage(fmt::format("plan: {} has no time behind the @; write 45%@220ms", flag));
  use.ms = static_cast<double>(span.count()) / 1e6;
  return use;
}

std::string MsText(double ms) { return SecondsForPeople(ms / 1e3); }

// How long the run would take after the change. Empty without --step-of.
std::string HoursChangeText(const std::optional<double>& hours, double saved) {
  return hours ? fmt::format("; {} become {}", SecondsForPeople(3600 * *hours),
                             SecondsForPeople(3600 * *hours * (1 - saved)))
               : "";
}

// What a target utilization takes. It assumes that the busy time stays: only the waiting gets shorter. Example: a step
// of 220 ms at 45 % is busy for 99 ms. For 80 % it may take 99 / 0.8 = 123.75 ms.
void AddTarget(const StepAnswer& step, ReportPage* page) {
  page->verdict = fmt::format(
      "For {} it may take at most {}: {} times as fast, {} fewer hours and dollars{}, if the busy time stays.",
      StatedPercent(step.to.share), MsText(step.target.step_ms), ThreeDigits(step.target.speedup),
      PercentText(step.target.saved), HoursChangeText(step.hours, step.target.saved));
  page->why = {fmt::format("A step of {} at {} keeps the GPU busy for {}.", MsText(*step.from.ms),
                           StatedPercent(step.from.share), MsText(step.target.busy_ms))};
  page->next = {
      "To feed a GPU faster: cached tokenisation, 8 or more loader workers instead of 2, pinned memory with "
      "prefetch, persistent workers."};
}

// What a measured change saved. Utilization alone would imply another speed where the busy time changed too, so both
// are printed. A larger batch changes both.
void AddChange(const StepAnswer& step, const UtilizationChange& change, ReportPage* page) {
  page->verdict = fmt::format("From {} to {} a step: {} times as fast, {} fewer hours and dollars{}.",
                              MsText(*step.from.ms), MsText(*step.to.ms), ThreeDigits(change.speedup),
                              PercentText(change.saved), HoursChangeText(step.hours, change.saved));
  page->why = {fmt::format("The busy time goes from {} to {}; utilization alone would imply {} and {} times as fast.",
                           MsText(change.busy_before_ms), MsText(change.busy_after_ms), MsText(change.implied_ms),
                           ThreeDigits(change.implied_speedup))};
}

}  // namespace

void StepFlags::AddTo(CommandFlags& flags) {
  flags.Add("--step", "SHARE@TIME", "a step's GPU utilization and length, 45%@220ms; with --step-to, no model").text =
      &from;
  flags.Add("--step-to", "SHARE[@TIME]", "the target utilization, 80%; or the result, 88%@130ms").text = &to;
  flags.Add("--step-of", "TIME", "duration of the run before, 10h").text = &of;
}

Result<StepAnswer> ReadStepFlags(const StepFlags& flags, const RunIds& ids) {
  if (flags.from.empty() || flags.to.empty()) {
    return FailUsage("plan: --step 45%@220ms and --step-to 80% go together");
  }
  StepAnswer step;
  step.ids = ids;
  step.from = TRY(ParseStep("--step", flags.from));
  if (!step.from.ms) return FailUsage("plan: --step needs the length of the step: 45%@220ms");
  step.to = TRY(ParseStep("--step-to", flags.to));
  const Nanos span = TRY(FlagSpan("plan", "--step-of", flags.of, Nanos()));
  if (span > Nanos()) step.hours = InHours(span);
  step.target = TargetOf(step.from.share, *step.from.ms, step.to.share);
  if (step.to.ms) step.change = ChangeOf(step.from.share, *step.from.ms, step.to.share, *step.to.ms);
  return step;
}

ReportPage StepPage(const StepAnswer& step) {
  ReportPage page;
  page.heading = "Utilization of a step";
  page.title = TitleAndIds("Utilization of a step alone, without a model", step.ids);
  step.change ? AddChange(step, *step.change, &page) : AddTarget(step, &page);
  return page;
}

std::string StepJson(const StepAnswer& step) {
  const UtilizationTarget& target = step.target;
  const double saved = step.change ? step.change->saved : target.saved;
  Json document = BeginDocument<Json>("idleburn.utilization/1", step.ids);
  document["busy_ms"] = target.busy_ms;
  document["busy_after_ms"] = step.change ? Json(step.change->busy_after_ms) : Json();
  document["step_ms"] = step.change ? *step.to.ms : target.step_ms;
  document["speedup"] = step.change ? step.change->speedup : target.speedup;
  document["saved"] = saved;
  document["implied_step_ms"] = target.step_ms;
  document["implied_speedup"] = target.speedup;
  document["hours"] = step.hours ? Json(*step.hours * (1 - saved)) : Json();
  return JsonDocument(document);
}

namespace {

// Nano-units in a unit of currency.
constexpr double kNano = 1e9;

// A forecast figure in the unit of its quantity. Costs are held as doubles in currency units.
std::string ForecastFigureText(ForecastQuantity quantity, double value, const std::string& currency) {
  switch (quantity) {
    case ForecastQuantity::kHours:
    case ForecastQuantity::kGpuHours:
      return ThreeDigits(value);
    case ForecastQuantity::kCost:
    case ForecastQuantity::kScenarioCost:
      return Amount(Money::Nano(std::llround(value * kNano)), currency);
    case ForecastQuantity::kTokensPerSecond:
      return ThreeDigits(value);
    case ForecastQuantity::kMemory:
      return BinaryBytes(value);
  }
  return "";
}

}  // namespace

// Names for people. The static_assert keeps the list as long as that of the ids.
std::string_view Title(ForecastQuantity quantity) {
  constexpr auto kTitles = std::to_array<std::string_view>(
      {"hours", "GPU-hours", "cost", "tokens/s per GPU", "memory of one GPU", "cost of a scenario"});
  static_assert(kTitles.size() == kForecastQuantityNames.size());
  return kTitles[static_cast<std::size_t>(quantity)];
}

// The outcome of a forecast. Figures that cannot be compared, such as the time of a run that failed, are listed without
// an error.
ReportPage OutcomePage(const HistoryRun& run) {
  const ForecastOutcome outcome = OutcomeOf(run);
  ReportTable table = {"Forecast against actual",
                       {{"figure"},
                        {"forecast", kRight},
                        {"90 % interval", kRight},
                        {"actual", kRight},
                        {"forecast is", kRight},
                        {"inside"}},
                       {},
                       {}};
  // Figures without an interval, or without a comparable actual value, do not count as inside or outside.
  int inside = 0;
  int intervals = 0;
  for (const ForecastLine& line : outcome.lines) {
    const auto text = [&](double value) { return ForecastFigureText(line.quantity, value, run.forecast->currency); };
    const JudgedForecast judged = {run.id, "", line.quantity, line.forecast.value_or(LikelyRange()),
                                   line.actual.value_or(0)};
    TableRow row = {std::string(Title(line.quantity))};
    row.push_back(line.forecast ? text(line.forecast->likely) : "unknown");
    row.push_back(judged.HasInterval() ? text(line.forecast->low) + " to " + text(line.forecast->high) : "none");
    row.push_back(line.actual ? text(*line.actual) : "unknown");
    if (line.comparable) {
      row.push_back(PercentText(std::abs(judged.Error())) + (judged.Error() < 0 ? " low" : " high"));
    } else {
      row.emplace_back("not compared");
    }
    if (line.comparable && judged.HasInterval()) {
      ++intervals;
      inside += judged.Inside() ? 1 : 0;
      row.emplace_back(judged.Inside() ? "yes" : "no");
    }
    table.rows.push_back(std::move(row));
  }
  ReportPage page;
  page.heading = page.title = "Forecast of run " + run.id;
  page.verdict = fmt::format("Forecast: {} of {} figures with a 90 % interval lie inside it. Basis: {}.", inside,
                             intervals, run.forecast->basis);
  if (!outcome.why_partial.empty()) {
    page.why = {fmt::format("Hours, GPU-hours and cost are not compared: {}.", outcome.why_partial)};
  }
  page.tables = {std::move(table)};
  return page;
}

}  // namespace idleburn
