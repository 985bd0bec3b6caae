#pragma once

#include <cstdint>
#include <string>

#include "support/program.h"

namespace idleburn::testing {

// How slurmd keeps the processes of a job together.
enum class SlurmJobs : std::uint8_t {
  kByParents,  // by parent processes: everything runs unprivileged, and a job has no control group
  kInCgroups   // in control groups of version 1; slurmd runs as root, the jobs do not
};

// A real Slurm of one node with four fake GPUs, on loopback: munged, slurmctld and slurmd. GPU i is device i of
// gres.conf. It stops what it started, by process number.
class SlurmCluster {
 public:
  // Why no cluster can be started here: the programs or rights that are missing. Empty if one can.
  static std::string WhyNot(SlurmJobs jobs = SlurmJobs::kByParents);
  // Starts the daemons and waits until the node is idle. Check `ready` afterwards.
  explicit SlurmCluster(SlurmJobs jobs = SlurmJobs::kByParents);
  ~SlurmCluster();
  SlurmCluster(const SlurmCluster&) = delete;
  SlurmCluster& operator=(const SlurmCluster&) = delete;

  [[nodiscard]] bool ready() const { return ready_; }
  // What the daemons wrote, for a test that fails.
  [[nodiscard]] std::string Logs() const;
  // Runs words of the shell with this cluster's configuration, as its user. Its standard output.
  [[nodiscard]] std::string Run(const std::string& words) const;
  // A program of Slurm that uses this cluster, for OwnerOptions.
  [[nodiscard]] std::string Program(const std::string& name) const;
  [[nodiscard]] std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  // NodeName of the machine.
  [[nodiscard]] const std::string& node() const { return node_; }

 private:
  void WriteConfiguration();

  SlurmJobs jobs_;
  TempFolder folder_;
  std::string node_;
  std::string user_;
  std::string as_user_;  // in front of a command: drops the rights of root
  bool ready_ = false;
};

}  // namespace idleburn::testing
