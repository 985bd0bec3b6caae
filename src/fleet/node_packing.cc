#include "fleet/node_packing.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace idleburn {
namespace {

constexpr std::size_t kNamesKept = 2;  // one: it is the only one; two: there are several

// Calls take(hour, ms) for each hour of a cell, with an equal part of its time.
template <typename Take>
void EachHour(const LedgerCell& cell, std::int64_t from, const Take& take) {
  const std::int64_t hours = (cell.to - cell.from) / kEdgeSeconds;
  const std::int64_t total = cell.time.TotalMs();
  for (std::int64_t h = 0; h < hours; ++h) {
    const std::int64_t part = total * (h + 1) / hours - total * h / hours;
    take(static_cast<std::size_t>((cell.from - from) / kEdgeSeconds + h), part);
  }
}

void KeepName(const std::string& name, std::vector<std::string>* names) {
  if (names->size() == kNamesKept || std::find(names->begin(), names->end(), name) != names->end()) return;
  names->push_back(name);
}

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The smallest value that 95 of 100 do not exceed.
template <typename T>
T P95(std::vector<T> values) {
  if (values.empty()) return T{};
  std::sort(values.begin(), values.end());
  return values[(values.size() * 95 + 99) / 100 - 1];
}

struct NodeFacts {
  std::string model;
  std::int64_t cost_nano = 0;
  bool priced = true;
};

std::map<std::string, NodeFacts> FactsByNode(const FleetReport& report) {
  std::map<std::string, std::set<std::string>> models;
  std::map<std::string, NodeFacts> facts;
  for (const FleetGpu& gpu : report.gpus) {
    models[gpu.node].insert(gpu.model);
    NodeFacts& node = facts[gpu.node];
    node.priced = node.priced && gpu.cost.total.has_value();
    if (gpu.cost.total) node.cost_nano += gpu.cost.total->nano();
  }
  for (auto& [node, names] : models) {
    for (const std::string& name : names) facts[node].model += (facts[node].model.empty() ? "" : " + ") + name;
  }
  return facts;
}

// The bounds of the nodes of one class.
PackedClass BoundsOf(const std::vector<const PackedNode*>& nodes, std::int64_t size) {
  PackedClass all;
  all.gpus_per_node = size;
  std::vector<double> gpus;
  std::vector<std::int64_t> needed;
  const std::size_t hours = nodes.front()->hours.size();
  for (std::size_t h = 0; h < hours; ++h) {
    std::int64_t present = 0;
    std::int64_t held = 0;
    std::int64_t large = 0;
    for (const PackedNode* node : nodes) {
      const PackedHour& hour = node->hours[h];
      present += hour.capacity_ms > 0 ? 1 : 0;
      held += hour.held_ms;
      large += hour.largest_job_ms * 2 > size * kMsPerGpuHour ? 1 : 0;
      all.unknown_ms += hour.unknown_ms;
    }
    if (present == 0) continue;
    const std::int64_t by_sum = CeilDiv(held, size * kMsPerGpuHour);
    all.nodes = std::max(all.nodes, present);
    all.needed_peak = std::max(all.needed_peak, by_sum);
    all.needed_whole = std::max({all.needed_whole, by_sum, large});
    needed.push_back(std::max(by_sum, large));
    gpus.push_back(static_cast<double>(held) / static_cast<double>(kMsPerGpuHour));
    all.gpus_mean += gpus.back();
    all.gpus_peak = std::max(all.gpus_peak, gpus.back());
  }
  all.hours = static_cast<std::int64_t>(gpus.size());
  if (all.hours > 0) all.gpus_mean /= static_cast<double>(all.hours);
  all.gpus_p95 = P95(gpus);
  all.needed_p95 = P95(needed);
  return all;
}

// Reads the cells of a window into hours by node.
class HourReader {
 public:
  HourReader(FleetLedger& ledger, std::int64_t from, std::int64_t to) : ledger_(ledger), from_(from), to_(to) {}

