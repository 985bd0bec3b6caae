#pragma once

#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "trial/leg.h"
#include "trial/lineage.h"

namespace idleburn {

// A span from which each round draws its own; low and high may be the same.
template <typename T>
struct Drawn {
  T low{};
  T high{};
};

struct DrillSpec {
  LegSpec leg;                      // of the command; its goal is drawn
  std::vector<std::string> resume;  // the command that goes on; usually the same
  int rounds = 3;
  std::optional<Drawn<Nanos>> after;               // from the first progress to the interruption
  std::optional<Drawn<std::int64_t>> after_steps;  // the first of both that is reached
  bool mid_checkpoint = false;
  std::uint64_t seed = 0;
};

// One interruption and what came of it.
struct DrillRound {
  LegGoal goal;
  std::optional<Nanos> stop;     // from the interruption to the end of the last process
  std::optional<Nanos> restart;  // from the start of the resume command to the end of its first step
  RoundReading reading;
};

struct DrillResult {
  std::vector<DrillRound> rounds;
  std::vector<Leg> legs;           // one more than there are rounds, if all went well
  std::optional<int> interrupted;  // by that signal
  std::string ended;               // why there are fewer rounds than were asked for; empty: there are not
};

// What a drill asks of the world.
struct DrillWorld {
  std::function<tl::expected<Leg, StartFailure>(const LegSpec& leg)> run;
  std::function<std::optional<int>()> interrupted;  // by a signal between two legs
  std::function<void(const std::string& line)> tell;
};

// Starts the command, interrupts it, resumes it, interrupts that, and so on; the last resumed leg is ended in the same
// way once it has shown that it works. Fails if there is nothing to judge: the command does not start, makes no
// progress or ends before it can be interrupted, or the resume command cannot be started.
Result<DrillResult> RunDrill(const DrillSpec& spec, const DrillWorld& world);

}  // namespace idleburn
