#include <nlohmann/json.hpp>
#include <sstream>

#include "report/audit_json_parts.h"
#include "report/display.h"
#include "report/json_values.h"
#include "report/roofline_output.h"
#include "report/system_view.h"
#include "report/traced_time_output.h"
#include "report/write_audit.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/time_zone.h"

// The JSON document of an audit. docs/json.md documents every key, and report/json_doc_test.cc compares the two.
//
// Programs read this document, so three rules hold. A value that is not known is null, and KEY_reason says why in one
// word: a reader must never mistake "not measured" for zero. Amounts are strings, because a double cannot hold every
// billionth. Keys are only added and never change their meaning; a change of meaning would need a new schema.
//
// The keys at the top exist in every document, whatever the input was. A script can then ask for it without a test of
// its presence.
namespace idleburn {
namespace {

using Json = nlohmann::ordered_json;

// GPU-hours as a plain, unrounded number. Rounded hours would not add up in a spreadsheet.
void PutHours(Json& to, const std::string& key, std::optional<std::int64_t> ns, std::string_view reason) {
  PutNumber(to, key, ns ? std::optional(InHours(*ns)) : std::nullopt, reason);
}

// Writes the amounts of one audit. K holds the amount in the currency's minor unit, as tables print it, and K_exact
// holds all decimals. Without an amount, K is null and K_reason says why. Example: "waste": "32.00", "waste_exact":
// "32.000000000".
class MoneyWriter {
 public:
  // `rate` gives the currency and the usual reason for null. A run of several rates still has amounts, so
  // "several_rates" never explains a missing amount. What is missing there has no price.
  explicit MoneyWriter(const Rate& rate)
      : digits_(MinorUnitDigits(rate.currency)),
        no_money_(rate.reason == "several_rates" ? std::string_view("no_price") : NoMoneyReason(rate)) {}

  // `reason` replaces the usual reason where something other than the price is missing.
  void Put(Json& to, const std::string& key, const std::optional<Money>& exact, std::string_view reason = {}) const {
    if (exact) {
      PutShown(to, key, *exact, *exact);
    } else {
      PutUnknown(to, key, reason.empty() ? no_money_ : reason);
    }
  }
  // For a cell of a table. `shown` was rounded together with its column, so it may differ from the rounded `exact` by
  // one minor unit (docs/json.md).
  void PutCell(Json& to, const std::string& key, std::optional<Money> shown, const std::optional<Money>& exact,
               std::string_view reason = {}) const {
    if (shown && exact) {
      PutShown(to, key, *shown, *exact);
    } else {
      PutUnknown(to, key, reason.empty() ? no_money_ : reason);
    }
  }
  // Unit costs keep their decimals: two of them would print $0.0004 per sample as 0.00.
  [[nodiscard]] std::string Unit(const CostOfOne& cost) const { return FormatExact(cost, digits_); }
  [[nodiscard]] std::string_view no_money() const { return no_money_; }

