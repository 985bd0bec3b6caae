#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/trace_budget.h"
#include "diagnose/trace_diagnosis.h"
#include "report/display.h"
#include "report/json_values.h"
#include "report/measured.h"
#include "report/view_context.h"
#include "text/number.h"

namespace idleburn {

// Parts of an audit's JSON that take the JSON type as a template parameter, so that this header does not include the
// library. Only report/audit_json.cc includes it; the split keeps each file short. docs/json.md documents every key.

// Texts may come from inputs, so each passes through Printable. A name with control characters would act on the
// terminal that prints it.
template <typename Json>
Json TextsOf(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(Printable(text));
  return list;
}

// The rows of what was measured, of all GPUs and the host or of one GPU. Values are in the unit that the row names. A
// signal that was not read keeps its row, with null and a reason: a program can then tell a counter that was off from
// one that this version does not know. `coverage` is the share of the window for which the signal was read.
template <typename Json>
Json SignalsJson(const std::vector<MeasuredSignal>& rows) {
  Json list = Json::array();
  for (const MeasuredSignal& row : rows) {
    Json json;
    json["signal"] = row.name;
    json["scope"] = row.scope;
    json["unit"] = UnitName(row.unit);
    const auto put = [&](const std::string& key, const std::optional<double>& value) {
      PutNumber(json, key, value ? std::optional(InUnit(*value, row.unit)) : std::nullopt, row.reason);
    };
    put("mean", row.mean);
    put("p95", row.p95);
    put("peak", row.peak);
    json["coverage"] = row.coverage;
    json["counters"] = Json::array();
    for (const std::string& counter : row.counters) json["counters"].push_back(Printable(counter));
    list.push_back(std::move(json));
  }
  return list;
}

// The cheapest GPU in the catalogue that would hold the peak memory. Catalogue prices are in USD, so the currency is
// fixed here and may differ from that of the run. `others` counts further models that fit and cost less. `fit.cheapest`
// must have a value.
template <typename Json>
Json CheaperJson(const PeakFit& fit) {
  const CheaperGpu& gpu = *fit.cheapest;
  Json json;
  json["gpu"] = gpu.gpu;
  json["memory_gb"] = gpu.memory_gb;
  json["per_gpu_hour"] = FormatExact(gpu.per_gpu_hour, MinorUnitDigits("USD"));
  json["currency"] = "USD";
  json["key"] = Printable(gpu.key);
  PutText(json, "as_of", gpu.as_of ? FormatRfc3339(*gpu.as_of) : std::string(), "not_dated");
  json["others"] = fit.others;
  return json;
}

// How much memory the GPUs of each model used, and whether a smaller GPU would have held it. Shares are null if the
// capacity is not known. `fits_cheaper` has a reason of its own ("none_fits", "no_price"), since "no cheaper GPU" and
// "not looked for" ask for different actions.
template <typename Json>
Json MemoryJson(const AuditReport& report) {
  Json list = Json::array();
  for (const MemoryUse& use : MemoryOf(report)) {
    Json json;
    const auto share = [&](double bytes) {
      return use.total ? std::optional(bytes / static_cast<double>(*use.total)) : std::nullopt;
    };
    PutText(json, "gpu", use.gpu_name, "not_reported");
    json["gpus"] = use.gpus;
    json["mean_bytes"] = use.mean;
    json["peak_bytes"] = use.peak;
    json["peak_on"] = Printable(DeviceLabel(report, use.peak_device));
    PutNumber(json, "total_bytes", use.total, "not_reported");
    PutNumber(json, "mean_share", share(use.mean), "not_reported");
    PutNumber(json, "peak_share", share(static_cast<double>(use.peak)), "not_reported");
    PutNumber(json, "above_85_percent_gpu_hours", use.total ? std::optional(InHours(use.above_ns)) : std::nullopt,
              "not_reported");
    json["headroom"] = static_cast<double>(kMemoryHeadroomPercent) / 100;
    if (use.fit != nullptr && use.fit->cheapest) {
      json["fits_cheaper"] = CheaperJson<Json>(*use.fit);
    } else {
      PutUnknown(json, "fits_cheaper", use.fit != nullptr ? use.fit->reason : "not_a_whole_gpu");
    }
    list.push_back(std::move(json));
  }
  return list;
}

// What the signals show that is no cause by itself, as sentences with an id. Ids are stable; sentences may be reworded.
template <typename Json>
Json ObservationsJson(const AuditReport& report) {
  Json list = Json::array();
  for (const Observation& o : ObservationsOf(report)) {
    list.push_back({{"id", o.id}, {"sentence", Printable(o.sentence)}});
  }
  return list;
}

// The runs of a log, each with its time and cost by phase. `MoneyWriter` is the class in report/audit_json.cc. The cost
// of a run is rounded within the column of runs, so that the runs add up to the total as it is printed. Times are null
// for a log without dates, which counts from zero.
template <typename Json, typename MoneyWriter>
Json RunsJson(const AuditReport& report, const MoneyWriter& money) {
  const std::vector<CostReport::RunCost>& runs = report.cost.runs;
  const std::vector<Money> shown = ShownRunCosts(report, CostColumnOf(report.cost));
  const std::string_view undated = IsDated(report.run.start) ? "" : "no_dates";
  Json list = Json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const CostReport::RunUsage& u = runs[i].usage;
    Json run;
    PutText(run, "start", undated.empty() ? FormatRfc3339(runs[i].span.start) : "", undated);
    PutText(run, "end", undated.empty() ? FormatRfc3339(runs[i].span.end) : "", undated);
    run["gpus"] = runs[i].gpus;
    run["gpu_hours"] = {{"window", InHours(u.WindowNs())},
                        {"observed", InHours(u.ObservedNs())},
                        {"unobserved", InHours(u.ns[kPhaseCount])},
                        {"unallocated", InHours(u.ns[kPhaseCount + 1])}};
    for (std::size_t p = 0; p < kPhaseCount; ++p) {
      Json phase;
      phase["gpu_hours"] = InHours(u.ns[p]);
      money.PutCell(phase, "cost", u.cost[p], u.cost[p]);
      run["phases"][std::string(kPhaseNames[p])] = std::move(phase);
    }
    PutNumber(run, "mean_utilization_percent", runs[i].mean_utilization, "nothing_observed");
    money.PutCell(run, "cost", shown[i], u.Total());
    list.push_back(std::move(run));
  }
  return list;
}

