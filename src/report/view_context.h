#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/audit_report.h"
#include "report/display.h"
#include "report/report_page.h"
#include "text/figures.h"
#include "text/number.h"

namespace idleburn {

// What all parts of an audit's view share: the report and how its hours and amounts are written. Every table and
// sentence takes its figures from one context, so they use the same number of decimals and the same denominator.
//
// Holds a reference to the report, which must outlive it.
struct ViewContext {
  explicit ViewContext(const AuditReport& audit);

  const AuditReport& report;
  std::string_view currency;
  int hour_digits;  // decimals of all columns of GPU-hours (HourDecimals), so that tables agree and add up
  bool priced;
  HourColumn hours;                                 // of the whole, as printed
  std::optional<CostColumn> costs;                  // of the whole, as printed; absent without a price
  std::vector<BillSlice> slices;                    // of hours and costs
  std::vector<std::optional<Money>> finding_costs;  // by finding, as printed
  // GPUs have several prices, so shares are of cost: an hour of one GPU is not worth an hour of another.
  bool by_rate;
  // Amounts are worth printing: there is a price, and the report is not of a trace alone. A trace of seconds costs
  // next to nothing, while the job that it stands for does not.
  bool in_money;

  // GPU-hours of a column: "1,234.5".
  [[nodiscard]] std::string Hours(std::int64_t ns) const { return HoursOfColumn(ns, hour_digits); }
  // GPU-hours of a sentence: "1 GPU-hour".
  [[nodiscard]] std::string GpuHours(std::int64_t ns) const { return GpuHoursForPeople(InHours(ns)); }
  // The last decimal of Hours in nanoseconds. Columns that must add up are rounded to it.
  [[nodiscard]] std::int64_t HourUnit() const { return idleburn::HourUnit(hour_digits); }
  [[nodiscard]] std::string Cost(Money m) const { return Amount(m, currency); }
  // The price of one unit: "$13.62", "$0.0004".
  [[nodiscard]] std::string PriceOfOne(const CostOfOne& cost) const;
  // "$3.07"; for a trace with a price "$1.20 of each GPU-hour"; without a price in GPU-hours.
  [[nodiscard]] std::string Worth(const std::optional<Money>& cost, std::int64_t ns) const;
  // The denominator of every share: "the bill", without a price "all GPU-hours", for a trace "the traced window".
  [[nodiscard]] std::string_view Bill() const;
  // The share of that denominator, 0 to 1. It is a share of money if GPUs have several prices, else of time.
  [[nodiscard]] double ShareOfBill(const std::optional<Money>& cost, std::int64_t ns) const;
  // "$3.07 (38.4 %)": the amount as printed and its share of the bill.
  [[nodiscard]] std::string Part(const BillSlice& slice) const;
  [[nodiscard]] std::string Waste() const;
  // The same for a finding: the waste that it explains, or, if it explains none, the time for which it was seen.
  [[nodiscard]] std::string Part(std::size_t finding) const {
    return Part(report.advice.findings[finding], finding_costs[finding]);
  }
  [[nodiscard]] std::string Part(const Finding& f, const std::optional<Money>& shown_cost) const;
  // Whether this is time of unpriced GPUs only. Its cost is then unknown, although other GPUs of the run have a
  // price.
  [[nodiscard]] bool Unpriced(const std::optional<Money>& cost, std::int64_t ns) const {
    return ns > 0 && cost == Money() && report.cost.whole.unpriced.window_ns > 0;
  }
};

// The slices of the bill that have time, the largest first. They point into the context.
std::vector<const BillSlice*> SlicesLargestFirst(const ViewContext& c);

// Small helpers for shares, for all parts of a view.
std::int64_t WasteNs(const UsageCost& usage);           // WastedNs, rounded
double ShareOf(std::int64_t part, std::int64_t whole);  // 0 of nothing
// Sorts positions in cost.devices by wasted time, the most first. Equal ones keep their order, so the same run gives
// the same report.
void SortByWaste(const CostReport& cost, std::vector<std::size_t>* devices);

// Shares below half a per cent are not worth a sentence. They stay in the tables.
inline constexpr double kWorthSaying = 0.005;

// ", without 2 GPU-hours that have no offer": time that the range of a total does not include. Empty if it includes
// all.
std::string WithoutOffer(const ViewContext& c);
// What the total was paid for: "12 GPU-hours (8 GPUs at $2.00, 4 at $4.00), excluding 2 unpriced GPU-hours".
std::string PaidHours(const ViewContext& c);
// How sure an amount of energy is: "± 5 %"; "over 12 of 24 GPU-hours" if it covers only a part of the time.
std::string EnergyBasis(const ViewContext& c);
// What is known of a missing price: the range of the catalogue, and the flag that settles it. `dated` adds the age of
// the prices, which a report says once.
std::string PriceHint(const ViewContext& c, bool dated);
// "$3.07, 19.2 % of the bill (0 to 24 %)"; or why there is no figure.
std::string SavingText(const ViewContext& c, const Recommendation& r);
// "0 to 49.0 % of the bill (up to $3.92)": a measure that is not proved may save nothing.
std::string RangeText(const ViewContext& c, const TryFirst& t);

// The tables of AuditView, in its order. A table that does not apply to the run has no rows. Defined in
// report/view_tables.cc.
ReportTable PhaseTable(const ViewContext& c);
// At most `limit` GPUs: those with the most wasted time.
ReportTable GpuTable(const ViewContext& c, std::size_t limit);
// Prices, with the GPUs that have each, its source and its date. Only if GPUs differ in price.
ReportTable RateTable(const ViewContext& c);
// What each job or pod held and cost.
ReportTable OwnerTable(const ViewContext& c);
// Causes with evidence for and against each, and the measurement that would settle it.
ReportTable FindingTable(const ViewContext& c);
// Measures with their savings, and what all of them save together.
ReportTable RecommendationTable(const ViewContext& c);
// Measures that a pattern suggests and nothing proved.
ReportTable TryFirstTable(const ViewContext& c);
// Measures that were considered and rejected, with what they lack.
ReportTable DeclinedTable(const ViewContext& c);
// Doubts about the data, worst first.
ReportTable QualityTable(const ViewContext& c);

// Price, waste, cost per effective hour and per unit of work, and projections.
std::vector<std::string> MoneyLines(const ViewContext& c);
// Energy, throttling, spin-wait and bursts.
std::vector<std::string> SignalLines(const ViewContext& c);
// Which counter, rules and inputs made the figures.
std::vector<std::string> BasisLines(const ViewContext& c);

// Which time was billed (docs/readings.md, "Runs: what is billed").
enum class BilledBy : std::uint8_t {
  kRows,       // each GPU from its first row of a run to its last
  kWindow,     // --window
  kRecording,  // from the start of a recording to its end
  kTrace,      // what a profiler's trace covers
};
BilledBy BilledByOf(const AuditReport& report);
std::string_view Name(BilledBy by);  // "rows"

// The total length of a report's runs, and of the time between them.
struct RecordedTime {
  std::int64_t recorded_ns = 0;
  std::int64_t between_ns = 0;
};
RecordedTime RecordedTimeOf(const AuditReport& report);

// What the named owners (pods, jobs) held. It is the bill by lifetimes, which stands beside the bill by the window.
struct OwnedPart {
  std::int64_t gpu_ns = 0;
  std::optional<Money> cost;  // absent where no part of it has a rate
};
std::optional<OwnedPart> OwnedPartOf(const CostReport& cost);  // absent: no input names any

// The costs of the runs as printed: they sum to the printed total.
std::vector<Money> ShownRunCosts(const AuditReport& report, const std::optional<CostColumn>& whole);

// "5 runs in 7 d, 3 h 6 min recorded, 6 d 21 h between them not billed; ...". Empty for one run.
std::string RunsLine(const ViewContext& c);
// The runs of a log with their hours and costs. At most 24; no rows for one run.
ReportTable RunTable(const ViewContext& c);
// How the rows of a log became billed time, and what the lifetimes of the owners alone amount to.
std::vector<std::string> BilledLines(const ViewContext& c);

// What a trace adds to a view. Defined in report/view_tables.cc. Without a trace the tables have no rows.

// One row for each device and window: how its time splits. Compute, exposed communication, exposed copies and idle
// add up to the span.
ReportTable TraceTable(const ViewContext& c);
// What stood between a device and its next event, in the windows that decide.
ReportTable IdleTable(const ViewContext& c);
// The verdict of an audit that has only traces.
std::string TracedVerdict(const ViewContext& c);
// How a trace's figures are counted.
std::vector<std::string> TraceBasis(const ViewContext& c);

}  // namespace idleburn