 private:
  void PutShown(Json& to, const std::string& key, Money shown, Money exact) const {
    to[key] = FormatMoney(shown, digits_);
    to[key + "_exact"] = FormatExact(exact, digits_);
  }
  int digits_;
  std::string_view no_money_;
};

// One device, or all devices together, with what the writers need beside the usage. Both have the same keys in the
// document, so both pass through the same functions. So a program reads a device with the code that reads the whole.
struct Part {
  const UsageCost& usage;
  std::optional<CostColumn> costs;
  TickView ticks;
  SpinView spin;
  UnobservedTimes unobserved;
  std::optional<ReasonTimes> reasons;
  bool knows_clock_loss;
};

// One amount of a column. Absent if the run has no price.
std::optional<Money> Pick(const std::optional<CostColumn>& costs, Money CostColumn::*member) {
  return costs ? std::optional((*costs).*member) : std::nullopt;
}

// Time and cost by phase. `percent` is a share of observed time, not of the bill: the slices have the share of the
// bill.
Json PhasesJson(const Part& part, const MoneyWriter& money) {
  Json phases;
  const auto shares = PhaseShares(part.usage);
  for (std::size_t p = 0; p < kPhaseCount; ++p) {
    Json phase;
    phase["gpu_hours"] = InHours(part.usage.phase_ns[p]);
    PutNumber(phase, "percent", shares ? std::optional(static_cast<double>((*shares)[p]) / 100) : std::nullopt,
              "nothing_observed");
    const std::optional<Money> shown = part.costs ? std::optional(part.costs->phase[p]) : std::nullopt;
    money.PutCell(phase, "cost", shown, part.usage.phase_cost[p]);
    phases[std::string(kPhaseNames[p])] = std::move(phase);
  }
  return phases;
}

// The bill by slice. Costs add up to the total and percentages to 100. With several rates the percentages are shares
// of money, because hours of different prices have no common worth.
Json SlicesJson(const CostReport& cost, const MoneyWriter& money) {
  const std::vector<BillSlice> slices = SlicesOf(cost.whole, HourColumnOf(cost.whole, 1), CostColumnOf(cost));
  const bool by_rate = cost.several() && cost.whole.total.value_or(Money()) > Money();
  std::vector<std::int64_t> parts;
  for (const BillSlice& s : slices) parts.push_back(by_rate ? s.cost.value_or(Money()).nano() : s.ns);
  const std::vector<std::int64_t> percent = SharesOf(parts);
  Json list = Json::array();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    Json slice = {{"id", slices[i].id}, {"gpu_hours", InHours(slices[i].ns)}};
    PutNumber(slice, "percent",
              cost.whole.window_ns > 0 ? std::optional(static_cast<double>(percent[i]) / 100) : std::nullopt,
              "nothing_measured");
    money.PutCell(slice, "cost", slices[i].shown_cost, slices[i].cost);
    list.push_back(std::move(slice));
  }
  return list;
}

// What single readings show about bursts. `count` is of distinct readings; `rows` also counts rows that repeat one.
Json TicksJson(const TickView& ticks) {
  Json json;
  json["count"] = ticks.total;
  json["rows"] = ticks.rows;
  PutNumber(json, "independent", ticks.collection_known ? std::optional(ticks.independent) : std::nullopt,
            "collection_unknown");
  for (std::size_t p = 0; p < kPhaseCount; ++p) {
    PutNumber(json, std::string(kPhaseNames[p]), ticks.Share(static_cast<Phase>(p)), "no_readings");
  }
  PutNumber(json, "standard_error_pp", ticks.StandardError(),
            ticks.collection_known ? "no_readings" : "collection_unknown");
  PutNumber(json, "burst_index", ticks.BurstIndex(), "no_readings");
  json["pattern"] = ticks.pattern;
  PutNumber(json, "window_s", ticks.window ? std::optional(InSeconds(*ticks.window)) : std::nullopt, "not_measured");
  return json;
}

// The times of a part and where they went: observed by phase, unobserved by reason, and unallocated MIG slices. They
// add up to `window` exactly.
void PutHourSums(Json& to, const Part& part, const MoneyWriter& money) {
  const UsageCost& u = part.usage;
  const bool seen = u.observed_ns > 0;
  Json hours;
  hours["window"] = InHours(u.window_ns);
  hours["observed"] = InHours(u.observed_ns);
  hours["unobserved"] = InHours(u.unobserved_ns);
  hours["unallocated"] = InHours(u.unallocated_ns);
  PutNumber(hours, "effective", seen ? std::optional(InHours(u.effective_ns)) : std::nullopt, "nothing_observed");
  to["gpu_hours"] = std::move(hours);
  to["phases"] = PhasesJson(part, money);

  Json unobserved;
  unobserved["gpu_hours"] = InHours(u.unobserved_ns);
  money.PutCell(unobserved, "cost", Pick(part.costs, &CostColumn::unobserved), u.unobserved_cost);
  for (std::size_t i = 0; i < kUnobservedCount; ++i) {
    unobserved["by_reason"][std::string(kUnobservedNames[i])] = InHours(part.unobserved[i]);
  }
  to["unobserved"] = std::move(unobserved);
  Json unallocated;
  unallocated["gpu_hours"] = InHours(u.unallocated_ns);
  money.PutCell(unallocated, "cost", Pick(part.costs, &CostColumn::unallocated), u.unallocated_cost);
  to["unallocated"] = std::move(unallocated);
}

// The keys that the whole document and each entry of `per_gpu` share.
void PutUsage(Json& to, const Part& part, const MoneyWriter& money) {
  const UsageCost& u = part.usage;
  PutHourSums(to, part, money);
  to["ticks"] = TicksJson(part.ticks);
  PutNumber(to, "mean_utilization_percent", u.mean_utilization, "nothing_observed");
  to["idle_held_gpu_hours"] = InHours(u.idle_held_ns);
  to["idle_empty_gpu_hours"] = InHours(u.idle_empty_ns);
  to["idle_unknown_gpu_hours"] = InHours(u.idle_unknown_ns);
  PutHours(to, "spin_wait_gpu_hours", part.spin.ns, "no_activity_or_power_evidence");
  to["spin_wait_unknown_gpu_hours"] = InHours(part.spin.unknown_ns);
  PutText(to, "spin_wait_lacks", part.spin.lacks, "nothing_lacks");
  to["busy_at_low_power_gpu_hours"] = InHours(part.spin.dim_ns);
  PutNumber(to, "energy_kwh", u.energy_kwh, "not_measured");
  PutNumber(to, "energy_coverage", EnergyCoverage(u), "not_measured");
  PutNumber(to, "mean_power_w", u.mean_power_w, "not_measured");
  // A board that never reported its clock events has unknown throttling, not none.
  const auto if_read = [&](std::int64_t ns) { return part.reasons ? std::optional(ns) : std::nullopt; };
  PutHours(to, "throttled_gpu_hours", if_read(u.throttled_ns), "not_measured");
  PutHours(to, "throttled_with_clock_loss_gpu_hours",
           part.knows_clock_loss ? if_read(u.throttled_with_loss_ns) : std::nullopt, "not_measured");
  if (part.reasons) {
    for (std::size_t i = 0; i < kEventReasonCount; ++i) {
      to["event_reasons_gpu_hours"][std::string(kEventReasonTable[i].name)] = InHours((*part.reasons)[i]);
    }
  } else {
    PutUnknown(to, "event_reasons_gpu_hours", "not_measured");
  }
}

// The price of a GPU-hour with its source and date, so that every amount can be recomputed.
void PutRate(Json& to, const Rate& rate, const MoneyWriter& money) {
  to["currency"] = Printable(rate.currency);
  money.Put(to, "rate_per_gpu_hour", rate.per_gpu_hour, NoMoneyReason(rate));
  PutText(to, "rate_kind", rate.kind == RateKind::kNone ? std::string_view() : Name(rate.kind), NoMoneyReason(rate));
  PutText(to, "rate_source", rate.source, money.no_money());
  PutText(to, "rate_as_of", rate.as_of ? FormatRfc3339(*rate.as_of) : std::string(), "not_dated");
  to["rate_stale"] = rate.stale;
}

// Why there is no cost per effective hour. The order matters: without a price nothing else is to blame. If there was
// busy time and still no quotient, the time was too little: the quotient exceeds what an amount can hold. The words are
// those of docs/json.md.
std::string_view NoEffectiveReason(const UsageCost& u, const MoneyWriter& money) {
  if (!u.total) return money.no_money();
  return u.effective_ns > u.unpriced.effective_ns ? "too_little_work"
         : u.observed_ns > 0                      ? "undefined_no_busy_time"
                                                  : "nothing_observed";
}

// The costs of one device or of the whole. Waste is null unless something was observed, and spin-wait is null unless
// it could be told from work: 0 would claim that there was none.
void PutCosts(Json& to, const Part& part, const std::optional<Money>& per_effective, const EffectiveBounds& bounds,
              const MoneyWriter& money) {
  const UsageCost& u = part.usage;
  money.PutCell(to, "total", Pick(part.costs, &CostColumn::total), u.total);
  money.PutCell(to, "waste", Pick(part.costs, &CostColumn::waste), u.observed_ns > 0 ? u.waste : std::nullopt,
                u.total && u.observed_ns == 0 ? "nothing_observed" : "");
  money.PutCell(to, "idle_held", Pick(part.costs, &CostColumn::idle_held), u.idle_held_cost);
  money.PutCell(to, "idle_empty", Pick(part.costs, &CostColumn::idle_empty), u.idle_empty_cost);
  money.PutCell(to, "spin_wait", Pick(part.costs, &CostColumn::spin_wait),
                part.spin.ns ? u.spin_wait_cost : std::nullopt,
                u.total && !part.spin.ns ? "no_activity_or_power_evidence" : "");
  const std::string_view undefined = NoEffectiveReason(u, money);
  money.Put(to, "per_effective_gpu_hour", per_effective, undefined);
  money.Put(to, "per_effective_gpu_hour_low", bounds.low, undefined);
  money.Put(to, "per_effective_gpu_hour_high", bounds.high, undefined);
}

// Where the price is ambiguous: the range of total and waste over the candidates, and the candidates themselves.
void PutRange(Json& to, const CostReport& cost, const MoneyWriter& money) {
  const std::string_view reason = cost.whole.total ? "price_known" : money.no_money();
  money.Put(to, "total_low", cost.total_low, reason);
  money.Put(to, "total_high", cost.total_high, reason);
  money.Put(to, "waste_low", cost.waste_low, reason);
  money.Put(to, "waste_high", cost.waste_high, reason);
  Json candidates = Json::array();
  for (const Rate::Candidate& c : cost.rate.candidates) {
    Json candidate;
    candidate["key"] = Printable(c.key);
    money.Put(candidate, "per_gpu_hour", c.per_gpu_hour);
    candidates.push_back(std::move(candidate));
  }
  to["candidates"] = std::move(candidates);
}

// Cost per unit of work. The four usual units always have a key, so that a script can ask for one without a test; any
// other unit is in `per_unit` only.
void PutUnitCosts(Json& to, const CostReport& cost, const MoneyWriter& money) {
  for (const char* unit : {"sample", "token", "step", "epoch"}) {
    const std::string key = std::string("per_") + unit;
    const auto found = cost.per_unit.find(unit);
    if (found == cost.per_unit.end()) {
      // The samples are those of all GPUs, so a cost of some of them has no unit cost.
      const bool in_part = cost.whole.unpriced.window_ns > 0;
      PutUnknown(to, key, !cost.whole.total ? money.no_money() : in_part ? "unpriced_gpus" : "no_work_count");
    } else if (!found->second) {
      PutUnknown(to, key, "too_little_work");
    } else {
      to[key] = money.Unit(*found->second);
      to[key + "_exact"] = money.Unit(*found->second);
    }
  }
  Json all = Json::object();
  for (const auto& [unit, m] : cost.per_unit) {
    if (m) {
      all[Printable(unit)] = money.Unit(*m);
    } else {
      PutUnknown(all, Printable(unit), "too_little_work");
    }
  }
  to["per_unit"] = std::move(all);
}

// Cost per hour, month and year. With a price, a missing projection is one that exceeds the largest amount.
void PutProjections(Json& to, const CostReport& cost, const MoneyWriter& money) {
  const std::string_view reason = cost.whole.total ? "beyond_range" : std::string_view();
  money.Put(to, "hourly", cost.hourly, reason);
  money.Put(to, "monthly", cost.monthly, reason);
  money.Put(to, "yearly", cost.yearly, reason);
  to["month_hours"] = cost.month_hours;
}

// Each rate with its GPUs, hours and source. The costs are rounded as a column, so they add up to the total.
Json RatesJson(const CostReport& cost) {
  // Amounts are rounded together, so the rates of the table add up to the printed total.
  std::vector<Money> exact;
  for (const CostReport::RateUse& use : cost.rates) exact.push_back(use.cost.value_or(Money()));
  const std::optional<CostColumn> whole = CostColumnOf(cost);
  const std::vector<Money> shown = whole ? RoundedTo(whole->total, exact, MinorUnit(cost.rate.currency)) : exact;
  Json list = Json::array();
  for (std::size_t i = 0; i < cost.rates.size(); ++i) {
    const CostReport::RateUse& use = cost.rates[i];
    const MoneyWriter money(use.rate);
    Json json;
    json["gpus"] = use.gpus;
    json["gpu_hours"] = InHours(use.window_ns);
    PutRate(json, use.rate, money);
    money.PutCell(json, "cost", shown[i], use.cost);
    list.push_back(std::move(json));
  }
  return list;
}

// Energy has a currency of its own: a tariff in EUR can stand beside a GPU price in USD.
void PutEnergyCost(Json& to, const CostReport& cost) {
  Rate of_energy;
  of_energy.currency = cost.energy_currency;
  MoneyWriter(of_energy).Put(to, "energy", cost.energy_cost,
                             cost.energy_beyond_range ? "beyond_range" : "not_asked_or_not_measured");
  to["energy_currency"] = cost.energy_currency;
}

// The whole cost object of the document.
Json CostJson(const CostReport& cost, const Part& whole, const MoneyWriter& money) {
  Json json;
  PutRate(json, cost.rate, money);
  json["rates"] = RatesJson(cost);
  json["price_remarks"] = TextsOf<Json>(cost.price_remarks);
  json["unpriced_gpu_hours"] = InHours(cost.whole.unpriced.window_ns);
  PutCosts(json, whole, cost.per_effective_gpu_hour, EffectiveBoundsOf(cost), money);
  PutNumber(json, "waste_share", cost.whole.observed_ns > 0 ? std::optional(cost.waste_share) : std::nullopt,
            "nothing_observed");
  PutUnitCosts(json, cost, money);
  PutProjections(json, cost, money);
  PutRange(json, cost, money);
  PutEnergyCost(json, cost);
  return json;
}

// How a device is identified. Values are null where the source did not report them; `mig` is null for a whole GPU.
void PutDevice(Json& to, const Device& d) {
  if (d.index) {
    to["index"] = *d.index;
  } else {
    PutUnknown(to, "index", "not_reported");
  }
  PutText(to, "uuid", d.uuid, "not_reported");
  PutText(to, "name", d.name, "not_reported");
  PutText(to, "host", d.host, "not_reported");
  if (!d.mig) {
    PutUnknown(to, "mig", "whole_gpu");
    return;
  }
  Json mig;
  mig["id"] = Printable(d.mig->id);
  mig["profile"] = Printable(d.mig->profile);
  mig["slices"] = d.mig->slices;
  to["mig"] = std::move(mig);
}

// The window, its GPUs and the counters that decided the phases. Times are null for a log without dates: the counting
// starts at zero there, and 1970 would look like a date.
Json WindowJson(const AuditReport& report) {
  Json json;
  const std::string_view why = report.run.devices.empty()  ? "nothing_measured"
                               : IsDated(report.run.start) ? ""
                                                           : "no_dates";
  PutText(json, "start", why.empty() ? FormatRfc3339(report.run.start) : "", why);
  PutText(json, "end", why.empty() ? FormatRfc3339(report.run.end) : "", why);
  Json gpus = Json::array();
  for (const CostReport::DeviceCost& d : report.cost.devices) {
    Json gpu;
    PutDevice(gpu, (*report.devices)[d.device]);
    gpus.push_back(std::move(gpu));
  }
  json["gpus"] = std::move(gpus);
  const std::vector<std::string> counters = CountersOf(report);
  PutText(json, "counter", CommonCounter(report), counters.empty() ? "not_reported" : "several_counters");
  json["counters"] = TextsOf<Json>(counters);
  return json;
}

// The counters of all signals of a device, including the one that decided its phases.
std::vector<std::string> CountersRead(const Device& device) {
  std::vector<std::string> counters;
  for (const std::string& counter : device.counter) {
    if (!counter.empty()) counters.push_back(counter);
  }
  return counters;
}

// How the device was read: the period in each stretch of the log, how many scrapes repeat one collection of the
// exporter, and how many rows share a stamp. With these a program can judge how many readings are independent.
void PutPace(Json& to, const DeviceResult& result) {
  to["periods"] = Json::array();
  for (const PeriodPiece& piece : result.periods) {
    Json json;
    PutText(json, "start", IsDated(piece.start) ? FormatRfc3339(piece.start) : "", "no_dates");
    json["period_s"] = InSeconds(piece.period);
    to["periods"].push_back(std::move(json));
  }
  // By Collection::Known. Only kTold has a number.
  constexpr std::array<std::string_view, 5> kWhy = {"not_scraped", "", "all_constant", "too_few_changes", "irregular"};
  const Collection& collection = result.collection;
  const bool told = collection.known == Collection::Known::kTold;
  PutNumber(to, "scrapes_per_collection", told ? std::optional(collection.scrapes) : std::nullopt,
            kWhy[static_cast<std::size_t>(collection.known)]);
  PutNumber(to, "rows_per_stamp", result.totals.RowsPerStamp(), "one");
}

// One entry of `per_gpu`. `costs` comes from DeviceCostColumns, so that the totals of all entries add up to the whole.
// Keys that the whole document has too are written by the same functions.
Json DeviceJson(const AuditReport& report, const CostReport::DeviceCost& d, const std::optional<CostColumn>& costs,
                const MoneyWriter& money) {
  const DeviceResult* result = ResultOf(report, d.device);
  const Part part = {d.usage,
                     costs,
                     result != nullptr ? TicksOf(*result, report.thresholds) : TickView(),
                     SpinOf(report, d),
                     UnobservedOf(report, d),
                     ReasonsOf(report, d.device),
                     KnowsClockLoss(report, d.device)};
  Json json;
  PutDevice(json, (*report.devices)[d.device]);
  json["gpu_share"] = d.gpu_share;
  PutText(json, "counter", CounterOf(report, d.device), "not_reported");
  json["counters"] = TextsOf<Json>(CountersRead((*report.devices)[d.device]));
  const bool has_period = result != nullptr && result->period;
  PutNumber(json, "period_s", has_period ? std::optional(InSeconds(*result->period)) : std::nullopt, "not_measured");
  if (result != nullptr) PutPace(json, *result);
  PutUsage(json, part, money);
  json["signals"] = SignalsJson<Json>(MeasuredOf(report, d.device));
  Json cost;
  PutRate(cost, report.cost.RateOf(d), money);
  // The same quotient as the whole's: cost of allocated time / effective GPU-hours.
  const EffectiveBounds bounds = EffectiveBoundsOf(report.cost, d);
  PutCosts(cost, part, bounds.high, bounds, money);
  json["cost"] = std::move(cost);
  return json;
}

// Each device is written with its own rate and currency, not with those of the run. A cluster may pay for its GPUs in
// several currencies, and then has amounts per GPU but no total.
Json DevicesJson(const AuditReport& report) {
  Json list = Json::array();
  const std::vector<std::optional<CostColumn>> costs = DeviceCostColumns(report.cost);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    list.push_back(
        DeviceJson(report, report.cost.devices[i], costs[i], MoneyWriter(report.cost.RateOf(report.cost.devices[i]))));
  }
  return list;
}

