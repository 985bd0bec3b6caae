#include "cli/plan_output.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "plan/gpu_rate.h"
#include "report/json_values.h"
#include "text/table.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

using Json = nlohmann::ordered_json;

struct PartRow {
  const char* name;
  double PeakMemory::*value;
  const char* meaning;
};

// In the order in which they are printed; `phase` is what counts of the two phases.
constexpr std::array<PartRow, 5> kParts = {{
    {"resident", &PeakMemory::resident, "weights, optimizer states, master copies, adapters"},
    {"gathered", &PeakMemory::gathered, "shards of other GPUs, unpacked 4-bit layers"},
    {"gradients", &PeakMemory::gradients, "that persist between passes"},
    {"phase", &PeakMemory::phase, "the larger of forward-backward and step: they never meet"},
    {"context", &PeakMemory::context, "CUDA context and libraries"},
}};

std::string Gib(double bytes) { return fmt::format("{:.2f} GiB", bytes / kGib); }

std::string_view Basis(Nearness nearness) {
  switch (nearness) {
    case Nearness::kModel:
      return "this model was measured with this framework";
    case Nearness::kFramework:
      return "other models were measured with this framework";
    case Nearness::kUnknown:
      return "this framework was not measured";
  }
  return "";
}

std::string Verdict(const PlanReport& report) {
  const RunConfig& run = report.plan.run.run;
  std::string text = fmt::format("{}: {} per GPU likely, {} to {} (90 % interval), as nvidia-smi shows it.\n",
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
  std::string changes;
  for (const std::string& change : report.change->changes) changes += (changes.empty() ? "" : ", then ") + change;
  return text + fmt::format("Cheapest change that makes it fit: {} ({} likely, at most {}).\n", changes,
                            Gib(report.change->memory.likely), Gib(report.change->memory.high));
}

std::vector<std::string> WarningsOf(const PlanAnswer& answer) {
  std::vector<std::string> warnings = answer.report.warnings;
  if (answer.options) {
    warnings.insert(warnings.end(), answer.options->warnings.begin(), answer.options->warnings.end());
  }
  return warnings;
}

std::string Breakdown(const PlanReport& report, int width) {
  const std::vector<TableColumn> columns = {{"Memory of one GPU"}, {"GiB", TableColumn::Align::kRight}, {"what it is"}};
  std::vector<TableRow> rows;
  for (const PartRow& part : kParts) {
    rows.push_back({part.name, fmt::format("{:.2f}", report.parts.*part.value / kGib), part.meaning});
  }
  rows.push_back({"total", fmt::format("{:.2f}", report.parts.total() / kGib), "likely peak"});
  return "\n" + LayOutTable(columns, rows, width, 0) +
         fmt::format("Of the two phases: forward and backward {}, optimizer step {}.\n",
                     Gib(report.parts.forward_backward), Gib(report.parts.step));
}

std::string Fits(const PlanReport& report, int width) {
  const std::vector<TableColumn> columns = {
      {"GPU"}, {"usable GiB", TableColumn::Align::kRight}, {"fit"}, {"margin", TableColumn::Align::kRight}};
  std::vector<TableRow> rows;
  for (const GpuFit& fit : report.fits) {
    rows.push_back({fit.gpu, fmt::format("{:.1f}", fit.capacity / kGib), std::string(Name(fit.fit)),
                    fmt::format("{:.0f} %", 100 * fit.margin)});
  }
  return "\nfits: the high end leaves 3 %; tight: only the likely value fits; margin: (usable - high) / usable\n" +
         LayOutTable(columns, rows, width, 0);
}

std::string Throughput(const PlanReport& report) {
  std::string text = "\n";
  if (report.tokens_per_s) {
    text += fmt::format("Throughput: {:.0f} tokens/s per GPU likely, {:.0f} to {:.0f} (90 % interval; {}).\n",
                        report.tokens_per_s->likely, report.tokens_per_s->low, report.tokens_per_s->high,
                        Basis(report.tokens_per_s->nearness));
  } else {
    text += "Throughput: unknown without --gpu.\n";
  }
  if (report.stated_tokens_per_s) {
    text += fmt::format("Stated: {:.0f} tokens/s per GPU; the time below follows it.\n", *report.stated_tokens_per_s);
  }
  if (!report.hours || !report.length) return text + "Time: unknown without --samples and a throughput.\n";
  const RunLength& length = *report.length;
  text += fmt::format(
      "Time: {:.4f} h, {:.4f} to {:.4f}; {:.4f} GPU-hours; {:.3f} min an epoch; {:.1f} optimizer steps "
      "an epoch of batch {:.0f}.\n",
      report.hours->likely, report.hours->low, report.hours->high, length.gpu_hours, length.minutes_per_epoch,
      length.steps_per_epoch, report.effective_batch);
  text += "Warm-up, evaluation, checkpoints and stalls are not in it.\n";
  if (report.cap) {
    text += fmt::format("Cap: an epoch takes {:.4f} GPU-hours, {:.3f} % of it; {:.2f} epochs fit, whole {:.0f}.\n",
                        report.cap->gpu_hours_per_epoch, 100 * report.cap->share_per_epoch, report.cap->epochs,
                        report.cap->whole_epochs);
  }
  return text;
}

Json Range(double likely, double low, double high, const char* name) {
  return {{name, likely}, {"low", low}, {"high", high}};
}

Json MemoryJson(const PlanReport& report) {
  Json memory = Range(report.memory.likely, report.memory.low, report.memory.high, "bytes");
  memory["metric"] = "device";
  memory["basis"] = Name(report.memory.nearness);
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

Json TimeJson(const PlanReport& report) {
  if (!report.hours || !report.length) return nullptr;
  Json time = Range(report.hours->likely, report.hours->low, report.hours->high, "hours");
  time["gpu_hours"] = report.length->gpu_hours;
  time["minutes_per_epoch"] = report.length->minutes_per_epoch;
  time["steps_per_epoch"] = report.length->steps_per_epoch;
  time["effective_batch"] = report.effective_batch;
  time["samples_per_s"] = report.length->samples_per_s;
  time["tokens_per_s"] = report.length->tokens_per_s;
  return time;
}

Json HoursOrNull(const std::optional<Hours>& hours) { return hours ? Json(hours->count()) : Json(nullptr); }

void PutMoney(Json& json, const std::string& key, const std::optional<Money>& amount) {
  json[key] = amount ? Json(FormatMoney(*amount, 2)) : Json(nullptr);
  if (amount) json[key + "_exact"] = FormatExact(*amount);
}

Json BudgetJson(const PlanAnswer& answer) {
  const PlanReport& report = answer.report;
  const OptionCaps caps = answer.options ? answer.options->caps : OptionCaps();
  if (!report.cap && !caps.deadline && !caps.budget) return nullptr;
  Json json;
  json["kept"] = answer.options ? Json(BrokenCaps(*answer.options).empty()) : Json(nullptr);
  json["deadline_hours"] = HoursOrNull(caps.deadline);
  PutMoney(json, "amount", caps.budget);
  json["cap_gpu_hours"] = OrNull<Json>(report.plan.budget_gpu_hours);
  if (!report.cap) return json;
  json["gpu_hours_per_epoch"] = report.cap->gpu_hours_per_epoch;
  json["share_per_epoch"] = report.cap->share_per_epoch;
  json["epochs"] = report.cap->epochs;
  json["whole_epochs"] = report.cap->whole_epochs;
  json["samples_per_min"] = report.cap->samples_per_min;
  return json;
}

Json OptionJson(const PlanOffer& offer, const RunOption& option) {
  const auto cost = [&](Money CostRange::*part) {
    return option.cost ? std::optional<Money>((*option.cost).*part) : std::nullopt;
  };
  Json json = {{"gpu", offer.run.gpu}, {"count", offer.run.gpus}, {"machines", offer.run.nodes}};
  json["market"] = Name(offer.market);
  json["fits"] = Name(offer.fit);
  PutMoney(json, "per_gpu_hour", offer.run.per_gpu_hour);
  json["price"] = offer.price_key;
  json["price_as_of"] = offer.as_of ? Json(FormatRfc3339(*offer.as_of)) : Json(nullptr);
  json["basis"] = Name(option.basis);
  json["hours"] = option.billed_hours ? Json(option.billed_hours->likely.count()) : Json(nullptr);
  json["gpu_hours"] = option.gpu_hours ? Json(option.gpu_hours->likely.count()) : Json(nullptr);
  PutMoney(json, "cost", cost(&CostRange::likely));
  PutMoney(json, "low", cost(&CostRange::low));
  PutMoney(json, "high", cost(&CostRange::high));
  json["wall_clock_p50"] = HoursOrNull(option.wall_p50);
  json["wall_clock_p95"] = HoursOrNull(option.wall_p95);
  json["checkpoint_interval_s"] = option.interval ? Json(option.interval->count() * 3600) : Json(nullptr);
  json["expected_interruptions"] = OrNull<Json>(option.interruptions);
  json["overhead"] = OrNull<Json>(option.overhead);
  json["break_even_overhead"] = OrNull<Json>(option.break_even);
  json["saving"] = OrNull<Json>(option.saving);
  json["deadline_met"] = OrNull<Json>(option.deadline_met);
  json["deadline"] = Name(option.deadline);
  json["budget"] = Name(option.budget);
  json["gpu_hours_cap"] = Name(option.gpu_hours_cap);
  json["pareto"] = option.pareto;
  return json;
}

Json SpotJson(const PlanOptions& plan) {
  Json json;
  json["machines_from"] = plan.spot.machines_from;
  json["restart_from"] = plan.spot.launch_from;
  json["missing"] = plan.spot.missing;
  json["daly_hours"] = HoursOrNull(plan.daly);
  json["by_history"] = nullptr;
  if (plan.by_history) {
    json["by_history"] = {{"best_interval_s", plan.by_history->best.count() * 3600},
                          {"young_interval_s", plan.by_history->young.count() * 3600},
                          {"regret", plan.by_history->regret},
                          {"tried", plan.by_history->tried}};
  }
  return json;
}

// Options are numbered as they are listed: cheapest first.
void PutOptions(Json& json, const std::optional<PlanOptions>& plan) {
  json["options"] = Json::array();
  json["recommended"] = json["nearest"] = json["spot"] = nullptr;
  if (!plan) return;
  for (std::size_t place = 0; place < plan->order.size(); ++place) {
    const std::size_t i = plan->order[place];
    json["options"].push_back(OptionJson(plan->offers[i], plan->options[i]));
    if (plan->choice.best == i) json["recommended"] = {{"option", place}, {"tight", plan->choice.tight}};
    if (plan->choice.nearest == i) json["nearest"] = {{"option", place}, {"overshoot", plan->choice.overshoot}};
  }
  json["spot"] = SpotJson(*plan);
}

}  // namespace

std::string PlanText(const PlanAnswer& answer, int width) {
  const PlanReport& report = answer.report;
  std::string text = Verdict(report);
  text += fmt::format("Basis: {}.\n", Basis(report.memory.nearness));
  for (const std::string& warning : WarningsOf(answer)) text += "Warning: " + warning + ".\n";
  if (answer.options) text += PlanOptionsText(*answer.options, width);
  text += Breakdown(report, width) + Throughput(report) + Fits(report, width);
  for (const std::string& assumed : report.plan.assumed) text += "Assumed: " + assumed + ".\n";
  return text;
}

std::string PlanJson(const PlanAnswer& answer) {
  const PlanReport& report = answer.report;
  Json json;
  json["schema"] = "idleburn.plan/1";
  json["memory"] = MemoryJson(report);
  json["throughput"] = nullptr;
  if (report.tokens_per_s) {
    json["throughput"] =
        Range(report.tokens_per_s->likely, report.tokens_per_s->low, report.tokens_per_s->high, "tokens_per_s_per_gpu");
    json["throughput"]["basis"] = Name(report.tokens_per_s->nearness);
  }
  json["roofline"] = nullptr;
  if (report.roofline) {
    json["roofline"] = {{"implied_flops", report.roofline->implied_flops},
                        {"ceiling_flops", report.roofline->ceiling_flops}};
  }
  json["time"] = TimeJson(report);
  PutOptions(json, answer.options);
  json["warnings"] = WarningsOf(answer);
  json["assumed"] = report.plan.assumed;
  json["budget"] = BudgetJson(answer);
  return json.dump(2) + "\n";
}

}  // namespace idleburn
