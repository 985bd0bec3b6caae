#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/gate.h"
#include "base/result.h"
#include "classify/thresholds.h"
#include "config/output_format.h"
#include "config/settings.h"
#include "price/cost_report.h"
#include "price/find_rate.h"
#include "recommend/saving_draws.h"
#include "telemetry/run_facts.h"
#include "text/time_zone.h"

namespace idleburn {
// The flags of a command that ends with an audit, as they were written.
struct ReportRequest {
  std::string output;  // -o; "" is standard output, or standard error if to_stderr
  std::string work;    // --work
  std::vector<std::string> fail_on;
  bool explain = false;
  bool no_color = false;
  bool all_gpus = false;   // also those that the command could not see
  bool live = false;       // measured just now: a price that fits no GPU is no error any more
  bool to_stderr = false;  // standard output belongs to the workload
  bool quiet = false;      // live: the report goes to a file or nowhere, and only trouble is printed
};

// The formats of an audit.
inline constexpr std::array<ReportFormat, 5> kAuditFormats = {
    ReportFormat::kText, ReportFormat::kJson, ReportFormat::kHtml, ReportFormat::kCsv, ReportFormat::kMarkdown};

// The same, understood together with the settings. Mistakes are reported before a long run, not after.
struct AuditPlan {
  ReportRequest request;
  ReportFormat format = ReportFormat::kText;
  std::vector<Gate> gates;
  Thresholds thresholds;
  Prices prices;
  Settings::Value currency;  // of numbers given with --price, --owned and --tariff
  int month_hours = 730;
  WorkDone work;
  EnergyPrice energy;
  std::optional<double> spot_discount;  // --spot-discount
  std::string timezone = "UTC";
  RecoveredShares shares = {};  // learnt from the user's own verified changes; the caller fills them in
};
Result<AuditPlan> PlanAudit(const ReportRequest& request, const Settings& settings, Instant now);

// The classifier's numbers from the settings.
Result<Thresholds> ThresholdsFrom(const Settings& settings);

// The help of --window.
inline constexpr const char* kWindowHelp =
    "what was rented: gaps within it are billed, as unobserved; rows outside are left out (a day stands for its start)";

// Reads --window START..END: two times, with a zone or in `zone` (absent: UTC), or days, which stand for their start.
// Refuses a time that daylight saving repeats or skips, and an end that is not after the start.
Result<RunWindow> ParseWindow(std::string_view text, const std::optional<TimeZone>& zone);

}  // namespace idleburn