// What each owner (job, pod) held and cost, with a row for time that no owner claims. Costs are rounded as a column.
// `estimated` marks time that several owners share in equal parts, because their source names them all for one GPU.
Json OwnersJson(const CostReport& cost, const MoneyWriter& money) {
  std::vector<Money> exact;
  for (const CostReport::OwnerCost& owner : cost.owners) exact.push_back(owner.cost.value_or(Money()));
  const std::optional<CostColumn> whole = CostColumnOf(cost);
  const std::vector<Money> shown = whole ? RoundedTo(whole->total, exact, MinorUnit(cost.rate.currency)) : exact;
  Json list = Json::array();
  for (std::size_t i = 0; i < cost.owners.size(); ++i) {
    Json owner;
    PutText(owner, "owner", cost.owners[i].owner, "none_named");
    owner["gpu_hours"] = InHours(cost.owners[i].gpu_ns);
    money.PutCell(owner, "cost", shown[i], cost.owners[i].cost);
    owner["unpriced_gpu_hours"] = InHours(cost.owners[i].unpriced_ns);
    owner["estimated"] = cost.owners[i].estimated;
    list.push_back(std::move(owner));
  }
  return list;
}

// A trace has findings without any observed time of a log. Their shares are then of the traced window.
bool HasTraced(const AuditReport& report) { return report.trace && !report.trace->devices.empty(); }

