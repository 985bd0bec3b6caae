#include "report/view_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "diagnose/make_finding.h"
#include "price/catalogue.h"
#include "report/display.h"
#include "text/figures.h"

// How every part of a view writes its hours and money. A report mixes tables and sentences, and readers compare them.
// So decimals, denominators and rounding are decided once, here, for the whole report.
//
// A share beside an amount is of the bill. If GPUs have different prices, it is a share of money, because their hours
// have no common worth. Without a price it is a share of GPU-hours, and of a trace it is a share of the traced window
// (docs/money.md, "One bill on a page").
namespace idleburn {
namespace {

// More rates than these are counted in the headline. The table of prices has all.
constexpr std::size_t kRatesNamed = 3;

// "oldest price as of 2026-07-20", "undated", or the oldest date and "some undated".
std::string DatesOf(const std::vector<Rate::Candidate>& offers) {
  std::optional<Instant> oldest;
  bool undated = offers.empty();
  for (const Rate::Candidate& offer : offers) {
    undated = undated || !offer.as_of;
    if (offer.as_of && (!oldest || *offer.as_of < *oldest)) oldest = offer.as_of;
  }
  if (!oldest) return AsOf(oldest);
  return "oldest price " + AsOf(oldest) + (undated ? ", some undated" : "");
}

}  // namespace

// The order of the members is the order of their initialization: slices need hours and costs.
ViewContext::ViewContext(const AuditReport& audit)
    : report(audit),
      currency(audit.cost.rate.currency),
      hour_digits(HourDecimals(audit.cost.whole.window_ns)),
      priced(audit.cost.whole.total.has_value()),
      hours(HourColumnOf(audit.cost.whole, HourUnit())),
      costs(CostColumnOf(audit.cost)),
      slices(SlicesOf(audit.cost.whole, hours, costs)),
      finding_costs(FindingCosts(audit.cost, audit.advice.findings)),
      by_rate(priced && audit.cost.several() && *audit.cost.whole.total > Money()),
      in_money(priced && !audit.traced_only && audit.cost.whole.window_ns > 0) {}

std::string ViewContext::PriceOfOne(const CostOfOne& cost) const {
  return UnitPrice(static_cast<double>(cost.digits) * std::pow(10, -cost.decimals), currency);
}

// A price of a trace is relative to one GPU-hour: the window itself is too short to cost anything.
std::string ViewContext::Worth(const std::optional<Money>& cost, std::int64_t ns) const {
  if (in_money && cost && !Unpriced(cost, ns)) return Cost(*cost);
  const std::int64_t window = report.cost.whole.window_ns;
  if (report.traced_only && report.cost.rate.per_gpu_hour && window > 0) {
    if (const Result<Money> part = Scale(*report.cost.rate.per_gpu_hour, ns, window)) {
      return Cost(*part) + " of each GPU-hour";
    }
  }
  return GpuHours(ns);
}

// Every share of the report names it, so a percentage can never be of something else.
std::string_view ViewContext::Bill() const {
  return report.traced_only ? "the traced window" : in_money ? "the bill" : "all GPU-hours";
}

double ViewContext::ShareOfBill(const std::optional<Money>& cost, std::int64_t ns) const {
  if (by_rate) return ShareOf(cost.value_or(Money()).nano(), report.cost.whole.total->nano());
  return ShareOf(ns, report.cost.whole.window_ns);
}

std::string ViewContext::Part(const BillSlice& slice) const {
  const std::string amount =
      in_money && !Unpriced(slice.cost, slice.ns) ? Cost(slice.shown_cost) : Hours(slice.shown_ns) + " GPU-hours";
  if (by_rate && Unpriced(slice.cost, slice.ns)) return amount + " without a price";
  return fmt::format("{} ({})", amount, PercentText(ShareOfBill(slice.cost, slice.ns)));
}

std::string ViewContext::Waste() const {
  const UsageCost& u = report.cost.whole;
  const std::int64_t ns = WasteNs(u);
  const std::string amount = in_money && costs ? Cost(costs->waste) : Worth(u.waste, ns);
  return fmt::format("{} ({})", amount, PercentText(ShareOfBill(u.waste, ns)));
}

std::string ViewContext::Part(const Finding& f, const std::optional<Money>& shown_cost) const {
  // A finding of a trace beside a log has a share of the traced window, not of the bill.
  if (f.of_run) return fmt::format("{} of the traced window", PercentText(f.share));
  const bool wastes = f.waste_ns > 0;
  const std::int64_t ns = wastes ? f.waste_ns : f.gpu_ns;
  const std::optional<Money>& cost = wastes ? f.cost : f.time_cost;
  // Milliseconds of a capture are no bill. Without a price only their share is printed.
  if (report.traced_only && !(wastes && report.cost.rate.per_gpu_hour))
    return fmt::format("{} of {}", PercentText(ShareOfBill(cost, ns)), Bill());
  const bool unpriced = in_money && by_rate && !cost;
  std::string amount = wastes && !unpriced ? Worth(shown_cost, ns) : GpuHours(ns);
  if (unpriced) return amount + " without a price";
  return fmt::format("{}, {} of {}", amount, PercentText(ShareOfBill(cost, ns)), Bill());
}

std::vector<const BillSlice*> SlicesLargestFirst(const ViewContext& c) {
  std::vector<const BillSlice*> slices;
  for (const BillSlice& slice : c.slices) {
    if (slice.ns > 0) slices.push_back(&slice);
  }
  // Money orders the slices where GPUs have several rates: an hour of a dear GPU weighs more.
  const auto size = [&](const BillSlice* s) { return c.by_rate ? s->cost.value_or(Money()).nano() : s->ns; };
  std::stable_sort(slices.begin(), slices.end(),
                   [&](const BillSlice* a, const BillSlice* b) { return size(a) > size(b); });
  return slices;
}

std::int64_t WasteNs(const UsageCost& usage) { return std::llround(WastedNs(usage)); }

void SortByWaste(const CostReport& cost, std::vector<std::size_t>* devices) {
  const auto lost = [&](std::size_t i) { return WastedNs(cost.devices[i].usage); };
  std::stable_sort(devices->begin(), devices->end(), [&](std::size_t a, std::size_t b) { return lost(a) > lost(b); });
}

double ShareOf(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string WithoutOffer(const ViewContext& c) {
  // Rates with neither a price nor a range: no candidate of the catalogue fits.
  std::int64_t ns = 0;
  for (const CostReport::RateUse& use : c.report.cost.rates) {
    if (!use.rate.per_gpu_hour && !use.rate.low) ns += use.window_ns;
  }
  return ns == 0 ? std::string() : ", without " + c.GpuHours(ns) + " that have no offer";
}

// Up to three rates are named; a reader then checks the total by hand.
std::string PaidHours(const ViewContext& c) {
  const CostReport& cost = c.report.cost;
  const std::int64_t unpriced = cost.whole.unpriced.window_ns;
  std::string text = c.GpuHours(cost.whole.window_ns - unpriced);
  if (!cost.several()) return text;
  std::string rates;
  std::size_t named = 0;
  for (const CostReport::RateUse& use : cost.rates) {
    // Names the first rates and counts the others.
    if (!use.rate.per_gpu_hour || ++named > kRatesNamed) continue;
    rates += rates.empty() ? GpuCount(use.gpus, use.others) + " at " : fmt::format(", {} at ", use.gpus);
    rates += c.PriceOfOne(*use.rate.per_gpu_hour);
  }
  if (named > kRatesNamed) rates += fmt::format(" and others at {} more rates", named - kRatesNamed);
  text += " (" + rates + ")";
  return unpriced > 0 ? text + ", excluding " + ThreeDigits(InHours(unpriced)) + " unpriced GPU-hours" : text;
}

std::string EnergyBasis(const ViewContext& c) {
  constexpr double kAllOfIt = 0.95;  // the sensor itself may be 5 % off
  const UsageCost& u = c.report.cost.whole;
  const std::optional<double> coverage = EnergyCoverage(u);
  if (!coverage || *coverage >= kAllOfIt) return "± 5 %";
  return fmt::format("over {} of {}", ThreeDigits(InHours(u.energy_ns)), c.GpuHours(u.energy_window_ns));
}

// The cases go from much to little knowledge: a range of offers, a contract for a part, a price without time, and
// nothing.
std::string PriceHint(const ViewContext& c, bool dated) {
  const Rate& rate = c.report.cost.rate;
  // Several offers: the range, and a key that would settle it.
  if (rate.low && rate.high) {
    // The key stands first: one screen may cut the end of the sentence.
    const std::string key = rate.candidates.empty() ? "KEY" : rate.candidates.front().key;
    std::string line = fmt::format("give a price, for example --price {}; the catalogue has {} a GPU-hour{}", key,
                                   AmountInterval(*rate.low, *rate.high, c.currency),
                                   dated ? " (" + DatesOf(rate.candidates) + ")" : "");
    if (!c.report.traced_only && c.report.cost.whole.window_ns > 0 && c.report.cost.total_low &&
        c.report.cost.total_high) {
      line +=
          fmt::format(": {} in all", AmountInterval(*c.report.cost.total_low, *c.report.cost.total_high, c.currency));
      line += WithoutOffer(c);
    }
    if (!c.report.traced_only && c.report.cost.whole.observed_ns > 0 && c.report.cost.waste_low &&
        c.report.cost.waste_high) {
      line +=
          fmt::format(", {} waste", AmountInterval(*c.report.cost.waste_low, *c.report.cost.waste_high, c.currency));
    }
    return line;
  }
  if (rate.reason == "partly_under_contract") {
    return IsDated(c.report.run.start) ? "not known: a contract covers a part of the run only"
                                       : "not known: this run has no dates";
  }
  if (rate.per_gpu_hour) return c.PriceOfOne(*rate.per_gpu_hour) + " per GPU-hour; no measured time to apply it to";
  return std::string("no price is known for ") + (c.report.cost.gpus == 1 ? "this GPU" : "these GPUs") +
         ": give --price N (USD per GPU-hour) or --price PROVIDER:INSTANCE@REGION";
}

// The interval is always printed: the expected value alone reads like a promise.
std::string SavingText(const ViewContext& c, const Recommendation& r) {
  if (!r.saving) return "not quantified: " + r.basis;
  std::string text = fmt::format("{} of {}", PercentText(r.saving->expected), c.Bill());
  if (c.in_money && r.saving_cost) text = c.Cost(*r.saving_cost) + ", " + text;
  return text + " (" + PercentInterval(r.saving->low, r.saving->high) + ")";
}

std::string RangeText(const ViewContext& c, const TryFirst& t) {
  std::string text = fmt::format("{} of {}", PercentInterval(0, t.saving.high), c.Bill());
  if (c.in_money && t.most) text += fmt::format(" (up to {})", c.Cost(*t.most));
  return text;
}

}  // namespace idleburn
