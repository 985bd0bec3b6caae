#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "cli/gate.h"
#include "cli/output_format.h"
#include "cli/read_run.h"
#include "cli/settings.h"
#include "history/run.h"
#include "price/cost_report.h"
#include "price/work.h"
#include "recommend/saving_draws.h"

namespace idleburn {

// What a command that ends with an audit was asked for besides the settings.
struct ReportRequest {
  std::string output;  // -o; "" is standard output, or standard error if to_stderr
  std::string work;    // --work
  std::vector<std::string> fail_on;
  bool explain = false;
  bool no_color = false;
  bool all_gpus = false;   // those too that the command could not see
  bool live = false;       // of a run that was measured just now: too late for what could be mended before it
  bool to_stderr = false;  // standard output belongs to somebody else
  bool quiet = false;      // of a live run: a report goes to a file or nowhere, and only trouble is told
};

// What an audit is written in.
inline constexpr std::array<ReportFormat, 5> kAuditFormats = {
    ReportFormat::kText, ReportFormat::kJson, ReportFormat::kHtml, ReportFormat::kCsv, ReportFormat::kMarkdown};

// The same, understood: what is wrong with it is said before a long run, not after.
struct ReportPlan {
  ReportRequest request;
  ReportFormat format = ReportFormat::kText;
  std::vector<Gate> gates;
  Thresholds thresholds;
  WorkDone work;
  EnergyPrice energy;
  std::optional<double> spot_discount = {};  // --spot-discount
  RecoveredShares shares = {};  // what the user's own verified changes teach; the caller's to fill in
};
Result<ReportPlan> PlanReport(const ReportRequest& request, const Settings& settings);

// What is known of a board by its name.
BoardFacts FactsOf(std::string_view gpu_name);

// How a report ended: gates are judged also where it could not be written, and what cannot be judged does not hold.
struct ReportEnd {
  Result<void> written;
  bool gates_hold = true;  // which ones do not was said on standard error
  RunFigures figures;      // for the history
  // For a command that lives by its report: 0, kExitGate, or why there is no report.
  [[nodiscard]] Result<int> Code() const;
};

// Prices, advises, writes: all of an audit but the reading. `inputs` names where the run came from. The work done, the
// machine and the GPUs that count are what the run itself tells, unless the plan says. Without a GPU, `why_no_gpu` is
// what the report says.
ReportEnd ReportRun(const ReportPlan& plan, RunInputs& run, const std::vector<std::string>& inputs,
                    const std::string& why_no_gpu, const Settings& settings, const Environment& environment);
// The figures alone, without a report; gates are not judged.
Result<RunFigures> FiguresOfRun(const ReportPlan& plan, RunInputs& run, const Settings& settings, Instant now);
// Leaves out the GPUs that the run says its command could not see. Why none is left; empty if there are some.
std::string LeaveOutHidden(const ReportPlan& plan, RunInputs& run);

}  // namespace idleburn