// The findings with what they rest on. Their costs together stay within the waste (docs/money.md, "One bill on a
// page"). Without observed time a share is null, because it would be a share of nothing.
Json FindingsJson(const AuditReport& report, const MoneyWriter& money) {
  const std::vector<std::optional<Money>> costs = FindingCosts(report.cost, report.advice.findings);
  const bool observed = report.cost.whole.observed_ns > 0 || HasTraced(report);
  Json list = Json::array();
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const Finding& f = report.advice.findings[i];
    Json finding;
    finding["cause"] = f.cause;
    finding["title"] = f.title;
    finding["status"] = Name(f.status);
    PutNumber(finding, "share", observed ? std::optional(f.share) : std::nullopt, "nothing_measured");
    finding["share_of"] = f.of_run || report.traced_only ? "traced_window" : "observed_time";
    finding["evidence"] = TextsOf<Json>(f.evidence);
    finding["refutes"] = TextsOf<Json>(f.refutes);
    finding["isolate"] = TextOrNull<Json>(f.isolate);
    finding["gpu_hours"] = InHours(f.gpu_ns);
    money.Put(finding, "time_cost", f.time_cost);
    finding["waste_gpu_hours"] = InHours(f.waste_ns);
    money.PutCell(finding, "cost", costs[i], f.cost, f.waste_ns > 0 ? std::string_view() : "explains_no_waste");
    list.push_back(std::move(finding));
  }
  return list;
}

