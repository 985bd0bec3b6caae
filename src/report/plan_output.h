#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/run_ids.h"
#include "config/common_flags.h"
#include "history/run.h"
#include "plan/options.h"
#include "plan/plan_report.h"
#include "report/format_writers.h"

namespace idleburn {

// What `idleburn plan` found: what a run needs, and what to run it on. docs/plan.md explains the figures. `options`
// is absent without work to price.
struct PlanAnswer {
  PlanReport report;
  std::optional<PlanOptions> options;
  RunIds ids = {};
  std::optional<HistoryRun> run = std::nullopt;  // the run of --launch, once it has ended
};

// What the predicted speed rests on: "probe of 2026-11-21: 20 + 20 steps", or how near the published runs are.
std::string BasisText(const PlanReport& report);

// For people, in `width` columns: verdict, which GPU to take, memory, throughput and time, files, and which GPUs fit.
// Figures that are not known name the flag that would tell them.
std::string PlanText(const PlanAnswer& answer, int width);
// On one screen: what it needs, what to take, what it costs and how long it takes; or all of it with paper.full.
std::string PlanOnPaper(const PlanAnswer& answer, const Paper& paper);
// The document of docs/json.md, schema idleburn.plan/1.
std::string PlanJson(const PlanAnswer& answer);

inline constexpr auto kPlanWriters = std::to_array<FormatWriter<PlanAnswer>>({
    {ReportFormat::kText, [](const PlanAnswer& a, const Paper& paper) { return PlanOnPaper(a, paper); }},
    {ReportFormat::kJson, OnAnyPaper<PlanJson>},
});

// The flags of a question about the utilization of a step alone (plan --step), as they were written. Such a question
// needs no model.
struct StepFlags {
  std::string from;  // "45%@220ms"
  std::string to;    // "80%" or "88%@130ms"
  std::string of;    // "10h"

  void AddTo(CommandFlags& flags);
  [[nodiscard]] bool asked() const { return !from.empty() || !to.empty() || !of.empty(); }
};

// Without a measured time in `to`: what the target utilization takes, if the busy time stays. With one: what a change
// saved. `json` selects the document of docs/json.md, schema idleburn.utilization/1. A flag that cannot be read is a
// usage error.
Result<std::string> UtilizationAnswer(const StepFlags& flags, bool json, const RunIds& ids = {});

// The name of a quantity for people: "hours", "tokens/s per GPU".
std::string_view Title(ForecastQuantity quantity);

// A launched run's forecast against what came, in `width` columns, with a verdict on top. `run.forecast` must have a
// value.
std::string OutcomeText(const HistoryRun& run, int width);

}  // namespace idleburn
