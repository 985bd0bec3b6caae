#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "diagnose/scene.h"
#include "diagnose/work_evidence.h"
#include "report/display.h"
#include "report/view_context.h"
#include "text/figures.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/time_zone.h"

// The lists of an audit's view: money, signals, and the basis of the figures. A line appears only if it says something
// about this run.
//
// Each line can be checked by itself: it has its unit, its base and, where it matters, its uncertainty. Lines about
// what is not known are as long as those about what is, since a reader acts on both.
namespace idleburn {
namespace {

// A quotient by nearly nothing would exceed all amounts.
constexpr std::string_view kTooLittleWork = "undefined (too little work to divide by)";
// Unobserved time may have been busy or idle. With little of it, the cost per effective hour is nearly the same either
// way.
constexpr double kUnitCostCoverage = 0.95;  // below this observed share, the bounds are printed

// The price with its source, or why there is none. Amounts of a run that is priced only in part must say so. Remarks
// come last: they tell how the price was found.
std::vector<std::string> PriceLines(const ViewContext& c) {
  const CostReport& cost = c.report.cost;
  std::vector<std::string> lines;
  if (!c.priced) {
    lines.push_back("Price: " + PriceHint(c, true) + ".");
  } else if (cost.rate.per_gpu_hour) {
    lines.push_back("Price: " + c.PriceOfOne(*cost.rate.per_gpu_hour) + " per GPU-hour (" + cost.rate.source + ").");
  } else {
    lines.push_back(fmt::format("Price: {} rates, in the table of prices.", cost.rates.size()));
  }
  if (c.priced && cost.whole.unpriced.window_ns > 0) {
    lines.push_back(
        fmt::format("All amounts exclude {} unpriced GPU-hours{}.", ThreeDigits(InHours(cost.whole.unpriced.window_ns)),
                    cost.total_low && cost.total_high
                        ? fmt::format("; at catalogue prices for them the total is {}{}",
                                      AmountInterval(*cost.total_low, *cost.total_high, c.currency), WithoutOffer(c))
                        : ""));
  }
  for (const std::string& remark : cost.price_remarks) lines.push_back("Price: " + remark + ".");
  return lines;
}

// The cost per effective GPU-hour, or why it is undefined. It is never infinite and never 0 (docs/money.md).
// "Undefined" has three reasons, and each asks for another action.
std::string EffectiveHourLine(const ViewContext& c) {
  const CostReport& cost = c.report.cost;
  if (cost.per_effective_gpu_hour) {
    return fmt::format("Per effective GPU-hour (observed time x utilization): {}.",
                       c.PriceOfOne(*cost.per_effective_gpu_hour));
  }
  const UsageCost& u = cost.whole;
  return fmt::format("Per effective GPU-hour: {}.", u.effective_ns > u.unpriced.effective_ns ? kTooLittleWork
                                                    : u.observed_ns > 0 ? "undefined (no busy time)"
                                                                        : "undefined (nothing observed)");
}

// "Per sample: $0.0004."; per million if the cost of one is too small for three digits.
std::string UnitCostLine(const ViewContext& c, const std::string& unit, const std::optional<CostOfOne>& cost) {
  if (!cost) return fmt::format("Per {}: {}.", unit, kTooLittleWork);
  if (cost->beyond_money()) return fmt::format("Per million {}s: {}.", unit, c.PriceOfOne(cost->PerMillion()));
  return fmt::format("Per {}: {}.", unit, c.PriceOfOne(*cost));
}

// A projection, or that it exceeds the largest amount. Only projections can be so large; a total like that is an error.
std::string CostIfHeld(const ViewContext& c, const std::optional<Money>& m) {
  return m ? c.Cost(*m) : "more than " + c.Cost(Money::Nano(INT64_MAX));
}

// "8 GPUs cost". GPUs without a price are not counted, because the amount that follows is without them.
std::string PricedGpusCost(const CostReport& cost) {
  int gpus = cost.gpus;
  double others = cost.others;
  for (const CostReport::RateUse& use : cost.rates) {
    if (use.cost) continue;
    gpus -= use.gpus;
    others -= use.others;
  }
  return GpuCount(gpus, others) + (gpus == 1 ? " costs" : " cost");
}

// Waste, cost per effective hour and per unit of work, and projections. A trace alone says only how much of its window
// did not compute: the window stands for a job, and not for its cost.
void AddPricedLines(const ViewContext& c, std::vector<std::string>& lines) {
  const CostReport& cost = c.report.cost;
  const UsageCost& u = cost.whole;
  if (c.report.traced_only) {
    if (u.window_ns > 0) {
      lines.push_back(fmt::format("Not computing: {} of the traced window.", c.Waste()));
    }
    return;
  }
  if (u.observed_ns == 0) {
    lines.emplace_back("Waste: unknown (nothing observed).");
  } else if (u.waste) {
    lines.push_back(fmt::format(
        "Waste: {}: cost x (1 - utilization), in every phase, plus spin-wait. Unobserved time is not waste.",
        c.Waste()));
  }
  lines.push_back(EffectiveHourLine(c));
  const std::optional<double> observed = ObservedShare(u);
  // With little observed time the cost per effective hour depends on what nobody saw.
  if (const EffectiveBounds b = EffectiveBoundsOf(cost); observed && *observed < kUnitCostCoverage && b.low) {
    lines.push_back(fmt::format(
        "Only {} of the time was observed: if all the rest was busy, {} per effective GPU-hour; if none, {}.",
        PercentText(*observed), c.PriceOfOne(*b.low), b.high ? c.PriceOfOne(*b.high) : "undefined"));
  }
  for (const auto& [unit, m] : cost.per_unit) lines.push_back(UnitCostLine(c, unit, m));
  lines.push_back(fmt::format("At {} {} {} an hour, {} per {}-h month, {} per 8,760-h year.",
                              cost.several() ? "these rates" : "this rate", PricedGpusCost(cost),
                              CostIfHeld(c, cost.hourly), CostIfHeld(c, cost.monthly), cost.month_hours,
                              CostIfHeld(c, cost.yearly)));
}

}  // namespace

// Energy comes last and beside the bill: it is never a part of it.
std::vector<std::string> MoneyLines(const ViewContext& c) {
  const CostReport& cost = c.report.cost;
  std::vector<std::string> lines = PriceLines(c);
  if (c.priced) AddPricedLines(c, lines);
  if (cost.energy_cost) {
    lines.push_back(
        fmt::format("Energy alone: {} ({}).", Amount(*cost.energy_cost, cost.energy_currency), EnergyBasis(c)));
  }
  return lines;
}

namespace {

// How much busy time could be spin-wait, and what the test lacked. Nothing if all of it could be told. One reason is
// printed, because GPUs of one run mostly lack the same counter.
void AddSpinLine(const ViewContext& c, std::vector<std::string>& lines) {
  const SpinView spin = SpinOf(c.report);
  if (spin.unknown_ns == 0) return;
  std::set<std::string> reasons;
  for (const CostReport::DeviceCost& d : c.report.cost.devices) {
    const DeviceResult* result = ResultOf(c.report, d.device);
    if (result == nullptr || SpinOf(c.report, d).unknown_ns == 0) continue;
    if (std::string why = WhyNoSpinTest(c.report.thresholds, result->spin); !why.empty())
      reasons.insert(std::move(why));
  }
  lines.push_back(fmt::format("Spin-wait: not known for {} that look busy{}{}.", c.GpuHours(spin.unknown_ns),
                              reasons.empty() ? "" : ": ", reasons.empty() ? "" : *reasons.begin()));
}

}  // namespace

// Energy, clocks, spin-wait, bursts: what the readings say beside utilization.
std::vector<std::string> SignalLines(const ViewContext& c) {
  const UsageCost& u = c.report.cost.whole;
  std::vector<std::string> lines;
  if (u.energy_kwh) {
    // The uncertainty is that of the sensor, unless energy is missing for a part of the time.
    const std::string basis = EnergyBasis(c);
    std::string line = fmt::format(
        "Energy: {} kWh {} ({})", ThreeDigits(*u.energy_kwh), basis,
        basis.starts_with("over") ? "the energy in the rest is not known" : "the gain error of a board's power sensor");
    if (u.mean_power_w) line += ", mean " + ThreeDigits(*u.mean_power_w) + " W per GPU";
    if (c.report.cost.co2e_kg) line += ", " + ThreeDigits(*c.report.cost.co2e_kg) + " kg CO2e";
    lines.push_back(line + ".");
  }
  if (const std::optional<ReasonTimes> reasons = ReasonsOf(c.report)) {
    std::string which;
    for (std::size_t i = 0; i < kEventReasonCount; ++i) {
      // Clock-event bits outside the mask, such as idle clocks, do not count as throttling.
      const bool slows = ((kThrottledMask >> i) & 1) != 0;
      if (slows && (*reasons)[i] > 0)
        which += fmt::format("{}{} {} h", which.empty() ? "" : ", ", kEventReasonTable[i].name,
                             ThreeDigits(InHours((*reasons)[i])));
    }
    std::string line = fmt::format("Clocks held back: {} (clock-event mask 0xEC{}; reasons overlap). ",
                                   c.GpuHours(u.throttled_ns), which.empty() ? "" : ": " + which);
    line += !KnowsClockLoss(c.report)
                ? "The loss is unknown, because the SM clock or its maximum was not read."
                : fmt::format("Slowdowns and lowered power limits cost at least 5 % of the SM clock in {} of these.",
                              c.GpuHours(u.throttled_with_loss_ns));
    // A cap at the board's own limit slows clocks too. A reader who compares clocks must not take it for no loss.
    if (KnowsClockLoss(c.report) && LacksPowerLimits(c.report.run)) {
      line += " A lowered limit is possible: power.limit or power.default_limit was not read.";
    }
    lines.push_back(std::move(line));
  }
  AddSpinLine(c, lines);
  const TickView ticks = TicksOf(c.report);
  // Bursts: whether single readings alternate between idle and busy.
  if (ticks.total > 1) {
    const std::string window = ticks.window ? DurationForPeople(*ticks.window) : "unknown";
    std::string line =
        fmt::format("Bursts: {} readings {} apart, {} below {} %, {} from {} %: ", ticks.independent, window,
                    PercentText(*ticks.Share(Phase::kIdle)), InPercent(c.report.thresholds.idle_below),
                    PercentText(*ticks.Share(Phase::kComputeBound)), InPercent(c.report.thresholds.bound_from));
    if (ticks.pattern == "cannot_tell") {
      line += ticks.coarse   ? "the time stamps are coarser than the readings, so bursts are not visible."
              : ticks.window ? "too far apart to tell steady work from starvation in bursts."
                             : "too few changes to tell how often the counter is updated, so steady work and "
                               "starvation in bursts look the same.";
    } else {
      line += fmt::format("{} (burst index {}; starved in bursts from {}).", ticks.pattern,
                          ThreeDigits(*ticks.BurstIndex()),
                          ThreeDigits(static_cast<double>(c.report.thresholds.burst_percent) / 100));
    }
    lines.push_back(line);
  }
  return lines;
}

namespace {

// Changes of the period that a line lists. Further ones are counted.
constexpr std::size_t kPiecesShown = 6;

// "1 GPU", "8 GPUs".
std::string Gpus(std::int64_t n) { return fmt::format("{} GPU{}", n, n == 1 ? "" : "s"); }

// The periods in order, each with the instant from which it holds: "2 s, 20 s from 2026-07-02T14:00:00Z".
std::string PiecesText(const std::vector<PeriodPiece>& pieces, Instant start) {
  std::string text;
  for (std::size_t i = 0; i < pieces.size() && i < kPiecesShown; ++i) {
    text += (i == 0 ? "" : ", ") + DurationForPeople(pieces[i].period);
    if (i == 0) continue;
    text += IsDated(pieces[i].start) ? " from " + FormatRfc3339(pieces[i].start)
                                     : " from " + DurationForPeople(pieces[i].start - start) + " on";
  }
  if (pieces.size() > kPiecesShown) text += fmt::format(" and {} more changes", pieces.size() - kPiecesShown);
  return text;
}

// GPUs whose periods changed in the same way share a line, with the instants of the first GPU. Periods are compared to
// two digits: clocks of machines are never exact.
void AddPieces(const AuditReport& report, std::vector<std::string>& lines) {
  std::map<std::vector<std::string>, std::pair<const DeviceResult*, std::int64_t>> alike;
  for (const DeviceResult& d : report.run.devices) {
    if (d.periods.size() < 2) continue;
    std::vector<std::string> paces;
    for (const PeriodPiece& piece : d.periods) paces.push_back(fmt::format("{:.2g}", InSeconds(piece.period)));
    ++alike.try_emplace(std::move(paces), &d, 0).first->second.second;
  }
  for (const auto& [paces, found] : alike) {
    const auto& [device, gpus] = found;
    const std::string which = gpus == 1
                                  ? DeviceLabel(report, device->device)
                                  : fmt::format("{}, on {} first", Gpus(gpus), DeviceLabel(report, device->device));
    lines.push_back(
        fmt::format("Sampling period changed ({}): {}.", which, PiecesText(device->periods, device->first)));
  }
}

// How often the exporter behind scraped GPUs collects. Scrapes that repeat a collection are no independent readings,
// which matters for the error of the mean. Example: a scrape every 15 s of an exporter that collects every 30 s reads
// each value twice.
void AddCollections(const AuditReport& report, std::vector<std::string>& lines) {
  using Known = Collection::Known;
  std::map<std::int64_t, std::pair<const DeviceResult*, std::int64_t>> told;
  std::int64_t constant = 0;
  std::int64_t irregular = 0;
  for (const DeviceResult& d : report.run.devices) {
    const Collection& c = d.collection;
    if (c.known == Known::kConstant) ++constant;
    if (c.known == Known::kIrregular) ++irregular;
    if (c.known == Known::kTold && c.scrapes > 1) ++told.try_emplace(c.scrapes, &d, 0).first->second.second;
  }
  for (const auto& [scrapes, found] : told) {
    const TickView ticks = TicksOf(*found.first, report.thresholds);
    lines.push_back(fmt::format(
        "The exporter of {} collects every {} but is scraped every {}: {} scrapes hold {} "
        "independent readings{}.",
        Gpus(found.second), DurationForPeople(*found.first->period * scrapes), DurationForPeople(*found.first->period),
        ticks.total, ticks.independent, found.second > 1 ? " per GPU" : ""));
  }
  if (constant > 0)
    lines.push_back(
        fmt::format("No gauge of {} ever changed: how often the exporter collects is unknown, and so is the "
                    "error of the mean.",
                    Gpus(constant)));
  if (irregular > 0)
    lines.push_back(
        fmt::format("Scrapes of {} repeat irregularly: the exporter's collection interval is "
                    "unknown; the error of the mean assumes the median.",
                    Gpus(irregular)));
}

// How often GPUs were really read, if that is not one steady pace: periods that change, an exporter that collects
// less often than it is scraped, stamps that are coarser than readings. No line otherwise.
std::vector<std::string> PaceLines(const AuditReport& report) {
  std::vector<std::string> lines;
  AddPieces(report, lines);
  AddCollections(report, lines);
  std::int64_t coarse = 0;
  double most = 0;
  for (const DeviceResult& d : report.run.devices) {
    if (const std::optional<double> rows = d.totals.RowsPerStamp()) {
      ++coarse;
      most = std::max(most, *rows);
    }
  }
  if (coarse > 0)
    lines.push_back(
        fmt::format("Time stamps of {} have up to {} rows each: the mean of the rows counts, and bursts within a "
                    "stamp are not visible.",
                    Gpus(coarse), ThreeDigits(most)));
  return lines;
}

// "xid from dcgm.DCGM_FI_DEV_XID_ERRORS; ...": the counters of all signals that the table of measured signals leaves
// out.
std::string OtherCounters(const AuditReport& r) {
  std::array<std::set<std::string>, kSignalCount> names;
  for (DeviceId id = 0; r.devices != nullptr && id < r.devices->size(); ++id) {
    for (const SignalInfo& signal : kSignals) {
      const std::string& name = (*r.devices)[id].counter[Index(signal.id)];
      if (!name.empty() && Slot(signal.id) == kNotMeasured) names[Index(signal.id)].insert(name);
    }
  }
  std::vector<std::string> parts;
  for (const SignalInfo& signal : kSignals) {
    const std::set<std::string>& from = names[Index(signal.id)];
    if (!from.empty()) parts.push_back(fmt::format("{} from {}", signal.name, fmt::join(from, " and ")));
  }
  return ListText(parts, "; ");
}

// How readings became phases: the counter, the bands, and how long a reading holds. With these a reader can repeat
// the classification.
void AddReadingRules(const ViewContext& c, std::vector<std::string>& lines) {
  const AuditReport& r = c.report;
  const Thresholds& t = r.thresholds;
  const std::vector<std::string> counters = CountersOf(r);
  std::string counter = ListText(counters, "; ");
  if (counter.empty()) counter = "none was reported";
  lines.push_back(
      fmt::format("Counter: {}, in bands of the mean of each second: idle below {} %, underutilized to {} %, "
                  "productive to {} %, compute_bound from there.",
                  counter, InPercent(t.idle_below), InPercent(t.productive_from), InPercent(t.bound_from)));
  // utilization.gpu cannot tell a full GPU from a kernel on one SM. SM activity can.
  const bool sees_work = std::any_of(r.run.devices.begin(), r.run.devices.end(),
                                     [](const DeviceResult& d) { return d.totals.sm_active.ns > 0; });
  if (!sees_work && !counters.empty()) {
    lines.emplace_back("Busy means that a kernel was resident: this counter cannot see how much of the GPU it used.");
  }
  const auto any = [&](const auto& is) { return std::any_of(r.run.devices.begin(), r.run.devices.end(), is); };
  if (any([](const DeviceResult& d) { return d.fast; }))
    lines.emplace_back("Read by ticks: a second is the mean of its readings; a second without one is unobserved.");
  if (any([](const DeviceResult& d) { return d.spans; }))
    lines.emplace_back(
        "Means of jobs: each lasts from the start of its job to its end; between jobs is unobserved (gap).");
  if (any([](const DeviceResult& d) { return !d.fast && !d.spans; })) {
    const std::string hold = t.max_gap ? DurationForPeople(*t.max_gap)
                                       : ThreeDigits(static_cast<double>(t.max_gap_tenths) / 10) + " periods";
    lines.push_back(
        fmt::format("Held forward: a reading lasts until the next, at most {}; the rest is unobserved (gap).", hold));
  }
  for (std::string& line : PaceLines(r)) lines.push_back(std::move(line));
}

}  // namespace

// From the counter to the program's version: what a reader needs to get the same figures again.
std::vector<std::string> BasisLines(const ViewContext& c) {
  const AuditReport& r = c.report;
  std::vector<std::string> lines = TraceBasis(c);
  if (!r.traced_only) AddReadingRules(c, lines);
  const std::vector<std::string> billed = BilledLines(c);
  lines.insert(lines.end(), billed.begin(), billed.end());
  if (const std::string also = OtherCounters(r); !also.empty()) lines.push_back("Other counters: " + also + ".");
  if (!r.run.devices.empty() && IsDated(r.run.start) && CapturesApart(r) == 0) {
    // The assumed zone is printed only if it may matter.
    const bool zone =
        r.timezone != "UTC" || (r.quality != nullptr && r.quality->CountOf(QualityId::kTimezoneAssumed) > 0);
    lines.push_back(fmt::format("Window: {}{}.", WindowText(r.run),
                                zone ? "; times without a zone were read as " + r.timezone : std::string()));
  }
  if (!r.inputs.empty()) lines.push_back(fmt::format("Inputs: {}.", ListText(r.inputs, "; ")));
  lines.push_back(fmt::format("idleburn {}.", r.version));
  return lines;
}

// The runs of one log and how much of its time was billed. Time between runs is not billed, so a sentence says how much
// it is: if the machines were rented throughout, the reader must use --window.

namespace {

// Runs in the table for people. The other formats have all.
constexpr std::size_t kShownRuns = 24;

// "12 GPU-hours, $24.00"; without the amount if there is no price.
std::string BillOf(const ViewContext& c, std::int64_t ns, const std::optional<Money>& cost) {
  const std::string hours = c.GpuHours(ns);
  return c.in_money && cost ? hours + ", " + c.Cost(*cost) : hours;
}

}  // namespace

// A named window takes precedence over a recording, because the user asked for it.
BilledBy BilledByOf(const AuditReport& report) {
  if (report.traced_only) return BilledBy::kTrace;
  if (report.run.window_named) return BilledBy::kWindow;
  return report.live.window.start ? BilledBy::kRecording : BilledBy::kRows;
}

std::string_view Name(BilledBy by) {
  switch (by) {
    case BilledBy::kRows:
      return "rows";
    case BilledBy::kWindow:
      return "window";
    case BilledBy::kRecording:
      return "recording";
    case BilledBy::kTrace:
      return "trace";
  }
  return {};
}

// A log that was recorded on demand may cover months and hold days.
RecordedTime RecordedTimeOf(const AuditReport& report) {
  RecordedTime time;
  time.recorded_ns = report.run.RecordedNs(report.run.start, report.run.end);
  time.between_ns = (report.run.end - report.run.start).count() - time.recorded_ns;
  return time;
}

std::optional<OwnedPart> OwnedPartOf(const CostReport& cost) {
  if (cost.owners.empty()) return std::nullopt;
  OwnedPart part;
  for (const CostReport::OwnerCost& owner : cost.owners) {
    // Time without an owner, and slices that no instance has, are no owner's lifetime.
    if (owner.owner.empty() || owner.owner == "unallocated") continue;
    part.gpu_ns += owner.gpu_ns;
    if (owner.cost) part.cost = Money::Nano(part.cost.value_or(Money()).nano() + owner.cost->nano());
  }
  return part;
}

// The runs then add up to the bill that the first line of the report states.
std::vector<Money> ShownRunCosts(const AuditReport& report, const std::optional<CostColumn>& whole) {
  std::vector<Money> exact;
  for (const CostReport::RunCost& run : report.cost.runs) exact.push_back(run.usage.Total().value_or(Money()));
  return whole ? RoundedTo(whole->total, exact, MinorUnit(report.cost.rate.currency)) : exact;
}

// Long gaps between runs are the usual surprise of an audit, so the line names them and the flag that bills them.
std::string RunsLine(const ViewContext& c) {
  const std::vector<RunSpan>& runs = c.report.run.runs;
  if (runs.size() < 2) return {};
  const RecordedTime time = RecordedTimeOf(c.report);
  return fmt::format(
      "{} runs in {}, {} recorded, {} between them not billed; --window START..END bills a whole span, with gaps as "
      "unobserved",
      runs.size(), DurationForPeople(Nanos(time.recorded_ns + time.between_ns)),
      DurationForPeople(Nanos(time.recorded_ns)), DurationForPeople(Nanos(time.between_ns)));
}

// One row per run. Hours are rounded to the printed totals of the whole, so that the rows add up to the bill.
ReportTable RunTable(const ViewContext& c) {
  const std::vector<CostReport::RunCost>& runs = c.report.cost.runs;
  ReportTable table;
  if (runs.size() < 2) return table;
  table.title = "Runs";
  table.columns = {{"From", kLeft},    {"to", kLeft},         {"GPUs", kRight},
                   {"busy %", kRight}, {"GPU-hours", kRight}, {"unobs. h", kRight}};
  if (c.in_money) table.columns.push_back({"Cost", kRight});
  std::vector<std::int64_t> windows;
  std::vector<std::int64_t> unobserved;
  for (const CostReport::RunCost& run : runs) {
    windows.push_back(run.usage.WindowNs());
    unobserved.push_back(run.usage.ns[kPhaseCount]);
  }
  windows = RoundedTimesTo(c.hours.total, windows, c.HourUnit());
  unobserved = RoundedTimesTo(c.hours.unobserved, unobserved, c.HourUnit());
  const std::vector<Money> costs = ShownRunCosts(c.report, c.costs);
  // A log without dates shows seconds since its start.
  const bool dated = IsDated(c.report.run.start);
  const auto at = [&](Instant t) { return dated ? FormatRfc3339(t) : DurationForPeople(t - c.report.run.start); };
  for (std::size_t i = 0; i < std::min(runs.size(), kShownRuns); ++i) {
    const CostReport::RunCost& run = runs[i];
    TableRow row = {at(run.span.start),       at(run.span.end),
                    std::to_string(run.gpus), run.mean_utilization ? ThreeDigits(*run.mean_utilization) : "n/a",
                    c.Hours(windows[i]),      c.Hours(unobserved[i])};
    if (c.in_money) row.push_back(run.usage.Total() ? c.Cost(costs[i]) : "?");
    table.rows.push_back(std::move(row));
  }
  if (runs.size() > kShownRuns) {
    table.notes.push_back(
        fmt::format("The first {} of {} runs: --format json or csv has all.", kShownRuns, runs.size()));
  }
  table.notes.emplace_back(
      "A run ends where every GPU is silent for more than an hour and more than 100 periods. If you paid for the "
      "machines in between, name the time with --window.");
  return table;
}

// Says in a sentence which time was billed: a reader who compares the report with an invoice asks this first.
std::vector<std::string> BilledLines(const ViewContext& c) {
  const AuditReport& r = c.report;
  if (r.run.devices.empty()) return {};
  std::vector<std::string> lines;
  switch (BilledByOf(r)) {
    case BilledBy::kRows:
      lines.push_back(r.run.runs.size() > 1
                          ? "Billed: each run separately, each GPU from its first row of a run to its last."
                          : "Billed: each GPU from its first row to its last.");
      break;
    case BilledBy::kWindow:
      lines.emplace_back("Billed: all of --window, for every GPU with a row in it; time without a row is unobserved.");
      break;
    case BilledBy::kRecording:
      lines.emplace_back("Billed: from the start of the recording to its end.");
      break;
    case BilledBy::kTrace:
      return {};
  }
  if (const std::optional<OwnedPart> owned = OwnedPartOf(r.cost)) {
    lines.push_back(fmt::format("This bill ({}) is {}; the lifetimes of the named owners alone are {}.",
                                Name(BilledByOf(r)), BillOf(c, r.cost.whole.window_ns, r.cost.whole.total),
                                BillOf(c, owned->gpu_ns, owned->cost)));
  }
  return lines;
}

}  // namespace idleburn
