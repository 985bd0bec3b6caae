#include "bill/bill_telemetry.h"

#include <algorithm>

#include "bill/hourly_use.h"
#include "os/input_file.h"
#include "text/csv.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr std::int64_t kHourSeconds = 3600;
constexpr std::size_t kSeenUsed = 0;
constexpr std::size_t kSeenIdleHeld = 1;
constexpr std::size_t kSeenIdle = 2;
constexpr std::size_t kSeenUnallocated = 3;
constexpr std::size_t kSeenUnobserved = 4;

SeenSpan SpanOf(const LedgerCell& cell) {
  SeenSpan span{cell.from, cell.to, {}};
  for (std::size_t p = 1; p < kFleetUnobserved; ++p) span.ms[kSeenUsed] += cell.time.phases[p];
  span.ms[kSeenIdle] = cell.time.phases[0];
  span.ms[kSeenUnobserved] = cell.time.phases[kFleetUnobserved];
  return span;
}

// A bucket is no owner's name.
CostOwner OwnerOfJob(const JobKey& key) {
  const auto named = [](const std::string& name) { return name.starts_with('_') ? std::string() : name; };
  return {named(key.team), named(key.job), named(key.experiment)};
}

// The part of a span's time that lies in [from, to), if it is spread evenly.
SeenMs PartOf(const SeenSpan& span, std::int64_t overlap) {
  SeenMs part{};
  for (std::size_t p = 0; p < kSeenParts; ++p) part[p] = span.ms[p] * overlap / (span.to - span.from);
  return part;
}

// The last part of an id: "res/i-1" and ".../instances/i-1" name i-1.
std::string_view LastPart(std::string_view id) { return id.substr(id.find_last_of('/') + 1); }

std::int64_t Overlap(std::int64_t a_from, std::int64_t a_to, std::int64_t b_from, std::int64_t b_to) {
  return std::max<std::int64_t>(0, std::min(a_to, b_to) - std::max(a_from, b_from));
}

}  // namespace

BillTelemetry::Node& BillTelemetry::At(const std::string& node) {
  const auto [found, added] = index_.emplace(Lower(node), static_cast<int>(nodes_.size()));
  if (added) nodes_.push_back({node});
  return nodes_[static_cast<std::size_t>(found->second)];
}

void BillTelemetry::Add(const std::string& node, const SeenSpan& span) {
  if (node.empty()) ++nameless_;
  At(node).spans.push_back(span);
  from_ = from_ == 0 ? span.from : std::min(from_, span.from);
  to_ = std::max(to_, span.to);
}

Result<void> BillTelemetry::AddLedger(const std::string& path, bool owners) {
  FleetLedger ledger = TRY(OpenLedger(path));
  TRY(ledger.ForEach(CellKind::kGpu, 0, kLedgerEnd,
                     [&](const LedgerCell& cell) { Add(cell.name->node, SpanOf(cell)); }));
  if (owners) {
    std::map<JobKey, int> places;
    TRY(ledger.ForEach(CellKind::kJob, 0, kLedgerEnd, [&](const LedgerCell& cell) {
      const auto [known, fresh] = places.emplace(cell.name->owner, static_cast<int>(owners_.size()));
      if (fresh) owners_.push_back(OwnerOfJob(cell.name->owner));
      At(cell.name->node).owned.push_back({SpanOf(cell), known->second});
    }));
  }
  // Time that no job held is told by node. The phases of that time are in the sums of the GPUs above.
  TRY(ledger.ForEach(CellKind::kTeam, 0, kLedgerEnd, [&](const LedgerCell& cell) {
    if (cell.name->owner.team != kFleetUnallocated) return;
    SeenSpan span{cell.from, cell.to, {}};
    for (std::size_t p = 1; p < kFleetUnobserved; ++p) span.ms[kSeenUsed] -= cell.time.phases[p];
    span.ms[kSeenIdle] = -cell.time.phases[0];
    span.ms[kSeenUnallocated] = -span.ms[kSeenUsed] - span.ms[kSeenIdle];
    Add(cell.name->node, span);
  }));
  return {};
}

