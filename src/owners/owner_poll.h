#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "owners/job_files.h"
#include "owners/join_sources.h"
#include "owners/label_map.h"
#include "owners/node_gpu.h"
#include "owners/owner.h"
#include "owners/pod_owners.h"
#include "owners/process_owners.h"
#include "owners/slurm_owners.h"
#include "telemetry/live_sink.h"

namespace idleburn {

// Where owners are looked for. Every path can be another one, for tests and for agents in a container.
struct OwnerOptions {
  std::string proc = "/proc";
  std::string cgroups = "/sys/fs/cgroup";
  std::vector<JobFolder> job_folders;  // of a prolog; none: not read
  // Slurm. Absent programs are looked for on the PATH. Slurm is not asked if there is no squeue or no slurm.conf.
  // Empty: not asked.
  std::optional<std::string> squeue;
  std::optional<std::string> scontrol;
  std::string slurm_node;  // NodeName of this machine; empty: its host name up to the first dot
  GresOrder gres_order = GresOrder::kMinor;
  // Kubernetes. Not asked if the folder of the socket does not exist, or if the path is empty.
  std::string pod_socket = "/var/lib/kubelet/pod-resources/kubelet.sock";
  std::string pod_logs = "/var/log/pods";
  std::string resource_slices;  // a file of ResourceSlices in JSON; empty: none
  std::string cluster;          // of owners that no scheduler names; empty: that of Slurm
  LabelMap labels;
  std::vector<std::string> experiment_keys;      // environment keys that name the experiment, before the built-in ones
  std::optional<Instant> boot;                   // absent: from /proc/stat
  Nanos scheduler_period{10 * kNanosPerSecond};  // between two questions to a scheduler
  Nanos squeue_timeout{5 * kNanosPerSecond};
  Nanos pod_timeout{2 * kNanosPerSecond};
};

// Says who holds each GPU of this node, again and again. It asks the schedulers at most every `scheduler_period`, and
// reads job files and processes at each call. An answer of a scheduler counts until the next question. A source that
// fails loses what it knew: devices that only it could tell become unknown, with a line that says why.
//
// Poll waits for the sources, up to 15 s in all. So it needs a thread of its own; one thread at a time calls it.
class OwnerPoll {
 public:
  // Fails on experiment keys that may hold a secret, and on a named program that cannot be run.
  static Result<OwnerPoll> Make(OwnerOptions options);

  // The holdings now. `now` is also the clock of the periods. `holders` are the processes that the driver lists for
  // each UUID.
  Holdings Poll(Instant now, const std::vector<NodeGpu>& gpus,
                const std::map<std::string, std::vector<GpuHolder>>& holders);

  // The sources that are asked on this machine: "slurm", "kubernetes", "job files", "processes".
  [[nodiscard]] std::vector<std::string> Sources() const;

 private:
  OwnerPoll(OwnerOptions options, EnvironKeys keys);
  [[nodiscard]] bool AsksKubernetes() const;
  void AskSlurm(Instant now, std::span<const NodeGpu> gpus);
  void AskKubernetes(Instant now, std::span<const NodeGpu> gpus);
  [[nodiscard]] SourceAnswer SlurmAnswer(std::span<const NodeGpu> gpus);
  [[nodiscard]] SourceAnswer KubernetesAnswer(Instant now, std::span<const NodeGpu> gpus);
  void LookAtGroups(Instant now);
  [[nodiscard]] SourceAnswer FileAnswer(Instant now, std::span<const NodeGpu> gpus, const std::set<std::string>& held);
  // Whether a question is due. A clock that stepped back makes it due.
  [[nodiscard]] bool IsDue(const std::optional<Instant>& last, Instant now) const;
  // Whether a process names a job that started after the last answer of Slurm.
  [[nodiscard]] bool NamesNewJob(const SourceView& view) const;
  void ReadProcesses(Instant now, const std::map<std::string, std::vector<GpuHolder>>& holders, SourceView* view,
                     std::string* error);

  OwnerOptions options_;
  ProcessReader processes_;
  JobFiles files_;
  SlurmOwners slurm_;
  PodOwners pods_;
  JoinMemory memory_;
  LiveGroups groups_;
  SourceAnswer slurm_answer_;
  SourceAnswer pod_answer_;
  std::set<std::string> running_;  // numbers of Slurm's jobs here, by the last answer
  std::set<std::string> refused_;  // numbers that processes name, but that answer did not have
  std::string slurm_cluster_;
  std::optional<Instant> slurm_asked_;
  std::optional<Instant> pods_asked_;
  std::optional<Instant> groups_read_;
};

}  // namespace idleburn
