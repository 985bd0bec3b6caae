#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "base/time.h"
#include "run/workload.h"
#include "trial/lineage.h"

namespace idleburn {

// A drill runs a job in legs. One leg is one process of the job, from its start until it was interrupted and has ended.
// This file starts a leg, watches what it says and writes, and interrupts it.
//
// A job says what it does by markers, or by the lines it prints (LegTrace). Checkpoints that it does not announce show
// in its files (CheckpointWatch). To trace its system calls would tell more, but it slows the job and needs a
// privilege.

// One checkpoint as its files show it. Several files of one checkpoint are one write.
struct CheckpointWrite {
  // The first and the last change, by CLOCK_REALTIME, which is the clock of files.
  Nanos begin{0};
  Nanos end{0};
  std::int64_t bytes = 0;
  std::int64_t files = 0;
};

// Watches the files of checkpoints, for jobs that do not say when they write one.
//
// A new file is written from its birth, where the file system tells it, to its last modification. An older file is
// written from when it was first seen to change. Renaming changes neither, so a file that is written aside and renamed
// into place shows its whole time. Files whose times are less than kApart apart are one checkpoint: the shards of
// several ranks.
//
// Two things cannot be seen: the job prepares before the first byte, and calls fsync after the last. So the time is a
// lower bound.
class CheckpointWatch {
 public:
  // `pattern` is a file, a folder with all below it, or a pattern of the shell. What is there now is no news.
  explicit CheckpointWatch(std::string pattern);
  // Looks at the files and notes what changed since the last look. `wall` is now, by CLOCK_REALTIME.
  void Look(Nanos wall);
  // Whether any file was seen to change since the watch began.
  [[nodiscard]] bool any() const { return seen_; }
  // Returns the checkpoints that were written since the last call, in order of time. A checkpoint whose last change is
  // less than kApart before `wall` may go on, so it stays for a later call.
  std::vector<CheckpointWrite> Take(Nanos wall);

 private:
  // Longer than ranks take from shard to shard, shorter than any time between two checkpoints.
  static constexpr Nanos kApart{200'000'000};
  using FileId = std::pair<dev_t, ino_t>;

  std::string pattern_;
  // The time of modification of each file, as last seen. A renamed file keeps its inode and with it its place here.
  std::map<FileId, Nanos> modified_;
  // What changed since Take, file by file.
  std::map<FileId, CheckpointWrite> open_;
  // Whether any file has changed.
  bool seen_ = false;
};

// How a leg is interrupted: every process of it gets `signal`, and SIGKILL once `grace` is over.
struct Interruption {
  int signal = SIGTERM;
  Nanos grace{30 * kNanosPerSecond};
};

// When a leg is interrupted: as soon as the time or the number of steps is reached. Both count from the first progress
// of the leg, so that the time a job needs to start does not matter.
struct LegGoal {
  std::optional<Nanos> time;
  std::optional<std::int64_t> steps;
  // Waits, once that is reached, until a checkpoint begins. A job that never says so is interrupted after the timeout.
  bool mid_checkpoint = false;
};

// What to run, and how to end it.
struct LegSpec {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;
  // The working directory; empty: ours.
  std::string folder;
  // Where the output of the command goes; -1: to our own.
  int output = -1;
  Interruption interruption;
  LegGoal goal;
  // A leg that makes no progress for so long hangs, and is killed.
  Nanos timeout{0};
  // Outlives the leg. Null: nobody looks at files.
  CheckpointWatch* files = nullptr;
};

// What one leg did.
struct Leg {
  explicit Leg(Nanos started) : trace(started) {}
  LegTrace trace;
  // It did work, of whatever kind.
  bool progressed = false;
  // When it was interrupted, by CLOCK_MONOTONIC; absent: it ended before.
  std::optional<Nanos> told;
  // When the last of its processes was gone.
  Nanos ended{0};
  // It had not ended when its grace was over.
  bool killed = false;
  // It made no progress, and was killed for that.
  bool stalled = false;
  // The user ended it with this signal.
  std::optional<int> interrupted;
  // Files of a checkpoint had changed by its end.
  bool files_changed = false;
  std::vector<CheckpointWrite> writes;
  WorkloadEnd end;
  // The last line that it printed, for messages.
  std::string last_line;
  // Processes that could not be ended, not even by SIGKILL.
  std::size_t leftovers = 0;
};

// Runs the command until its goal, interrupts every process of it, and waits until none of them is left. The thread
// that prepared the workload calls it. Fails if the command cannot be started, or with exit code 128 + signal if the
// user ended idleburn before.
tl::expected<Leg, StartFailure> RunLeg(Workload& workload, const LegSpec& spec);

}  // namespace idleburn