// How much of the time was billed. The bill follows the window. The lifetimes of the owners are reported beside it,
// because a scheduler bills by those, and the two rarely agree.
template <typename Json, typename MoneyWriter>
Json BilledJson(const AuditReport& report, const MoneyWriter& money) {
  Json json;
  json["by"] = Name(BilledByOf(report));
  const RecordedTime time = RecordedTimeOf(report);
  json["recorded_hours"] = InHours(time.recorded_ns);
  json["between_runs_hours"] = InHours(time.between_ns);
  const std::optional<OwnedPart> owned = OwnedPartOf(report.cost);
  PutNumber(json, "lifetimes_gpu_hours", owned ? std::optional(InHours(owned->gpu_ns)) : std::nullopt, "no_owners");
  money.Put(json, "lifetimes_cost", owned ? owned->cost : std::nullopt, owned ? "" : "no_owners");
  return json;
}

// What a trace adds to the document. Profilers report nanoseconds, and people read steps in milliseconds, so times of
// traces are in ms and say so in their keys.
inline double MsOf(double ns) { return ns / 1e6; }
inline double MsOf(std::int64_t ns) { return MsOf(static_cast<double>(ns)); }

// Copies by kind and direction. `mb` is in units of 10^6 bytes. Memory kinds tell pinned from pageable copies: only
// pinned ones can overlap with kernels.
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

// One device in one window of a trace: how its time splits, what the idle time waited for, and its longest gaps.
// `decides` marks the window that findings rest on. Attribution is null where correlation ids collide, because a launch
// could then belong to two kernels.
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
    entry["under"] = TextOrNull<Json>(Describe(gap.frames, true));
    json["longest_gaps"].push_back(std::move(entry));
  }
  return json;
}

// The profiled steps of one device: their times, the outliers among them, what each cause claims of the deciding
// window, and what would limit the device once the largest cause is gone. `noise` says how much steps vary, so a
// program can judge whether a change would show.
template <typename Json>
Json TracedDeviceJson(const DeviceDiagnosis& d) {
  Json json;
  json["device"] = d.device;
  json["file"] = Printable(d.file);
  PutText(json, "profiler", d.profiler, "not_reported");
  json["facts"] = Json::object();
  for (const auto& [name, value] : d.facts) json["facts"][name] = Printable(value);
  json["framework"] = Name(d.framework);
  json["active"] = d.active;
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

// Writes both arrays. Without a trace they are empty, not absent.
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

// The doubts about the data. Rows that did not occur are left out. `names` lists what a row is about, such as
// categories or device numbers; `first_place` is a file and line.
template <typename Json>
Json QualityJson(const DataQuality* quality) {
  Json list = Json::array();
  if (quality == nullptr) return list;
  for (const QualityInfo& info : kQualityTable) {
    const DataQuality::Row& row = quality->Get(info.id);
    if (row.count == 0) continue;
    Json json;
    json["id"] = info.name;
    json["count"] = row.count;
    json["severity"] = Name(info.severity);
    json["sentence"] = Printable(Describe(info, row));
    json["first_place"] = TextOrNull<Json>(row.first_place);
    json["names"] = TextsOf<Json>({row.names.begin(), row.names.end()});
    list.push_back(std::move(json));
  }
  return list;
}

// The limits that decided the phases, so that a reader can reproduce them. All of them can be set by the user, so a
// report without them could not be compared with another.
template <typename Json>
Json ThresholdsJson(const Thresholds& t) {
  const auto percent = [](std::int64_t micro) { return static_cast<double>(micro) / static_cast<double>(kPercent); };
  Json json;
  json["idle_below_percent"] = percent(t.idle_below);
  json["productive_from_percent"] = percent(t.productive_from);
  json["compute_bound_from_percent"] = percent(t.bound_from);
  json["max_gap_periods"] = static_cast<double>(t.max_gap_tenths) / 10;
  PutNumber(json, "max_gap_s", t.max_gap ? std::optional(InSeconds(*t.max_gap)) : std::nullopt,
            "max_gap_periods_applies");
  return json;
}

}  // namespace idleburn
