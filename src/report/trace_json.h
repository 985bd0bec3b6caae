#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "diagnose/trace_budget.h"
#include "diagnose/trace_diagnosis.h"
#include "report/json_values.h"

namespace idleburn {

// What the audit says of a trace in JSON, for whichever `Json` its writer uses; docs/json.md documents every key.

inline double MsOf(double ns) { return ns / 1e6; }
inline double MsOf(std::int64_t ns) { return MsOf(static_cast<double>(ns)); }

template <typename Json>
Json CopiesJson(const TraceBudget& budget) {
  Json list = Json::array();
  for (const CopyFigures& copy : budget.copies) {
    list.push_back({{"kind", Name(copy.kind)},
                    {"from", Name(copy.from)},
                    {"to", Name(copy.to)},
                    {"count", copy.count},
                    {"ms", MsOf(copy.ns)},
                    {"mb", static_cast<double>(copy.bytes) / 1e6},
                    {"median_bytes", copy.median_bytes}});
  }
  return list;
}

// One device in one window of a trace.
template <typename Json>
Json BudgetJson(const DeviceDiagnosis& d, const TraceBudget& b) {
  Json json;
  json["device"] = b.device;
  PutText(json, "model", d.model, "not_reported");
  json["file"] = Printable(d.file);
  if (d.rank) {
    json["rank"] = *d.rank;
  } else {
    PutUnknown(json, "rank", "not_reported");
  }
  json["window"] = Name(b.window);
  json["decides"] = b.window == d.Deciding().window;
  json["events_missing"] = d.events_missing;
  json["span_ms"] = MsOf(b.span.Ns());
  json["busy_ms"] = MsOf(b.busy_ns);
  json["compute_ms"] = MsOf(b.compute_ns);
  json["exposed_comm_ms"] = MsOf(b.exposed_comm_ns);
  json["exposed_copy_ms"] = MsOf(b.exposed_copy_ns);
  json["idle_ms"] = MsOf(b.idle_ns);
  if (b.idle_by_class) {
    for (std::size_t i = 0; i < kIdleClasses; ++i) {
      json["idle_attribution_ms"][std::string(Name(static_cast<IdleClass>(i)))] = MsOf((*b.idle_by_class)[i]);
    }
  } else {
    PutUnknown(json, "idle_attribution_ms", "correlation_ids_collide");
  }
  json["in_launch_call_ms"] = MsOf(b.in_launch_call_ns);
  json["profiler_overhead_ms"] = MsOf(b.profiler_overhead_ns);
  json["comm_ms"] = MsOf(b.comm_ns);
  PutNumber(json, "comm_overlap_percent",
            b.comm_ns > 0 ? std::optional(100 * static_cast<double>(b.comm_overlap_ns) / static_cast<double>(b.comm_ns))
                          : std::nullopt,
            "no_communication");
  json["copy_ms"] = MsOf(b.copy_ns);
  json["copies"] = CopiesJson<Json>(b);
  json["kernels"] = {{"count", b.kernels.count},
                     {"median_us", b.kernels.median_ns / 1e3},
                     {"mean_us", b.kernels.mean_ns / 1e3},
                     {"under_10us", b.kernels.under_10us}};
  json["gaps"] = {{"count", b.gaps.count},
                  {"longest_ms", MsOf(b.gaps.longest_ns)},
                  {"from_1ms", b.gaps.long_count},
                  {"from_1ms_ms", MsOf(b.gaps.long_ns)}};
  json["longest_gaps"] = Json::array();
  for (const LargeGap& gap : b.largest_gaps) {
    Json entry = {{"after_ms", MsOf(gap.at.start - b.span.start)}, {"ms", MsOf(gap.at.Ns())}};
    entry["mainly"] = Name(gap.mainly);
    entry["under"] = TextOrNull<Json>(Describe(gap.frames));
    json["longest_gaps"].push_back(std::move(entry));
  }
  return json;
}

// Of the profiled steps of a device, and what the causes claim of its deciding window.
template <typename Json>
Json TracedDeviceJson(const DeviceDiagnosis& d) {
  Json json;
  json["device"] = d.device;
  json["file"] = Printable(d.file);
  PutText(json, "profiler", d.profiler, "not_reported");
  json["facts"] = Json::object();
  for (const auto& [name, value] : d.facts) json["facts"][name] = Printable(value);
  json["steps"] = d.steps.steps.size();
  json["counted"] = d.steps.counted;
  const auto ms = [](std::optional<double> ns) { return ns ? std::optional(MsOf(*ns)) : std::nullopt; };
  PutNumber(json, "median_ms", ms(d.steps.median_ns), "no_steps");
  PutNumber(json, "mad_ms", ms(d.steps.mad_ns), "no_steps");
  json["noise"] = d.steps.noise;
  json["step_ms"] = Json::array();
  json["outliers"] = Json::array();
  for (const StepTime& step : d.steps.steps) {
    json["step_ms"].push_back(MsOf(step.at.Ns()));
    if (step.outlier) json["outliers"].push_back(step.number);
  }
  json["findings"] = Json::array();
  for (const Finding& f : d.findings) {
    json["findings"].push_back({{"cause", f.cause}, {"status", Name(f.status)}, {"share", f.share}});
  }
  json["claims"] = Json::array();
  for (const ClaimedShare& c : d.claims) json["claims"].push_back({{"cause", c.cause}, {"share", c.share}});
  if (d.next) {
    json["next"] = {{"removed", d.next->removed},
                    {"removed_share", d.next->removed_share},
                    {"cause", d.next->cause},
                    {"share", d.next->share},
                    {"adds", d.next->adds}};
  } else {
    PutUnknown(json, "next", "no_cause_with_a_known_gain");
  }
  json["top_kernels"] = Json::array();
  for (const KernelClass& k : d.top_kernels) {
    json["top_kernels"].push_back({{"name", Printable(k.name)},
                                   {"class", k.op == DeviceOp::kComm ? "communication" : "compute"},
                                   {"count", k.count},
                                   {"ms", MsOf(k.ns)}});
  }
  return json;
}

template <typename Json>
void PutTrace(Json& to, const std::optional<TraceDiagnosis>& trace) {
  to["steps"] = Json::array();
  to["traced"] = Json::array();
  if (!trace) return;
  for (const DeviceDiagnosis& d : trace->devices) {
    for (const TraceBudget& b : d.budgets) to["steps"].push_back(BudgetJson<Json>(d, b));
    to["traced"].push_back(TracedDeviceJson<Json>(d));
  }
}

}  // namespace idleburn
