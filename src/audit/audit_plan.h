#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
// A condition on an audit that a script asked to fail on: "waste>20" (per cent of observed cost), "cost>50" (units of
// the currency), "unobserved>5" (per cent of the window). `text` is the gate as written, for messages. `limit` has the
// unit of its quantity.
struct Gate {
  enum class Quantity : std::uint8_t { kWaste, kCost, kUnobserved };
  Quantity quantity = Quantity::kWaste;
  std::string text;
  Money limit;
};

// Reads the texts of --fail-on. Any other text is a usage error.
Result<std::vector<Gate>> ParseGates(const std::vector<std::string>& texts);

// Returns one sentence for each gate that does not hold. A gate on an unknown figure counts as broken: CI must not pass
// because nothing was measured.
std::vector<std::string> BrokenGates(const std::vector<Gate>& gates, const CostReport& cost);
// Returns all gates as broken, with the reason. For an audit that has no figures.
std::vector<std::string> UnjudgedGates(const std::vector<Gate>& gates, const std::string& why);

// The flags of a command that ends with an audit, as written and unchecked. PlanAudit checks them.
struct ReportRequest {
  std::string output;  // -o; "" is standard output, or standard error if to_stderr
  std::string work;    // --work
  std::vector<std::string> fail_on;
  bool explain = false;
  bool full = false;            // all tables as text, not one screen
  std::size_t lines_below = 0;  // of the command's own
  bool no_color = false;
  bool all_gpus = false;   // also those that the command could not see
  bool live = false;       // measured just now: a price that fits no GPU is no error any more
  bool to_stderr = false;  // standard output belongs to the workload
  bool quiet = false;      // live: the report goes to a file or nowhere, and only trouble is printed
};

// The formats of an audit.
inline constexpr std::array<ReportFormat, 5> kAuditFormats = {
    ReportFormat::kText, ReportFormat::kJson, ReportFormat::kHtml, ReportFormat::kCsv, ReportFormat::kMarkdown};

// The flags of such a command, checked and combined with the settings. It is made before anything is read or started: a
// run of two days must not fail at its end on a mistyped flag.
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
// Fails with a usage error that names the flag, setting, price list or contract to change. `now` decides which prices
// are stale.
Result<AuditPlan> PlanAudit(const ReportRequest& request, const Settings& settings, Instant now);

// The limits of the classifier, from the settings, in the units of Thresholds. Fails if the bands of utilization do not
// rise, or on a value out of range, such as an idle_after below a minute.
Result<Thresholds> ThresholdsFrom(const Settings& settings);

// The help of --window.
inline constexpr const char* kWindowHelp =
    "rented time: gaps in it are billed as unobserved, and rows outside are left out (a day means its start)";

// Reads --window START..END, where each end is a time or a day. A day stands for its start. A time without a zone is in
// `zone`, or in UTC if that is absent. Refuses an end that is not after the start. Refuses a time that daylight saving
// repeats or skips, because a bill must not depend on which of two hours was meant.
Result<RunWindow> ParseWindow(std::string_view text, const std::optional<TimeZone>& zone);

}  // namespace idleburn
