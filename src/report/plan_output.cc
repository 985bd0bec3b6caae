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
#include "plan/training_time.h"
#include "report/display.h"
#include "report/json_values.h"
#include "report/report_page.h"
#include "text/json.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/table.h"
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
  const char* meaning;
};

// The parts add up to the peak. `phase` is the larger of two phases that are never in memory together.
constexpr std::array<PartRow, 5> kParts = {{
    {"resident", &PeakMemory::resident, "weights, optimizer states, master copies, adapters"},
    {"gathered", &PeakMemory::gathered, "shards of other GPUs, unpacked 4-bit layers"},
    {"gradients", &PeakMemory::gradients, "that persist between passes"},
    {"phase", &PeakMemory::phase, "the larger of forward-backward and step: they never meet"},
    {"context", &PeakMemory::context, "CUDA context and libraries"},
}};

// Bytes in GiB, as nvidia-smi and the drivers count.
std::string Gib(double bytes) { return fmt::format("{:.2f} GiB", bytes / kGib); }

// How near the published runs are to this one: the nearer, the narrower the interval.
std::string_view NearnessText(Nearness nearness) {
  switch (nearness) {
    case Nearness::kModel:
      return "this model was measured with this framework";
    case Nearness::kFramework:
      return "other models were measured with this framework";
    case Nearness::kGpu:
      return "this framework was measured on other GPUs";
    case Nearness::kUnknown:
      return "this framework was not measured";
  }
  return "";
}

// Whether the user's own runs tell this figure. They take precedence over published runs.
bool Measured(const PlanReport& report, std::optional<LikelyRange> Evidence::*figure) {
  return report.evidence && ((*report.evidence).*figure).has_value();
}

// What the memory figure rests on. A measured peak beats any prediction.
std::string MemoryBasis(const PlanReport& report) {
  if (Measured(report, &Evidence::peak_bytes)) return report.evidence->text;
  return std::string(NearnessText(report.memory.nearness)) + "; memory is not calibrated for your framework";
}

// The same as an id for programs: "model", "probe". Ids stay the same if a sentence is reworded.
std::string_view BasisName(const PlanReport& report, std::optional<LikelyRange> Evidence::*figure, Nearness nearness) {
  return Measured(report, figure) ? Name(report.evidence->kind) : Name(nearness);
}

// Two probes of different size separate the fixed time of a pass from the time that grows with its size. This names the
// speed that larger passes approach. Empty without two sizes.
std::string PassText(const PlanReport& report) {
  if (!report.evidence || !report.evidence->pass) return "";
  const AffinePass& pass = *report.evidence->pass;
  const RunReading& first = report.evidence->runs.front();
  const RunReading& other = report.evidence->runs.back();
  const double tokens = first.row.run.MicroTokens() * first.row.run.DataParallel() / first.row.run.gpus;
  const double seconds = tokens / *first.tokens_s;
  return fmt::format(
      "A pass takes {:.4g} s; {:.0f} % of it does not depend on its size (micro-batch {:.0f} x {:.0f} tokens "
      "against {:.0f} x {:.0f}); larger passes approach {:.0f} tokens/s per GPU.\n",
      seconds, 100 * pass.fixed_s / seconds, first.row.run.micro_batch, first.row.run.sequence,
      other.row.run.micro_batch, other.row.run.sequence, tokens / (seconds - pass.fixed_s));
}

// How much memory the run needs, whether it fits on the GPU asked for, and if not, the cheapest change that makes it
// fit. Without a GPU in the question only the first part. The interval decides: if the likely value fits and the high
// end does not, the run is "tight".
std::string PlanVerdictText(const PlanReport& report) {
  const RunConfig& run = report.plan.run.run;
  std::string text = fmt::format("{} needs {} per GPU, {} to {} (90 % interval; as nvidia-smi shows it).\n",
                                 report.plan.run.facts.name.empty() ? "The run" : report.plan.run.facts.name,
                                 Gib(report.memory.likely), Gib(report.memory.low), Gib(report.memory.high));
  const std::optional<GpuRate> gpu = RateOf(run.gpu);
  if (!gpu) return text;
  const double capacity = gpu->memory_gib * kGib;
  const MemoryFit fit = JudgeFit(report.memory.likely, report.memory.high, capacity);
  text += fmt::format("{} on {} ({} usable).\n",
                      fit == MemoryFit::kFits    ? "It fits"
                      : fit == MemoryFit::kTight ? "It is tight: it may run out of memory"
                                                 : "It does not fit",
                      gpu->gpu, Gib(capacity));
  if (fit == MemoryFit::kFits) return text;
  if (!report.change) return text + "No change known here makes it fit; take a larger GPU or tensor parallelism.\n";
  return text + fmt::format("Cheapest change that makes it fit: {} ({} likely, at most {}).\n",
                            ListText(report.change->changes, ", then "), Gib(report.change->memory.likely),
                            Gib(report.change->memory.high));
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
  return counts.active_body + counts.embedding + counts.head;
}

