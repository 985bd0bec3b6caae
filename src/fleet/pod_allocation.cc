#include "fleet/pod_allocation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "fleet/edge_queries.h"
#include "fleet/fleet_report.h"

namespace idleburn {
namespace {

constexpr std::size_t kPodsOfQuestion = 1000;
constexpr const char* kContainerRequests = "kube_pod_container_resource_requests";
constexpr const char* kInitRequests = "kube_pod_init_container_resource_requests";
constexpr const char* kPodPhase = "kube_pod_status_phase";
constexpr const char* kPodNode = "kube_pod_info";
constexpr const char* kPodTeam = "kube_pod_labels";
constexpr const char* kNodeCapacity = "kube_node_status_capacity";
constexpr const char* kNodeAllocatable = "kube_node_status_allocatable";
const std::string kNobodyName = kFleetUnallocated;

// Resources that device plugins advertise, as kube-state-metrics spells them. Letters and digits stay, others are "_".
constexpr const char* kGpuResources =
    "nvidia_com_gpu(_shared)?|nvidia_com_mig_.+|amd_com_gpu|gpu_intel_com_(i915|xe)|habana_ai_gaudi|aws_amazon_com_"
    "neuron";

std::string OfGpus(const char* metric) { return std::string(metric) + "{resource=~\"" + kGpuResources + "\"}"; }

bool IsMig(std::string_view resource) { return resource.find("_mig_") != std::string_view::npos; }

// Text that no label can contain separates the parts.
std::string LabelKey(const StepSeries& series, const std::vector<std::string_view>& labels) {
  std::string key;
  for (const std::string_view label : labels) key += series.Label(label) + '\0';
  return key;
}

const std::vector<std::string_view> kPodLabels = {"cluster", "namespace", "pod", "uid"};

std::vector<std::string_view> PodLabelsAnd(std::initializer_list<std::string_view> more) {
  std::vector<std::string_view> labels = kPodLabels;
  labels.insert(labels.end(), more);
  return labels;
}

}  // namespace

void CountOverTime::Add(std::int64_t count) {
  ++steps_;
  sum_ += count;
  most_ = std::max(most_, count);
  newest_ = count;
}

AllocationQueue CountOverTime::As(std::string metric, std::string unit) const {
  const double mean = steps_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(steps_);
  return {std::move(metric), std::move(unit), mean, most_, newest_};
}

std::string_view HostKey(std::string_view host) {
  const bool address = !host.empty() && (host.find(':') != std::string_view::npos ||
                                         host.find_first_not_of("0123456789.") == std::string_view::npos);
  return address ? host : host.substr(0, host.find('.'));
}

// Counts by step of the hour. A step without a count is -1 for capacities and 0 for requests.
struct PodAllocation::Hour {
  using Steps = std::vector<std::int64_t>;
  struct Container {
    Steps counts;
    std::vector<std::int32_t> nodes;  // -1: not scheduled yet, or not told
  };
  struct Use {
    std::map<std::string, Steps> counts;  // by resource
    std::vector<std::int32_t> nodes;
    std::vector<bool> ended;
  };
  using ByNode = std::map<std::pair<std::int32_t, std::string>, Steps>;  // node and resource

  std::size_t first = 0;
  std::size_t last = 0;
  std::map<std::array<std::string, 3>, Container> containers[2];  // pod id, container, resource; [1]: init containers
  std::map<std::int32_t, Use> pods;
  ByNode capacity;
  ByNode allocatable;
  ByNode held;
  std::map<std::int32_t, std::vector<std::int32_t>> sole;  // by node: the only pod with GPUs there
  std::vector<bool> seen;                                  // whether pods were told at all

