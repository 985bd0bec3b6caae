#include <fmt/format.h>

#include <algorithm>

#include "report/audit_report.h"
#include "report/display.h"
#include "text/duration.h"
#include "text/escape.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

constexpr std::string_view kHeader =
    "start,end,host,gpu_index,gpu_uuid,mig_instance,gpu_name,counter,phase,gpu_hours,percent_of_observed,cost,currency,"
    "rate_per_gpu_hour,price_source\n";

struct CsvRow {
  std::string_view phase;
  std::int64_t ns = 0;
  std::optional<std::int64_t> share;  // hundredths of a percent
  std::optional<Money> cost;
};

void AppendRow(std::string_view before, const CsvRow& row, std::string_view after, int digits, std::string* out) {
  const std::string share = row.share ? fmt::format("{}.{:02}", *row.share / 100, *row.share % 100) : "";
  *out += fmt::format("{},{},{:.12f},{},{},{}\n", before, row.phase, InHours(row.ns), share,
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

}  // namespace

std::string AuditCsv(const AuditReport& report) {
  const int digits = MinorUnitDigits(report.cost.rate.currency);
  const bool dated = !report.run.devices.empty() && IsDated(report.run.start);
  const auto window = [&](const RunSpan& span) {
    return dated ? FormatRfc3339(span.start) + "," + FormatRfc3339(span.end) : std::string(",");
  };
  std::string out(kHeader);
  for (const CostReport::DeviceCost& d : report.cost.devices) {
    const Device& device = (*report.devices)[d.device];
    std::string who;
    for (const std::string& cell : {device.host, device.index ? std::to_string(*device.index) : "", device.uuid,
                                    device.mig ? device.mig->id : "", device.name, CounterOf(report, d.device)}) {
      who += "," + CsvCell(cell);
    }
    const Rate& rate = report.cost.RateOf(d);
    const std::string after = CsvCell(rate.currency) + "," +
                              (rate.per_gpu_hour ? FormatExact(*rate.per_gpu_hour, digits) : "") + "," +
                              CsvCell(rate.source);
    if (report.cost.runs.size() < 2) {
      AppendRows(window({report.run.start, report.run.end}) + who, WholeOf(d.usage), after, digits, &out);
      continue;
    }
    for (const CostReport::DeviceCost::InRun& in : d.runs) {
      AppendRows(window(report.cost.runs[in.run].span) + who, in.usage, after, digits, &out);
    }
  }
  return out;
}

}  // namespace idleburn
