#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/common_flags.h"
#include "plan/spot_options.h"

namespace idleburn {

// What is known of spot machines for one plan, gathered from flags, from a recorded history and from a drill. It keeps
// where each figure came from and what is still missing, because a spot price without an interruption rate says little.

// The flags that say how often machines are taken away and what starting again takes, as they were written.
struct SpotFlags {
  std::string uptime;
  std::string up_fraction;
  std::string interruptions;
  std::string trace;
  std::string drill;
  std::string checkpoint_cost;
  std::string restart;
  std::string loss;
  std::string interval;

  void AddTo(CommandFlags& flags);
};

// What is known of machines that are taken away, and of runs on them.
struct SpotFacts {
  LaunchFacts launch;
  // The turns of one machine. Absent if the rate of losses is unknown.
  std::optional<UpAndDown> machines;
  // The history that the turns come from, if they come from one.
  std::optional<SpotTrace> history;
  // Sources in words: "--uptime 8h", "events.csv, trace g4dn: 74 losses"; "--checkpoint-cost 30s, --restart 3m".
  std::string machines_from;
  std::string launch_from;
  // What to give, so that a spot offer can be weighed.
  std::vector<std::string> missing;
  // What is doubtful about the files.
  std::vector<std::string> doubts;

  // Whether the time that interruptions take can be worked out.
  [[nodiscard]] bool complete() const { return missing.empty(); }
};

// Reads the flags and the files that they name. Contradictions are usage errors. What is simply not given ends up in
// `missing`.
Result<SpotFacts> ReadSpotFacts(const SpotFlags& flags);

// Seconds that `idleburn drill --format json` measured. Absent where the drill does not know them.
struct MeasuredRestart {
  std::optional<double> checkpoint_s;
  std::optional<double> interval_s;
  std::optional<double> restart_s;
  std::optional<double> lost_s;
};

// Reads such a document; `name` is what errors call it. Fails if it is of another schema or a time is no number of
// seconds.
Result<MeasuredRestart> ParseDrillDocument(const std::string& text, const std::string& name);

}  // namespace idleburn
