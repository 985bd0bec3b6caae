#include "fleet/slurm_allocation.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "fleet/pod_allocation.h"

namespace idleburn {
namespace {

enum class SlurmRole : std::uint8_t { kCapacity, kAllocated, kUnusable, kByAccount, kByUser, kPending };

// A gauge. Of one role, the first row that the engine has counts, because exporters tell the same in several ways.
struct SlurmRow {
  SlurmRole role;
  std::string_view metric;
  std::string_view selector;  // "{state=\"PENDING\"}"; empty: all series
};
// vpenso/prometheus-slurm-exporter and its forks, SckyzO/slurm_exporter, rivosinc/prometheus-slurm-exporter, and
// exporters that count by node. CountsByStep by partition are left out, because a node may be in several.
constexpr auto kSlurmRows = std::to_array<SlurmRow>({
    {SlurmRole::kCapacity, "slurm_gpus_total", ""},
    {SlurmRole::kCapacity, "slurm_node_gpus_total", ""},
    {SlurmRole::kAllocated, "slurm_gpus_alloc", ""},
    {SlurmRole::kAllocated, "slurm_node_gpus_alloc", ""},
    {SlurmRole::kAllocated, "slurm_node_gpus_allocated", ""},
    {SlurmRole::kUnusable, "slurm_gpus_other", ""},
    {SlurmRole::kByAccount, "slurm_account_gpus_running", ""},
    {SlurmRole::kByUser, "slurm_user_gpus_running", ""},
    {SlurmRole::kPending, "slurm_jobs_pending", ""},
    {SlurmRole::kPending, "slurm_queue_pending", ""},
    {SlurmRole::kPending, "slurm_partition_job_state_total", "{state=\"PENDING\"}"},
    {SlurmRole::kPending, "slurm_partition_jobs_pending", ""},
});
// The labels that tell series of one exporter apart. Others come from the scrape.
const std::vector<std::string_view> kSlurmLabels = {"cluster", "node", "type",      "gpu_type", "model",
                                                    "account", "user", "partition", "reason"};

const SlurmRow* RowFor(SlurmRole role, const std::set<std::string>& metrics) {
  const auto* const found = std::find_if(kSlurmRows.begin(), kSlurmRows.end(), [&](const SlurmRow& row) {
    return row.role == role && metrics.count(std::string(row.metric)) > 0;
  });
  return found == kSlurmRows.end() ? nullptr : found;
}

using CountsByStep = std::map<std::size_t, std::int64_t>;  // by step

// Sums series by step, for each value of a label. Two exporters may tell the same with other labels, one for the
// cluster and one by node. So series with the same names of labels are summed, and the largest of these sums counts.
std::map<std::string, CountsByStep> SumBy(std::string_view label, const std::vector<StepSeries>& all) {
  std::map<std::string, std::map<std::string, CountsByStep>> sums;  // by value, then by names of labels
  std::map<std::string, CountsByStep> same;                         // a node in several partitions is one node
  const bool by_node =
      std::any_of(all.begin(), all.end(), [](const StepSeries& s) { return !s.Label("node").empty(); });
  for (const StepSeries& series : all) {
    std::string names;
    std::string values;
    for (const auto& [name, value] : series.labels) {
      if (by_node && name == "partition") continue;
      names += name + ',';
      values += name + '=' + value + '\0';
    }
    CountsByStep& sum = sums[series.Label(label)][names];
    CountsByStep& known = same[values];
    for (const auto& [step, count] : series.counts) {
      const std::int64_t more = std::max<std::int64_t>(0, count - known[step]);
      known[step] += more;
      sum[step] += more;
    }
  }
  std::map<std::string, CountsByStep> most;
  for (const auto& [value, of_names] : sums) {
    for (const auto& [names, counts] : of_names) {
      for (const auto& [step, count] : counts) most[value][step] = std::max(most[value][step], count);
    }
  }
  return most;
}

class SlurmReader {
 public:
  SlurmReader(Engine& engine, const AllocationSteps& window, const std::set<std::string>& metrics,
              std::vector<MissingSteps>* missing)
      : engine_(engine), window_(window), metrics_(metrics), missing_(missing) {}

