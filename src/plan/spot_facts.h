#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/common_flags.h"
#include "plan/spot_options.h"

namespace idleburn {

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

// What is known of runs on machines that are taken away.
struct SpotFacts {
  LaunchFacts launch;
  std::optional<UpAndDown> machines;  // of one machine; absent: how often it is lost is not known
  std::optional<SpotTrace> history;   // that they come from, if they come from one
  std::string machines_from;          // "--uptime 8h", "events.csv, trace g4dn: 74 losses"
  std::string launch_from;            // "--checkpoint-cost 30s, --restart 3m"
  std::vector<std::string> missing;   // what to give, so that a spot offer can be weighed
  std::vector<std::string> doubts;    // of the files

  // Whether time lost to interruptions can be worked out.
  [[nodiscard]] bool complete() const { return missing.empty(); }
};
Result<SpotFacts> ReadSpotFacts(const SpotFlags& flags);

// What `idleburn drill --format json` measured, in seconds; absent where it is not known.
struct MeasuredRestart {
  std::optional<double> checkpoint_s;
  std::optional<double> interval_s;
  std::optional<double> restart_s;
  std::optional<double> lost_s;
};
Result<MeasuredRestart> ParseDrillDocument(const std::string& text, const std::string& name);

}  // namespace idleburn