Result<void> BillTelemetry::AddInputs(const std::vector<std::string>& inputs, const ImportOptions& options,
                                      const Thresholds& thresholds) {
  const DeviceTable* devices = nullptr;
  HourlyUse use;
  use.begin = [&](const DeviceTable& all, const OwnerLedger& /*owners*/) {
    devices = &all;
    return Result<void>();
  };
  use.take = [&](DeviceId device, std::int64_t hour, const DeviceTotals& totals) {
    SeenSpan span{hour, hour + kHourSeconds, {}};
    const auto ms = [](std::int64_t ns) { return ns / 1'000'000; };
    std::int64_t busy = 0;
    for (std::size_t p = 1; p < kPhaseCount; ++p) busy += totals.phase_ns[p];
    span.ms[kSeenUsed] = ms(busy);
    span.ms[kSeenIdleHeld] = ms(totals.idle_held_ns);
    span.ms[kSeenIdle] = ms(totals.idle_empty_ns + totals.idle_unknown_ns);
    span.ms[kSeenUnobserved] = ms(totals.UnobservedNs());
    Add((*devices)[device].host, span);
  };
  return ReadByHour(inputs, options, thresholds, use);
}

Result<void> BillTelemetry::ReadNames(const std::string& path) {
  const std::unique_ptr<ByteSource> in = TRY(OpenInput(path));
  CsvTable table(*in);
  TRY(table.ReadHeader());
  constexpr std::array<std::string_view, 2> kColumns = {"resource", "node"};
  TRY(table.Require(kColumns));
  while (TRY(table.Next())) names_[Lower(table.Cell("resource"))] = Lower(table.Cell("node"));
  return {};
}

void BillTelemetry::Finish() {
  for (Node& node : nodes_) {
    // The spans of a node's GPUs and owners at one time become one.
    std::map<std::pair<std::int64_t, std::int64_t>, SeenMs> sums;
    for (const SeenSpan& span : node.spans) {
      SeenMs& sum = sums[{span.from, span.to}];
      for (std::size_t p = 0; p < kSeenParts; ++p) sum[p] += span.ms[p];
    }
    node.spans.clear();
    for (const auto& [time, ms] : sums) {
      node.spans.push_back({time.first, time.second, ms});
      node.longest = std::max(node.longest, time.second - time.first);
    }
    std::stable_sort(node.owned.begin(), node.owned.end(),
                     [](const OwnedSpan& a, const OwnedSpan& b) { return a.span.from < b.span.from; });
    for (const OwnedSpan& owned : node.owned) node.longest = std::max(node.longest, owned.span.to - owned.span.from);
  }
}

int BillTelemetry::NodeOf(std::string_view resource_id, std::string_view resource_name) const {
  for (const std::string_view text : {resource_name, resource_id, LastPart(resource_id)}) {
    if (text.empty()) continue;
    std::string name = Lower(text);
    if (const auto named = names_.find(name); named != names_.end()) name = named->second;
    if (const auto found = index_.find(name); found != index_.end()) return found->second;
  }
  return -1;
}

std::optional<SeenMs> BillTelemetry::Seen(int node, std::int64_t from, std::int64_t to) const {
  if (node < 0) return std::nullopt;
  const Node& known = nodes_[static_cast<std::size_t>(node)];
  const std::vector<SeenSpan>& spans = known.spans;
  auto at = std::lower_bound(spans.begin(), spans.end(), from - known.longest,
                             [](const SeenSpan& span, std::int64_t second) { return span.from < second; });
  std::optional<SeenMs> seen;
  for (; at != spans.end() && at->from < to; ++at) {
    const std::int64_t overlap = Overlap(at->from, at->to, from, to);
    if (overlap == 0) continue;
    if (!seen) seen = SeenMs{};
    const SeenMs part = PartOf(*at, overlap);
    for (std::size_t p = 0; p < kSeenParts; ++p) (*seen)[p] += part[p];
  }
  return seen;
}

std::vector<SeenOwner> BillTelemetry::OwnersIn(int node, std::int64_t from, std::int64_t to) const {
  std::vector<SeenOwner> owners;
  if (node < 0) return owners;
  const Node& known = nodes_[static_cast<std::size_t>(node)];
  auto at = std::lower_bound(known.owned.begin(), known.owned.end(), from - known.longest,
                             [](const OwnedSpan& owned, std::int64_t second) { return owned.span.from < second; });
  for (; at != known.owned.end() && at->span.from < to; ++at) {
    const std::int64_t overlap = Overlap(at->span.from, at->span.to, from, to);
    if (overlap > 0) owners.push_back({at->owner, PartOf(at->span, overlap)});
  }
  return owners;
}

Result<FleetLedger> OpenLedger(const std::string& path) {
  if (!SeekableFile::Open(path + "/index.sqlite")) {
    return Fail(path + ": no such ledger; idleburn fleet pull makes one");
  }
  return FleetLedger::Open(path, Nanos{5 * kNanosPerSecond});
}

}  // namespace idleburn
