#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "cli/gate.h"
#include "cli/read_run.h"
#include "cli/settings.h"
#include "price/cost_report.h"
#include "price/work.h"

namespace idleburn {

// What a command that ends with an audit was asked for besides the settings.
struct ReportRequest {
  std::string output;  // -o; "" is standard output, or standard error if to_stderr
  std::string work;    // --work
  std::vector<std::string> fail_on;
  bool explain = false;
  bool no_color = false;
  bool to_stderr = false;  // standard output belongs to somebody else
};

enum class ReportFormat : std::uint8_t { kText, kJson, kHtml, kCsv, kMarkdown };

// The same, understood: what is wrong with it is said before a long run, not after.
struct ReportPlan {
  ReportRequest request;
  ReportFormat format = ReportFormat::kText;
  std::vector<Gate> gates;
  Thresholds thresholds;
  WorkDone work;
  EnergyPrice energy;
};
Result<ReportPlan> PlanReport(const ReportRequest& request, const Settings& settings);

// What is known of a board by its name.
BoardFacts FactsOf(std::string_view gpu_name);

// Prices, advises, writes: all of an audit but the reading. `inputs` names where the run came from. The work done and
// the machine are what the run itself tells, unless the plan says. Returns the exit code: 0, or kExitGate.
Result<int> ReportRun(const ReportPlan& plan, RunInputs& run, const std::vector<std::string>& inputs,
                      const Settings& settings, const Environment& environment);

}  // namespace idleburn
