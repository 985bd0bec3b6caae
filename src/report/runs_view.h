#pragma once

#include <string>
#include <vector>

#include "report/view_context.h"

namespace idleburn {

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

}  // namespace idleburn
