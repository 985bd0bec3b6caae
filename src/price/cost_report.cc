#include "price/cost_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "base/money.h"
#include "price/cost_split.h"
#include "price/gpu_time.h"
#include "text/number.h"
#include "text/strings.h"

// From classified time to a bill. Time is summed in whole nanoseconds and priced once per rate (RateGroup). Then the
// amount is split downwards: over the lines, over the devices, over the runs and over the owners.
//
// Splitting down is the reason that every table adds up to the printed total. Pricing each cell and adding up was
// rejected: every cell would be rounded, and a run of 1,000 GPUs would show a sum that differs from its bill
// (docs/money.md, "Rounding").
//
// The order in PriceRun matters. Times come first, so a report without any price is complete. Money follows per rate,
// and the total exists only if some GPU has a rate.

namespace idleburn {
namespace {

constexpr std::array<std::string_view, 4> kUnits = {"samples", "tokens", "steps", "epochs"};
constexpr std::size_t kDecimals = 9;

// A plain decimal above 0, in billionths. Absent for anything else.
std::optional<Int128> ParseCount(std::string_view text) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  std::string fraction(point == std::string_view::npos ? std::string_view() : text.substr(point + 1));
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  if (text.size() < (point == std::string_view::npos ? 1U : 2U) || fraction.size() > kDecimals || !AllDigits(whole) ||
      !AllDigits(fraction))
    return std::nullopt;
  fraction.resize(kDecimals, '0');
  const std::optional<std::int64_t> units = whole.empty() ? 0 : ParseInteger(whole);
  if (!units) return std::nullopt;
  const Int128 count = *units * WorkDone::kOne + *ParseInteger(fraction);
  return count > 0 ? std::optional(count) : std::nullopt;
}

}  // namespace

Result<WorkDone> ParseWork(std::string_view text) {
  WorkDone work;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = Trim(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = item.find('=');
    const std::string unit(Trim(item.substr(0, equals)));
    if (equals == std::string_view::npos || std::find(kUnits.begin(), kUnits.end(), unit) == kUnits.end()) {
      return FailUsage("--work: '" + std::string(item) +
                       "' counts no samples, tokens, steps or epochs; write it like samples=200000");
    }
    const std::optional<Int128> count = ParseCount(Trim(item.substr(equals + 1)));
    if (!count) {
      return FailUsage("--work: '" + std::string(item) + "' is not a count above 0; write a plain decimal like " +
                       unit + "=200000");
    }
    if (!work.units.emplace(unit, *count).second) return FailUsage("--work: " + unit + " is given twice; give it once");
  }
  return work;
}

std::string_view Singular(std::string_view unit) {
  if (!unit.empty() && unit.back() == 's') unit.remove_suffix(1);
  return unit;
}

namespace {

constexpr Int128 kBillion = 1'000'000'000;
// Below the first, nine decimals show fewer than three digits; the second is reached with nine digits.
constexpr std::int64_t kThreeDigits = 100;
constexpr std::int64_t kNineDigits = 100'000'000;

}  // namespace

std::optional<CostOfOne> CostOfOne::Of(Money whole, Int128 count_in_billionths) {
  const Result<Money> money = Scale(whole, kBillion, count_in_billionths);
  if (!money) return std::nullopt;
  CostOfOne cost(*money);
  if (cost.digits >= kThreeDigits) return cost;
  Int128 scaled = static_cast<Int128>(whole.nano()) * kBillion;
  while (scaled % count_in_billionths != 0 && scaled / count_in_billionths < kNineDigits) {
    scaled *= 10;
    ++cost.decimals;
  }
  cost.digits = static_cast<std::int64_t>(DivHalfEven(scaled, count_in_billionths));
  return cost;
}

CostOfOne CostOfOne::PerMillion() const {
  CostOfOne million = *this;
  million.decimals -= 6;
  return million;
}

std::string FormatExact(const CostOfOne& cost, int min_digits) {
  const auto decimals = static_cast<std::size_t>(cost.decimals);
  std::string text = std::to_string(cost.digits);
  if (text.size() <= decimals) text.insert(0, decimals + 1 - text.size(), '0');
  text.insert(text.size() - decimals, 1, '.');
  // Zeros at the end go, but not the minor unit's.
  const std::size_t least = text.size() - decimals + static_cast<std::size_t>(min_digits);
  text.resize(std::max(least, text.find_last_not_of('0') + 1));
  if (text.back() == '.') text.pop_back();
  return text;
}

