#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fleet/allocation_report.h"
#include "fleet/engine.h"
#include "fleet/pod_allocation.h"
#include "fleet/scheduler_gauges.h"

// What an engine tells of allocation beside the gauges of GPUs (docs/fleet-exporters.md): kube-state-metrics and
// exporters of Slurm.
namespace idleburn {

struct FleetReport;

class ClusterAllocation {
 public:
  // Reads [from, to), Unix seconds. An engine without such exporters is no error: then `found` is false.
  static Result<ClusterAllocation> Read(Engine& engine, std::int64_t from, std::int64_t to);

  [[nodiscard]] bool found() const { return !report_.resources.empty() || !report_.owners.empty(); }
  // Who held a GPU at a moment (Unix seconds). `owner` is what labels of the GPU name, such as "pod ml/train-0".
  //
  //   a pod that had ended: nobody
  //   no label, and one pod held all GPUs of the host: that pod
  //   no label, and no pod held a GPU there: "_unallocated"
  //   else: as the labels say
  [[nodiscard]] std::string OwnerAt(const std::string& owner, std::string_view host, std::int64_t second) const;
  // The team of an owner "pod ml/train-0": its label_team, else its namespace. Empty: no such pod is known.
  [[nodiscard]] std::string TeamOf(const std::string& pod) const;
  // Fills `report->allocation`, and adds errors and doubts. Needs GPUs and jobs of the report.
  void AddTo(FleetReport* report) const;

 private:
  AllocationSteps window_;
  std::unique_ptr<PodAllocation> pods_;  // null: no kube-state-metrics
  FleetAllocation report_;
  bool phases_told_ = true;
  std::int64_t slurm_steps_ = 0;
  std::vector<MissingSteps> missing_;
};

}  // namespace idleburn
