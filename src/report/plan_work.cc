
#include <fmt/format.h>

#include "report/display.h"
#include "report/plan_parts.h"
#include "text/figures.h"
#include "text/strings.h"

namespace idleburn {

// The arithmetic of a run alone. Everything follows from the stated rate. It has no interval unless measured steps
// state it; what could be wrong is the rate, and the page says so.

namespace {

// Seconds with their interval.
std::string RangeText(const LikelyRange& seconds) {
  return fmt::format("{}, {} to {} (90 %)", SecondsForPeople(seconds.likely), SecondsForPeople(seconds.low),
                     SecondsForPeople(seconds.high));
}

// The step that measured steps forecast.
std::string StepText(const PlanReport& report) {
  const StepForecast& measured = *report.plan.measured;
  return fmt::format("A step of {} {} takes {}.", measured.by, ThreeDigits(measured.size), RangeText(measured.seconds));
}

// The line through the measured steps, and what its two numbers mean.
std::string LineText(const StepLine& line, const std::string& by) {
  return fmt::format("Seconds = a + b x. Fixed cost of a step: a = {}. Speed without it: 1/b = {} {} a second.",
                     RangeText(line.fixed), ThreeDigits(1 / line.slope.likely), by);
}

// What the figures of a page without a model rest on.
std::vector<std::string> WorkBasis(const PlanReport& report) {
  constexpr const char* kRest = "Not checked: no model. --model adds memory and whether a GPU can reach that rate.";
  if (!report.plan.measured) return {fmt::format("Basis: the stated rate. {}", kRest)};
  const std::vector<MeasuredStep>& points = report.plan.measured->line.points;
  return {fmt::format("Basis: {} measured steps, {} {} to {}. Not checked: no model (--model).", points.size(),
                      report.plan.measured->by, ThreeDigits(points.front().size), ThreeDigits(points.back().size)),
          LineText(report.plan.measured->line, report.plan.measured->by)};
}

// What the work takes, or what is missing to say it.
std::string WorkVerdict(const PlanReport& report) {
  if (!report.length && report.plan.measured) {
    return fmt::format("{} The time of the run needs --samples, --tokens or --optimizer-steps.", StepText(report));
  }
  if (!report.length)
    return "The time is unknown without an amount of work; give --samples, --tokens or --optimizer-steps.";
  const RunLength& length = *report.length;
  const double gpus = report.plan.run.run.gpus;
  const std::string each = report.plan.epochs > 1
                               ? fmt::format(", {} an epoch", SecondsForPeople(60 * length.minutes_per_epoch))
                               : std::string();
  const bool sure = !report.hours || report.hours->low == report.hours->high;
  const std::string interval = sure ? ""
                                    : fmt::format(", {} to {} (90 %)", SecondsForPeople(3600 * report.hours->low),
                                                  SecondsForPeople(3600 * report.hours->high));
  return fmt::format("The run takes {}{}{} on {} GPU{}: {}.", SecondsForPeople(3600 * length.hours), interval, each,
                     gpus, gpus == 1 ? "" : "s", GpuHoursForPeople(length.gpu_hours));
}

}  // namespace

void AddMeasuredLines(const PlanReport& report, std::vector<std::string>* lines) {
  if (!report.plan.measured) return;
  const StepLine& line = report.plan.measured->line;
  lines->push_back(StepText(report));
  if (!report.plan.no_model) lines->push_back(LineText(line, report.plan.measured->by));
  if (line.worst_residual >= 0.0005) {
    lines->push_back(
        fmt::format("Worst residual: {} at {}.", PercentText(line.worst_residual), ThreeDigits(line.worst_size)));
  }
}

ReportPage WorkPage(const PlanAnswer& answer) {
  const PlanReport& report = answer.report;
  ReportPage page;
  page.heading = "Plan of a run";
  page.title = TitleAndIds(report.plan.measured ? "Time and cost by measured steps" : "Time and cost at a stated rate",
                           answer.ids);
  page.verdict = WorkVerdict(report);
  page.why = WorkBasis(report);
  std::vector<std::string> time;
  AddMeasuredLines(report, &time);
  if (report.length) {
    time.push_back(
        fmt::format("{} samples a minute on all GPUs. Warm-up, evaluation, checkpoints and stalls come on top.",
                    ThreeDigits(60 * report.length->samples_per_s)));
  }
  AddCapLines(report, &time);
  if (answer.options && answer.options->any()) {
    AddPlanOptions(*answer.options, &page);
  } else if (report.length) {
    page.next.emplace_back("The cost is unknown without a price; give --price per GPU-hour.");
  }
  page.points.push_back({"time", "Time and throughput", std::move(time)});
  page.points.push_back({"note", "Assumed, and warnings", PlanNotes(answer)});
  return page;
}

}  // namespace idleburn
