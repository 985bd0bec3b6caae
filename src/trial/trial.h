#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "base/time.h"
#include "base/work_unit.h"
#include "config/common_flags.h"
#include "run/markers.h"
#include "run/workload.h"
#include "text/number.h"
#include "trial/confinement.h"

namespace idleburn {

// A trial is one bounded run of a command, watched from outside: it is started, measured for a number of steps or some
// time after its warm-up, and ended by SIGTERM. TrialFlags reads the bounds, RateWatch tells the speed from what the
// run says of its work, and RunTrial does the rest.
//
// The speed is counted in the command's own steps. CPU time would not do: a job may use much of it while it waits.

// How long one run is measured. The first bound that is reached ends the run.
struct TrialBounds {
  // Steps of the warm-up, which are not measured.
  std::int64_t skip_steps = 5;
  // Measured after the warm-up.
  std::optional<std::int64_t> steps;
  std::optional<Nanos> time;
  // A run without any progress for so long is given up.
  Nanos patience{0};
  // From asking a run to end to killing it.
  Nanos grace{0};
};

// Work done in a span of time that begins and ends with a change of the count.
struct WorkRate {
  // The unit that the rate is in, and the work in it.
  WorkUnit unit = WorkUnit::kStep;
  std::int64_t work = 0;
  Nanos time{0};
  // Work in the same time, in every unit that was told.
  WorkCount done = {};
  // How often the count was seen to rise in that time.
  std::int64_t changes = 0;
  // The standard error of the speed as a share of it, by how the time between changes varied; 0 below 3 changes.
  double relative_error = 0;
  // All of the machine stood still for so long meanwhile.
  Nanos stood_still{0};
  // By that, so that the run is better made again.
  bool spoiled = false;
  // Between two changes, where it is far longer than the others.
  std::optional<Nanos> longest_wait = {};
  // Half the interval of ln(PerSecond()) at a confidence of `level`, by t. Absent where too few changes were seen.
  [[nodiscard]] std::optional<double> LogError(double level) const;
  // Work a second.
  [[nodiscard]] double PerSecond() const { return static_cast<double>(work) / InSeconds(time); }
};

// Watches what a run says of its work, and says when it was watched enough. Times are of any one clock.
//
// Only changes of the count are believed to be points in time. The rate is that between the first change after the
// warm-up and the last one, so neither the warm-up nor a step that was cut short is in it.
//
// Two kinds of time are special. A stop after the last change that is longer than any wait between two changes counts:
// a job that stalls is not a fast one. A stretch between two changes in which the whole machine stood still does not
// count, neither its work nor its time: that is not the job's doing.
class RateWatch {
 public:
  // What to do with the run now.
  enum class Verdict : std::uint8_t { kGoOn, kEnough, kStalled };

  // `start`: when the run began.
  RateWatch(const TrialBounds& bounds, Nanos start) : bounds_(bounds), last_(start) {}
  // The run says that it has done so much, now.
  void See(Nanos now, const WorkCount& done);
  // Nobody could run here for so long, until just now.
  void StoodStill(Nanos time);
  [[nodiscard]] Verdict Judge(Nanos now) const;
  // The rate so far. `stopped`: when the run was told to end while it still worked; absent: it ended by itself. Absent
  // without two changes after the warm-up.
  [[nodiscard]] std::optional<WorkRate> Rate(std::optional<Nanos> stopped) const;
  // The latest count of its unit; absent: it has said nothing.
  [[nodiscard]] std::optional<std::int64_t> count() const { return count_; }
  [[nodiscard]] WorkUnit unit() const { return unit_; }
  // Whether the warm-up is over.
  [[nodiscard]] bool measuring() const { return begin_.has_value(); }