// What would help, with the interval of each saving. A measure without a figure is listed with `saving` null.
// `verify_with` is the command that would prove the saving afterwards.
Json RecommendationsJson(const Advice& advice, const MoneyWriter& money) {
  Json list = Json::array();
  for (const Recommendation& r : advice.recommendations) {
    Json rec;
    rec["id"] = r.id;
    rec["title"] = Printable(r.title);
    rec["axis"] = Name(r.axis);
    rec["cause"] = TextOrNull<Json>(r.cause);
    if (r.saving) {
      rec["saving"] = {{"low", r.saving->low}, {"expected", r.saving->expected}, {"high", r.saving->high}};
    } else {
      PutUnknown(rec, "saving", "not_quantified");
    }
    money.Put(rec, "saving_cost", r.saving_cost, r.saving ? std::string_view() : "not_quantified");
    rec["how"] = TextOrNull<Json>(r.how);
    rec["verify_with"] = Printable(r.verify_with);
    rec["basis"] = TextOrNull<Json>(r.basis);
    list.push_back(std::move(rec));
  }
  return list;
}

// What a pattern suggests and nothing proved yet. These rows say "proved": false, so that a script cannot sum them
// with the recommendations.
Json TryFirstJson(const Advice& advice, const MoneyWriter& money) {
  Json list = Json::array();
  for (const TryFirst& t : advice.try_first) {
    Json row;
    row["id"] = t.id;
    row["title"] = Printable(t.title);
    row["proved"] = false;
    row["pattern"] = t.pattern;
    row["reaches"] = t.reaches;
    row["reachable"] = t.reachable;
    row["saving"] = {{"low", t.saving.low}, {"expected", t.saving.expected}, {"high", t.saving.high}};
    money.Put(row, "high_cost", t.most);
    row["how"] = Printable(t.how);
    row["evidence"] = TextsOf<Json>(t.evidence);
    row["against"] = TextsOf<Json>(t.against);
    row["confirm"] = Printable(t.confirm);
    row["basis"] = Printable(t.basis);
    list.push_back(std::move(row));
  }
  return list;
}