namespace {

constexpr double kPicojoulesPerKwh = 3.6e18;
// The row of the owners' table for slices that no instance has.
constexpr std::string_view kUnallocatedOwner = "unallocated";

// The cost of each line of the bill in nano-units, and of what lies over lines: spin-wait and waste.
struct LineCosts {
  CostLines line{};
  std::int64_t spin_wait = 0;
  std::int64_t waste = 0;
  [[nodiscard]] std::int64_t At(Line l) const { return line[Index(l)]; }
  [[nodiscard]] std::int64_t Total() const {
    std::int64_t sum = 0;
    for (const std::int64_t c : line) sum += c;
    return sum;
  }
  [[nodiscard]] std::int64_t Observed() const { return Total() - At(Line::kUnobserved) - At(Line::kUnallocated); }
  [[nodiscard]] std::int64_t Allocated() const { return Total() - At(Line::kUnallocated); }
};

// Adds the costs of another rate. Fails if the total overflows; no part can, because none exceeds the total.
Result<void> Merge(const LineCosts& part, LineCosts* sum) {
  TRY(Add(Money::Nano(sum->Total()), Money::Nano(part.Total())));  // no part of a total is more than it
  for (std::size_t i = 0; i < kLineCount; ++i) sum->line[i] += part.line[i];
  sum->spin_wait += part.spin_wait;
  sum->waste += part.waste;
  return {};
}

// The devices of one rate. Their time is summed before it is priced. Otherwise two GPUs of one rate would be rounded
// twice.
struct RateGroup {
  std::size_t rate = 0;              // position in the card
  std::vector<std::size_t> members;  // positions in Capacity::devices
  std::vector<DeviceTime> devices;
  GpuTime time;
  int gpus = 0;
  std::map<int, int> parts;  // paid parts of GPUs by their size: {7: 3} is three sevenths, {1: 2} two whole GPUs
  LineCosts costs;           // only with a rate

  // The part of these GPUs that is not the run's.
  [[nodiscard]] double Others() const {
    double others = gpus;
    for (const auto& [of, count] : parts) others -= static_cast<double>(count) / of;
    return others;
  }
};

// The devices by their rate, in the order of the first device of each. A run without devices has one empty group with
// the card's first rate, so that its report still names a price.
std::vector<RateGroup> GroupByRate(const Capacity& capacity, const RateCard& card) {
  std::vector<RateGroup> groups;
  for (std::size_t i = 0; i < capacity.devices.size(); ++i) {
    const DeviceTime& device = capacity.devices[i];
    const std::size_t rate = card.IndexOf(device.device);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const RateGroup& g) { return g.rate == rate; });
    if (group == groups.end()) {
      groups.emplace_back().rate = rate;
      group = groups.end() - 1;
    }
    group->members.push_back(i);
    group->devices.push_back(device);
    group->time.Merge(device.time);
    group->gpus += device.a_gpu ? 1 : 0;
    group->parts[device.of] += device.parts;
  }
  if (groups.empty()) groups.emplace_back();
  return groups;
}

// Refuses amounts in two currencies: they have no sum, and a conversion would need a rate of a day that nobody stated.
// Groups without a price do not matter.
Result<void> CheckCurrencies(const std::vector<RateGroup>& groups, const RateCard& card) {
  const Rate* first = nullptr;
  for (const RateGroup& group : groups) {
    const Rate& rate = card.rates()[group.rate];
    if (!rate.per_gpu_hour) continue;
    if (first == nullptr) first = &rate;
    if (rate.currency == first->currency) continue;
    return Fail("prices in " + first->currency + " (" + first->source + ") and in " + rate.currency + " (" +
                rate.source +
                ") in one run cannot be added; give all prices in one currency with --price and --currency");
  }
  return {};
}

// whole x part / of, rounded half to even. 0 if `of` is 0.
Result<std::int64_t> Proportion(std::int64_t whole, std::int64_t part, std::int64_t of) {
  if (of == 0) return 0;
  const Money m = TRY(Scale(Money::Nano(whole), part, of));
  return m.nano();
}

