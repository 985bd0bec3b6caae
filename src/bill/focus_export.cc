#include "bill/focus_export.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "bill/bill_telemetry.h"
#include "bill/focus_rows.h"
#include "bill/hourly_use.h"
#include "telemetry/device.h"

namespace idleburn {
namespace {

constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::size_t At(ExportPhase phase) { return static_cast<std::size_t>(phase); }

// A ledger knows idle time, and not whether memory was held.
ExportMs MsOf(const FleetTime& time) {
  ExportMs ms{};
  ms[At(ExportPhase::kIdleUnknown)] = time.phases[0];
  ms[At(ExportPhase::kUnderutilized)] = time.phases[1];
  ms[At(ExportPhase::kProductive)] = time.phases[2];
  ms[At(ExportPhase::kComputeBound)] = time.phases[3];
  ms[At(ExportPhase::kUnobserved)] = time.phases[kFleetUnobserved];
  return ms;
}

std::string_view AttributionOf(const JobKey& owner) {
  if (owner.team == kFleetUnallocated) return "unallocated";
  if (!owner.job.empty() && !owner.job.starts_with('_')) return "job";
  return owner.team.empty() || owner.team.starts_with('_') ? "unknown" : "team";
}

ExportedUse UseOf(const JobKey& owner, const FleetTime& time) {
  ExportedUse use;
  use.owner = owner;
  use.attribution = AttributionOf(owner);
  use.ms = MsOf(time);
  const WasteBounds waste = WasteOf(time);
  use.waste_low_ms = waste.low_ms;
  use.waste_high_ms = waste.high_ms;
  return use;
}

// One span of a machine, as the ledger has it.
struct LedgerSpan {
  std::vector<std::pair<std::string, FleetTime>> gpus;  // by UUID
  std::vector<std::pair<JobKey, FleetTime>> owners;     // jobs, and what no job held
};
using SpanKey = std::tuple<std::int64_t, std::string, std::int64_t>;  // from, node, to

class LedgerExport {
 public:
  LedgerExport(FleetLedger& ledger, const FocusExportOptions& options, const WriteText& write)
      : ledger_(ledger), options_(options), rows_(options, write) {}

  Result<FocusExportFacts> Run() {
    TRY(FindRates());
    std::int64_t first = kLedgerEnd;
    std::int64_t last = 0;
    TRY(ledger_.ForEachDay(CellKind::kGpu, options_.from, options_.to, [&](const LedgerCell& cell) {
      first = std::min(first, LedgerDay(cell.from));
      last = std::max(last, cell.to);
    }));
    // A day at a time is in memory.
    for (std::int64_t day = first; day < last; day += kDaySeconds) TRY(ExportDay(day));
    return rows_.Finish();
  }

 private:
  // A ledger names no models, so prices go by machine and UUID, or hold for all.
  Result<void> FindRates() {
    std::set<std::pair<std::string, std::string>> gpus;
    TRY(ledger_.ForEachDay(CellKind::kGpu, options_.from, options_.to,
                           [&](const LedgerCell& cell) { gpus.emplace(cell.name->node, cell.name->uuid); }));
    DeviceTable devices;
    std::vector<std::pair<std::pair<std::string, std::string>, DeviceId>> entered;
    for (const auto& gpu : gpus) {
      DeviceKey key;
      key.host = gpu.first;
      key.uuid = gpu.second;
      entered.emplace_back(gpu, devices.Enter(key));
    }
    const RunSpan span{Instant::FromNanos(std::max<std::int64_t>(0, options_.from) * kNanosPerSecond),
                       Instant::FromNanos(std::min(options_.to, kLedgerEnd) * kNanosPerSecond)};
    card_ = TRY(RatesOf(options_.prices.For({}), devices, AllOf(devices), span));
    for (const auto& [gpu, device] : entered) rates_[gpu] = &card_.Of(device);
    return {};
  }

  Result<void> ExportDay(std::int64_t day) {
    std::map<SpanKey, LedgerSpan> spans;
    const std::int64_t begin = std::max(day, options_.from);
    const std::int64_t end = std::min(day + kDaySeconds, options_.to);
    const auto each = [&](CellKind kind, const std::function<void(const LedgerCell&, LedgerSpan&)>& take) {
      return ledger_.ForEach(kind, begin, end, [&](const LedgerCell& cell) {
        if (cell.from >= begin && cell.from < end) take(cell, spans[{cell.from, cell.name->node, cell.to}]);
      });
    };
    TRY(each(CellKind::kGpu,
             [](const LedgerCell& cell, LedgerSpan& span) { span.gpus.emplace_back(cell.name->uuid, cell.time); }));
    TRY(each(CellKind::kJob, [](const LedgerCell& cell, LedgerSpan& span) {
      if (cell.time.TotalMs() > 0) span.owners.emplace_back(cell.name->owner, cell.time);
    }));
    TRY(each(CellKind::kTeam, [](const LedgerCell& cell, LedgerSpan& span) {
      if (cell.name->owner.team == kFleetUnallocated && cell.time.TotalMs() > 0) {
        span.owners.emplace_back(cell.name->owner, cell.time);
      }
    }));
    for (const auto& [key, span] : spans) {
      if (!span.gpus.empty()) TRY(Take(key, span));
    }
    return {};
  }

