#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "config/settings.h"
#include "plan/options.h"
#include "report/plan_output.h"
#include "trial/probe.h"

namespace idleburn {

// A plan that `idleburn run` is to carry out (plan --launch).
struct PlanLaunch {
  PlanAnswer answer;
  PlanWords words;
  PlannedCommand command;
  const PlanPrices* prices = nullptr;
  std::optional<OptionCaps> gate;  // caps that the forecast must keep before anything starts
  std::string config_file;         // --config
  std::string budget;              // --budget and --gpu-hours of the plan, which also limit the run
  std::string gpu_hours;
  std::vector<std::string> run_flags;  // flags of `run`, from between the two pairs of dashes
  bool no_history = false;
  ReportFormat format = ReportFormat::kText;
  std::string output;  // -o: the plan, and after the run the plan with its outcome
};

// Checks the flags of the run before there is a plan. Probing for minutes and failing then would waste GPU time.
// `launch` needs no answer yet. Returns false if the help was printed.
Result<bool> CheckLaunch(const PlanLaunch& launch, const Settings& settings, const Environment& environment);

// Hands over to `idleburn run` and returns its exit code. `launch` must have passed CheckLaunch. The forecast is kept
// with the run, and printed beside its outcome on standard error. Fails before the command starts if there is nothing
// to forecast. Returns kExitGate if `launch.gate` does not hold; then nothing is started.
//
// Forecast, gate and run use one price, that of the planned GPU. With two prices, the error of the forecast would
// measure the difference between them.
Result<int> LaunchPlan(PlanLaunch launch, const Settings& settings, const Environment& environment);

}  // namespace idleburn
