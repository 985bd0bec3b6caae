// The agent of a node: measures, counts, keeps the counts and serves them, until it is asked to end.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/node_meter.h"
#include "base/result.h"
#include "classify/thresholds.h"
#include "expose/scrape_server.h"
#include "measure/live_gpus.h"
#include "owners/owner.h"

namespace idleburn {

// Who holds the GPUs now. Called again and again from one thread of its own; it may take seconds.
using OwnerSource = std::function<Holdings(Instant, const std::vector<NodeDevice>&)>;

struct AgentOptions {
  std::string node;  // the label
  std::string version;
  std::string state_folder;  // empty: no state is kept
  ServerOptions server;
  std::string textfile;              // for node_exporter; empty: none
  std::int64_t close_period = 3600;  // seconds
  Nanos owner_period{kNanosPerSecond};
  std::optional<Nanos> run_for;  // absent: until a signal
  LiveGpuOptions gpus;
};

// The exit code when a driver call hangs for a minute, so that the service manager starts the agent anew.
inline constexpr int kDriverHangs = 70;

// Runs the agent for its time, or until SIGINT or SIGTERM; returns its exit code. Fails before it measures if another
// agent keeps this node, or if it cannot listen. A state folder that cannot be written is said, and then counts begin
// anew at every start. `thresholds` outlives the call.
Result<int> RunNodeAgent(const AgentOptions& options, const Thresholds& thresholds, RateFinder find_rates,
                         const OwnerSource& owners);

}  // namespace idleburn
