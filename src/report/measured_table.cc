#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/display.h"
#include "report/measured.h"
#include "report/view_context.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// "Memory of NVIDIA L4: mean 9.1 GiB (41 %), peak 12.3 of 22.5 GiB (55 %, GPU 0)."
std::string MemoryLine(const ViewContext& c, const MemoryUse& use, bool several) {
  const auto share = [&](double bytes) {
    return use.total ? RoundPercent(bytes / static_cast<double>(*use.total)) : std::string();
  };
  const auto peak = static_cast<double>(use.peak);
  std::string line = several && !use.gpu_name.empty() ? "Memory of " + use.gpu_name + ": " : "Memory: ";
  line += "mean " + UnitText(use.mean, Unit::kByte);
  if (use.total) line += " (" + share(use.mean) + ")";
  line += ", peak " + UnitText(peak, Unit::kByte);
  if (use.total) line += " of " + UnitText(static_cast<double>(*use.total), Unit::kByte);
  const std::string where = c.report.run.devices.size() > 1 ? DeviceLabel(c.report, use.peak_device) : std::string();
  const std::string of = use.total ? share(peak) : std::string();
  if (!of.empty() || !where.empty()) line += " (" + of + (of.empty() || where.empty() ? "" : ", ") + where + ")";
  return line + ".";
}

// Whether the peak fits a cheaper GPU; empty where there is nothing to say.
std::string FitLine(const PeakFit& fit) {
  const double needed = static_cast<double>(fit.peak_bytes) * (100 + kMemoryHeadroomPercent) / 100;
  const std::string with = fmt::format("{} with {} % headroom", UnitText(needed, Unit::kByte), kMemoryHeadroomPercent);
  if (fit.cheapest) {
    const CheaperGpu& gpu = *fit.cheapest;
    return fmt::format(
        "That peak, {}, fits a cheaper GPU: {} ({} GB) at {} a GPU-hour ({}, {}){}. How much slower or "
        "faster it is was not judged.",
        with, gpu.gpu, gpu.memory_gb, Amount(gpu.per_gpu_hour, "USD"), gpu.key, AsOf(gpu.as_of),
        fit.others == 0 ? "" : fmt::format("; {} more fit and cost less", fit.others));
  }
  if (fit.reason == "none_fits") return "No cheaper GPU of the catalogue holds that peak, " + with + ".";
  if (fit.reason == "other_currency") return "Catalogue prices are in USD: no cheaper GPU was looked for.";
  return "Without a price of this GPU no cheaper one was looked for (--price).";
}

// "Not read: sm_active, tensor_active (not reported); machine, workload (not recorded)."
std::string AbsentLine(const std::vector<MeasuredSignal>& rows) {
  std::map<std::string_view, std::vector<std::string>> by_reason;
  for (const MeasuredSignal& row : rows) {
    if (row.mean) continue;
    std::vector<std::string>& names = by_reason[row.reason];
    const std::string name = row.scope == "gpu"             ? std::string(row.name)
                             : row.reason == "not_recorded" ? std::string(row.scope)
                                                            : fmt::format("{} {}", row.scope, row.name);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::vector<std::string> parts;
  for (const auto& [reason, names] : by_reason) {
    std::string words(reason);
    std::replace(words.begin(), words.end(), '_', ' ');
    parts.push_back(fmt::format("{} ({})", fmt::join(names, ", "), words));
  }
  return parts.empty() ? std::string() : "Not read: " + ListText(parts, "; ") + ".";
}

}  // namespace

ReportTable MeasuredTable(const AuditReport& report) {
  using Align = TableColumn::Align;
  const ViewContext c(report);
  ReportTable table;
  table.title = "What was measured";
  table.columns = {{"signal"},
                   {"mean", Align::kRight},
                   {"p95", Align::kRight},
                   {"peak", Align::kRight},
                   {"read", Align::kRight},
                   {"counter", Align::kLeft, true, true}};
  const std::vector<MeasuredSignal> rows = MeasuredOf(report);
  for (const MeasuredSignal& row : rows) {
    if (!row.mean) continue;
    const auto text = [&](const std::optional<double>& value) { return value ? UnitText(*value, row.unit) : ""; };
    const std::string name = row.scope == "gpu" ? std::string(row.name) : fmt::format("{} {}", row.scope, row.name);
    table.rows.push_back({name, text(row.mean), text(row.p95), text(row.peak), RoundPercent(row.coverage),
                          fmt::format("{}", fmt::join(row.counters, "; "))});
  }
  if (table.rows.empty()) return table;
  const std::vector<MemoryUse> memory = MemoryOf(report);
  for (const MemoryUse& use : memory) {
    table.notes.push_back(MemoryLine(c, use, memory.size() > 1));
    if (use.fit != nullptr) table.notes.push_back(FitLine(*use.fit));
  }
  for (const Observation& o : ObservationsOf(report)) table.notes.push_back(o.sentence);
  if (const std::string absent = AbsentLine(rows); !absent.empty()) table.notes.push_back(absent);
  return table;
}

}  // namespace idleburn
