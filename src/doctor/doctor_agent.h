#pragma once

#include <optional>
#include <string>
#include <vector>

#include "os/folder.h"
#include "telemetry/device.h"

namespace idleburn {

// What `idleburn doctor --agent` looks at: whether the agent could do its whole work on this node, as this user.
struct AgentReadings {
  std::vector<std::string> sources;  // who is asked for owners: "slurm", "kubernetes", "job files", "processes"
  std::vector<std::string> faults;   // what one question to them did not answer, a line each
  std::size_t owned = 0;             // GPUs with an owner now
  bool sees_environments = false;    // of other users' processes: they name jobs and experiments
  std::string state_folder;          // where the counts are kept; empty: nowhere
  FolderProbe state;
  std::string address;        // where it would serve
  std::string address_fault;  // why it could not; empty: it could
};

// Asks every source once (up to 15 s), and serves for a moment at the agent's usual address. Writes a test file into
// `state_folder` and removes it.
AgentReadings LookAtAgent(const DeviceTable& devices, Instant now, const std::string& state_folder);

}  // namespace idleburn
