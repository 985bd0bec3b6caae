#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "diagnose/make_finding.h"
#include "diagnose/scene.h"
#include "report/display.h"
#include "report/view_context.h"
#include "text/figures.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/time_zone.h"

// The tables of an audit's view: first those of a log, then what a trace adds. Hours and amounts come from the columns
// of report/display.h, so the parts of a table add up, and so do the same figures in two tables.
//
// A cell says what is known. "n/a" is a figure that was not measured, "?" is an amount of a GPU without a price, and 0
// is a measured zero. Without that difference, an exporter that was down would look like an idle GPU.
//
// Tables that do not apply have no rows, and writers leave them out. So a short run gives a short report.
namespace idleburn {
namespace {

// Appends a column. Tables are built column by column, because the money columns exist only with a price.
void AddColumn(ReportTable* table, std::string header, TableColumn::Align align = kRight, bool wraps = false) {
  table->columns.push_back({std::move(header), align, wraps});
}

// A row of the bill. "?" stands for time of unpriced GPUs: its cost is unknown, and so is its share where shares are of
// money.
TableRow ToRow(const ViewContext& c, const BillSlice& slice) {
  const bool unpriced = c.Unpriced(slice.cost, slice.ns);
  TableRow cells = {std::string(slice.name), c.Hours(slice.shown_ns),
                    c.by_rate && unpriced ? "?" : PercentText(c.ShareOfBill(slice.cost, slice.ns))};
  if (c.in_money) cells.push_back(unpriced ? "?" : c.Cost(slice.shown_cost));
  return cells;
}

// Positions in cost.devices to show: all, or, if there are more than `limit`, those with the most wasted time first.
std::vector<std::size_t> ShownDevices(const CostReport& cost, std::size_t limit) {
  std::vector<std::size_t> shown(cost.devices.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  if (shown.size() <= limit) return shown;
  SortByWaste(cost, &shown);
  shown.resize(limit);
  return shown;
}

// By phase, then unobserved: the hours of every GPU. A GPU has a part of the hours of all, so it may need more decimals
// than the bill. The columns add up to the bill of as many decimals.
struct GpuHours {
  std::array<std::vector<std::int64_t>, kPhaseCount + 1> columns;
  int digits;
};
GpuHours HoursOfGpus(const ViewContext& c) {
  GpuHours hours{{}, c.hour_digits};
  std::int64_t most = 0;
  for (const CostReport::DeviceCost& d : c.report.cost.devices) most = std::max(most, d.usage.window_ns);
  if (most > 0) hours.digits = std::max(hours.digits, HourDecimals(most));
  const HourColumn whole = HourColumnOf(c.report.cost.whole, HourUnit(hours.digits));
  for (std::size_t p = 0; p <= kPhaseCount; ++p) {
    std::vector<std::int64_t> exact;
    for (const CostReport::DeviceCost& d : c.report.cost.devices) {
      exact.push_back(p < kPhaseCount ? d.usage.phase_ns[p] : d.usage.unobserved_ns);
    }
    hours.columns[p] =
        RoundedTimesTo(p < kPhaseCount ? whole.phase[p] : whole.unobserved, exact, HourUnit(hours.digits));
  }
  return hours;
}

// The row of device `at`. `hours` and `cost` are as printed. Phases of a GPU without a reading are "n/a", not 0.
// `named` adds the model. "?" is the amount of a GPU without a price.
TableRow GpuRow(const ViewContext& c, std::size_t at, const GpuHours& hours, const std::optional<CostColumn>& cost,
                bool named) {
  const CostReport::DeviceCost& d = c.report.cost.devices[at];
  const UsageCost& u = d.usage;
  TableRow row = {DeviceLabel(c.report, d.device)};
  if (named) row.push_back((*c.report.devices)[d.device].name);
  row.push_back(u.mean_utilization ? ThreeDigits(*u.mean_utilization) : "n/a");
  const bool observed = u.observed_ns > 0;
  const auto text = [&](std::size_t p) { return HoursOfColumn(hours.columns[p][at], hours.digits); };
  for (std::size_t p = 0; p < kPhaseCount; ++p) row.push_back(observed ? text(p) : "n/a");
  row.push_back(text(kPhaseCount));
  row.push_back(u.mean_power_w ? ThreeDigits(*u.mean_power_w) + " W" : "n/a");
  if (c.in_money) {
    row.push_back(cost ? c.Cost(cost->total) : "?");
    row.push_back(!cost ? "?" : observed ? c.Cost(cost->waste) : "n/a");
  }
  return row;
}

}  // namespace

// The bill by slice, with a total. The notes explain unobserved time and spin-wait, the two things that readers mistake
// for waste or for work.
ReportTable PhaseTable(const ViewContext& c) {
  const UsageCost& u = c.report.cost.whole;
  ReportTable table;
  if (c.report.traced_only || c.report.cost.whole.window_ns == 0) return table;
  table.title = "Where the time went";
  AddColumn(&table, "Phase", kLeft);
  AddColumn(&table, "GPU-hours");
  AddColumn(&table, fmt::format("of {}", c.Bill()));
  if (c.in_money) AddColumn(&table, "Cost");

  for (const BillSlice& slice : c.slices) table.rows.push_back(ToRow(c, slice));
  const CostColumn costs = c.costs.value_or(CostColumn());
  table.rows.push_back(ToRow(c, {"total", "total", u.window_ns, u.total, c.hours.total, costs.total}));

  if (c.in_money && u.unpriced.window_ns > 0) {
    table.notes.push_back(fmt::format("Hours count all GPUs; costs leave out {} unpriced GPU-hours.",
                                      ThreeDigits(InHours(u.unpriced.window_ns))));
  }
  // The reasons are rounded to add up to the printed unobserved hours.
  const std::vector<std::int64_t> reasons = RoundedTimesTo(c.hours.unobserved, UnobservedOf(c.report), c.HourUnit());
  std::string why;
  for (std::size_t i = 0; i < kUnobservedCount; ++i) {
    if (reasons[i] > 0)
      why += fmt::format("{}{} {} h", why.empty() ? "" : ", ", kUnobservedNames[i], c.Hours(reasons[i]));
  }
  if (!why.empty()) table.notes.push_back("Unobserved is neither idle nor busy, and never waste: " + why + ".");
  // Busy time that may be spin-wait belongs to the table in which it counts as compute_bound.
  const SpinView spin = SpinOf(c.report);
  if (spin.unknown_ns > 0) {
    const std::array<std::int64_t, 2> parts = {spin.unknown_ns, u.phase_ns[kBoundPhase] - spin.unknown_ns};
    table.notes.push_back(
        fmt::format("No data on whether kernels worked or waited in {} GPU-hours of compute_bound: neither SM activity "
                    "nor power with known limits was recorded.",
                    c.Hours(RoundedTimesTo(c.hours.phase[kBoundPhase], parts, c.HourUnit()).front())));
  }
  return table;
}

// One row per GPU. A large cluster shows those that wasted most: they are the reason to read the table.
ReportTable GpuTable(const ViewContext& c, std::size_t limit) {
  const CostReport& cost = c.report.cost;
  ReportTable table;
  if (c.report.traced_only || c.report.cost.whole.window_ns == 0) return table;
  table.title = "Per GPU";
  AddColumn(&table, "GPU", kLeft, true);
  // A single name stands in the title.
  const bool named = GpuNames(c.report).size() > 1;
  if (named) {
    AddColumn(&table, "Name", kLeft, true);
    table.columns.back().expendable = true;
  }
  // The second member says whether a narrow terminal may drop the column. What was lost stays; the table of the whole
  // has the rest.
  constexpr std::array<std::pair<const char*, bool>, 7> kFigures = {{{"busy %", false},
                                                                     {"idle h", false},
                                                                     {"under h", true},
                                                                     {"prod. h", true},
                                                                     {"bound h", true},
                                                                     {"unobs. h", false},
                                                                     {"power", true}}};
  for (const auto& [header, expendable] : kFigures) {
    AddColumn(&table, header);
    table.columns.back().expendable = expendable;
  }
  if (c.in_money) {
    AddColumn(&table, "Cost");
    AddColumn(&table, "Waste");
  }
  const std::vector<std::optional<CostColumn>> costs = DeviceCostColumns(cost);
  const GpuHours hours = HoursOfGpus(c);
  const std::vector<std::size_t> shown = ShownDevices(cost, limit);
  for (const std::size_t i : shown) table.rows.push_back(GpuRow(c, i, hours, costs[i], named));
  if (shown.size() < cost.devices.size()) {
    table.notes.push_back(fmt::format("The {} GPUs with the most time lost, and {} more: --format csv or json has all.",
                                      shown.size(), cost.devices.size() - shown.size()));
  }
  table.notes.emplace_back(
      "busy: mean utilization over the GPU's observed time. Hours of each phase add up to the bill.");
  return table;
}

namespace {

// The GPUs that have one rate: "GPU 0, GPU 1 and 6 more". Two names and a count keep the row on one line.
std::string GpusAt(const ViewContext& c, std::size_t rate) {
  constexpr std::size_t kNamed = 2;
  std::vector<std::string> names;
  for (const CostReport::DeviceCost& d : c.report.cost.devices) {
    if (d.rate == rate) names.push_back(DeviceLabel(c.report, d.device));
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kNamed ? text + fmt::format(" and {} more", names.size() - kNamed) : text;
}

// The price, the range of the candidates, or "?".
std::string PriceOf(const ViewContext& c, const Rate& rate) {
  if (rate.per_gpu_hour) return c.PriceOfOne(*rate.per_gpu_hour);
  return rate.low && rate.high ? AmountInterval(*rate.low, *rate.high, rate.currency) : "?";
}

// Where the price comes from, or how to settle it.
std::string SourceOf(const Rate& rate) {
  if (rate.per_gpu_hour) return rate.source;
  if (rate.reason == "ambiguous_price") {
    return fmt::format("{} offers in the catalogue; settle it with --price GPUS=KEY", rate.candidates.size());
  }
  return rate.reason == "partly_under_contract" ? "a contract covers a part of the run only"
                                                : "no price is known; give one with --price GPUS=RATE";
}

}  // namespace

// Each price once, so that a reader can multiply it by its hours.
ReportTable RateTable(const ViewContext& c) {
  const CostReport& cost = c.report.cost;
  ReportTable table;
  if (!cost.several()) return table;
  table.title = "Prices";
  AddColumn(&table, "GPUs", kLeft, true);
  for (const char* header : {"number", "per GPU-hour", "GPU-hours"}) AddColumn(&table, header);
  if (c.in_money) AddColumn(&table, "Cost");
  AddColumn(&table, "Source", kLeft, true);
  AddColumn(&table, "As of", kLeft);
  std::vector<std::int64_t> ns;
  std::vector<Money> exact;
  for (const CostReport::RateUse& use : cost.rates) {
    ns.push_back(use.window_ns);
    exact.push_back(use.cost.value_or(Money()));
  }
  const std::vector<std::int64_t> hours = RoundedTimes(ns, c.HourUnit());
  const std::vector<Money> costs = c.costs ? RoundedTo(c.costs->total, exact, MinorUnit(c.currency)) : exact;
  for (std::size_t i = 0; i < cost.rates.size(); ++i) {
    const CostReport::RateUse& use = cost.rates[i];
    TableRow row = {GpusAt(c, i), std::to_string(use.gpus), PriceOf(c, use.rate), c.Hours(hours[i])};
    if (c.in_money) row.push_back(use.cost ? c.Cost(costs[i]) : "?");
    row.push_back(SourceOf(use.rate));
    row.push_back(use.rate.as_of ? FormatDay(*use.rate.as_of) : "");
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Time that nobody claims has a row, because the rows must add up to the bill.
ReportTable OwnerTable(const ViewContext& c) {
  const auto& owners = c.report.cost.owners;
  ReportTable table;
  table.title = "Per owner";
  AddColumn(&table, "Owner", kLeft, true);
  AddColumn(&table, "GPU-hours");
  const bool partly = c.in_money && c.report.cost.whole.unpriced.window_ns > 0;
  if (partly) AddColumn(&table, "unpriced h");
  if (c.in_money) AddColumn(&table, "Cost");
  AddColumn(&table, "Attribution", kLeft);
  std::vector<std::int64_t> ns;
  std::vector<Money> exact;
  for (const auto& o : owners) {
    ns.push_back(o.gpu_ns);
    exact.push_back(o.cost.value_or(Money()));
  }
  const std::vector<std::int64_t> hours = RoundedTimes(ns, c.HourUnit());
  const std::vector<Money> costs = c.costs ? RoundedTo(c.costs->total, exact, MinorUnit(c.currency)) : exact;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    TableRow row = {owners[i].owner.empty() ? "(none named)" : owners[i].owner, c.Hours(hours[i])};
    if (partly) row.push_back(c.Hours(owners[i].unpriced_ns));
    if (c.in_money) row.push_back(owners[i].cost ? c.Cost(costs[i]) : "?");
    row.emplace_back(owners[i].owner.empty()            ? "no owner is named for this time"
                     : owners[i].owner == "unallocated" ? "MIG slices without an instance"
                     : owners[i].estimated              ? "estimated: shared in equal parts"
                                                        : "as named by the source");
    table.rows.push_back(std::move(row));
  }
  return table;
}

// One row per cause, in the order of the diagnosis. What would refute a cause is as important as what supports it.
ReportTable FindingTable(const ViewContext& c) {
  ReportTable table;
  table.title = "Why, with evidence";
  for (const char* header :
       {"Cause", "Status", "Affected time", "Waste", "Evidence", "Would refute it", "Next measurement"}) {
    AddColumn(&table, header, kLeft, true);
  }
  const std::vector<Finding>& findings = c.report.advice.findings;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Finding& f = findings[i];
    const std::string status =
        f.cause == Name(f.status) ? std::string(f.cause) : fmt::format("{} ({})", Name(f.status), f.cause);
    // A finding without waste (compute_bound, healthy) has affected time only.
    const bool wastes = f.waste_ns > 0 || f.of_run;
    table.rows.push_back({f.title, status,
                          f.gpu_ns == 0 ? ""
                          : wastes      ? c.GpuHours(f.gpu_ns)
                                        : c.Part(i),
                          wastes ? c.Part(i) : "", ListText(f.evidence, "; "), ListText(f.refutes, "; "), f.isolate});
  }
  return table;
}

namespace {

// " $3.07", with a leading blank. Empty if the saving has no amount.
std::string AmountOf(const ViewContext& c, const std::optional<Money>& cost) {
  return c.in_money && cost ? " " + c.Cost(*cost) : std::string();
}

// What is saved if every recommendation is followed: less time, and then a cheaper hour for the time that is left
// (docs/combining.md). Also says what adding up the claims would give, because readers do add them up. "Not quantified"
// is printed where no measure has a figure.
std::string TogetherNote(const ViewContext& c) {
  const CombinedSaving& s = c.report.advice.savings;
  const std::string rule = s.rule.empty() ? "" : fmt::format("by the {} rule; ", s.rule);
  const std::string cap = fmt::format("{}waste is {}, and no fix of waste can save more.", rule, c.Waste());
  if (!IsQuantified(c.report.advice)) return "All together: not quantified, " + cap;
  std::string note = fmt::format("All together{}: {} of {} (90 % range: {})", AmountOf(c, s.cost),
                                 PercentText(s.total_fraction), c.Bill(), PercentInterval(s.low, s.high));
  if (s.rate_fraction > 0) {
    const std::string less = s.rule.empty() ? "not quantified" : PercentText(s.time_fraction);
    note += fmt::format(
        ". Less time alone{}: {}, {} The price of the rest falls by {} with {}, the best of the alternative offers; "
        "idleburn did not check whether the job may run there.",
        AmountOf(c, s.time_cost), less, cap, PercentText(s.rate_fraction), s.rate_lever);
  } else {
    note += ", " + cap;
  }
  if (s.naive_sum > s.total_fraction + kWorthSaying) {
    note += fmt::format(" The plain sum of the claims is {}, but it counts the same hours more than once.",
                        PercentText(s.naive_sum));
  }
  return note + " These are estimates from measured bounds, not verified savings.";
}

}  // namespace

// Measures with figures first. The note says what all of them save together, since their savings overlap.
ReportTable RecommendationTable(const ViewContext& c) {
  ReportTable table;
  table.title = "What would help";
  for (const char* header : {"What", "Saves", "Against", "How", "Verify with", "Basis"}) {
    AddColumn(&table, header, kLeft, true);
  }
  for (const Recommendation& r : c.report.advice.recommendations) {
    const std::string against = r.axis == Axis::kRate ? "the price of an hour" : std::string(r.cause);
    table.rows.push_back({fmt::format("{} ({})", r.title, r.id), SavingText(c, r), against, r.how,
                          std::string(r.verify_with), r.saving ? r.basis : std::string()});
  }
  if (!table.rows.empty() && c.report.cost.whole.window_ns > 0) table.notes.push_back(TogetherNote(c));
  return table;
}

// These are kept apart from the recommendations, so that nobody adds a guess to a figure.
ReportTable TryFirstTable(const ViewContext& c) {
  ReportTable table;
  table.title = "Try first (not proved)";
  for (const char* header : {"What", "Could save", "Pattern", "How", "For", "Against", "Confirm with", "Basis"}) {
    AddColumn(&table, header, kLeft, true);
  }
  for (const TryFirst& t : c.report.advice.try_first) {
    table.rows.push_back({fmt::format("{} ({})", t.title, t.id), RangeText(c, t), std::string(t.pattern), t.how,
                          ListText(t.evidence, "; "), ListText(t.against, "; "), std::string(t.confirm), t.basis});
  }
  if (!table.rows.empty()) {
    table.notes.emplace_back(
        "These readings fit each pattern; its cause is not proved. The ranges cover the same hours, so they do not add "
        "up, and the saving above includes none. Change one thing at a time, then idleburn compare.");
  }
  return table;
}

// A reader who misses a measure finds here why it is not advised.
ReportTable DeclinedTable(const ViewContext& c) {
  ReportTable table;
  table.title = "Considered, not advised";
  AddColumn(&table, "Lever", kLeft);
  AddColumn(&table, "Lacks", kLeft, true);
  for (const Advice::Declined& d : c.report.advice.declined) table.rows.push_back({std::string(d.id), d.why});
  return table;
}

// Kinds of doubt that did not occur have no row.
ReportTable QualityTable(const ViewContext& c) {
  ReportTable table;
  table.title = "Data quality";
  AddColumn(&table, "Severity", kLeft);
  AddColumn(&table, "Observation and treatment", kLeft, true);
  if (c.report.quality == nullptr) return table;
  // Worst first.
  for (const Severity severity : {Severity::kError, Severity::kWarn, Severity::kInfo}) {
    for (const QualityInfo& info : kQualityTable) {
      const DataQuality::Row& row = c.report.quality->Get(info.id);
      if (info.severity != severity || row.count == 0) continue;
      table.rows.push_back({std::string(Name(severity)), Describe(info, row)});
    }
  }
  return table;
}

// What traces add to an audit's view. The times of a row add up to its span exactly.

namespace {

// Gaps that a note names. JSON has all that were kept.
constexpr std::size_t kNamedGaps = 2;
constexpr double kNanosPerMs = 1e6;

// For columns in milliseconds.
std::string Ms(std::int64_t ns) { return ThreeDigits(static_cast<double>(ns) / kNanosPerMs); }
std::string ShareCell(const TraceBudget& b, std::int64_t ns) { return PercentText(b.Share(ns)); }

// A trace without device events has nothing for these tables. The verdict then says so.
bool HasDeviceEvents(const ViewContext& c) { return c.report.trace && !c.report.trace->devices.empty(); }

// Whether kernels without a name matter: their class is a guess, so communication among them would count as compute.
bool HasNameless(const DeviceDiagnosis& d) {
  return std::any_of(d.top_kernels.begin(), d.top_kernels.end(), [&d](const KernelClass& k) {
    return k.name.empty() && ShareOf(k.ns, d.BusyNs()) >= kWorthSaying;
  });
}

// Most work outside the profiled steps means that the steps do not represent the run.
bool WorksOutsideSteps(const DeviceDiagnosis& d) { return 2 * d.OutsideStepsNs() > d.BusyNs(); }

// A window in words. The tables have its id.
std::string_view WindowWords(Window window) {
  return window == Window::kGpuSpan ? "first to last GPU event" : "profiled steps";
}

// The windows that decide. Usually one; "profiled steps or first to last GPU event" if devices differ.
std::string WindowNames(const std::vector<DeviceDiagnosis>& devices) {
  const Window first = devices.front().Deciding().window;
  const auto other = std::find_if(devices.begin(), devices.end(),
                                  [&](const DeviceDiagnosis& d) { return d.Deciding().window != first; });
  std::string words(WindowWords(first));
  if (other != devices.end()) words += fmt::format(" or {}", WindowWords(other->Deciding().window));
  return words;
}

// How far the headline can be trusted: missing events, work outside the steps, kernels without names. Empty if all is
// well.
std::string Reservations(const std::vector<DeviceDiagnosis>& devices) {
  std::string text;
  const auto count = [&](auto test) { return std::count_if(devices.begin(), devices.end(), test); };
  const auto some = [&](std::int64_t n) {
    return devices.size() == 1 ? std::string() : fmt::format(" of {} of them", n);
  };
  if (const auto n = count([](const DeviceDiagnosis& d) { return d.events_missing; }); n > 0) {
    text += fmt::format(
        " Events are missing or damaged in the file{}: the figures cover the rest, and idle time may be lost work.",
        devices.size() == 1 ? std::string() : "s" + some(n));
  }
  if (const auto n = count(WorksOutsideSteps); n > 0) {
    text +=
        fmt::format(" Most of the work{} lies outside the profiled steps, so they say little about the run.", some(n));
  }
  if (const auto n = count(HasNameless); n > 0) {
    text += fmt::format(" Kernels{} have no name in the file: communication among them counts as computing.", some(n));
  }
  return text;
}

// "rank 3, GPU 0": as little as tells the devices apart. Files without a rank are named instead. Ranks come first,
// because people speak of ranks.
std::string TraceLabel(const ViewContext& c, const DeviceDiagnosis& d) {
  const auto& all = c.report.trace->devices;
  const bool one_file =
      std::all_of(all.begin(), all.end(), [&](const DeviceDiagnosis& o) { return o.profile == all.front().profile; });
  const std::string gpu = fmt::format("GPU {}", d.device);
  if (one_file) return gpu;
  return (d.rank ? fmt::format("rank {}, ", *d.rank) : d.file + ", ") + gpu;
}

// What is worth saying about one device: its steps, work outside them, its longest gaps, and what limits it next. Each
// note begins with the device, since notes of all devices stand in one list.
void AddDeviceNotes(const ViewContext& c, const DeviceDiagnosis& d, ReportTable& table) {
  const std::string label = TraceLabel(c, d);
  if (d.steps.median_ns) table.notes.push_back(label + ": " + Describe(d.steps) + ".");
  if (const double outside = ShareOf(d.OutsideStepsNs(), d.BusyNs()); outside >= kWorthSaying) {
    table.notes.push_back(fmt::format("{}: {} of its {} of work ({}) lie outside the profiled steps.", label,
                                      DurationForPeople(Nanos(d.OutsideStepsNs())),
                                      DurationForPeople(Nanos(d.BusyNs())), PercentText(outside)));
  }
  std::string gaps;
  const TraceBudget& budget = d.Deciding();
  for (std::size_t i = 0; i < std::min(kNamedGaps, budget.largest_gaps.size()); ++i) {
    const LargeGap& gap = budget.largest_gaps[i];
    gaps += fmt::format("{}{} at {} ({}{})", i > 0 ? ", " : "", DurationForPeople(Nanos(gap.at.Ns())),
                        DurationForPeople(Nanos(gap.at.start - budget.span.start)), Name(gap.mainly),
                        gap.frames.empty() ? "" : ", under " + Describe(gap.frames));
  }
  if (!gaps.empty())
    table.notes.push_back(fmt::format("{}: longest gaps of {}: {}.", label, Name(budget.window), gaps));
  if (d.next) {
    table.notes.push_back(fmt::format("{}: without {} ({} of the window) the next cause is {}: {} of the rest.", label,
                                      d.next->removed, PercentText(d.next->removed_share), d.next->cause,
                                      PercentText(d.next->share)));
  }
}

}  // namespace

// How the time of each device splits, for each window of the trace. Notes hold what is worth saying about single
// devices.
ReportTable TraceTable(const ViewContext& c) {
  ReportTable table;
  if (!HasDeviceEvents(c)) return table;
  table.title = "What the device did, from the trace";
  table.columns = {{"Device"}, {"Window"}};
  for (const char* header : {"Span ms", "compute", "exposed comm", "exposed copy", "idle"}) {
    table.columns.push_back({header, kRight});
  }
  for (const DeviceDiagnosis& d : c.report.trace->devices) {
    for (const TraceBudget& b : d.budgets) {
      table.rows.push_back({TraceLabel(c, d), std::string(Name(b.window)), Ms(b.span.Ns()), ShareCell(b, b.compute_ns),
                            ShareCell(b, b.exposed_comm_ns), ShareCell(b, b.exposed_copy_ns), ShareCell(b, b.idle_ns)});
    }
  }
  for (const DeviceDiagnosis& d : c.report.trace->devices) AddDeviceNotes(c, d, table);
  if (!c.report.trace->apart.empty()) {
    table.notes.push_back(fmt::format(
        "The files are not joined as ranks of one job, because {}: each is diagnosed alone.", c.report.trace->apart));
  }
  return table;
}

// What the host did while a device waited. Only the window that decides is shown: two windows would count the same gap
// twice.
ReportTable IdleTable(const ViewContext& c) {
  ReportTable table;
  if (!HasDeviceEvents(c)) return table;
  table.title = "What idle time waited for";
  table.columns = {{"Device"}, {"Before its next event"}, {"ms", kRight}, {"of window", kRight}};
  for (const DeviceDiagnosis& d : c.report.trace->devices) {
    const TraceBudget& b = d.Deciding();
    // Attribution needs unique correlation ids. A wrong one would blame the wrong part of the program.
    if (!b.idle_by_class) {
      table.notes.push_back(TraceLabel(c, d) +
                            ": not attributed: correlation ids of several processes collide in this file.");
      continue;
    }
    for (std::size_t i = 0; i < kIdleClasses; ++i) {
      const auto idle = static_cast<IdleClass>(i);
      if (b.IdleNs(idle) == 0) continue;
      table.rows.push_back(
          {TraceLabel(c, d), std::string(Name(idle)), Ms(b.IdleNs(idle)), ShareCell(b, b.IdleNs(idle))});
    }
  }
  return table;
}

// The verdict of traces. A trace covers seconds, so it has shares and a split of one GPU-hour's price, and no bill.
std::string TracedVerdict(const ViewContext& c) {
  if (!HasDeviceEvents(c)) return "No data on a GPU: the trace has no device events.";
  const UsageCost& u = c.report.cost.whole;
  const auto compute_ns = u.phase_ns[static_cast<std::size_t>(Phase::kProductive)];
  const auto idle_ns = u.phase_ns[static_cast<std::size_t>(Phase::kIdle)];
  const auto& devices = c.report.trace->devices;
  const std::size_t apart = CapturesApart(c.report);
  const std::string who =
      apart > 0 ? fmt::format("The GPUs of {} captures", apart) : GpuCount(static_cast<int>(devices.size()), 0);
  // Next to no work in a capture makes its idle time a fact of the capture, so that is said first.
  std::string text;
  const auto hardly = [](const DeviceDiagnosis& d) { return d.active < DeviceDiagnosis::kHardlyUsed; };
  if (std::all_of(devices.begin(), devices.end(), hardly)) {
    text = fmt::format("The capture hardly shows the GPU: it worked for {:.2f} % of the time. ",
                       100 * std::max_element(devices.begin(), devices.end(), [](const auto& a, const auto& b) {
                               return a.active < b.active;
                             })->active);
  }
  text += fmt::format("{} computed {} of {} ({}), {} {} idle", who, PercentText(ShareOf(compute_ns, u.window_ns)),
                      DurationForPeople(Nanos(u.window_ns)), WindowNames(devices), devices.size() == 1 ? "was" : "were",
                      PercentText(ShareOf(idle_ns, u.window_ns)));
  // Exposed communication and copies are neither computing nor idle.
  const double other = 1 - ShareOf(compute_ns + idle_ns, u.window_ns);
  if (other >= kWorthSaying) text += fmt::format(" and moved data for {}", PercentText(other));
  text += ".";
  text += Reservations(devices);
  // Most work outside the steps makes them a bad sample, and a dollar figure would be quoted all the same.
  const bool judged = std::none_of(devices.begin(), devices.end(), WorksOutsideSteps);
  if (judged && c.report.cost.rate.per_gpu_hour) {
    if (const Result<Money> lost = Scale(*c.report.cost.rate.per_gpu_hour, u.window_ns - compute_ns, u.window_ns)) {
      text += fmt::format(" A GPU-hour costs {}; {} of that paid for time without compute.",
                          c.PriceOfOne(*c.report.cost.rate.per_gpu_hour), c.Cost(*lost));
    }
  }
  return text;
}

// How traces were read, by which profiler they were recorded, and the longest kernels with their class. A wrong class
// is visible there.
std::vector<std::string> TraceBasis(const ViewContext& c) {
  if (!c.report.trace) return {};
  std::vector<std::string> lines = {
      "Trace: device time is a union over streams in whole nanoseconds: span = compute + exposed communication + "
      "exposed copies + idle. A running kernel counts as computing, however little of the GPU it uses.",
      "The cause of a gap is the host's work before it launched the event that ends the gap: data loader, "
      "synchronisation, copies, operators, other. gpu_span runs from the first to the last device event; "
      "profiler_steps covers the profiled steps, and decides if it exists."};
  for (const DeviceDiagnosis& d : c.report.trace->devices) {
    std::string recorded =
        fmt::format("{}: recorded by {}", TraceLabel(c, d), d.profiler.empty() ? "unknown" : d.profiler);
    for (const auto& [name, value] : d.facts) recorded += fmt::format(", {} {}", name, value);
    lines.push_back(recorded + ".");
    std::string kernels;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, d.top_kernels.size()); ++i) {
      const KernelClass& k = d.top_kernels[i];
      kernels +=
          fmt::format("{}{} ({}, {})", i > 0 ? ", " : "", k.name.empty() ? "without a name" : Shortened(k.name, 60),
                      k.op == DeviceOp::kComm ? "communication" : "compute", DurationForPeople(Nanos(k.ns)));
    }
    if (!kernels.empty()) lines.push_back(fmt::format("{}: longest kernels: {}.", TraceLabel(c, d), kernels));
  }
  return lines;
}

}  // namespace idleburn
