#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "report/display.h"
#include "report/view_context.h"
#include "text/share.h"
#include "text/split.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

using Align = TableColumn::Align;

// Headers of a table whose money columns exist only where there is a price.
void AddColumn(ReportTable* table, std::string header, Align align = Align::kRight, bool wraps = false) {
  table->columns.push_back({std::move(header), align, wraps});
}

struct PhaseRow {
  std::string name;
  std::int64_t ns = 0;
  std::optional<std::int64_t> share;  // hundredths of a percent
  std::optional<Money> cost;
};

TableRow ToRow(const ViewContext& c, const PhaseRow& row) {
  TableRow cells = {row.name, c.Hours(row.ns), row.share ? Hundredths(*row.share) : ""};
  if (c.in_money) cells.push_back(c.Unpriced(row.cost, row.ns) ? "?" : row.cost ? c.Cost(*row.cost) : "");
  return cells;
}

// Idle by who held the GPU, so that the parts sum to what the idle row shows.
void AddIdleParts(const ViewContext& c, std::vector<PhaseRow>* rows) {
  const UsageCost& u = c.report.cost.whole;
  const std::array<std::int64_t, 3> ns = {u.idle_held_ns, u.idle_empty_ns, u.idle_unknown_ns};
  const CostColumn costs = c.costs.value_or(CostColumn());
  const std::array<PhaseRow, 3> parts = {{{"  a process held the GPU", c.hours.idle_held, {}, costs.idle_held},
                                          {"  no process on it", c.hours.idle_empty, {}, costs.idle_empty},
                                          {"  not known who held it", c.hours.idle_unknown, {}, costs.idle_unknown}}};
  for (std::size_t i = 0; i < ns.size(); ++i) {
    if (ns[i] > 0) rows->push_back(parts[i]);
  }
}

// Positions in cost.devices to show: all, or those with the most time that was not useful.
std::vector<std::size_t> ShownDevices(const CostReport& cost, std::size_t limit) {
  std::vector<std::size_t> shown(cost.devices.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  if (shown.size() <= limit) return shown;
  const auto lost = [&](std::size_t i) {
    const UsageCost& u = cost.devices[i].usage;
    return static_cast<double>(u.observed_ns) - u.effective_ns + u.spin_effective_ns;
  };
  std::stable_sort(shown.begin(), shown.end(), [&](std::size_t a, std::size_t b) { return lost(a) > lost(b); });
  shown.resize(limit);
  return shown;
}

// Hundredths of a percent without the sign, for columns that have it in their header.
std::string Bare(std::int64_t hundredths) { return fmt::format("{}.{:02}", hundredths / 100, hundredths % 100); }

// `unobserved_ns` and `cost`: as its columns show them.
TableRow GpuRow(const ViewContext& c, const CostReport::DeviceCost& d, std::int64_t unobserved_ns,
                const std::optional<CostColumn>& cost, bool named) {
  const UsageCost& u = d.usage;
  TableRow row = {DeviceLabel(c.report, d.device)};
  if (named) row.push_back((*c.report.devices)[d.device].name);
  row.push_back(u.mean_utilization ? fmt::format("{:.1f}", *u.mean_utilization) : "n/a");
  const auto shares = PhaseShares(u);
  for (std::size_t p = 0; p < kPhaseCount; ++p) row.push_back(shares ? Bare((*shares)[p]) : "n/a");
  row.push_back(c.Hours(unobserved_ns));
  row.push_back(u.mean_power_w ? fmt::format("{:.0f} W", *u.mean_power_w) : "n/a");
  if (c.in_money) {
    row.push_back(cost ? c.Cost(cost->total) : "?");
    row.push_back(!cost ? "?" : shares ? c.Cost(cost->waste) : "n/a");
  }
  return row;
}

}  // namespace