  Result<std::map<std::string, PackedNode>> Read() {
    TRY(Each(CellKind::kGpu, [this](const LedgerCell& cell, PackedNode* node) {
      EachHour(cell, from_, [node](std::size_t h, std::int64_t ms) { node->hours[h].capacity_ms += ms; });
    }));
    TRY(Each(CellKind::kTeam, [this](const LedgerCell& cell, PackedNode* node) {
      if (cell.name->owner.team == kFleetUnallocated) return;
      EachHour(cell, from_, [node](std::size_t h, std::int64_t ms) { node->hours[h].held_ms += ms; });
      if (cell.time.TotalMs() > 0) KeepName(cell.name->owner.team, &node->teams);
    }));
    TRY(Each(CellKind::kJob, [this](const LedgerCell& cell, PackedNode* node) { TakeJob(cell, node); }));
    return std::move(nodes_);
  }

 private:
  Result<void> Each(CellKind kind, const std::function<void(const LedgerCell&, PackedNode*)>& take) {
    return ledger_.ForEach(kind, from_, to_, [&](const LedgerCell& cell) {
      if (cell.from < from_ || cell.to > to_) return;
      PackedNode& node = nodes_[cell.name->node];
      if (node.hours.empty()) node.hours.resize(static_cast<std::size_t>((to_ - from_) / kEdgeSeconds));
      take(cell, &node);
    });
  }

  void TakeJob(const LedgerCell& cell, PackedNode* node) const {
    const JobKey& owner = cell.name->owner;
    if (cell.time.TotalMs() == 0) return;
    KeepName(owner.job, &node->jobs);
    const bool known_job = !owner.job.empty() && !owner.job.starts_with('_');
    const bool unknown = owner.team == kFleetUnknown && owner.job == kFleetUnknown;
    const bool one_hour = cell.to - cell.from == kEdgeSeconds;
    EachHour(cell, from_, [&](std::size_t h, std::int64_t ms) {
      PackedHour& hour = node->hours[h];
      if (unknown) {
        const std::int64_t taken = std::min(ms, hour.held_ms);
        hour.unknown_ms += taken;
        hour.held_ms -= taken;
      }
      if (known_job && one_hour) hour.largest_job_ms = std::max(hour.largest_job_ms, ms);
    });
  }

  FleetLedger& ledger_;
  std::int64_t from_;
  std::int64_t to_;
  std::map<std::string, PackedNode> nodes_;
};

}  // namespace

Result<std::map<std::string, PackedNode>> PackedHours(FleetLedger& ledger, std::int64_t from, std::int64_t to) {
  return HourReader(ledger, from, to).Read();
}

Result<FleetPacking> PackNodes(const std::map<std::string, PackedNode>& nodes, const FleetReport& report) {
  const std::map<std::string, NodeFacts> facts = FactsByNode(report);
  struct Members {
    std::vector<const PackedNode*> nodes;
    std::int64_t cost_nano = 0;
    bool priced = true;
  };
  std::map<std::pair<std::string, std::int64_t>, Members> classes;
  for (const auto& [name, node] : nodes) {
    std::int64_t most = 0;
    for (const PackedHour& hour : node.hours) most = std::max(most, hour.capacity_ms);
    if (most == 0) continue;
    const auto known = facts.find(name);
    const NodeFacts fact = known == facts.end() ? NodeFacts{{}, 0, false} : known->second;
    Members& members = classes[{fact.model, CeilDiv(most, kMsPerGpuHour)}];
    members.nodes.push_back(&node);
    members.cost_nano += fact.cost_nano;
    members.priced = members.priced && fact.priced;
  }
  FleetPacking packing;
  for (const auto& [key, members] : classes) {
    PackedClass bounds = BoundsOf(members.nodes, key.second);
    bounds.model = key.first;
    if (members.priced && bounds.nodes > 0) {
      bounds.saving_at_most = TRY(Scale(Money::Nano(members.cost_nano), bounds.FreedAtMost(), bounds.nodes));
    }
    packing.classes.push_back(std::move(bounds));
  }
  std::stable_sort(packing.classes.begin(), packing.classes.end(),
                   [](const PackedClass& a, const PackedClass& b) { return a.nodes > b.nodes; });
  return packing;
}

}  // namespace idleburn