// The size of the model. In a mixture of experts, memory follows all parameters and time follows those that a token
// passes.
std::string CountText(const ModelFacts& facts) {
  const double all = CountParams(facts).total();
  const double active = ActiveParams(facts);
  const std::string passed = active < all ? fmt::format(", {:.4g} B of them active per token", active / 1e9) : "";
  return fmt::format("Model: {:.4g} B parameters{}.\n", all / 1e9, passed);
}

// The memory of one GPU by part, in GiB, with both phases below. It shows what to change: an optimizer in 8 bits
// shrinks `resident`, recomputation shrinks `phase`.
std::string Breakdown(const PlanReport& report, int width) {
  const std::vector<TableColumn> columns = {{"Memory of one GPU"}, {"GiB", kRight}, {"what it is"}};
  std::vector<TableRow> rows;
  for (const PartRow& part : kParts) {
    rows.push_back({part.name, fmt::format("{:.2f}", report.parts.*part.value / kGib), part.meaning});
  }
  rows.push_back({"total", fmt::format("{:.2f}", report.parts.total() / kGib), "likely peak"});
  return "\n" + LayOutTable(columns, rows, width, 0) +
         fmt::format("Of the two phases: forward and backward {}, optimizer step {}.\n",
                     Gib(report.parts.forward_backward), Gib(report.parts.step));
}

// Which GPUs the run fits on, with the margin at the high end of the interval.
std::string Fits(const PlanReport& report, int width) {
  const std::vector<TableColumn> columns = {{"GPU"}, {"usable GiB", kRight}, {"fit"}, {"margin", kRight}};
  std::vector<TableRow> rows;
  for (const GpuFit& fit : report.fits) {
    rows.push_back({fit.gpu, fmt::format("{:.1f}", fit.capacity / kGib), std::string(Name(fit.fit)),
                    fmt::format("{:.0f} %", 100 * fit.margin)});
  }
  return "\nfits: the high end leaves 3 %; tight: only the likely value fits; margin: (usable - high) / usable\n" +
         LayOutTable(columns, rows, width, 0);
}