  [[nodiscard]] std::size_t Count() const { return last - first; }
};

PodAllocation::PodAllocation(Engine& engine, const AllocationSteps& window, std::set<std::string> metrics)
    : engine_(engine), window_(window), metrics_(std::move(metrics)) {}

Result<void> PodAllocation::ReadAll() {
  const std::size_t steps = window_.Count();
  const std::size_t hour = window_.OfHour();
  for (std::size_t first = 0; first < steps; first += hour) TRY(ReadHour(first, std::min(steps, first + hour)));
  return {};
}

Result<void> PodAllocation::ReadHour(std::size_t first, std::size_t last) {
  Hour hour;
  hour.first = first;
  hour.last = last;
  hour.seen.assign(hour.Count(), false);
  // Nodes first: their series always have a node, so they show whether the label is renamed.
  TRY(ReadCapacity(&hour));
  TRY(ReadRequests(&hour));
  TRY(FindNodes(&hour));
  TRY(ReadTeams(hour));
  BookPods(&hour);
  BookNodes(hour);
  seen_.insert(seen_.end(), hour.seen.begin(), hour.seen.end());
  return {};
}

// The series of a question; none of a metric that the engine does not have.
Result<std::vector<StepSeries>> PodAllocation::Ask(const StepQuestion& question, const Hour& hour) {
  if (metrics_.count(question.selector.substr(0, question.selector.find('{'))) == 0) return std::vector<StepSeries>();
  return ReadSteps(engine_, question, window_, {hour.first, hour.last}, &renamed_, &missing_);
}

std::int32_t PodAllocation::PodOf(const StepSeries& series) {
  const auto [found, fresh] = pod_ids_.emplace(LabelKey(series, kPodLabels), static_cast<std::int32_t>(pods_.size()));
  if (!fresh) return found->second;
  Pod pod;
  const std::string space = series.Label("namespace");
  pod.owner = {"pod", space + "/" + series.Label("pod"), series.Label("cluster"), space};
  pod.owner_name = "pod " + pod.owner.name;
  by_name_[pod.owner.name].push_back(found->second);
  pods_.push_back(std::move(pod));
  return found->second;
}

std::int32_t PodAllocation::NodeOf(const StepSeries& series) {
  const std::string name = series.Label("node");
  if (name.empty()) return -1;
  const std::string key = LabelKey(series, {"cluster", "node"});
  const auto [found, fresh] = node_ids_.emplace(key, static_cast<std::int32_t>(nodes_.size()));
  if (!fresh) return found->second;
  AllocationNode facts;
  facts.name = name;
  nodes_.push_back({std::move(facts), NodeHolders(window_.Count())});
  by_host_[std::string(HostKey(name))].push_back(found->second);
  return found->second;
}

AllocationResource& PodAllocation::ResourceOf(const std::string& name) {
  AllocationResource& resource = resources_[name];
  resource.scheduler = "kubernetes";
  resource.name = name;
  return resource;
}

// A pod that was scheduled within the hour has a series without a node before and one with it after. Both may be told
// for one step; then the node counts.
Result<void> PodAllocation::ReadRequests(Hour* hour) {
  // Without a request of any pod, even of CPUs, nobody told about pods. Then no GPU is free, it is unknown.
  for (const StepSeries& series : TRY(Ask({kContainerRequests, {}, ""}, *hour))) {
    for (const auto& [step, count] : series.counts) hour->seen[step - hour->first] = true;
  }
  const std::array<const char*, 2> metrics = {kContainerRequests, kInitRequests};
  for (std::size_t init = 0; init < metrics.size(); ++init) {
    const StepQuestion question{OfGpus(metrics[init]), PodLabelsAnd({"container", "resource", "node"}), ""};
    for (const StepSeries& series : TRY(Ask(question, *hour))) {
      const std::int32_t node = NodeOf(series);
      Hour::Container& container =
          hour->containers[init][{std::to_string(PodOf(series)), series.Label("container"), series.Label("resource")}];
      container.counts.resize(hour->Count());
      container.nodes.resize(hour->Count(), -1);
      for (const auto& [step, count] : series.counts) {
        const std::size_t i = step - hour->first;
        if (node < 0 && container.nodes[i] >= 0) continue;
        const bool better = node >= 0 && container.nodes[i] < 0;
        container.counts[i] = better ? count : std::max(container.counts[i], count);
        container.nodes[i] = std::max(container.nodes[i], node);
      }
    }
  }
  for (std::size_t init = 0; init < metrics.size(); ++init) {
    for (const auto& [key, container] : hour->containers[init]) {
      Hour::Use& use = hour->pods[std::stoi(key[0])];
      use.nodes.resize(hour->Count(), -1);
      use.ended.resize(hour->Count(), false);
      std::vector<std::int64_t>& counts = use.counts[key[2]];
      counts.resize(hour->Count());
      for (std::size_t i = 0; i < hour->Count(); ++i) {
        counts[i] = init == 0 ? counts[i] + container.counts[i] : std::max(counts[i], container.counts[i]);
        use.nodes[i] = std::max(use.nodes[i], container.nodes[i]);
      }
    }
  }
  const StepQuestion ended{std::string(kPodPhase) + "{phase=~\"Succeeded|Failed\"}", kPodLabels, "== 1"};
  for (const StepSeries& series : TRY(Ask(ended, *hour))) {
    const auto pod = pod_ids_.find(LabelKey(series, kPodLabels));
    const auto use = pod == pod_ids_.end() ? hour->pods.end() : hour->pods.find(pod->second);
    if (use == hour->pods.end()) continue;
    for (const auto& [step, count] : series.counts) use->second.ended[step - hour->first] = true;
  }
  return {};
}

// Some scrapers drop the label node of requests. Then the pod's own series tells it.
Result<void> PodAllocation::FindNodes(Hour* hour) {
  std::vector<std::string> names;
  for (const auto& [pod, use] : hour->pods) {
    if (std::any_of(use.nodes.begin(), use.nodes.end(), [](std::int32_t node) { return node >= 0; })) continue;
    const std::string& name = pods_[static_cast<std::size_t>(pod)].owner.name;
    names.push_back(name.substr(name.find('/') + 1));
  }
  for (const std::vector<std::string>& group : NameGroups(names, kPodsOfQuestion)) {
    for (const char* const label : {"pod", "exported_pod"}) {
      TRY(FindNodesOf(std::string(kPodNode) + "{" + label + "=~\"" + NamesPattern(group) + "\"}", hour));
    }
  }
  return {};
}

Result<void> PodAllocation::FindNodesOf(const std::string& selector, Hour* hour) {
  const StepQuestion question{selector, PodLabelsAnd({"node"}), ""};
  for (const StepSeries& series : TRY(Ask(question, *hour))) {
    const auto pod = pod_ids_.find(LabelKey(series, kPodLabels));
    const auto use = pod == pod_ids_.end() ? hour->pods.end() : hour->pods.find(pod->second);
    const std::int32_t node = use == hour->pods.end() ? -1 : NodeOf(series);
    if (node < 0) continue;
    for (const auto& [step, count] : series.counts) use->second.nodes[step - hour->first] = node;
  }
  return {};
}

Result<void> PodAllocation::ReadTeams(const Hour& hour) {
  const StepQuestion teams{std::string(kPodTeam) + "{label_team!=\"\"}", PodLabelsAnd({"label_team"}), ""};
  for (const StepSeries& series : TRY(Ask(teams, hour))) {
    const auto pod = pod_ids_.find(LabelKey(series, kPodLabels));
    if (pod != pod_ids_.end()) pods_[static_cast<std::size_t>(pod->second)].owner.team = series.Label("label_team");
  }
  return {};
}

Result<void> PodAllocation::ReadCapacity(Hour* hour) {
  for (const auto& [metric, out] :
       {std::pair(kNodeCapacity, &hour->capacity), {kNodeAllocatable, &hour->allocatable}}) {
    const StepQuestion question{OfGpus(metric), {"cluster", "node", "resource"}, ""};
    for (const StepSeries& series : TRY(Ask(question, *hour))) {
      const std::int32_t node = NodeOf(series);
      if (node < 0) continue;
      std::vector<std::int64_t>& counts = (*out)[{node, series.Label("resource")}];
      counts.resize(hour->Count(), -1);
      for (const auto& [step, count] : series.counts) counts[step - hour->first] = count;
    }
  }
  // An exporter may tell only what can be allocated.
  for (const auto& [key, counts] : hour->allocatable) hour->capacity.emplace(key, counts);
  return {};
}

void PodAllocation::BookPods(Hour* hour) {
  const std::int64_t step_ms = window_.step * 1000;
  std::map<std::string, std::vector<std::int64_t>> by_space;
  std::vector<std::int64_t> waiting(hour->Count());
  std::vector<std::int64_t> wanted(hour->Count());
  for (const auto& [id, use] : hour->pods) {
    Pod& pod = pods_[static_cast<std::size_t>(id)];
    const std::string space = pod.owner.name.substr(0, pod.owner.name.find('/'));
    std::vector<std::int64_t>& of_space = by_space[pod.owner.cluster + '\0' + space];
    of_space.resize(hour->Count());
    for (std::size_t i = 0; i < hour->Count(); ++i) {
      std::int64_t gpus = 0;
      for (const auto& [resource, counts] : use.counts) gpus += counts[i];
      if (use.ended[i] || gpus == 0) continue;
      if (use.nodes[i] < 0) {
        ++waiting[i];
        wanted[i] += gpus;
        continue;
      }
      if (!pod.first_live) pod.first_live = hour->first + i;
      pod.last_live = hour->first + i;
      pod.owner.held_ms += gpus * step_ms;
      pod.owner.most = std::max(pod.owner.most, gpus);
      of_space[i] += gpus;
      for (const auto& [resource, counts] : use.counts) {
        ResourceOf(resource).allocated_ms += counts[i] * step_ms;
        std::vector<std::int64_t>& held = hour->held[{use.nodes[i], resource}];
        held.resize(hour->Count());
        held[i] += counts[i];
      }
      std::vector<std::int32_t>& sole = hour->sole[use.nodes[i]];
      sole.resize(hour->Count(), NodeHolders::kNobody);
      sole[i] = sole[i] == NodeHolders::kNobody ? id : NodeHolders::kUnknown;
    }
  }
  for (const auto& [key, counts] : by_space) {
    const std::size_t end = key.find('\0');
    AllocationOwner& space = spaces_[key];
    space.kind = "namespace";
    space.cluster = key.substr(0, end);
    space.name = key.substr(end + 1);
    for (const std::int64_t gpus : counts) {
      space.held_ms += gpus * step_ms;
      space.most = std::max(space.most, gpus);
    }
  }
  for (std::size_t i = 0; i < hour->Count(); ++i) {
    if (!hour->seen[i]) continue;
    pending_pods_.Add(waiting[i]);
    pending_gpus_.Add(wanted[i]);
  }
}

// The pod that holds all GPUs of a node. Where a node hands out several resources, it must hold all of each.
std::int32_t PodAllocation::HolderIn(const Hour& hour, std::int32_t node, std::size_t step) const {
  std::int64_t capacity = 0;
  std::int64_t held = 0;
  bool full = true;
  for (auto each = hour.capacity.lower_bound({node, ""}); each != hour.capacity.end() && each->first.first == node;
       ++each) {
    if (each->second[step] <= 0) continue;
    const auto found = hour.held.find(each->first);
    const std::int64_t count = found == hour.held.end() ? 0 : found->second[step];
    capacity += each->second[step];
    held += count;
    full = full && count == each->second[step];
  }
  if (capacity == 0 || !hour.seen[step]) return NodeHolders::kUnknown;
  if (held == 0) return NodeHolders::kNobody;
  return full ? hour.sole.at(node)[step] : NodeHolders::kUnknown;
}

void PodAllocation::BookNodes(const Hour& hour) {
  const std::int64_t step_ms = window_.step * 1000;
  for (const auto& [key, counts] : hour.capacity) {
    AllocationNode& node = nodes_[static_cast<std::size_t>(key.first)].facts;
    AllocationResource& resource = ResourceOf(key.second);
    const auto usable = hour.allocatable.find(key);
    for (std::size_t i = 0; i < hour.Count(); ++i) {
      if (counts[i] < 0 || !hour.seen[i]) continue;
      resource.capacity_ms = resource.capacity_ms.value_or(0) + counts[i] * step_ms;
      node.capacity_ms += counts[i] * step_ms;
      node.mig = node.mig || (IsMig(key.second) && counts[i] > 0);
      const bool told = usable != hour.allocatable.end() && usable->second[i] >= 0;
      if (told) resource.unusable_ms += std::max<std::int64_t>(0, counts[i] - usable->second[i]) * step_ms;
    }
  }
  for (const auto& [key, counts] : hour.held) {
    for (const std::int64_t count : counts)
      nodes_[static_cast<std::size_t>(key.first)].facts.allocated_ms += count * step_ms;
  }
  for (std::size_t id = 0; id < nodes_.size(); ++id) {
    for (std::size_t i = 0; i < hour.Count(); ++i)
      nodes_[id].holders.Set(hour.first + i, HolderIn(hour, static_cast<std::int32_t>(id), i));
  }
}

void PodAllocation::AddTo(FleetAllocation* allocation) const {
  for (const auto& [name, resource] : resources_) allocation->resources.push_back(resource);
  for (const auto& [key, space] : spaces_) {
    if (space.held_ms > 0) allocation->owners.push_back(space);
  }
  for (const Pod& pod : pods_) {
    if (pod.owner.held_ms > 0) allocation->owners.push_back(pod.owner);
  }
  for (const Node& node : nodes_) allocation->nodes.push_back(node.facts);
  if (metrics_.count(kContainerRequests) > 0 && !pending_pods_.empty()) {
    allocation->queues.push_back(pending_pods_.As(kContainerRequests, "pods"));
    allocation->queues.push_back(pending_gpus_.As(kContainerRequests, "GPUs"));
  }
}

const std::string* PodAllocation::HolderOf(std::string_view host, std::size_t step) const {
  const auto found = by_host_.find(HostKey(host));
  if (found == by_host_.end() || found->second.size() != 1) return nullptr;
  const std::int32_t holder = nodes_[static_cast<std::size_t>(found->second.front())].holders.At(step);
  if (holder == NodeHolders::kNobody) return &kNobodyName;
  return holder < 0 ? nullptr : &pods_[static_cast<std::size_t>(holder)].owner_name;
}

bool PodAllocation::Ended(const std::string& pod, std::size_t step) const {
  const auto found = by_name_.find(pod);
  if (found == by_name_.end() || step >= seen_.size() || !seen_[step]) return false;
  bool ended = false;
  for (const std::int32_t id : found->second) {
    const Pod& each = pods_[static_cast<std::size_t>(id)];
    if (!each.first_live || step < *each.first_live) continue;
    if (step <= each.last_live) return false;
    ended = true;
  }
  return ended;
}

std::string PodAllocation::TeamOf(const std::string& pod) const {
  const auto found = by_name_.find(pod);
  return found == by_name_.end() ? "" : pods_[static_cast<std::size_t>(found->second.back())].owner.team;
}

}  // namespace idleburn
