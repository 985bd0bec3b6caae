#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "config/common_flags.h"
#include "trial/leg.h"
#include "trial/lineage.h"

namespace idleburn {

// A drill interrupts a job as a cloud does, resumes it, and sees what was lost. RunDrill holds the course of a drill,
// and asks DrillWorld for every leg, so that a test can play the world. DrillRequest reads the flags of `idleburn
// drill`.

// A span from which each round draws its own value. `low` and `high` may be the same.
template <typename T>
struct Drawn {
  T low{};
  T high{};
};

// What a drill does.
struct DrillSpec {
  // The command of the first leg and how each leg is ended. Its goal is drawn anew for each.
  LegSpec leg;
  // The command that goes on after an interruption. Usually it is the same.
  std::vector<std::string> resume;
  int rounds = 3;
  // When a leg is interrupted, from its first progress. Of time and steps the first that is reached counts.
  std::optional<Drawn<Nanos>> after;
  std::optional<Drawn<std::int64_t>> after_steps;
  // As in LegGoal.
  bool mid_checkpoint = false;
  // The same seed draws the same goals.
  std::uint64_t seed = 0;
};

// One interruption and what came of it. Absent times are not known.
struct DrillRound {
  LegGoal goal;
  // From the interruption to the end of the last process.
  std::optional<Nanos> stop;
  // From the start of the resume command to the end of its first step.
  std::optional<Nanos> restart;
  RoundReading reading;
};

// What a drill saw.
struct DrillResult {
  std::vector<DrillRound> rounds;
  // One more than there are rounds, if all went well.
  std::vector<Leg> legs;
  // The user ended it with this signal.
  std::optional<int> interrupted;
  // Why there are fewer rounds than were asked for; empty: there are not.
  std::string ended;
};

// What a drill asks of the world. Both `run` and `interrupted` are called by the thread of RunDrill.
struct DrillWorld {
  std::function<tl::expected<Leg, StartFailure>(const LegSpec& leg)> run;
  // The signal of the user that came between two legs, if one did.
  std::function<std::optional<int>()> interrupted;
  // Takes a line of progress for people.
  std::function<void(const std::string& line)> tell;
};

// Starts the command, interrupts it, resumes it, interrupts that, and so on. The last resumed leg is ended in the same
// way once it has shown that it works.
//
// Fails if there is nothing to judge: the command does not start, makes no progress or ends before it can be
// interrupted, or the resume command cannot be started.
Result<DrillResult> RunDrill(const DrillSpec& spec, const DrillWorld& world);

// How a cloud takes capacity back, as far as a process sees it: by SIGTERM, and SIGKILL after `grace`. docs/drill.md
// argues each row.
struct CloudNotice {
  // The name that --as takes.
  std::string_view id;
  std::string_view says;
  Nanos grace;
};
inline constexpr std::array<CloudNotice, 3> kCloudNotices = {{
    {"aws", "AWS, 2 min from the notice", Nanos(120 * kNanosPerSecond)},
    {"gcp", "Google Cloud, 30 s", Nanos(30 * kNanosPerSecond)},
    {"azure", "Azure, 30 s", Nanos(30 * kNanosPerSecond)},
}};

// The flags of `idleburn drill` as they were written. Empty: not given.
struct DrillRequest {
  // Adds the flags. They are read into this object, so it must stay where it is until then.
  void AddTo(CommandFlags& flags);
  // What is to be done with `command`, without what the world adds: folder, output, environment. `seed` is used where
  // the user gave none. Fails if a flag cannot be understood.
  [[nodiscard]] Result<DrillSpec> Spec(const std::vector<std::string>& command, std::uint64_t seed) const;
  // How long one node of the job lasts on the mean, of --uptime; absent: not said.
  [[nodiscard]] Result<std::optional<Nanos>> Uptime() const;
  // On how many nodes the job will run; the loss of any of them interrupts it.
  [[nodiscard]] Result<std::int64_t> Nodes() const;
  // Whether a verdict of FAIL is exit code 3.
  [[nodiscard]] Result<bool> FailsOnFail() const;

  std::string resume;
  std::string rounds;
  std::string cloud;
  std::string signal;
  std::string grace;
  std::string after;
  std::string after_steps;
  std::string seed;
  std::string timeout;
  std::string checkpoint;
  std::string copy;
  std::string uptime;
  std::string nodes;
  std::string fail_on;
  std::string output;
  bool mid_checkpoint = false;
  bool scratch = false;
  bool show_output = false;
  bool quiet = false;
};

}  // namespace idleburn