// How many epochs a cap in GPU-hours holds. Overheads are shown, because not all paid time is training.
std::string CapText(const PlanReport& report) {
  if (!report.cap || !report.length) return "";
  const double gpus = report.plan.run.run.gpus;
  const double speed = report.length->samples_per_s * 60;
  std::string epochs;
  std::string speeds;
  for (const double overhead : kShownOverheads) {
    const CapFacts cap = CapOf(*report.plan.budget_gpu_hours, *report.plan.samples, speed, gpus, overhead);
    const char* comma = epochs.empty() ? "" : ", ";
    epochs += fmt::format("{}{:.2f}, whole {:.0f} at {:.0f} %", comma, cap.epochs, cap.whole_epochs, 100 * overhead);
    speeds += fmt::format("{}{:.3f} at {:.0f} %", comma, cap.samples_per_min, 100 * overhead);
  }
  return fmt::format(
      "Cap: an epoch takes {:.4f} GPU-hours, {:.3f} % of it. Epochs that fit, by overhead: {}. Samples a "
      "minute for one epoch: {}.\n",
      report.cap->gpu_hours_per_epoch, 100 * report.cap->share_per_epoch, epochs, speeds);
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

// Speed and time, each with its 90 % interval and basis. A figure that is unknown names the flag that would tell it. A
// stated speed goes before the prediction for the time, and both are printed.
std::string Throughput(const PlanReport& report) {
  std::string text = "\n";
  const std::string gpu = OnGpu(report);
  if (report.tokens_per_s) {
    text += fmt::format("Throughput{}: {:.0f} tokens/s per GPU likely, {:.0f} to {:.0f} (90 % interval; {}).\n", gpu,
                        report.tokens_per_s->likely, report.tokens_per_s->low, report.tokens_per_s->high,
                        BasisText(report));
    text += PassText(report);
  } else {
    text += "Throughput: unknown without --gpu or --probe.\n";
  }
  if (report.stated_tokens_per_s) {
    text += fmt::format("Stated: {:.0f} tokens/s per GPU; the time below follows it.\n", *report.stated_tokens_per_s);
  }
  if (!report.hours || !report.length) return text + "Time: unknown without --samples and a throughput.\n";
  const RunLength& length = *report.length;
  text += fmt::format(
      "Time{}: {:.4f} h, {:.4f} to {:.4f}; {:.4f} GPU-hours; {:.3f} min an epoch; {:.1f} optimizer steps "
      "an epoch of batch {:.0f}.\n",
      gpu, report.hours->likely, report.hours->low, report.hours->high, length.gpu_hours, length.minutes_per_epoch,
      length.steps_per_epoch, report.effective_batch);
  text += "Warm-up, evaluation, checkpoints and stalls are not in it.\n";
  return text + CapText(report);
}

// What a run leaves on disk, and what serving the model takes. Disks are often ordered before the run, and checkpoints
// are several times the weights.
std::string Files(const PlanReport& report) {
  // An example length for serving, in tokens.
  constexpr double kServed = 8192;
  return fmt::format(
      "Files: trained weights {}, a checkpoint with AdamW's states {}. When it serves: {:.0f} bytes of keys "
      "and values a token, {} for a sequence of {:.0f}.\n",
      Gib(report.weights_file), Gib(report.checkpoint_file), report.kv_bytes_per_token,
      Gib(kServed * report.kv_bytes_per_token), kServed);
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
  if (report.change) {
    memory["change"] =
        Range(report.change->memory.likely, report.change->memory.low, report.change->memory.high, "bytes");
    memory["change"]["changes"] = report.change->changes;
  }
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
// losses are null if nobody knows it.
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
  return report.tokens_per_s ? std::string(NearnessText(report.tokens_per_s->nearness)) : "unknown";
}

std::string PlanText(const PlanAnswer& answer, int width) {
  const PlanReport& report = answer.report;
  std::string text = IdsLine(answer.ids) + PlanVerdictText(report);
  text += CountText(report.plan.run.facts);
  text += fmt::format("Basis: {}.\n", MemoryBasis(report));
  for (const std::string& warning : WarningsOf(answer)) text += "Warning: " + warning + ".\n";
  if (answer.options) text += PlanOptionsText(*answer.options, width);
  text += Breakdown(report, width) + Throughput(report) + Files(report) + Fits(report, width);
  for (const std::string& assumed : report.plan.assumed) text += "Assumed: " + assumed + ".\n";
  return text;
}

namespace {

// "Fits: H100-80GB-SXM, H200-141GB and 15 more. Tight: MI210-64GB." Without a line for those on which it does not fit.
std::string FitsInShort(const PlanReport& report) {
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

void AddLines(Screen* screen, LineRank rank, std::string_view text, std::size_t lines) {
  for (const std::string_view line : Split(text, '\n')) screen->Add(rank, "", line, lines);
}

}  // namespace

std::string PlanOnPaper(const PlanAnswer& answer, const Paper& paper) {
  if (paper.full) return PlanText(answer, std::max(paper.columns, 60));
  constexpr std::size_t kOptions = 4;
  const PlanReport& report = answer.report;
  Screen screen(paper);
  AddLines(&screen, LineRank::kNeeded, PlanVerdictText(report), 2);
  if (answer.options) {
    screen.AddText(LineRank::kUseful, PlanOptionsText(*answer.options, screen.columns(), kOptions).substr(1));
  }
  screen.Blank();
  screen.Add(LineRank::kNeeded, "", FitsInShort(report), 2);
  AddLines(&screen, LineRank::kDetail, Throughput(report), 2);
  screen.Add(LineRank::kUseful, "", "Assumed: " + ListText(report.plan.assumed, "; ") + ".",
             report.plan.assumed.empty() ? 0 : 2);
  const std::vector<std::string> warnings = WarningsOf(answer);
  if (!warnings.empty()) {
    const std::string more = warnings.size() > 1 ? fmt::format("{} warnings, first: ", warnings.size()) : "Warning: ";
    screen.Add(LineRank::kUseful, "", more + warnings.front() + ".", 2);
  }
  screen.Add(LineRank::kUseful, "", IdsText(answer.ids));
  screen.Add(LineRank::kAlways, "", "All figures: --full.");
  const std::string text = std::move(screen).Take();
  return paper.ascii ? AsciiOnly(text) : text;
}

std::string PlanJson(const PlanAnswer& answer) {
  const PlanReport& report = answer.report;
  Json json = BeginDocument<Json>("idleburn.plan/1", answer.ids);
  json["model"] = ModelJson(report.plan.run.facts);
  json["memory"] = PlannedMemoryJson(report);
  json["throughput"] = nullptr;
  if (report.tokens_per_s) {
    json["throughput"] =
        Range(report.tokens_per_s->likely, report.tokens_per_s->low, report.tokens_per_s->high, "tokens_per_s_per_gpu");
    json["throughput"]["gpu"] = GpuOrNull(report);
    json["throughput"]["basis"] = BasisName(report, &Evidence::tokens_s, report.tokens_per_s->nearness);
  }
  json["files"] = {{"weights_bytes", report.weights_file},
                   {"checkpoint_bytes", report.checkpoint_file},
                   {"kv_bytes_per_token", report.kv_bytes_per_token}};
  json["roofline"] = nullptr;
  if (report.roofline) {
    json["roofline"] = {{"implied_flops", report.roofline->implied_flops},
                        {"ceiling_flops", report.roofline->ceiling_flops}};
  }
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

// One side of a step: the share of it in which the GPU is busy (0 to 1), and its length. "45%@220ms" is {0.45, 220}.
struct StepUse {
  double share = 0;
  std::optional<double> ms;
};

// Reads "45%@220ms" or "45%". A share of 0 is an error, because no change of the step could reach a target from it.
Result<StepUse> ParseStep(const char* flag, const std::string& text) {
  const std::size_t at = text.find('@');
  const double share = TRY(FlagShare("plan", flag, text.substr(0, at)));
  if (share <= 0) return FailUsage(fmt::format("plan: {}: a step that never uses the GPU has no target", flag));
  StepUse use{share, {}};
  if (at == std::string::npos) return use;
  const Nanos span = TRY(FlagSpan("plan", flag, text.substr(at + 1), Nanos()));
  if (span <= Nanos()) return FailUsage(fmt::format("plan: {} has no time behind the @; write 45%@220ms", flag));
  use.ms = static_cast<double>(span.count()) / 1e6;
  return use;
}

// How long the run would take after the change. Empty without --step-of.
std::string HoursChangeText(const std::optional<double>& hours, double saved) {
  return hours ? fmt::format("; {:.4g} h become {:.4g} h", *hours, *hours * (1 - saved)) : "";
}

// What a target utilization takes. It assumes that the busy time stays: only the waiting gets shorter. Example: a step
// of 220 ms at 45 % is busy for 99 ms. For 80 % it may take 99 / 0.8 = 123.75 ms.
std::string TargetText(const StepUse& from, const StepUse& to, const UtilizationTarget& target,
                       const std::optional<double>& hours) {
  return fmt::format(
      "A step of {:.4g} ms at {:.4g} % keeps the GPU busy for {:.4g} ms.\n"
      "For {:.4g} % it may take at most {:.2f} ms: {:.4f} times as fast, {:.2f} % fewer hours and dollars{}, if the "
      "busy "
      "time stays.\n"
      "What feeds a GPU faster: cached tokenisation, 8 or more loader workers instead of 2, pinned memory with "
      "prefetch, "
      "persistent workers.\n",
      *from.ms, 100 * from.share, target.busy_ms, 100 * to.share, target.step_ms, target.speedup, 100 * target.saved,
      HoursChangeText(hours, target.saved));
}

// What a measured change saved. Utilization alone would imply another speed where the busy time changed too, so both
// are printed. A larger batch changes both.
std::string ChangeText(const StepUse& from, const StepUse& to, const UtilizationChange& change,
                       const std::optional<double>& hours) {
  std::string text =
      fmt::format("From {:.4g} to {:.4g} ms a step: {:.4f} times as fast, {:.2f} % fewer hours and dollars{}.\n",
                  *from.ms, *to.ms, change.speedup, 100 * change.saved, HoursChangeText(hours, change.saved));
  return text + fmt::format(
                    "The busy time goes from {:.1f} to {:.1f} ms; utilization alone would imply {:.4g} ms and "
                    "{:.4g} times as fast.\n",
                    change.busy_before_ms, change.busy_after_ms, change.implied_ms, change.implied_speedup);
}

}  // namespace

void StepFlags::AddTo(CommandFlags& flags) {
  flags.Add("--step", "SHARE@TIME", "a step's GPU utilization and length, 45%@220ms; with --step-to, no model").text =
      &from;
  flags.Add("--step-to", "SHARE[@TIME]", "the utilization aimed at, 80%; or what came of it, 88%@130ms").text = &to;
  flags.Add("--step-of", "TIME", "how long the run took before, 10h").text = &of;
}

Result<std::string> UtilizationAnswer(const StepFlags& flags, bool json, const RunIds& ids) {
  if (flags.from.empty() || flags.to.empty()) {
    return FailUsage("plan: --step 45%@220ms and --step-to 80% go together");
  }
  const StepUse from = TRY(ParseStep("--step", flags.from));
  if (!from.ms) return FailUsage("plan: --step needs the length of the step: 45%@220ms");
  const StepUse to = TRY(ParseStep("--step-to", flags.to));
  const Nanos span = TRY(FlagSpan("plan", "--step-of", flags.of, Nanos()));
  std::optional<double> hours;
  if (span > Nanos()) hours = InHours(span);
  const UtilizationTarget target = TargetOf(from.share, *from.ms, to.share);
  std::optional<UtilizationChange> change;
  if (to.ms) change = ChangeOf(from.share, *from.ms, to.share, *to.ms);
  if (!json)
    return IdsLine(ids) + (change ? ChangeText(from, to, *change, hours) : TargetText(from, to, target, hours));
  const double saved = change ? change->saved : target.saved;
  Json document = BeginDocument<Json>("idleburn.utilization/1", ids);
  document["busy_ms"] = target.busy_ms;
  document["busy_after_ms"] = change ? Json(change->busy_after_ms) : Json();
  document["step_ms"] = change ? *to.ms : target.step_ms;
  document["speedup"] = change ? change->speedup : target.speedup;
  document["saved"] = saved;
  document["implied_step_ms"] = target.step_ms;
  document["implied_speedup"] = target.speedup;
  document["hours"] = hours ? Json(*hours * (1 - saved)) : Json();
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
      return value < 1 ? fmt::format("{:.4g}", value) : fmt::format("{:.4f}", value);
    case ForecastQuantity::kCost:
    case ForecastQuantity::kScenarioCost:
      return Amount(Money::Nano(std::llround(value * kNano)), currency);
    case ForecastQuantity::kTokensPerSecond:
      return fmt::format("{:.0f}", value);
    case ForecastQuantity::kMemory:
      return fmt::format("{:.2f} GiB", value / kGib);
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
std::string OutcomeText(const HistoryRun& run, int width) {
  const ForecastOutcome outcome = OutcomeOf(run);
  const std::vector<TableColumn> columns = {{"Forecast against actual"}, {"forecast", kRight},
                                            {"90 % interval", kRight},   {"actual", kRight},
                                            {"forecast is", kRight},     {"inside"}};
  std::vector<TableRow> rows;
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
    rows.push_back(std::move(row));
  }
  std::string text = fmt::format("Forecast: {} of {} figures with a 90 % interval lie inside it. Basis: {}.\n", inside,
                                 intervals, run.forecast->basis);
  if (!outcome.why_partial.empty()) {
    text += fmt::format("Hours, GPU-hours and cost are not compared: {}.\n", outcome.why_partial);
  }
  return text + LayOutTable(columns, rows, width, 0);
}

}  // namespace idleburn
