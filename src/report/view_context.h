#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/audit_report.h"
#include "report/display.h"
#include "report/report_page.h"

namespace idleburn {

// What the parts of a view share: the audit and how its hours and money are written.
struct ViewContext {
  explicit ViewContext(const AuditReport& audit);

  const AuditReport& report;
  std::string_view currency;
  int hour_digits;  // decimals that tell the parts of this window apart
  bool priced;
  HourColumn hours;                                 // of the whole, as its table shows them
  std::optional<CostColumn> costs;                  // its costs, as that table shows them
  std::vector<BillSlice> slices;                    // of both
  std::vector<std::optional<Money>> finding_costs;  // as they are shown
  bool by_rate;   // shares beside amounts are of the cost: GPUs of different prices have no hours in common
  bool in_money;  // priced, and long enough that money tells: what a trace covers costs next to nothing, its job does
                  // not

  // GPU-hours, grouped: "1,234.5".
  [[nodiscard]] std::string Hours(std::int64_t ns) const;
  // Nanoseconds in the last decimal of Hours, for columns that must add up.
  [[nodiscard]] std::int64_t HourUnit() const;
  [[nodiscard]] std::string Cost(Money m) const;
  // With all its decimals: "$1,413.333333333".
  [[nodiscard]] std::string ExactCost(const CostOfOne& cost) const;
  // "$3.07"; of a trace "$1.20 of each GPU-hour"; in GPU-hours where there is no price.
  [[nodiscard]] std::string Worth(const std::optional<Money>& cost, std::int64_t ns) const;
  // What every share of time or money is of: "the bill"; without a price "all GPU-hours"; of a trace "the traced
  // window".
  [[nodiscard]] std::string_view Bill() const;
  // That share, 0 to 1: of money where hours have several prices.
  [[nodiscard]] double ShareOfBill(const std::optional<Money>& cost, std::int64_t ns) const;
  // "$3.07 (38.4 %)": an amount as it is shown, and the share that it is of the bill.
  [[nodiscard]] std::string Part(const BillSlice& slice) const;
  [[nodiscard]] std::string Waste() const;
  // The same of a finding: of the waste that it explains, else of the time in which it was seen.
  [[nodiscard]] std::string Part(std::size_t finding) const {
    return Part(report.advice.findings[finding], finding_costs[finding]);
  }
  [[nodiscard]] std::string Part(const Finding& f, const std::optional<Money>& shown_cost) const;
  // Whether it is time of GPUs without a price alone: its cost is not known, though that of others is.
  [[nodiscard]] bool Unpriced(const std::optional<Money>& cost, std::int64_t ns) const {
    return ns > 0 && cost == Money() && report.cost.whole.unpriced.window_ns > 0;
  }
};

std::string RoundPercent(double share);                 // for readings, which are no part of the bill: "35 %", "0.4 %"
std::int64_t WasteNs(const UsageCost& usage);           // WastedNs, rounded
double ShareOf(std::int64_t part, std::int64_t whole);  // 0 of nothing

// Shares of the total below half a per cent are not worth a sentence; they stay in the tables.
inline constexpr double kWorthSaying = 0.005;

// ", without 2.0 GPU-hours that nobody offers": what is in no range; empty where all is.
std::string WithoutOffer(const ViewContext& c);
// "12.0 GPU-hours (8 GPUs at $2.00, 4 at $4.00), excluding 2.0 unpriced GPU-hours": what the total was paid for.
std::string PaidHours(const ViewContext& c);
// How sure an amount of energy is: "± 5 %", or "over 12.00 of 24.00 GPU-hours" where it is that of a part.
std::string EnergyBasis(const ViewContext& c);
// Without a price: the range of the catalogue if there is one, and the flag that settles it. `dated`: with the date of
// the catalogue, which a report says once; that prices are old is a row of its data quality.
std::string PriceHint(const ViewContext& c, bool dated);
// "$3.07 (19.2 % of the bill), between 0.0 % and 24.0 %", or that it is not quantified and why.
std::string SavingText(const ViewContext& c, const Recommendation& r);
// "0 to 49.0 % of the bill (up to $3.92)".
std::string RangeText(const ViewContext& c, const TryFirst& t);

// The tables of AuditView.
ReportTable PhaseTable(const ViewContext& c);
ReportTable GpuTable(const ViewContext& c, std::size_t limit);
ReportTable RateTable(const ViewContext& c);
ReportTable OwnerTable(const ViewContext& c);
ReportTable FindingTable(const ViewContext& c);
ReportTable RecommendationTable(const ViewContext& c);
ReportTable TryFirstTable(const ViewContext& c);
ReportTable DeclinedTable(const ViewContext& c);
ReportTable QualityTable(const ViewContext& c);

// The lines of AuditView.
std::vector<std::string> MoneyLines(const ViewContext& c);
std::vector<std::string> SignalLines(const ViewContext& c);
std::vector<std::string> BasisLines(const ViewContext& c);

// What was billed of the time that a report is about (docs/readings.md, "Runs: what is billed").
enum class BilledBy : std::uint8_t {
  kRows,       // each GPU from its first row of a run to its last
  kWindow,     // --window
  kRecording,  // from the start of a recording to its end
  kTrace,      // what a profiler's trace covers
};
BilledBy BilledByOf(const AuditReport& report);
std::string_view Name(BilledBy by);  // "rows"

// The length of a report's runs, and of the time between them.
struct RecordedTime {
  std::int64_t recorded_ns = 0;
  std::int64_t between_ns = 0;
};
RecordedTime RecordedTimeOf(const AuditReport& report);

// What the owners that an input names (pods, jobs) held: the bill by their lifetimes, beside that by the window.
struct OwnedPart {
  std::int64_t gpu_ns = 0;
  std::optional<Money> cost;  // absent where no part of it has a rate
};
std::optional<OwnedPart> OwnedPartOf(const CostReport& cost);  // absent: no input names any

// The costs of the runs as a table shows them; they sum to the total as it is shown.
std::vector<Money> ShownRunCosts(const AuditReport& report, const std::optional<CostColumn>& whole);

// "5 runs in 7 days, 3.1 h recorded, 164.9 h between them not billed; ..."; empty of one run.
std::string RunsLine(const ViewContext& c);
ReportTable RunTable(const ViewContext& c);
// How a log's rows became billed time, and what the owners' lifetimes alone come to.
std::vector<std::string> BilledLines(const ViewContext& c);

// What traces add to a view; without a trace the tables have no rows.

// A row for each device and window: how the device's time splits, which adds up to the span exactly.
ReportTable TraceTable(const ViewContext& c);
// What stood between a device and its next event, for the windows that decide.
ReportTable IdleTable(const ViewContext& c);
// The verdict of a run of which only traces are there.
std::string TracedVerdict(const ViewContext& c);
// How a trace's figures are counted.
std::vector<std::string> TraceBasis(const ViewContext& c);

}  // namespace idleburn
