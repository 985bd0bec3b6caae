#include <fmt/format.h>

#include <array>

#include "report/audit_report.h"
#include "report/display.h"
#include "report/measured.h"
#include "text/duration.h"
#include "text/escape.h"
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

// Rows of signals have no phase, and rows of phases no signal: a sum over either is not disturbed by the other.
void AppendSignals(const std::string& before, const std::vector<MeasuredRow>& rows, std::string* out) {
  for (const MeasuredRow& row : rows) {
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
  const std::string window = dated ? FormatRfc3339(report.run.start) + "," + FormatRfc3339(report.run.end) : ",";
  std::string out(kHeader);
  for (const CostReport::DeviceCost& d : report.cost.devices) {
    const Device& device = (*report.devices)[d.device];
    std::string before = window;
    for (const std::string& cell : {device.host, device.index ? std::to_string(*device.index) : "", device.uuid,
                                    device.mig ? device.mig->id : "", device.name}) {
      before += "," + CsvCell(cell);
    }
    const std::string whose = before;
    before += "," + CsvCell(CounterOf(report, d.device));
    const Rate& rate = report.cost.RateOf(d);
    const std::string after = CsvCell(rate.currency) + "," +
                              (rate.per_gpu_hour ? FormatExact(*rate.per_gpu_hour, digits) : "") + "," +
                              CsvCell(rate.source);
    const UsageCost& u = d.usage;
    const auto shares = PhaseShares(u);
    for (std::size_t p = 0; p < kPhaseCount; ++p) {
      const auto share = shares ? std::optional((*shares)[p]) : std::nullopt;
      AppendRow(before, {kPhaseNames[p], u.phase_ns[p], share, u.phase_cost[p]}, after, digits, &out);
    }
    AppendRow(before, {"unobserved", u.unobserved_ns, {}, u.unobserved_cost}, after, digits, &out);
    if (u.unallocated_ns > 0) {
      AppendRow(before, {"unallocated", u.unallocated_ns, {}, u.unallocated_cost}, after, digits, &out);
    }
    AppendSignals(whose, MeasuredOf(report, d.device), &out);
  }
  AppendSignals(window + ",,,,,", MeasuredOfHost(report), &out);
  return out;
}

}  // namespace idleburn
