#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fleet/allocation_report.h"
#include "fleet/engine.h"
#include "fleet/scheduler_gauges.h"

// GPUs that pods hold, by kube-state-metrics.
namespace idleburn {

// Mean, most and newest of a count at each step.
class CountOverTime {
 public:
  // Steps go up.
  void Add(std::int64_t count);
  [[nodiscard]] AllocationQueue As(std::string metric, std::string unit) const;
  [[nodiscard]] bool empty() const { return steps_ == 0; }

 private:
  std::int64_t steps_ = 0;
  std::int64_t sum_ = 0;
  std::int64_t most_ = 0;
  std::int64_t newest_ = 0;
};

// Who held a node's GPUs, by step.
class NodeHolders {
 public:
  static constexpr std::int32_t kUnknown = -1;  // several pods, or no data
  static constexpr std::int32_t kNobody = -2;

  explicit NodeHolders(std::size_t steps) : holders_(steps, kUnknown) {}
  void Set(std::size_t step, std::int32_t pod) { holders_[step] = pod; }
  [[nodiscard]] std::int32_t At(std::size_t step) const { return step < holders_.size() ? holders_[step] : kUnknown; }

 private:
  std::vector<std::int32_t> holders_;
};

// A pod holds what its containers request, or the largest request of its init containers if that is more. It holds
// GPUs from its scheduling to its end. A pod that succeeded or failed may stay listed for days and holds none
// (kubernetes#119423).
class PodAllocation {
 public:
  PodAllocation(Engine& engine, const AllocationSteps& window, std::set<std::string> metrics);

  // Reads the window hour by hour.
  Result<void> ReadAll();
  // Adds resources, owners, queues and nodes.
  void AddTo(FleetAllocation* allocation) const;

  // Who held all GPUs of a node in a step: "pod ml/train-0", "_unallocated" for nobody. Null if that is not known.
  [[nodiscard]] const std::string* HolderOf(std::string_view host, std::size_t step) const;
  // Whether a pod ("ml/train-0") held GPUs before a step and none in it, although pods were told in that step.
  [[nodiscard]] bool Ended(const std::string& pod, std::size_t step) const;
  // The team of a pod by its label; empty: none.
  [[nodiscard]] std::string TeamOf(const std::string& pod) const;
  [[nodiscard]] std::int64_t steps_with_data() const { return std::count(seen_.begin(), seen_.end(), true); }
  [[nodiscard]] const std::vector<MissingSteps>& missing() const { return missing_; }

 private:
  struct Pod {
    AllocationOwner owner;
    std::string owner_name;                 // as owners of an audit are named
    std::optional<std::size_t> first_live;  // steps in which it held GPUs
    std::size_t last_live = 0;
  };
  struct Node {
    AllocationNode facts;
    NodeHolders holders;
  };
  struct Hour;  // what one hour's answers say, by step
  Result<void> ReadHour(std::size_t first, std::size_t last);
  Result<std::vector<StepSeries>> Ask(const StepQuestion& question, const Hour& hour);
  Result<void> ReadRequests(Hour* hour);
  Result<void> FindNodes(Hour* hour);
  Result<void> FindNodesOf(const std::string& selector, Hour* hour);
  Result<void> ReadTeams(const Hour& hour);
  Result<void> ReadCapacity(Hour* hour);
  void BookPods(Hour* hour);
  void BookNodes(const Hour& hour);
  [[nodiscard]] std::int32_t HolderIn(const Hour& hour, std::int32_t node, std::size_t step) const;
  std::int32_t PodOf(const StepSeries& series);
  std::int32_t NodeOf(const StepSeries& series);
  AllocationResource& ResourceOf(const std::string& name);

  Engine& engine_;
  AllocationSteps window_;
  std::set<std::string> metrics_;
  RenamedLabels renamed_;
  std::vector<Pod> pods_;
  std::map<std::string, std::int32_t> pod_ids_;               // by cluster, namespace, name and uid
  std::map<std::string, std::vector<std::int32_t>> by_name_;  // "ml/train-0"
  std::vector<Node> nodes_;
  std::map<std::string, std::int32_t> node_ids_;                           // by cluster and name
  std::map<std::string, std::vector<std::int32_t>, std::less<>> by_host_;  // by HostKey
  std::map<std::string, AllocationOwner> spaces_;                          // by cluster and namespace
  std::map<std::string, AllocationResource> resources_;
  CountOverTime pending_pods_;
  CountOverTime pending_gpus_;
  std::vector<bool> seen_;  // whether pods were told in a step
  std::vector<MissingSteps> missing_;
};

// The name of a host without its domain. An address stays whole.
std::string_view HostKey(std::string_view host);

}  // namespace idleburn
