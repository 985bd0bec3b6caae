#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "fleet/fleet_pull.h"

// `fleet pull --rebuild`: reads a window from the engine again, and loses nothing that the engine has forgotten.
namespace idleburn {

struct RebuildOutcome {
  PullOutcome pull;
  std::int64_t kept_ms = 0;  // GPU-milliseconds of the window that the engine no longer gives; the ledger keeps them
  std::int64_t kept_from = 0;
  std::int64_t kept_to = 0;
};

// Fills a new ledger beside the old one, adds the hours that only the old one has, and puts it in the old one's place
// in one step. Where the engine gives only one long span for hours that the ledger knows one by one, the hours stay.
// Pulls and other rebuilds of the ledger wait meanwhile; it fails if one of them lasts longer than `patience`. If it
// fails, the old ledger stays as it is.
Result<RebuildOutcome> RebuildLedger(Engine& engine, const std::string& path, Nanos patience,
                                     const PullRequest& request);

}  // namespace idleburn