ReportTable PhaseTable(const ViewContext& c) {
  const UsageCost& u = c.report.cost.whole;
  ReportTable table;
  if (c.report.traced_only || c.report.cost.whole.window_ns == 0) return table;
  table.title = "Where the time went";
  AddColumn(&table, "Phase", Align::kLeft);
  AddColumn(&table, "GPU-hours");
  AddColumn(&table, "of observed");
  if (c.in_money) AddColumn(&table, "Cost");

  const auto shares = PhaseShares(u);
  const auto cost = [&](auto pick) { return c.costs ? std::optional<Money>(pick(*c.costs)) : std::nullopt; };

  std::vector<PhaseRow> rows;
  for (std::size_t p = 0; p < kPhaseCount; ++p) {
    rows.push_back({std::string(kPhaseNames[p]), c.hours.phase[p], shares ? std::optional((*shares)[p]) : std::nullopt,
                    cost([p](const CostColumn& k) { return k.phase[p]; })});
    if (p == 0) AddIdleParts(c, &rows);
  }
  const SpinView spin = SpinOf(c.report);
  if (spin.ns.value_or(0) > 0)
    rows.push_back({"  of it spin-wait", *spin.ns, {}, cost([](const CostColumn& k) { return k.spin_wait; })});
  if (u.unobserved_ns > 0) {
    rows.push_back({"unobserved", c.hours.unobserved, {}, cost([](const CostColumn& k) { return k.unobserved; })});
  }
  if (u.unallocated_ns > 0) {
    rows.push_back({"unallocated", c.hours.unallocated, {}, cost([](const CostColumn& k) { return k.unallocated; })});
  }
  rows.push_back({"total", c.hours.total, shares ? std::optional<std::int64_t>(10'000) : std::nullopt,
                  cost([](const CostColumn& k) { return k.total; })});
  for (const PhaseRow& row : rows) table.rows.push_back(ToRow(c, row));

  if (c.in_money && u.unpriced.window_ns > 0) {
    table.notes.push_back(fmt::format("Hours are of all GPUs; costs are without {} unpriced GPU-hours of them.",
                                      c.Hours(u.unpriced.window_ns)));
  }
  const std::vector<std::int64_t> reasons = RoundedTimesTo(c.hours.unobserved, UnobservedOf(c.report), c.HourUnit());
  std::string why;
  for (std::size_t i = 0; i < kUnobservedCount; ++i) {
    if (reasons[i] > 0)
      why += fmt::format("{}{} {} h", why.empty() ? "" : ", ", kUnobservedNames[i], c.Hours(reasons[i]));
  }
  if (!why.empty()) table.notes.push_back("Unobserved is neither idle nor busy, and never waste: " + why + ".");
  if (spin.unknown_ns > 0) {
    constexpr auto kBound = static_cast<std::size_t>(Phase::kComputeBound);
    const std::array<std::int64_t, 2> parts = {spin.unknown_ns, u.phase_ns[kBound] - spin.unknown_ns};
    table.notes.push_back(fmt::format(
        "Of {} GPU-hours in compute_bound nobody can tell whether kernels worked or waited: neither SM activity nor "
        "power with known limits was recorded.",
        c.Hours(RoundedTimesTo(c.hours.phase[kBound], parts, c.HourUnit()).front())));
  }
  return table;
}

ReportTable GpuTable(const ViewContext& c, std::size_t limit) {
  const CostReport& cost = c.report.cost;
  ReportTable table;
  if (c.report.traced_only || c.report.cost.whole.window_ns == 0) return table;
  table.title = "Per GPU";
  AddColumn(&table, "GPU", Align::kLeft, true);
  const bool named = GpuNames(c.report).size() > 1;  // a single name stands in the title
  if (named) {
    AddColumn(&table, "Name", Align::kLeft, true);
    table.columns.back().expendable = true;
  }
  // A narrow terminal shows what was lost: the rest of the shares is in the table of all GPUs.
  constexpr std::array<std::pair<const char*, bool>, 7> kFigures = {{{"busy %", false},
                                                                     {"idle %", false},
                                                                     {"under %", true},
                                                                     {"prod. %", true},
                                                                     {"bound %", true},
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
  std::vector<std::int64_t> unobserved;
  for (const CostReport::DeviceCost& d : cost.devices) unobserved.push_back(d.usage.unobserved_ns);
  unobserved = RoundedTimesTo(c.hours.unobserved, unobserved, c.HourUnit());
  const std::vector<std::size_t> shown = ShownDevices(cost, limit);
  for (const std::size_t i : shown) table.rows.push_back(GpuRow(c, cost.devices[i], unobserved[i], costs[i], named));
  if (shown.size() < cost.devices.size()) {
    table.notes.push_back(fmt::format("The {} GPUs with the most time lost, and {} more: --format csv or json has all.",
                                      shown.size(), cost.devices.size() - shown.size()));
  }
  table.notes.push_back("busy: mean utilization; it and the shares are of each GPU's own observed time.");
  return table;
}

namespace {

// "GPU 0, GPU 1 and 6 more".
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

std::string PriceOf(const ViewContext& c, const Rate& rate) {
  if (rate.per_gpu_hour) return c.ExactCost(*rate.per_gpu_hour);
  return rate.low && rate.high ? Amount(*rate.low, rate.currency) + " to " + Amount(*rate.high, rate.currency) : "?";
}

std::string SourceOf(const Rate& rate) {
  if (rate.per_gpu_hour) return rate.source;
  if (rate.reason == "ambiguous_price") {
    return fmt::format("{} offers in the catalogue; settle it with --price GPUS=KEY", rate.candidates.size());
  }
  return rate.reason == "partly_under_contract" ? "a contract covers a part of the run only"
                                                : "no price is known; give one with --price GPUS=RATE";
}

}  // namespace

ReportTable RateTable(const ViewContext& c) {
  const CostReport& cost = c.report.cost;
  ReportTable table;
  if (!cost.several()) return table;
  table.title = "Prices";
  AddColumn(&table, "GPUs", Align::kLeft, true);
  for (const char* header : {"number", "per GPU-hour", "GPU-hours"}) AddColumn(&table, header);
  if (c.in_money) AddColumn(&table, "Cost");
  AddColumn(&table, "Source", Align::kLeft, true);
  AddColumn(&table, "As of", Align::kLeft);
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

ReportTable OwnerTable(const ViewContext& c) {
  const auto& owners = c.report.cost.owners;
  ReportTable table;
  table.title = "Per owner";
  AddColumn(&table, "Owner", Align::kLeft, true);
  AddColumn(&table, "GPU-hours");
  const bool partly = c.in_money && c.report.cost.whole.unpriced.window_ns > 0;
  if (partly) AddColumn(&table, "unpriced h");
  if (c.in_money) AddColumn(&table, "Cost");
  AddColumn(&table, "Attribution", Align::kLeft);
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
    row.emplace_back(owners[i].owner.empty()            ? "no owner is told for this time"
                     : owners[i].owner == "unallocated" ? "MIG slices that no instance has"
                     : owners[i].estimated              ? "estimated: shared in equal parts"
                                                        : "as named by the source");
    table.rows.push_back(std::move(row));
  }
  return table;
}

ReportTable FindingTable(const ViewContext& c) {
  ReportTable table;
  table.title = "Why, with evidence";
  for (const char* header : {"Cause", "Status", "Time", "Evidence", "Would refute it", "Next measurement"}) {
    AddColumn(&table, header, Align::kLeft, true);
  }
  for (const Finding& f : c.report.advice.findings) {
    std::string time =
        f.gpu_ns == 0 ? ""
                      : fmt::format("{} of {}, {} GPU-hours", PercentText(f.share), c.WholeOf(f), c.Hours(f.gpu_ns));
    if (f.cost && f.gpu_ns > 0) time += ", " + c.Worth(f.cost, f.gpu_ns);
    const std::string status =
        f.cause == Name(f.status) ? std::string(f.cause) : fmt::format("{} ({})", Name(f.status), f.cause);
    table.rows.push_back({f.title, status, time, ListText(f.evidence, "; "), ListText(f.refutes, "; "), f.isolate});
  }
  return table;
}

namespace {

// " $3.07"; empty where a saving has no amount.
std::string AmountOf(const ViewContext& c, const std::optional<Money>& cost) {
  return c.in_money && cost ? " " + c.Cost(*cost) : std::string();
}

// What is left when every recommendation is followed: of time, and where there is a cheaper hour of its price.
std::string TogetherNote(const ViewContext& c) {
  const CombinedSaving& s = c.report.advice.savings;
  const std::string rule = s.rule.empty() ? "" : fmt::format("by the {} rule; ", s.rule);
  const std::string cap =
      fmt::format("{}waste is {} of {} and no fix of waste can save more.", rule, PercentText(s.cap), WasteBase(c));
  if (!IsQuantified(c.report.advice)) return "All together: not quantified, " + cap;
  std::string note = fmt::format("All together{}: {} of the cost (5 % to 95 %: {} to {})", AmountOf(c, s.cost),
                                 RoundPercent(s.total_fraction), RoundPercent(s.low), RoundPercent(s.high));
  if (s.rate_fraction > 0) {
    const std::string less = s.rule.empty() ? "not quantified" : RoundPercent(s.time_fraction);
    note += fmt::format(
        ". Less time alone{}: {}, {} The price of what remains falls by {} with {}, the best of the offers, which are "
        "alternatives; whether the job may run there was not measured.",
        AmountOf(c, s.time_cost), less, cap, RoundPercent(s.rate_fraction), s.rate_lever);
  } else {
    note += ", " + cap;
  }
  if (s.naive_sum > s.total_fraction + kWorthSaying) {
    note += fmt::format(" Adding the claims up would say {}, which counts the same hours more than once.",
                        RoundPercent(s.naive_sum));
  }
  return note + " Estimates from measured bounds: none is a verified saving.";
}

}  // namespace

ReportTable RecommendationTable(const ViewContext& c) {
  ReportTable table;
  table.title = "What would help";
  for (const char* header : {"What", "Saves", "Against", "How", "Verify with", "Basis"}) {
    AddColumn(&table, header, Align::kLeft, true);
  }
  for (const Recommendation& r : c.report.advice.recommendations) {
    const std::string against = r.axis == Axis::kRate ? "the price of an hour" : std::string(r.cause);
    table.rows.push_back({fmt::format("{} ({})", r.title, r.id), SavingText(c, r), against, r.how,
                          std::string(r.verify_with), r.saving ? r.basis : std::string()});
  }
  if (!table.rows.empty() && c.report.cost.whole.window_ns > 0) table.notes.push_back(TogetherNote(c));
  return table;
}

ReportTable TryFirstTable(const ViewContext& c) {
  ReportTable table;
  table.title = "Try first (not proved)";
  for (const char* header : {"What", "Could save", "Pattern", "How", "For", "Against", "Confirm with", "Basis"}) {
    AddColumn(&table, header, Align::kLeft, true);
  }
  for (const TryFirst& t : c.report.advice.try_first) {
    table.rows.push_back({fmt::format("{} ({})", t.title, t.id), RangeText(c, t), std::string(t.pattern), t.how,
                          ListText(t.evidence, "; "), ListText(t.against, "; "), std::string(t.confirm), t.basis});
  }
  if (!table.rows.empty()) {
    table.notes.emplace_back(
        "These readings fit each pattern; its cause is not proved. The ranges reach the same hours: they do not add "
        "up, and none is in the saving above. Change one thing at a time, then idleburn compare.");
  }
  return table;
}

ReportTable DeclinedTable(const ViewContext& c) {
  ReportTable table;
  table.title = "Considered, not advised";
  AddColumn(&table, "Lever", Align::kLeft);
  AddColumn(&table, "Lacks", Align::kLeft, true);
  for (const Advice::Declined& d : c.report.advice.declined) table.rows.push_back({std::string(d.id), d.why});
  return table;
}

ReportTable QualityTable(const ViewContext& c) {
  ReportTable table;
  table.title = "Data quality";
  AddColumn(&table, "Severity", Align::kLeft);
  AddColumn(&table, "What was met and how it was treated", Align::kLeft, true);
  if (c.report.quality == nullptr) return table;
  for (const Severity severity : {Severity::kError, Severity::kWarn, Severity::kInfo}) {
    for (const QualityInfo& info : kQualityTable) {
      const DataQuality::Row& row = c.report.quality->Get(info.id);
      if (info.severity != severity || row.count == 0) continue;
      table.rows.push_back({std::string(Name(severity)), Describe(info, row)});
    }
  }
  return table;
}

}  // namespace idleburn