// All recommendations together, by the rule that combined them (docs/combining.md). `naive_sum` is the plain sum that a
// reader would otherwise compute. Fractions are of the bill; `low` and `high` are a 90 % interval.
Json SavingsJson(const Advice& advice, const MoneyWriter& money) {
  const CombinedSaving& s = advice.savings;
  const bool known = IsQuantified(advice);
  const auto if_known = [&](double value) { return known ? std::optional(value) : std::nullopt; };
  Json json;
  json["naive_sum"] = s.naive_sum;
  json["time_fraction"] = s.time_fraction;
  PutNumber(json, "waste_fraction", s.waste_fraction, "whole_only_under_lanes");
  PutNumber(json, "cheaper_fraction", s.cheaper_fraction, "whole_only_under_lanes");
  PutText(json, "rule", s.rule, "no_fix_of_time");
  json["cap"] = s.cap;
  json["rate_fraction"] = s.rate_fraction;
  PutText(json, "rate_lever", s.rate_lever, "no_cheaper_offer");
  json["total_fraction"] = s.total_fraction;
  PutNumber(json, "low", if_known(s.low), "not_quantified");
  PutNumber(json, "high", if_known(s.high), "not_quantified");
  money.Put(json, "cost", s.cost, known ? std::string_view() : "not_quantified");
  money.Put(json, "time_cost", s.time_cost, s.rule.empty() ? "not_quantified" : std::string_view());
  return json;
}

