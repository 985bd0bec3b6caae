#include <fmt/format.h>

#include <algorithm>

#include "report/audit_writers.h"
#include "report/display.h"
#include "report/measured.h"
#include "text/escape.h"
#include "text/number.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

constexpr std::string_view kHeader =
    "start,end,host,gpu_index,gpu_uuid,mig_instance,gpu_name,counter,phase,gpu_hours,percent_of_observed,cost,currency,"
    "rate_per_gpu_hour,price_source,signal,unit,mean,p95,peak,coverage\n";

struct CsvRow {
  std::string_view phase;
  std::int64_t ns = 0;
  std::optional<std::int64_t> share;  // hundredths of a percent
  std::optional<Money> cost;
};

void AppendRow(std::string_view before, const CsvRow& row, std::string_view after, int digits, std::string* out) {
  const std::string share = row.share ? fmt::format("{}.{:02}", *row.share / 100, *row.share % 100) : "";
  *out += fmt::format("{},{},{:.12f},{},{},{},,,,,,\n", before, row.phase, InHours(row.ns), share,
                      row.cost ? FormatExact(*row.cost, digits) : "", after);
}

// What a device held in a log of one run.
CostReport::RunUsage WholeOf(const UsageCost& usage) {
  CostReport::RunUsage all;
  for (std::size_t p = 0; p < kPhaseCount; ++p) {
    all.ns[p] = usage.phase_ns[p];
    all.cost[p] = usage.phase_cost[p];
  }
  all.ns[kPhaseCount] = usage.unobserved_ns;
  all.cost[kPhaseCount] = usage.unobserved_cost;
  all.ns[kPhaseCount + 1] = usage.unallocated_ns;
  all.cost[kPhaseCount + 1] = usage.unallocated_cost;
  return all;
}

// One device in one run.
void AppendRows(const std::string& before, const CostReport::RunUsage& u, std::string_view after, int digits,
                std::string* out) {
  UsageCost phases;  // for its shares
  std::copy_n(u.ns.begin(), kPhaseCount, phases.phase_ns.begin());
  phases.observed_ns = u.ObservedNs();
  const auto shares = PhaseShares(phases);
  for (std::size_t p = 0; p < kPhaseCount; ++p) {
    AppendRow(before, {kPhaseNames[p], u.ns[p], shares ? std::optional((*shares)[p]) : std::nullopt, u.cost[p]}, after,
              digits, out);
  }
  AppendRow(before, {"unobserved", u.ns[kPhaseCount], {}, u.cost[kPhaseCount]}, after, digits, out);
  const std::int64_t unallocated = u.ns[kPhaseCount + 1];
  if (unallocated > 0) AppendRow(before, {"unallocated", unallocated, {}, u.cost[kPhaseCount + 1]}, after, digits, out);
}

// Rows of signals have no phase, and rows of phases no signal: a sum over either is not disturbed by the other. They
// are of all runs together.
void AppendSignals(const std::string& before, const std::vector<MeasuredSignal>& rows, std::string* out) {
  for (const MeasuredSignal& row : rows) {
    if (!row.mean) continue;
    const auto number = [&](const std::optional<double>& value) {
      return value ? fmt::format("{:.12g}", InUnit(*value, row.unit)) : std::string();
    };
    const std::string name = row.scope == "gpu" ? std::string(row.name) : fmt::format("{} {}", row.scope, row.name);
    *out += fmt::format("{},{},,,,,,,,{},{},{},{},{},{:.6f}\n", before,
                        CsvCell(fmt::format("{}", fmt::join(row.counters, "; "))), name, UnitName(row.unit),
                        number(row.mean), number(row.p95), number(row.peak), row.coverage);
  }
}

}  // namespace

std::string AuditCsv(const AuditReport& report) {
  const int digits = MinorUnitDigits(report.cost.rate.currency);
  const bool dated = !report.run.devices.empty() && IsDated(report.run.start);
  const auto window = [&](const RunSpan& span) {
    return dated ? FormatRfc3339(span.start) + "," + FormatRfc3339(span.end) : std::string(",");
  };
  const std::string whole = window({report.run.start, report.run.end});
  std::string out(kHeader);
  for (const CostReport::DeviceCost& d : report.cost.devices) {
    const Device& device = (*report.devices)[d.device];
    std::string who;
    for (const std::string& cell : {device.host, device.index ? std::to_string(*device.index) : "", device.uuid,
                                    device.mig ? device.mig->id : "", device.name}) {
      who += "," + CsvCell(cell);
    }
    const std::string read_by = who + "," + CsvCell(CounterOf(report, d.device));
    const Rate& rate = report.cost.RateOf(d);
    const std::string after = CsvCell(rate.currency) + "," +
                              (rate.per_gpu_hour ? FormatExact(*rate.per_gpu_hour, digits) : "") + "," +
                              CsvCell(rate.source);
    if (report.cost.runs.size() < 2) {
      AppendRows(whole + read_by, WholeOf(d.usage), after, digits, &out);
    } else {
      for (const CostReport::DeviceCost::InRun& in : d.runs) {
        AppendRows(window(report.cost.runs[in.run].span) + read_by, in.usage, after, digits, &out);
      }
    }
    AppendSignals(whole + who, MeasuredOf(report, d.device), &out);
  }
  AppendSignals(whole + ",,,,,", MeasuredOfHost(report), &out);
  return out;
}

}  // namespace idleburn