// The costs of one rate. All times are priced as one sum, and the total is then split over the lines. Spin-wait is a
// part of compute_bound, and waste a part of the observed cost, each in proportion to its time. Example: 10 h at $8, 8
// h observed and half of that busy, is $80, of it $64 observed and $32 waste.
Result<LineCosts> CostOfWhole(Money rate, const GpuTime& whole) {
  LineCosts costs;
  const Money total = TRY(Price(rate, whole.WindowNs()));
  const std::vector<std::int64_t> lines = TRY(SplitNanos(total.nano(), whole.line_ns));
  std::copy(lines.begin(), lines.end(), costs.line.begin());
  const auto spin = TRY(Proportion(costs.At(Line::kComputeBound), whole.spin_ns, whole.At(Line::kComputeBound)));
  const auto waste = TRY(Proportion(costs.Observed(), whole.WasteNs(), whole.ObservedNs()));
  costs.spin_wait = spin;
  costs.waste = waste;
  return costs;
}

// Splits `whole` over the devices in proportion to what `ns_of` reads of each, and stores the parts where `cost_of`
// says.
template <typename NsOf, typename CostOf>
Result<void> SplitOver(const std::vector<DeviceTime>& devices, std::int64_t whole, NsOf ns_of, CostOf cost_of,
                       std::vector<LineCosts>* costs) {
  std::vector<std::int64_t> weights;
  for (const DeviceTime& device : devices) weights.push_back(ns_of(device.time));
  const std::vector<std::int64_t> parts = TRY(SplitNanos(whole, weights));
  for (std::size_t i = 0; i < parts.size(); ++i) cost_of((*costs)[i]) = parts[i];
  return {};
}

// The costs of the devices. They sum to those of the whole in every line and in their totals.
Result<std::vector<LineCosts>> CostOfDevices(const LineCosts& whole, const std::vector<DeviceTime>& devices) {
  std::vector<LineCosts> costs(devices.size());
  const std::vector<CostLines> lines = TRY(SplitOverDevices(whole.line, devices));
  for (std::size_t i = 0; i < costs.size(); ++i) costs[i].line = lines[i];
  TRY(SplitOver(
      devices, whole.spin_wait, [](const GpuTime& t) { return t.spin_ns; },
      [](LineCosts& c) -> std::int64_t& { return c.spin_wait; }, &costs));
  TRY(SplitOver(
      devices, whole.waste, [](const GpuTime& t) { return t.WasteNs(); },
      [](LineCosts& c) -> std::int64_t& { return c.waste; }, &costs));
  return costs;
}

// Times and energy of one device or of all, without money. Three lines of idle time are one phase.
UsageCost UsageOf(const GpuTime& time, const Energy& energy) {
  UsageCost usage;
  usage.window_ns = time.WindowNs();
  usage.observed_ns = time.ObservedNs();
  usage.unobserved_ns = time.At(Line::kUnobserved);
  usage.unallocated_ns = time.At(Line::kUnallocated);
  usage.idle_held_ns = time.At(Line::kIdleHeld);
  usage.idle_empty_ns = time.At(Line::kIdleEmpty);
  usage.idle_unknown_ns = time.At(Line::kIdleUnknown);
  usage.phase_ns = {usage.idle_held_ns + usage.idle_empty_ns + usage.idle_unknown_ns, time.At(Line::kUnderutilized),
                    time.At(Line::kProductive), time.At(Line::kComputeBound)};
  usage.spin_wait_ns = time.spin_ns;
  usage.throttled_ns = time.throttled_ns;
  usage.throttled_with_loss_ns = time.throttled_with_loss_ns;
  usage.effective_ns = static_cast<double>(time.busy_ns);
  usage.spin_effective_ns = static_cast<double>(time.spin_busy_ns);
  if (usage.observed_ns > 0) usage.mean_utilization = 100 * usage.effective_ns / static_cast<double>(usage.observed_ns);
  if (energy.picojoules) {
    usage.energy_kwh = static_cast<double>(*energy.picojoules) / kPicojoulesPerKwh;
    usage.energy_ns = energy.covered_ns;
    usage.energy_window_ns = energy.window_ns;
  }
  if (const std::optional<double> milliwatts = energy.power.Mean()) usage.mean_power_w = *milliwatts / 1000;
  return usage;
}