// Measures that were considered and rejected, each with the reason.
Json DeclinedJson(const Advice& advice) {
  Json list = Json::array();
  for (const Advice::Declined& d : advice.declined) list.push_back({{"id", d.id}, {"why", Printable(d.why)}});
  return list;
}

// One number of the sampler's facts, divided by `scale` to the unit of the key. A fact that is absent or no integer
// was not recorded.
void PutSampler(Json& json, const std::string& key, const std::string& text, double scale) {
  const std::optional<std::int64_t> value = ParseInteger(text);
  if (!value) return PutUnknown(json, key, "not_recorded");
  if (scale == 1) {
    json[key] = *value;
  } else {
    json[key] = static_cast<double>(*value) / scale;
  }
}

// How well a live run was measured: missed and late ticks, and how long the driver's functions took. A fact of a
// function is one text of four numbers: calls, then p50, p99 and maximum in nanoseconds.
Json SamplerJson(const RunFacts& facts) {
  constexpr double kMillisecond = 1e6;
  Json json;
  PutSampler(json, "ticks", FactIn(facts, "sampler.ticks"), 1);
  PutSampler(json, "missed", FactIn(facts, "sampler.missed"), 1);
  for (const std::string span : {"late_p99", "late_max", "work_p99", "work_max"}) {
    PutSampler(json, span + "_ms", FactIn(facts, "sampler." + span), kMillisecond);
  }
  json["abandoned"] = facts.contains("sampler.abandoned");
  json["calls"] = Json::array();
  constexpr std::string_view kCalls = "sampler.calls.";
  for (const auto& [key, text] : facts) {
    if (!key.starts_with(kCalls)) continue;
    Json call = {{"function", Printable(key.substr(kCalls.size()))}};
    std::istringstream numbers(text);
    const auto put = [&](const std::string& name, double scale) {
      std::string number;
      numbers >> number;
      PutSampler(call, name, number, scale);
    };
    put("calls", 1);
    for (const char* span : {"p50_ms", "p99_ms", "max_ms"}) put(span, kMillisecond);
    json["calls"].push_back(std::move(call));
  }
  return json;
}

// The measured command, how it ended, and the alerts. All of it is null for an audit of a log. Times are those of the
// recording, which may begin before the first reading.
Json LiveRunJson(const LiveRun& live) {
  Json json;
  PutText(json, "command", live.command, "not_recorded");
  PutText(json, "exit", live.exit, "not_recorded");
  PutText(json, "start", live.window.start ? FormatRfc3339(*live.window.start) : "", "not_recorded");
  PutText(json, "end", live.window.end ? FormatRfc3339(*live.window.end) : "", "not_recorded");
  PutText(json, "no_gpu", live.no_gpu, "gpus_measured");
  json["sampler"] = SamplerJson(live.sampler);
  json["alerts"] = Json::array();
  for (const Note& note : live.alerts) {
    json["alerts"].push_back({{"time", FormatRfc3339(note.time)},
                              {"kind", std::string(kNoteKindNames[static_cast<std::size_t>(note.kind)])},
                              {"text", Printable(note.text)}});
  }
  return json;
}

