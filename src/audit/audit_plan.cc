#include "audit/audit_plan.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "text/figures.h"
#include "text/number.h"
#include "text/strings.h"

// Gates are judged by exact money and unrounded shares, never by the figures as printed. Example: a waste of 20.004 %
// breaks waste>20, although the report shows 20.00 %. Limits are read as Money, because that reads decimals exactly;
// the limit of a percentage counts per cents.
namespace idleburn {
namespace {

// The quantities that may stand before the ">" of a gate.
struct GateName {
  std::string_view text;
  Gate::Quantity quantity;
};
constexpr auto kNames = std::to_array<GateName>(
    {{"waste", Gate::Quantity::kWaste}, {"cost", Gate::Quantity::kCost}, {"unobserved", Gate::Quantity::kUnobserved}});

// Reads one gate. A "%" may follow the number, but not that of a cost.
Result<Gate> ParseGate(const std::string& text) {
  const std::size_t sign = text.find('>');
  // A limit below 0 could never hold, so it is a mistake and no gate.
  for (const GateName& name : kNames) {
    if (sign == std::string::npos || text.substr(0, sign) != name.text) continue;
    const bool per_cent = name.quantity != Gate::Quantity::kCost && text.ends_with('%');
    const Result<Money> limit = Money::Parse(text.substr(sign + 1, text.size() - sign - 1 - (per_cent ? 1 : 0)));
    if (limit && limit->nano() >= 0) return Gate{name.quantity, text, *limit};
  }
  return FailUsage("--fail-on: '" + text.substr(0, 40) +
                   "' is not one of waste>PERCENT, cost>AMOUNT, unobserved>PERCENT");
}

}  // namespace

Result<std::vector<Gate>> ParseGates(const std::vector<std::string>& texts) {
  std::vector<Gate> gates;
  for (const std::string& text : texts) {
    Gate gate = TRY(ParseGate(text));
    gates.push_back(std::move(gate));
  }
  return gates;
}

std::vector<std::string> BrokenGates(const std::vector<Gate>& gates, const CostReport& cost) {
  std::vector<std::string> broken;
  const double limit_scale = 1e-9;
  for (const Gate& gate : gates) {
    const double limit = static_cast<double>(gate.limit.nano()) * limit_scale;
    const double window = static_cast<double>(cost.whole.window_ns);
    const double unobserved = window > 0 ? 100.0 * static_cast<double>(cost.whole.unobserved_ns) / window : 0;
    switch (gate.quantity) {
      case Gate::Quantity::kWaste:
        if (cost.whole.observed_ns == 0) {
          broken.push_back(gate.text + ": not judged: no time was observed");
        } else if (100 * cost.waste_share > limit) {
          broken.push_back(fmt::format("{}: waste is {} of observed {}", gate.text, PercentText(cost.waste_share),
                                       cost.several() && cost.whole.unpriced.window_ns == 0 ? "cost" : "time"));
        }
        break;
      case Gate::Quantity::kUnobserved:
        if (window == 0) {
          broken.push_back(gate.text + ": not judged: nothing was measured");
        } else if (unobserved > limit) {
          broken.push_back(fmt::format("{}: {} of the window is unobserved", gate.text, PercentText(unobserved / 100)));
        }
        break;
      case Gate::Quantity::kCost:
        // If some GPUs have no price, the total is a lower bound. It can break a gate but cannot satisfy one.
        if (!cost.whole.total) {
          broken.push_back(gate.text + ": not judged: the cost is not known; give --price");
        } else if (cost.whole.unpriced.window_ns > 0 && *cost.whole.total <= gate.limit) {
          broken.push_back(gate.text + ": not judged: the cost of some GPUs is not known; give --price for them too");
        } else if (*cost.whole.total > gate.limit) {
          broken.push_back(gate.text + ": the cost is " + Amount(*cost.whole.total, cost.rate.currency));
        }
        break;
    }
  }
  return broken;
}

std::vector<std::string> UnjudgedGates(const std::vector<Gate>& gates, const std::string& why) {
  std::vector<std::string> broken;
  for (const Gate& gate : gates) broken.push_back(gate.text + ": not judged: " + why);
  return broken;
}

// Turns flags and settings into an AuditPlan. All that a user can get wrong is checked here, before a file is read or a
// workload starts. The error of a flag begins with its name. `idleburn config validate` depends on that: it replaces
// the name by the place of the setting (cli/cmd_config.cc).

namespace {

// A numeric setting as an integer in units of 10^-decimals: "10.5" with 6 decimals is 10,500,000. This cannot fail,
// because Settings::Load refuses other texts.
std::int64_t Scaled(const Settings& settings, std::string_view key, int decimals) {
  return ParseScaled(settings.Text(key), decimals).value;
}

// The price and the emissions of a kWh. Both are absent unless set: no default would be right for more than one grid.
Result<EnergyPrice> EnergyFrom(const Settings& settings) {
  EnergyPrice energy;
  if (settings.Has("energy.tariff")) {
    const Result<Money> tariff = Money::Parse(settings.Text("energy.tariff"));
    if (!tariff || tariff->nano() < 0) return FailUsage("--tariff: give the price of a kWh, for example 0.11");
    energy.per_kwh = *tariff;
    energy.currency = settings.Text("price.currency");
  }
  if (settings.Has("energy.grid"))
    energy.grams_co2e_per_kwh = static_cast<double>(ParseScaled(settings.Text("energy.grid"), 6).value) / 1e6;
  return energy;
}

// The share of the price that spot saves. "65" is refused because it may mean 65 % or be a price, and 0 would advise a
// change without effect.
Result<std::optional<double>> SpotDiscountFrom(const Settings& settings) {
  if (!settings.Has("advice.spot_discount")) return std::optional<double>();
  const std::string& text = settings.Text("advice.spot_discount");
  const double share = static_cast<double>(ParseScaled(text, 6).value) / 1e6;
  if (share <= 0 || share >= 1) {
    return FailUsage("--spot-discount: " + text + " is not between 0 and 1; say 0.65 where spot costs 65 % less");
  }
  return std::optional(share);
}

}  // namespace

Result<AuditPlan> PlanAudit(const ReportRequest& request, const Settings& settings, Instant now) {
  AuditPlan plan;
  plan.request = request;
  plan.format = TRY(ChooseFormat(settings, "", request.output, kAuditFormats));
  plan.gates = TRY(ParseGates(request.fail_on));
  plan.thresholds = TRY(ThresholdsFrom(settings));
  plan.work = TRY(ParseWork(request.work));
  plan.energy = TRY(EnergyFrom(settings));
  plan.spot_discount = TRY(SpotDiscountFrom(settings));
  plan.prices = TRY(OpenRates(settings, now));
  plan.currency = settings.Get("price.currency");
  plan.month_hours = static_cast<int>(Scaled(settings, "price.month_hours", 0));
  if (settings.Has("import.timezone")) plan.timezone = settings.Text("import.timezone");
  return plan;
}

Result<Thresholds> ThresholdsFrom(const Settings& settings) {
  Thresholds t;
  t.idle_below = Scaled(settings, "classify.idle_below", 6);
  t.productive_from = Scaled(settings, "classify.productive_from", 6);
  t.bound_from = Scaled(settings, "classify.bound_from", 6);
  if (t.idle_below > t.productive_from || t.productive_from > t.bound_from) {
    return FailUsage("classify: the bands must rise: idle_below <= productive_from <= bound_from");
  }
  t.held_memory = Scaled(settings, "classify.held_memory_mib", 0) << 20;
  t.spin_sm_below = Scaled(settings, "classify.spin_sm_below", 6);
  t.spin_power_tenths_percent = Scaled(settings, "classify.spin_power_below", 1);
  t.spin_cells = Scaled(settings, "classify.spin_seconds", 0);
  if (t.spin_cells > 3600) return FailUsage("classify.spin_seconds: at most 3600");
  t.clock_loss_tenths_percent = Scaled(settings, "classify.clock_loss", 1);
  t.burst_percent = Scaled(settings, "classify.burst", 0);
  if (settings.Has("classify.idle_power")) t.idle_power = Scaled(settings, "classify.idle_power", 3);
  t.idle_after = *ParseDuration(settings.Text("classify.idle_after"));
  const std::string& grace = settings.Text("classify.idle_grace");
  t.idle_grace = ParseDuration(grace).value_or(Nanos(0));  // "0" is no duration
  if (t.idle_after < Nanos(60 * kNanosPerSecond)) {
    return FailUsage("--idle-after: give at least 1m; other jobs cannot use a GPU in a shorter pause");
  }
  if (settings.Has("import.period")) t.period = *ParseDuration(settings.Text("import.period"));
  if (settings.Has("import.max_gap")) t.max_gap = *ParseDuration(settings.Text("import.max_gap"));
  return t;
}

namespace {

// Reads a time of --window. TakeCivilTime wants seconds, so the missing part is appended: "2026-07-01" is midnight, and
// "2026-07-01 09:00" is 09:00:00.
bool ReadCivil(std::string_view text, CivilTime* time, bool* zoned) {
  for (const char* rest : {"", ":00", " 00:00:00"}) {
    const std::string whole = std::string(text) + rest;
    std::string_view left = whole;
    if (TakeCivilTime(left, time, zoned) && left.empty()) return true;
  }
  return false;
}

// Reads one end of --window. Without a zone, a local time may name two instants or none (daylight saving), so it is
// refused instead of guessed.
Result<Instant> ReadEnd(std::string_view text, const std::optional<TimeZone>& zone) {
  const std::string shown = Printable(text.substr(0, 60));
  CivilTime time;
  bool zoned = false;
  if (!ReadCivil(text, &time, &zoned)) {
    return FailUsage("--window: '" + shown +
                     "' is not a time; write START..END as 2026-07-01T09:00:00Z..2026-07-03T18:00:00Z, or as days");
  }
  if (zoned || !zone) return InUtc(time);
  const LocalMeaning meaning = zone->MeaningOf(time);
  if (meaning.doubtful()) {
    return FailUsage("--window: daylight saving repeats or skips '" + shown + "' in " + zone->name() +
                     "; write the time with its offset, such as 2026-10-25T02:30:00+02:00");
  }
  return meaning.first;
}

}  // namespace

Result<RunWindow> ParseWindow(std::string_view text, const std::optional<TimeZone>& zone) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    return FailUsage("--window: '" + Printable(text.substr(0, 60)) +
                     "' has no '..' between its two times; write 2026-07-01T09:00:00Z..2026-07-03T18:00:00Z");
  }
  const Instant start = TRY(ReadEnd(text.substr(0, dots), zone));
  const Instant end = TRY(ReadEnd(text.substr(dots + 2), zone));
  if (end <= start) {
    return FailUsage("--window: its end, " + FormatRfc3339(end) + ", is not after its start, " + FormatRfc3339(start));
  }
  RunWindow window;
  window.start = start;
  window.end = end;
  window.named = true;
  return window;
}

}  // namespace idleburn