// Adds the money to a device or to the whole. Called only with a rate: money stays absent otherwise, since 0 would
// claim that the time was free.
void AddCosts(const LineCosts& costs, UsageCost* usage) {
  const auto money = [&](Line l) { return Money::Nano(costs.At(l)); };
  usage->total = Money::Nano(costs.Total());
  usage->phase_cost = {
      Money::Nano(costs.At(Line::kIdleHeld) + costs.At(Line::kIdleEmpty) + costs.At(Line::kIdleUnknown)),
      money(Line::kUnderutilized), money(Line::kProductive), money(Line::kComputeBound)};
  usage->unobserved_cost = money(Line::kUnobserved);
  usage->unallocated_cost = money(Line::kUnallocated);
  usage->idle_held_cost = money(Line::kIdleHeld);
  usage->idle_empty_cost = money(Line::kIdleEmpty);
  usage->idle_unknown_cost = money(Line::kIdleUnknown);
  usage->spin_wait_cost = Money::Nano(costs.spin_wait);
  usage->waste = Money::Nano(costs.waste);
}

// Absent if the amount is more than Money can hold. It is for figures beside the bill: the audit can go on without a
// yearly projection, but not without a total.
std::optional<Money> IfHeld(const Result<Money>& amount) { return amount ? std::optional(*amount) : std::nullopt; }

// The cost of allocated time divided by each count of work. Slices that no instance has are left out, because the work
// could not use them.
void AddUnitCosts(Money allocated_cost, const WorkDone& work, CostReport* report) {
  for (const auto& [unit, count] : work.units) {
    report->per_unit.emplace(Singular(unit), CostOfOne::Of(allocated_cost, count));
  }
}

// The error for a total above 9.2 billion. Such a total can only come from a mistyped price, so the message says what a
// price is.
tl::unexpected<Error> BeyondAllMoney() {
  return Fail(
      "the cost is beyond 9.2 billion, the largest amount idleburn keeps exactly; give the price of one GPU-hour, for "
      "example 4");
}

// What an hour of the run's GPUs costs. Parts of a board count as parts: three slices of seven at $7 an hour are $3.
Result<Money> HourlyOf(const RateCard& card, const std::vector<RateGroup>& groups) {
  Money hourly;
  for (const RateGroup& group : groups) {
    const Rate& rate = card.rates()[group.rate];
    if (!rate.per_gpu_hour) continue;
    for (const auto& [of, parts] : group.parts) {
      const Result<Money> part = Scale(*rate.per_gpu_hour, parts, of);
      if (!part) return part;
      const Result<Money> sum = Add(hourly, *part);
      if (!sum) return sum;
      hourly = *sum;
    }
  }
  return hourly;
}

// Costs per hour, month and year. A year is 8,760 hours and not twelve months, whatever length a month has:
// --month-hours is the convention of a provider's bill, a year is not.
void AddProjections(const RateCard& card, const std::vector<RateGroup>& groups, CostReport* report) {
  report->hourly = IfHeld(HourlyOf(card, groups));
  if (!report->hourly) return;
  report->monthly = IfHeld(Scale(*report->hourly, report->month_hours, 1));
  report->yearly = IfHeld(Scale(*report->hourly, kHoursPerYear, 1));
}

// Notes the time without a rate, so that the report can print "excluding N unpriced GPU-hours" beside the total.
void NoteUnpriced(const GpuTime& time, UsageCost* usage) {
  usage->unpriced = {time.WindowNs(), time.At(Line::kUnobserved), static_cast<double>(time.busy_ns)};
}

// Prices one group, and enters the costs of its devices.
Result<void> PriceGroup(Money rate, RateGroup* group, CostReport* report) {
  const Result<LineCosts> whole = CostOfWhole(rate, group->time);
  if (!whole) return BeyondAllMoney();
  const std::vector<LineCosts> devices = TRY(CostOfDevices(*whole, group->devices));
  group->costs = *whole;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    AddCosts(devices[i], &report->devices[group->members[i]].usage);
  }
  return {};
}

