#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
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
  bool full = false;
  bool quiet = false;
};

// This file judges a drill: does the job survive an interruption, what does one cost, and what would that mean on
// capacity that is lost now and then. A verdict rests on faults that a round showed. Figures never decide it: a slow
// restart is expensive, not wrong.

// The confidence of the intervals that are reported.
inline constexpr double kDrillConfidence = 0.95;
// Two values have an interval too, but one so wide that it says nothing.
inline constexpr std::size_t kFewestForInterval = 3;

// What a drill comes to, and its names in documents.
enum class DrillVerdict : std::uint8_t { kPass, kFail, kCannotTell };
inline constexpr std::array<std::string_view, 3> kDrillVerdicts = {"PASS", "FAIL", "CANNOT_TELL"};

// A quantity over rounds, legs or checkpoints, in the unit that its name in DrillFigures ends with.
struct DrillFigure {
  std::size_t count = 0;
  double mean = 0;
  // The interval of the mean by Student's t. Of fewer than kFewestForInterval values: the least and the largest.
  double low = 0;
  double high = 0;
  [[nodiscard]] bool interval() const { return count >= kFewestForInterval; }
};
// Sums values up; absent where there are none. The values are 0 or more, so the interval is cut at 0.
std::optional<DrillFigure> FigureOf(std::span<const double> values);

// What was measured. Each figure is absent where nothing told it.
struct DrillFigures {
  std::optional<DrillFigure> step_s;
  // The time of writing one checkpoint: C in the formulas below.
  std::optional<DrillFigure> checkpoint_s;
  std::optional<DrillFigure> checkpoint_bytes;
  // From one begin to the next, as the job writes them by itself.
  std::optional<DrillFigure> checkpoint_interval_s;
  // From the start of the resume command to its first step: R, without the time to get a machine.
  std::optional<DrillFigure> restart_s;
  std::optional<DrillFigure> stop_s;
  std::optional<DrillFigure> lost_steps;
  std::optional<DrillFigure> lost_samples;
  // Steps that were lost, at the mean speed of all legs.
  std::optional<DrillFigure> lost_s;
  // Time and size of checkpoints were seen in files, because no marker told them. Such times are lower bounds.
  bool checkpoint_from_files = false;
};

// What a drill tells.
struct DrillReading {
  DrillVerdict verdict = DrillVerdict::kCannotTell;
  // Each once, in the order of kDrillReasons.
  std::vector<DrillReason> reasons;
  std::size_t clean_rounds = 0;
  DrillFigures figures;
};
// Judges a drill. The verdict is FAIL if a round shows a fault. Else it is PASS if one round has no reason at all: what
// other rounds could not show, that one did. Else it is CANNOT_TELL.
DrillReading ReadDrill(const DrillResult& result);

// What the measured figures mean on capacity that is lost every `uptime` on the mean. The time of a run is expected to
// first order (plan/spot_formulas.h), and the run is so long that its own start does not matter:
//
//   T / W = (1 + C / tau) (1 + (R + l) / M)     l: work lost per interruption, as measured or tau / 2
//   1 + o = (T / W) / (1 + C / tau_now)         an uninterrupted run writes its checkpoints too, as it does now
//
// Young's interval is tau = sqrt(2 C M), for C much less than M. All of this holds for (R + tau) / M much less than 1.
struct DrillOutlook {
  // M of the job: that of one node by the number of nodes.
  double uptime_s = 0;
  // o at the interval that the job has now, with the loss that was measured.
  std::optional<double> overhead_now;
  // Where C is known and more than 0.
  std::optional<double> young_interval_s;
  // o at that interval, with half of it lost each time. Below 0: the job would write less than it does now.
  std::optional<double> overhead_young;
  // (R + tau) / M where that is more than kFirstOrderReach: then the formulas are doubtful.
  std::optional<double> outside;
};
// `uptime_s`: how long one node lasts on the mean, in seconds, more than 0. `nodes`: how many the job has, at least
// one.
DrillOutlook OutlookOf(const DrillFigures& figures, double uptime_s, std::int64_t nodes);
// The least discount at which capacity with that overhead is cheaper: d / (1 - d) = overhead.
inline double BreakEvenDiscount(double overhead) { return overhead <= 0 ? 0 : overhead / (1 + overhead); }

}  // namespace idleburn