  Result<void> Take(const SpanKey& key, const LedgerSpan& span) {
    const auto& [from, node, to] = key;
    const auto rate = [&, &host = node](const std::string& uuid) { return rates_.at({host, uuid}); };
    const bool one_price = std::all_of(span.gpus.begin(), span.gpus.end(),
                                       [&](const auto& gpu) { return *rate(gpu.first) == *rate(span.gpus[0].first); });
    std::int64_t whole = 0;
    std::int64_t owned = 0;
    for (const auto& [uuid, time] : span.gpus) whole += time.TotalMs();
    for (const auto& [owner, time] : span.owners) owned += time.TotalMs();
    const bool one_owner = span.owners.size() == 1 && owned == whole;
    if (span.gpus.size() == 1 || (one_price && !one_owner)) {
      return rows_.Take({node, from, to, rate(span.gpus[0].first), UsesByOwner(span, whole - owned)});
    }
    // Jobs are counted by machine: of several, none is the owner of a GPU with a price of its own.
    for (const auto& [uuid, time] : span.gpus) {
      ExportedUse use = UseOf(one_owner ? span.owners[0].first : JobKey(), time);
      use.uuid = uuid;
      if (!one_owner) use.attribution = "several_jobs";
      TRY(rows_.Take({node, from, to, rate(uuid), {std::move(use)}}));
    }
    return {};
  }

  // What each owner has. The rest was lost, and its owner is unknown.
  static std::vector<ExportedUse> UsesByOwner(const LedgerSpan& span, std::int64_t lost_ms) {
    std::vector<ExportedUse> uses;
    for (const auto& [owner, time] : span.owners) uses.push_back(UseOf(owner, time));
    if (lost_ms > 0) {
      FleetTime lost;
      lost.phases[kFleetUnobserved] = lost_ms;
      uses.push_back(UseOf({}, lost));
    }
    for (ExportedUse& use : uses) {
      use.gpus = static_cast<std::int64_t>(span.gpus.size());
      if (use.gpus == 1) use.uuid = span.gpus[0].first;
    }
    return uses;
  }

  FleetLedger& ledger_;
  const FocusExportOptions& options_;
  FocusRows rows_;
  RateCard card_;
  std::map<std::pair<std::string, std::string>, const Rate*> rates_;  // by node and UUID
};

// The hours of logs and recordings.
class InputExport {
 public:
  InputExport(const FocusExportOptions& options, const WriteText& write) : options_(options), rows_(options, write) {}

  Result<void> Begin(const DeviceTable& devices, const OwnerLedger& owners) {
    devices_ = &devices;
    card_ = TRY(RatesOf(options_.prices.For({}), devices, AllOf(devices), std::nullopt));
    for (DeviceId device = 0; device < devices.size(); ++device) {
      const std::vector<OwnerLedger::Share> shares = owners.SharesOf(device);
      owners_.push_back(shares.size() == 1 ? shares[0].owner : std::string());
      several_.push_back(shares.size() > 1);
    }
    return {};
  }

  // After an error nothing more is written.
  void TakeHour(DeviceId device, std::int64_t hour, const DeviceTotals& totals) {
    if (!written_ || hour < options_.from || hour >= options_.to) return;
    const Device& gpu = (*devices_)[device];
    ExportedUse use;
    use.uuid = gpu.uuid;
    use.model = gpu.name;
    use.owner.job = owners_[device];
    use.attribution = several_[device] ? "several_jobs" : use.owner.job.empty() ? "unknown" : "job";
    const auto ms = [](std::int64_t ns) { return ns / kNanosPerMs; };
    use.ms[At(ExportPhase::kIdleHeld)] = ms(totals.idle_held_ns);
    use.ms[At(ExportPhase::kIdleEmpty)] = ms(totals.idle_empty_ns);
    use.ms[At(ExportPhase::kIdleUnknown)] = ms(totals.idle_unknown_ns);
    use.ms[At(ExportPhase::kUnderutilized)] = ms(totals.phase_ns[1]);
    use.ms[At(ExportPhase::kProductive)] = ms(totals.phase_ns[2]);
    use.ms[At(ExportPhase::kComputeBound)] = ms(totals.phase_ns[3]);
    std::int64_t observed = 0;
    for (const std::int64_t part : use.ms) observed += part;
    // What is below a millisecond is unobserved, so that the hour is whole.
    use.ms[At(ExportPhase::kUnobserved)] = std::max<std::int64_t>(0, kHourMs - observed);
    const auto busy = static_cast<std::int64_t>(totals.utilization.area / kFull / kNanosPerMs);
    use.waste_low_ms = use.waste_high_ms = std::max<std::int64_t>(0, observed - busy);
    written_ = rows_.Take({gpu.host, hour, hour + 3600, &card_.Of(device), {std::move(use)}});
  }

  Result<FocusExportFacts> Finish() {
    TRY(std::move(written_));
    return rows_.Finish();
  }

 private:
  const FocusExportOptions& options_;
  FocusRows rows_;
  const DeviceTable* devices_ = nullptr;
  RateCard card_;
  std::vector<std::string> owners_;  // by device; empty: not told
  std::vector<bool> several_;
  Result<void> written_;
};

}  // namespace

Result<FocusExportFacts> ExportLedger(const std::string& path, const FocusExportOptions& options,
                                      const WriteText& write) {
  FleetLedger ledger = TRY(OpenLedger(path));
  return LedgerExport(ledger, options, write).Run();
}

Result<FocusExportFacts> ExportInputs(const std::vector<std::string>& inputs, const ImportOptions& import,
                                      const Thresholds& thresholds, const FocusExportOptions& options,
                                      const WriteText& write) {
  InputExport hours(options, write);
  HourlyUse use;
  use.begin = [&](const DeviceTable& devices, const OwnerLedger& owners) { return hours.Begin(devices, owners); };
  use.take = [&](DeviceId device, std::int64_t hour, const DeviceTotals& totals) {
    hours.TakeHour(device, hour, totals);
  };
  TRY(ReadByHour(inputs, import, thresholds, use));
  return hours.Finish();
}

}  // namespace idleburn
