#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/money.h"

// A job that wastes much, why as far as its agents counted it, and what to try.
namespace idleburn {

// Time of a job that its agents counted under one signal (classify/job_signal.h).
struct WasterEvidence {
  std::string signal;
  std::int64_t ms = 0;  // GPU-milliseconds, at most those of the signal's phases
  double share = 0;     // of the job's observed time
};

// A part of a job's waste that one cause explains. Parts are disjoint, and their money is at most that of the waste.
struct WasterCause {
  std::string cause;          // an id of diagnose/cause_table.h
  std::int64_t waste_ms = 0;  // at least
  double share = 0;           // of the job's waste
  std::optional<Money> waste;
  std::string fix;
};

// A lever to try where nothing proves the cause (recommend/try_table.h).
struct WasterTry {
  std::string lever;
  std::string title;
  std::string how;
  std::string confirm;  // the measurement that would prove the cause
};

struct FleetWaster {
  std::string job;
  std::string team;
  std::string user;
  std::optional<Money> waste;  // at least, with spin-wait and lost clock
  std::int64_t waste_ms = 0;
  std::string cause;  // of the largest part, if the parts explain half of the waste; else "unknown"
  std::string why;
  std::string fix;                       // a sentence
  std::vector<WasterCause> causes;       // largest first
  std::vector<WasterEvidence> evidence;  // largest first
  std::vector<WasterTry> try_first;      // empty if the cause is known
};

}  // namespace idleburn
