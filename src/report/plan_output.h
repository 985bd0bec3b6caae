#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/run_ids.h"
#include "config/common_flags.h"
#include "history/run.h"
#include "plan/options.h"
#include "plan/plan_report.h"
#include "plan/training_time.h"
#include "report/format_writers.h"
#include "report/report_page.h"

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

// For people: memory and whether it fits, which GPU to take, time and throughput, the parts of the memory, files, and
// every GPU. Figures that are not known name the flag that would tell them.
ReportPage PlanPage(const PlanAnswer& answer);
// Adds what to take and why, and every option.
void AddPlanOptions(const PlanOptions& options, ReportPage* page);
// The document of docs/json.md, schema idleburn.plan/1.
std::string PlanJson(const PlanAnswer& answer);

inline constexpr auto kPlanWriters = std::to_array<FormatWriter<PlanAnswer>>({
    {ReportFormat::kText, AsText<PlanPage>},
    {ReportFormat::kJson, OnAnyPaper<PlanJson>},
    {ReportFormat::kHtml, AsHtml<PlanPage>},
    {ReportFormat::kMarkdown, AsMarkdown<PlanPage>},
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

// The answer. One side of a step is the share of it in which the GPU is busy (0 to 1), and its length.
struct StepAnswer {
  struct Side {
    double share = 0;
    std::optional<double> ms;
  };
  Side from;
  Side to;
  UtilizationTarget target;
  std::optional<UtilizationChange> change;
  std::optional<double> hours;  // of the run before
  RunIds ids;
};

// Reads the flags. A flag that cannot be read is a usage error.
Result<StepAnswer> ReadStepFlags(const StepFlags& flags, const RunIds& ids = {});
// Without a measured time in `to`: what the target utilization takes, if the busy time stays. With one: what a change
// saved.
ReportPage StepPage(const StepAnswer& step);
// The document of docs/json.md, schema idleburn.utilization/1.
std::string StepJson(const StepAnswer& step);

inline constexpr auto kStepWriters = std::to_array<FormatWriter<StepAnswer>>({
    {ReportFormat::kText, AsText<StepPage>},
    {ReportFormat::kJson, OnAnyPaper<StepJson>},
    {ReportFormat::kHtml, AsHtml<StepPage>},
    {ReportFormat::kMarkdown, AsMarkdown<StepPage>},
});

// The name of a quantity for people: "hours", "tokens/s per GPU".
std::string_view Title(ForecastQuantity quantity);

// A launched run's forecast against what came, with a verdict on top. `run.forecast` must have a value.
ReportPage OutcomePage(const HistoryRun& run);
inline constexpr auto kOutcomeWriters =
    std::to_array<FormatWriter<HistoryRun>>({{ReportFormat::kText, AsText<OutcomePage>}});

}  // namespace idleburn