// Prices every group at its rate and adds them up. Groups without a rate only count as unpriced time.
Result<void> AddGroups(const RateCard& card, const WorkDone& work, std::vector<RateGroup>* groups, CostReport* report) {
  LineCosts whole;
  GpuTime priced;
  GpuTime unpriced;
  bool any = false;
  for (RateGroup& group : *groups) {
    const Rate& rate = card.rates()[group.rate];
    CostReport::RateUse use{rate, group.gpus, group.Others(), group.time.WindowNs(), {}};
    for (const std::size_t i : group.members) report->devices[i].rate = report->rates.size();
    if (rate.per_gpu_hour) {
      TRY(PriceGroup(*rate.per_gpu_hour, &group, report));
      TRY(Merge(group.costs, &whole));
      priced.Merge(group.time);
      use.cost = Money::Nano(group.costs.Total());
      any = true;
    } else {
      unpriced.Merge(group.time);
      for (std::size_t i = 0; i < group.members.size(); ++i) {
        NoteUnpriced(group.devices[i].time, &report->devices[group.members[i]].usage);
      }
    }
    report->others += use.others;
    report->rates.push_back(std::move(use));
  }
  NoteUnpriced(unpriced, &report->whole);
  if (!any) return {};
  AddCosts(whole, &report->whole);
  // With several rates an hour of waste has several prices, so the share must be of money.
  if (groups->size() > 1 && unpriced.WindowNs() == 0 && whole.Observed() > 0) {
    report->waste_share = static_cast<double>(whole.waste) / static_cast<double>(whole.Observed());
  }
  // The work is that of all GPUs, so the cost of some of them is not what it took.
  const WorkDone counted = unpriced.WindowNs() == 0 ? work : WorkDone();
  AddUnitCosts(Money::Nano(whole.Allocated()), counted, report);
  report->per_effective_gpu_hour = PerEffectiveHour(RateTimesAllocated(*report), priced.busy_ns);
  AddProjections(card, *groups, report);
  return {};
}

// The whole at one end of what each GPU may cost. GPUs without price and candidates are left out.
Result<LineCosts> CostAt(std::optional<Money> Rate::*end, const RateCard& card, const std::vector<RateGroup>& groups) {
  LineCosts sum;
  for (const RateGroup& group : groups) {
    const Rate& rate = card.rates()[group.rate];
    const std::optional<Money>& price = rate.per_gpu_hour ? rate.per_gpu_hour : rate.*end;
    if (!price) continue;
    const LineCosts part = TRY(CostOfWhole(*price, group.time));
    TRY(Merge(part, &sum));
  }
  return sum;
}

// The range of total and waste where some price is ambiguous. Candidates in another currency have no sum with the
// others.
Result<void> AddRange(const RateCard& card, const std::vector<RateGroup>& groups, CostReport* report) {
  const std::string& currency = report->rate.currency;
  const bool open = std::any_of(groups.begin(), groups.end(), [&](const RateGroup& group) {
    const Rate& rate = card.rates()[group.rate];
    return !rate.per_gpu_hour && rate.low && rate.high;
  });
  const bool mixed = std::any_of(groups.begin(), groups.end(), [&](const RateGroup& group) {
    return card.rates()[group.rate].low && card.rates()[group.rate].currency != currency;
  });
  if (!open || mixed) return {};
  const LineCosts low = TRY(CostAt(&Rate::low, card, groups));
  const LineCosts high = TRY(CostAt(&Rate::high, card, groups));
  report->total_low = Money::Nano(low.Total());
  report->total_high = Money::Nano(high.Total());
  report->waste_low = Money::Nano(low.waste);
  report->waste_high = Money::Nano(high.waste);
  return {};
}

void AddEnergyPrice(const EnergyPrice& price, const Energy& energy, CostReport* report) {
  if (!energy.picojoules) return;
  // The cost of energy is exact, so the constant is too.
  constexpr Int128 kExactPicojoulesPerKwh = 3'600'000'000'000'000'000;
  if (price.per_kwh) {
    report->energy_currency = price.currency;
    report->energy_cost = IfHeld(Scale(*price.per_kwh, *energy.picojoules, kExactPicojoulesPerKwh));
    report->energy_beyond_range = !report->energy_cost;
  }
  if (price.grams_co2e_per_kwh) report->co2e_kg = *report->whole.energy_kwh * *price.grams_co2e_per_kwh / 1000;
}

