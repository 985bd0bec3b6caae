#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "config/settings.h"
#include "plan/prices.h"
#include "report/plan_output.h"
#include "trial/probe.h"

namespace idleburn {

// A plan that is to be carried out.
struct PlanLaunch {
  PlanAnswer answer;
  PlanWords words;
  PlannedCommand command;
  const PlanPrices* prices = nullptr;
  std::optional<OptionCaps> gate;  // caps that the forecast must keep, or nothing starts
  std::string config_file;         // --config
  std::string budget;              // --budget and --gpu-hours of the plan, which the run is watched by too
  std::string gpu_hours;
  std::vector<std::string> run_flags;  // of `run`, as they were given between two pairs of dashes
  bool no_history = false;
  bool json = false;
  std::string output;  // -o: the plan, and once more with what came of it
};

// What is wrong with the flags of the run, as far as that can be told before there is a plan: of `launch` no answer is
// needed yet. False if the help was asked for, and printed.
Result<bool> CheckLaunch(const PlanLaunch& launch, const Settings& settings, const Environment& environment);

// Of what CheckLaunch has found good. Hands over to `idleburn run` and returns its exit code; what was forecast is kept
// with the run, and printed beside what came of it on standard error. Fails before the command starts where there is
// nothing to forecast. Forecast, gate and run are counted at one price, that of the GPU that is planned for.
Result<int> LaunchPlan(PlanLaunch launch, const Settings& settings, const Environment& environment);

}  // namespace idleburn