  // The counts of a role by the value of a label, over the whole window; empty without a gauge of that role.
  Result<std::map<std::string, CountsByStep>> Read(SlurmRole role, std::string_view label) {
    std::map<std::string, CountsByStep> all;
    const SlurmRow* const row = RowFor(role, metrics_);
    if (row == nullptr) return all;
    const StepQuestion question{std::string(row->metric) + std::string(row->selector), kSlurmLabels, ""};
    const std::size_t hour = window_.OfHour();
    for (std::size_t first = 0; first < window_.Count(); first += hour) {
      const std::size_t last = std::min(window_.Count(), first + hour);
      const std::vector<StepSeries> series =
          TRY(ReadSteps(engine_, question, window_, {first, last}, &renamed_, missing_));
      for (const auto& [value, counts] : SumBy(label, series)) all[value].insert(counts.begin(), counts.end());
    }
    return all;
  }

 private:
  Engine& engine_;
  const AllocationSteps& window_;
  const std::set<std::string>& metrics_;
  RenamedLabels renamed_;
  std::vector<MissingSteps>* missing_;
};

// The sum over all clusters, by step.
CountsByStep SumOfClusters(const std::map<std::string, CountsByStep>& clusters) {
  CountsByStep whole;
  for (const auto& [cluster, counts] : clusters) {
    for (const auto& [step, count] : counts) whole[step] += count;
  }
  return whole;
}

}  // namespace

std::vector<std::string> SlurmGauges() {
  std::vector<std::string> names;
  for (const SlurmRow& row : kSlurmRows) names.emplace_back(row.metric);
  return names;
}

Result<std::int64_t> AddSlurmAllocation(Engine& engine, const AllocationSteps& window,
                                        const std::set<std::string>& metrics, std::vector<MissingSteps>* missing,
                                        FleetAllocation* allocation) {
  const std::int64_t step_ms = window.step * 1000;
  SlurmReader reader(engine, window, metrics, missing);
  const CountsByStep capacity = SumOfClusters(TRY(reader.Read(SlurmRole::kCapacity, "cluster")));
  const CountsByStep allocated = SumOfClusters(TRY(reader.Read(SlurmRole::kAllocated, "cluster")));
  const CountsByStep unusable = SumOfClusters(TRY(reader.Read(SlurmRole::kUnusable, "cluster")));
  AllocationResource resource{"slurm", "gpu", {}, 0, 0};
  for (const auto& [step, count] : allocated) resource.allocated_ms += count * step_ms;
  // Both count only where both were told, so that their difference is not time without data.
  for (const auto& [step, count] : capacity) {
    if (allocated.count(step) == 0) continue;
    resource.capacity_ms = resource.capacity_ms.value_or(0) + count * step_ms;
    const auto other = unusable.find(step);
    if (other != unusable.end()) resource.unusable_ms += other->second * step_ms;
  }
  if (!allocated.empty()) allocation->resources.push_back(resource);
  for (const auto& [role, kind] : {std::pair(SlurmRole::kByAccount, "account"), {SlurmRole::kByUser, "user"}}) {
    for (const auto& [name, counts] : TRY(reader.Read(role, kind))) {
      AllocationOwner owner{kind, name, "", "", 0, 0};
      for (const auto& [step, count] : counts) {
        owner.held_ms += count * step_ms;
        owner.most = std::max(owner.most, count);
      }
      if (owner.held_ms > 0) allocation->owners.push_back(owner);
    }
  }
  // Some exporters show no series while nothing waits.
  CountOverTime pending;
  CountsByStep waiting = SumOfClusters(TRY(reader.Read(SlurmRole::kPending, "cluster")));
  const bool any = !waiting.empty();
  for (const auto& [step, count] : allocated) waiting.emplace(step, 0);
  for (const auto& [step, count] : waiting) pending.Add(count);
  if (any) {
    allocation->queues.push_back(pending.As(std::string(RowFor(SlurmRole::kPending, metrics)->metric), "jobs"));
  }
  for (const SlurmRow& row : kSlurmRows) {
    if (RowFor(row.role, metrics) == &row) allocation->metrics.emplace_back(row.metric);
  }
  return static_cast<std::int64_t>(allocated.size());
}

}  // namespace idleburn