 private:
  // A change of the count.
  struct Point {
    Nanos at{0};
    std::int64_t count = 0;
    WorkCount done;
  };
  // Stretches between two changes: how many, and the sums of time x time, time x work and work x work. In these the
  // spread of their speeds can be told without keeping them.
  struct Stretches {
    std::int64_t n = 0;
    double time_time = 0;
    double time_work = 0;
    double work_work = 0;
  };
  // Stretches in which the machine stood still, all together.
  struct Lost {
    Nanos time{0};
    std::int64_t work = 0;
    WorkCount done;
    Nanos stood_still{0};
  };
  // A change at `now` ends a stretch in which so much was done.
  void EndStretch(Nanos now, std::int64_t work, const WorkCount& done);
  // Of the speed over that time and work.
  [[nodiscard]] double RelativeError(double seconds, double work) const;

  TrialBounds bounds_;
  WorkUnit unit_ = WorkUnit::kStep;
  std::optional<std::int64_t> count_;
  std::int64_t changes_ = 0;
  // The last change, or the start.
  Nanos last_;
  std::optional<Point> begin_;
  WorkCount done_;
  Stretches stretches_;
  // The longest wait between two changes.
  Nanos longest_{0};
  Lost lost_;
  // For so long the machine stood still since the last change.
  Nanos still_{0};
};

// The flags that bound one measured run of a command, as they were written. Empty: not given.
struct TrialFlags {
  // `bounds` holds what is not given. Its steps and time count only where neither --for nor --steps is given.
  explicit TrialFlags(const TrialBounds& bounds) : usual(bounds) {}

  // Adds the flags. They are read into this object, so it must stay where it is until then. `each` names what is
  // bounded: "run".
  void AddTo(CommandFlags& flags, const std::string& each);
  // The bounds as given. `command` is the name that messages begin with. Fails if a flag cannot be understood.
  [[nodiscard]] Result<TrialBounds> Bounds(const char* command) const;
  // The name of the first flag that was given; empty: none was.
  [[nodiscard]] std::string Given() const;

  TrialBounds usual;
  std::string time;
  std::string steps;
  std::string skip_steps;
  std::string patience;
  std::string grace;
};

// Where the output of a command goes that is run for its own sake: to standard error, or nowhere. Owns the descriptor.
class CommandOutput {
 public:
  explicit CommandOutput(bool shown);
  ~CommandOutput();
  CommandOutput(const CommandOutput&) = delete;
  CommandOutput& operator=(const CommandOutput&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

// How a run is changed, for as long as this lives.
struct KnobChange {
  // Variables that are added.
  std::vector<std::pair<std::string, std::string>> environment;
  // The CPUs that it may run on; empty: all.
  std::vector<int> cpus;
  // The group that it runs in; null: ours.
  std::unique_ptr<ControlGroup> group;
};

// What to run.
struct TrialSpec {
  std::vector<std::string> command;
  TrialBounds bounds;
  // Where the output of the command goes; -1: to our own.
  int output = -1;
};

// What one run did.
struct Trial {
  std::optional<WorkRate> rate;
  // Work done in all, as last said; absent: it said nothing.
  std::optional<std::int64_t> count;
  WorkUnit unit = WorkUnit::kStep;
  // It was ended because it made no progress.
  bool stalled = false;
  // It ended before it was told to.
  bool by_itself = false;
  WorkloadEnd end;
  HooksSaid hooks;
  // Bytes a second from storage, while it was measured.
  std::optional<double> read_per_second;
  // CPUs that others kept busy meanwhile.
  std::optional<double> other_cpus;
  // The last line that it printed, for messages.
  std::string last_line;
  // The user ended it with this signal.
  std::optional<int> interrupted;
  // Processes that could not be ended, not even by SIGKILL.
  std::size_t leftovers = 0;
};

// Why a trial says nothing of the command's speed, in words that follow "the command". Empty if it does.
std::string FaultOf(const Trial& trial, const TrialBounds& bounds);

// Runs the command until its bounds are reached, then ends it and all that it has started. The thread that prepared the
// workload calls it. Fails if the command cannot be started, or with exit code 128 + signal if the user ended idleburn
// before.
tl::expected<Trial, StartFailure> RunTrial(Workload& workload, const TrialSpec& spec, const KnobChange& change);

}  // namespace idleburn
