#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "telemetry/host.h"
#include "telemetry/live_sink.h"
#include "telemetry/run_facts.h"

namespace idleburn {

// What is known of a run besides its GPUs, where it was measured live or comes from a recording. Empty: not known.
struct LiveRun {
  std::string command;
  std::string exit;  // "exit 0", "signal 9 (SIGKILL)"
  RunWindow window;
  std::array<std::optional<HostUse>, kHostScopeCount> host;
  HostStatistics statistics;
  std::vector<Note> alerts;  // limits it went beyond, and what was done about that
  std::string no_gpu;        // why no GPU was measured; empty if one was
  RunFacts sampler;          // how well it was measured: the facts of measure/sampler.h
};

}  // namespace idleburn
