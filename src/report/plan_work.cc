
#include <fmt/format.h>

#include "report/display.h"
#include "report/plan_parts.h"
#include "text/figures.h"
#include "text/strings.h"

namespace idleburn {

// The arithmetic of a run alone. Everything follows from the stated rate, so no figure has an interval of its own; what
// could be wrong is the rate, and the page says so.

namespace {

// What the work takes, or what is missing to say it.
std::string WorkVerdict(const PlanReport& report) {
  if (!report.length)
    return "The time is unknown without an amount of work; give --samples, --tokens or --optimizer-steps.";
  const RunLength& length = *report.length;
  const double gpus = report.plan.run.run.gpus;
  const std::string each = report.plan.epochs > 1
                               ? fmt::format(", {} an epoch", SecondsForPeople(60 * length.minutes_per_epoch))
                               : std::string();
  return fmt::format("The run takes {}{} on {} GPU{}: {}.", SecondsForPeople(3600 * length.hours), each, gpus,
                     gpus == 1 ? "" : "s", GpuHoursForPeople(length.gpu_hours));
}

}  // namespace

ReportPage WorkPage(const PlanAnswer& answer) {
  const PlanReport& report = answer.report;
  ReportPage page;
  page.heading = "Plan of a run";
  page.title = TitleAndIds("Time and cost at a stated rate", answer.ids);
  page.verdict = WorkVerdict(report);
  page.why = {
      "Basis: the stated rate. Not checked: no model. --model adds memory and whether a GPU can reach that rate."};
  std::vector<std::string> time;
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