// The part of a device's allocated time for which its source named an owner. The rest is nobody's: it must not be
// charged to whoever came before or after.
Result<std::int64_t> ToldPart(const DeviceTime& device, std::int64_t allocated, const OwnerLedger& ledger) {
  const std::int64_t told = ledger.ToldTime(device.device).count();
  return Proportion(allocated, std::min(told, device.span_ns), device.span_ns);
}

// Divides the time of one device among its owners, the row without an owner, and the unallocated slices.
Result<void> ShareOut(const DeviceTime& device, const OwnerLedger& ledger,
                      std::map<std::string, CostReport::OwnerCost>* owners) {
  const auto owner = [&](const std::string& name) -> CostReport::OwnerCost& {
    CostReport::OwnerCost& entry = (*owners)[name];
    entry.owner = name;
    return entry;
  };
  const std::int64_t unallocated = device.time.At(Line::kUnallocated);
  if (unallocated > 0) owner(std::string(kUnallocatedOwner)).gpu_ns += unallocated;
  const std::int64_t allocated = device.time.WindowNs() - unallocated;
  if (allocated == 0) return {};
  const std::vector<OwnerLedger::Share> shares = ledger.SharesOf(device.device);
  const std::int64_t told = TRY(shares.empty() ? Result<std::int64_t>(0) : ToldPart(device, allocated, ledger));
  if (told < allocated) owner("").gpu_ns += allocated - told;
  // Shares are fractions; as weights they need integers.
  constexpr double kWeight = 1e12;
  std::vector<std::int64_t> weights;
  for (const OwnerLedger::Share& share : shares) weights.push_back(std::llround(share.fraction * kWeight));
  const std::vector<std::int64_t> parts = TRY(SplitNanos(told, weights));
  for (std::size_t i = 0; i < shares.size(); ++i) {
    CostReport::OwnerCost& entry = owner(shares[i].owner);
    entry.gpu_ns += parts[i];
    entry.estimated = entry.estimated || shares[i].estimated;
  }
  return {};
}

// Everyone who had the device at some time. The time without an owner has an empty name and is left out.
std::vector<std::string> NamedOwners(const OwnerLedger& ledger, DeviceId device) {
  std::vector<std::string> names;
  for (OwnerLedger::Share& share : ledger.SharesOf(device)) {
    if (!share.owner.empty()) names.push_back(std::move(share.owner));
  }
  return names;
}

// The owners of the devices of one rate. Their times are summed first and share the cost of the group, so that owners
// of several rates still sum to the total.
Result<void> AddOwners(const RateGroup& group, bool priced, const OwnerLedger& ledger,
                       std::map<std::string, CostReport::OwnerCost>* owners) {
  std::map<std::string, CostReport::OwnerCost> here;
  for (const DeviceTime& device : group.devices) TRY(ShareOut(device, ledger, &here));
  std::vector<std::int64_t> weights;
  for (const auto& [name, owner] : here) weights.push_back(owner.gpu_ns);
  const std::vector<std::int64_t> costs = TRY(SplitNanos(group.costs.Total(), weights));
  std::size_t position = 0;
  for (const auto& [name, owner] : here) {
    CostReport::OwnerCost& sum = (*owners)[name];
    sum.owner = name;
    sum.gpu_ns += owner.gpu_ns;
    sum.estimated = sum.estimated || owner.estimated;
    const std::int64_t cost = costs[position++];
    if (priced) {
      sum.cost = Money::Nano(sum.cost.value_or(Money()).nano() + cost);
    } else {
      sum.unpriced_ns += owner.gpu_ns;
    }
  }
  return {};
}

// The owners of the run, over all rates.
Result<void> AddOwners(const Capacity& capacity, const RateCard& card, const std::vector<RateGroup>& groups,
                       const OwnerLedger& ledger, CostReport* report) {
  // Without any named owner the table would only repeat the total.
  const bool named = std::any_of(capacity.devices.begin(), capacity.devices.end(),
                                 [&](const DeviceTime& d) { return !ledger.SharesOf(d.device).empty(); });
  if (!named) return {};
  std::map<std::string, CostReport::OwnerCost> owners;
  for (const RateGroup& group : groups) {
    TRY(AddOwners(group, card.rates()[group.rate].per_gpu_hour.has_value(), ledger, &owners));
  }
  for (auto& [name, owner] : owners) report->owners.push_back(std::move(owner));
  return {};
}

