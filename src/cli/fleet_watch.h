#pragma once

#include <string>

#include "base/result.h"
#include "config/settings.h"
#include "fleet/engine.h"
#include "terminal/environment.h"

// `idleburn fleet watch`: the board of a cluster, again and again.
namespace idleburn {

// The flags as they were written.
struct FleetWatchRequest {
  EngineAddress engine;
  std::string interval;  // --interval: "30s"
  bool once = false;
};

// Shows the board until q, Ctrl-C or a signal: a screen in place on a terminal, documents with --format json. One board
// with --once, and as plain text where standard output is no terminal. Fails if the first board cannot be read; later
// failures keep the last board and mark it stale.
Result<int> WatchFleet(const FleetWatchRequest& request, const Settings& settings, const Environment& environment);

}  // namespace idleburn