// What the host or the workload used. Counters give their increase and gauges their maximum; CPU times become
// seconds.
Json HostUseJson(const HostUse& use) {
  constexpr double kSecond = kNanosPerSecond;
  Json json;
  json["watched_s"] = static_cast<double>(use.watched().count()) / kSecond;
  for (const HostSignalInfo& info : kHostSignals) {
    const std::optional<std::int64_t>& value = (info.counter ? use.change : use.most)[Index(info.id)];
    const std::string name(info.name);
    if (!value) {
      PutUnknown(json, name, "not_read");
    } else if (info.unit == HostUnit::kNanosecond) {
      json[name] = static_cast<double>(*value) / kSecond;
    } else {
      json[name] = *value;
    }
  }
  return json;
}

// One object per scope: the machine and the workload. The two differ on a shared machine: other programs are in the
// first only.
Json HostJson(const LiveRun& live) {
  Json json;
  for (std::size_t scope = 0; scope < kHostScopeCount; ++scope) {
    const std::string name(kHostScopeNames[scope]);
    if (live.host[scope]) {
      json[name] = HostUseJson(*live.host[scope]);
    } else {
      PutUnknown(json, name, "not_recorded");
    }
  }
  return json;
}

// A fact that must be a number, but is not, counts as not told. A recording stores facts as texts, so a damaged one may
// hold anything.
void PutFact(Json& to, const SystemItem& item, const std::optional<std::string>& value) {
  const std::string key(item.key);
  const std::optional<std::int64_t> number = value && item.number ? ParseInteger(*value) : std::nullopt;
  if (number) {
    to[key] = *number;
  } else {
    PutText(to, key, item.number ? std::string() : value.value_or(""), "not_told");
  }
}

// The machine and its GPUs as the recording describes them. GPUs stand in the order of `per_gpu`.
Json SystemJson(const AuditReport& report) {
  Json json;
  for (const SystemItem& item : kSystemItems) PutFact(json, item, SystemFact(report, item.fact));
  Json gpus = Json::array();
  for (const CostReport::DeviceCost& d : report.cost.devices) {
    Json gpu;
    gpu["uuid"] = TextOrNull<Json>((*report.devices)[d.device].uuid);
    gpu["name"] = TextOrNull<Json>((*report.devices)[d.device].name);
    for (const SystemItem& item : kGpuItems) PutFact(gpu, item, GpuFact(report, d.device, item.fact));
    gpus.push_back(std::move(gpu));
  }
  json["gpus"] = std::move(gpus);
  return json;
}

}  // namespace

std::string AuditJson(const AuditReport& report) {
  const MoneyWriter money(report.cost.rate);
  const Part whole = {report.cost.whole,    CostColumnOf(report.cost), TicksOf(report),       SpinOf(report),
                      UnobservedOf(report), ReasonsOf(report),         KnowsClockLoss(report)};
  Json json;
  json["schema"] = "idleburn.audit/1";
  json["version"] = Printable(report.version);
  PutIds(json, report.ids);
  json["window"] = WindowJson(report);
  json["inputs"] = TextsOf<Json>(report.inputs);
  json["timezone"] = Printable(report.timezone);
  json["slices"] = SlicesJson(report.cost, money);
  PutUsage(json, whole, money);
  json["cost"] = CostJson(report.cost, whole, money);
  PutNumber(json, "co2e_kg", report.cost.co2e_kg, "not_asked_or_not_measured");
  json["run"] = LiveRunJson(report.live);
  json["host"] = HostJson(report.live);
  json["billed"] = BilledJson<Json>(report, money);
  json["runs"] = RunsJson<Json>(report, money);
  json["per_gpu"] = DevicesJson(report);
  json["signals"] = SignalsJson<Json>(MeasuredOf(report));
  json["memory"] = MemoryJson<Json>(report);
  json["observations"] = ObservationsJson<Json>(report);
  json["owners"] = OwnersJson(report.cost, money);
  PutTrace(json, report.trace);
  PutTracedTime(json["traced"], report, money);
  PutRoofline(json["traced"], report);
  json["findings"] = FindingsJson(report, money);
  json["recommendations"] = RecommendationsJson(report.advice, money);
  json["try_first"] = TryFirstJson(report.advice, money);
  json["declined"] = DeclinedJson(report.advice);
  json["savings"] = SavingsJson(report.advice, money);
  json["data_quality"] = QualityJson<Json>(report.quality);
  json["thresholds"] = ThresholdsJson<Json>(report.thresholds);
  json["system"] = SystemJson(report);
  return json.dump(2) + "\n";
}

}  // namespace idleburn
