#include "fleet/cluster_allocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "fleet/exporter_fleet.h"
#include "fleet/fleet_report.h"
#include "fleet/slurm_allocation.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

constexpr std::string_view kOfPod = "pod ";
constexpr std::int64_t kFineStep = 60;
constexpr std::int64_t kCoarseStep = 300;
constexpr std::int64_t kLongestFine = 24 * 3600;  // a longer window is read in coarse steps

constexpr const char* kPodRequests = "kube_pod_container_resource_requests";
constexpr const char* kPodPhases = "kube_pod_status_phase";
constexpr const char* kKubeMetrics =
    "kube_pod_(init_)?container_resource_requests|kube_pod_status_phase|kube_pod_info|kube_pod_labels|"
    "kube_node_status_(capacity|allocatable)";
constexpr const char* kKueuePending = "kueue_pending_workloads";

// Workloads that Kueue holds back. Their pods may not exist yet.
Result<void> AddKueue(Engine& engine, const AllocationSteps& window, std::vector<MissingSteps>* missing,
                      FleetAllocation* allocation) {
  const StepQuestion question{kKueuePending, {"cluster", "cluster_queue", "status"}, ""};
  RenamedLabels renamed;
  std::map<std::size_t, std::int64_t> sums;
  for (const StepSeries& series : TRY(ReadSteps(engine, question, window, {0, window.Count()}, &renamed, missing))) {
    for (const auto& [step, count] : series.counts) sums[step] += count;
  }
  CountOverTime pending;
  for (const auto& [step, count] : sums) pending.Add(count);
  if (!pending.empty()) allocation->queues.push_back(pending.As(kKueuePending, "workloads"));
  return {};
}

// GPU time by use of some GPUs, and their number times the window.
struct GpusUsed {
  std::int64_t used_ms = 0;  // at least 10 % busy
  std::int64_t unobserved_ms = 0;
  std::int64_t total_ms = 0;

  void Add(const FleetTime& time) {
    used_ms += time.ObservedMs() - time.phases[0];
    unobserved_ms += time.phases[kFleetUnobserved];
    total_ms += time.TotalMs();
  }
  // Allocated time without use, at least. Time without data, and GPUs that no gauge measures, may have been used.
  [[nodiscard]] std::int64_t UnusedOf(std::int64_t allocated_ms, std::int64_t capacity_ms) const {
    const std::int64_t hidden =
        unobserved_ms + std::max<std::int64_t>(0, std::max(capacity_ms, allocated_ms) - total_ms);
    return std::max<std::int64_t>(0, allocated_ms - used_ms - hidden);
  }
};

// Node by node where gauges know the node. Nodes that they do not know, and Slurm's GPUs, are compared with all other
// GPUs together. A node with MIG instances is left out.
std::optional<std::int64_t> UnusedMs(const FleetAllocation& allocation, const std::vector<FleetGpu>& gpus) {
  if (gpus.empty()) return std::nullopt;
  std::map<std::string, GpusUsed, std::less<>> hosts;
  for (const FleetGpu& gpu : gpus) hosts[std::string(HostKey(gpu.node))].Add(gpu.time);
  std::int64_t unused = 0;
  std::int64_t rest_allocated = 0;
  std::int64_t rest_capacity = 0;
  std::set<std::string, std::less<>> matched;
  for (const AllocationNode& node : allocation.nodes) {
    const auto host = hosts.find(HostKey(node.name));
    if (host != hosts.end()) matched.insert(host->first);
    if (node.mig) continue;
    if (host == hosts.end()) {
      rest_allocated += node.allocated_ms;
      rest_capacity += node.capacity_ms;
    } else {
      unused += host->second.UnusedOf(node.allocated_ms, node.capacity_ms);
    }
  }
  for (const AllocationResource& resource : allocation.resources) {
    if (resource.scheduler != "slurm") continue;
    rest_allocated += resource.allocated_ms;
    // Without a capacity, GPUs that nobody measures may have been the used ones.
    rest_capacity += resource.capacity_ms.value_or(resource.allocated_ms);
  }
  GpusUsed rest;
  for (const auto& [name, host] : hosts) {
    if (matched.count(name) > 0) continue;
    rest.used_ms += host.used_ms;
    rest.unobserved_ms += host.unobserved_ms;
    rest.total_ms += host.total_ms;
  }
  return unused + rest.UnusedOf(rest_allocated, rest_capacity);
}

// Allocation as a sampled share of the capacity.
FleetError ErrorOf(const AllocationResource& resource, const FleetAllocation& allocation, std::int64_t steps) {
  FleetError error;
  error.counter = resource.scheduler == "slurm" ? "slurm_gpus" : kPodRequests;
  error.interval_s = allocation.step_s;
  error.samples = steps;
  const auto capacity = static_cast<double>(resource.capacity_ms.value_or(0));
  const double share = capacity > 0 ? static_cast<double>(resource.allocated_ms) / capacity : 0.5;
  error.half_width = GaugeHalfWidth(share, steps);
  error.sentence = fmt::format("{} of {}: read every {} s; the time of an owner may be off by {} s at both ends.",
                               error.counter, resource.name, allocation.step_s, allocation.step_s);
  return error;
}

}  // namespace