// Refuses a count of 0: it would have no cost per unit, and a silent omission would look like a missing feature.
Result<void> CheckWork(const WorkDone& work) {
  for (const auto& [unit, count] : work.units) {
    if (count <= 0)
      return FailUsage("--work: " + unit + " is 0; a cost per " + std::string(Singular(unit)) + " needs a count");
  }
  return {};
}

}  // namespace

// Keeps the index by DeviceId up to date, so that Of needs no search: writers look up every device for every table.
void CostReport::Add(DeviceCost cost) {
  if (cost.device >= positions_.size()) positions_.resize(cost.device + 1, SIZE_MAX);
  positions_[cost.device] = devices.size();
  devices.push_back(std::move(cost));
}

std::size_t CostReport::PositionOf(DeviceId device) const {
  return device < positions_.size() ? positions_[device] : SIZE_MAX;
}

const CostReport::DeviceCost* CostReport::Of(DeviceId device) const {
  const std::size_t position = PositionOf(device);
  return position < devices.size() ? &devices[position] : nullptr;
}

bool CostReport::StandsBefore(DeviceId a, DeviceId b) const {
  return std::pair(PositionOf(a), a) < std::pair(PositionOf(b), b);
}

Int128 RateTimesAllocated(const CostReport& cost, const CostReport::DeviceCost& device) {
  const std::optional<Money>& rate = cost.RateOf(device).per_gpu_hour;
  return rate ? static_cast<Int128>(rate->nano()) * (device.usage.window_ns - device.usage.unallocated_ns) : 0;
}

Int128 RateTimesAllocated(const CostReport& cost) {
  return std::accumulate(cost.devices.begin(), cost.devices.end(), Int128{0},
                         [&](Int128 sum, const auto& device) { return sum + RateTimesAllocated(cost, device); });
}

std::optional<Money> PerEffectiveHour(Int128 rate_times_allocated, std::int64_t effective_ns) {
  if (effective_ns <= 0) return std::nullopt;
  const Int128 nano = DivHalfEven(rate_times_allocated, effective_ns);
  return FitsInt64(nano) ? std::optional(Money::Nano(static_cast<std::int64_t>(nano))) : std::nullopt;
}

Result<CostReport> PriceRun(const RunResult& run, const DeviceTable& devices, const OwnerLedger& owners,
                            const RateCard& rates, const WorkDone& work, const EnergyPrice& energy, int month_hours) {
  TRY(CheckWork(work));
  if (month_hours <= 0) return FailUsage("--month-hours must be above 0; providers bill 720, 730 or 744");
  const Capacity capacity = TRY(CapacityOf(run, devices));

  CostReport report;
  report.price_remarks = rates.remarks();
  for (const std::string& name : capacity.unsized) {
    report.price_remarks.push_back("the number of compute slices of " + (name.empty() ? "a GPU without a name" : name) +
                                   " is not known; its MIG instances count as sevenths of the GPU");
  }
  report.month_hours = month_hours;
  report.gpus = capacity.gpus;
  report.whole = UsageOf(capacity.whole, capacity.energy);
  for (const DeviceTime& d : capacity.devices) {
    report.Add({d.device, d.gpu_share, UsageOf(d.time, d.energy), 0, d.weight, NamedOwners(owners, d.device)});
  }
  // By time. AddGroups replaces it by a share of money if GPUs have several rates.
  if (report.whole.observed_ns > 0) {
    report.waste_share = static_cast<double>(capacity.whole.WasteNs()) / static_cast<double>(report.whole.observed_ns);
  }
  std::vector<RateGroup> groups = GroupByRate(capacity, rates);
  TRY(CheckCurrencies(groups, rates));
  std::vector<Rate> used;
  for (const RateGroup& group : groups) used.push_back(rates.rates()[group.rate]);
  report.rate = OneRate(used);
  TRY(AddGroups(rates, work, &groups, &report));
  TRY(SplitOverRuns(run, devices, &report));
  TRY(AddRange(rates, groups, &report));
  AddEnergyPrice(energy, capacity.energy, &report);
  TRY(AddOwners(capacity, rates, groups, owners, &report));
  return report;
}

}  // namespace idleburn