std::optional<std::int64_t> AllocationResource::UnallocatedMs() const {
  if (!capacity_ms) return std::nullopt;
  return std::max<std::int64_t>(0, *capacity_ms - allocated_ms - unusable_ms);
}

Result<ClusterAllocation> ClusterAllocation::Read(Engine& engine, std::int64_t from, std::int64_t to) {
  ClusterAllocation all;
  all.window_ = {from, to, to - from <= kLongestFine ? kFineStep : kCoarseStep};
  all.report_.step_s = all.window_.step;
  std::string pattern = std::string(kKubeMetrics) + "|" + kKueuePending;
  for (const std::string& name : SlurmGauges()) pattern += "|" + name;
  const std::vector<std::string> names = TRY(engine.MetricNames(pattern, from, to));
  const std::set<std::string> metrics(names.begin(), names.end());
  if (metrics.count(kPodRequests) > 0) {
    all.phases_told_ = metrics.count(kPodPhases) > 0;
    all.pods_ = std::make_unique<PodAllocation>(engine, all.window_, metrics);
    TRY(all.pods_->ReadAll());
    all.pods_->AddTo(&all.report_);
    all.report_.readings = all.pods_->steps_with_data();
    all.missing_ = all.pods_->missing();
    if (!all.report_.resources.empty()) {
      std::copy_if(names.begin(), names.end(), std::back_inserter(all.report_.metrics),
                   [](const std::string& name) { return name.starts_with("kube_"); });
    }
  }
  if (metrics.count(kKueuePending) > 0) TRY(AddKueue(engine, all.window_, &all.missing_, &all.report_));
  all.slurm_steps_ = TRY(AddSlurmAllocation(engine, all.window_, metrics, &all.missing_, &all.report_));
  all.report_.readings = std::max(all.report_.readings, all.slurm_steps_);
  std::stable_sort(all.report_.owners.begin(), all.report_.owners.end(), [](const auto& a, const auto& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.held_ms > b.held_ms;
  });
  return all;
}

std::string ClusterAllocation::OwnerAt(const std::string& owner, std::string_view host, std::int64_t second) const {
  if (pods_ == nullptr || second < window_.from || second >= window_.to) return owner;
  const auto step = static_cast<std::size_t>((second - window_.from) / window_.step);
  if (owner.starts_with(kOfPod)) return pods_->Ended(owner.substr(kOfPod.size()), step) ? "" : owner;
  if (!owner.empty()) return owner;
  const std::string* const holder = pods_->HolderOf(host, step);
  return holder == nullptr ? "" : *holder;
}

std::string ClusterAllocation::TeamOf(const std::string& pod) const {
  return pods_ == nullptr ? "" : pods_->TeamOf(pod);
}

void ClusterAllocation::AddTo(FleetReport* report) const {
  if (!found()) return;
  FleetAllocation allocation = report_;
  allocation.unused_ms = UnusedMs(allocation, report->gpus);
  std::map<std::string, std::optional<double>> busy;
  for (const FleetOwner& job : report->jobs) busy[job.name] = job.mean_utilization;
  for (AllocationOwner& owner : allocation.owners) {
    const auto job = busy.find(owner.name);
    if (owner.kind == "pod" && job != busy.end()) owner.mean_utilization = job->second;
  }
  for (const AllocationResource& resource : allocation.resources) {
    const bool slurm = resource.scheduler == "slurm";
    const std::int64_t steps = slurm ? slurm_steps_ : pods_->steps_with_data();
    report->errors.push_back(ErrorOf(resource, allocation, steps));
  }
  const auto add = [&](const char* id, std::int64_t count, const char* severity, std::string sentence) {
    report->doubts.push_back({id, count, severity, std::move(sentence)});
  };
  const auto gpus = static_cast<std::int64_t>(report->gpus.size());
  add("allocation_counts", gpus, "info",
      "The scheduler's exporters count GPUs and do not name them. An owner has a utilization only where it held all "
      "GPUs of a node, or where labels of the GPUs name it.");
  if (pods_ != nullptr && !phases_told_) {
    add("pod_phase_unknown", 1, "warn",
        "kube_pod_status_phase is missing, so pods that ended may be counted as holding GPUs.");
  }
  const auto steps = static_cast<std::int64_t>(window_.Count());
  if (allocation.readings < steps) {
    add("allocation_gap", steps - allocation.readings, "warn",
        fmt::format(
            "The scheduler's exporters were not scraped in {} of {} readings; that time is not counted as free.",
            steps - allocation.readings, steps));
  }
  if (!missing_.empty()) {
    const MissingSteps& first = missing_.front();
    add("engine_refused", static_cast<std::int64_t>(missing_.size()), "error",
        fmt::format("The engine refused {} from {} to {}.", first.selector, FormatUnixTime(first.from),
                    FormatUnixTime(first.to)));
  }
  report->allocation = std::move(allocation);
}

}  // namespace idleburn
