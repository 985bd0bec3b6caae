#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "base/work_unit.h"
#include "text/number.h"

namespace idleburn {

// How long one run is measured.
struct TrialBounds {
  std::int64_t skip_steps = 5;        // warm-up, not measured
  std::optional<std::int64_t> steps;  // measured after it
  std::optional<Nanos> time;          // measured after it; the first bound that is reached ends the run
  Nanos patience{0};                  // without any progress
  Nanos grace{0};                     // from asking a run to end to killing it
};

// Work done in a span of time that begins and ends with a change of the count.
struct WorkRate {
  WorkUnit unit = WorkUnit::kStep;
  std::int64_t work = 0;
  Nanos time{0};
  WorkCount done = {};        // in the same time, in every unit that was told
  std::int64_t changes = 0;   // of the count, in which it was seen to rise
  double relative_error = 0;  // of the speed: the standard error by how the time between changes varied; 0 below 3
  Nanos stood_still{0};       // the machine, all of it, meanwhile
  bool spoiled = false;       // by that, so that the run is better made again
  std::optional<Nanos> longest_wait = {};  // between two changes, where it is far longer than the others
  // Half the interval of ln(PerSecond()) at a confidence of `level`, by t; absent where too few changes were seen.
  [[nodiscard]] std::optional<double> LogError(double level) const;
  [[nodiscard]] double PerSecond() const { return static_cast<double>(work) / InSeconds(time); }
};

// Watches what a run says of its work, and says when it was watched enough. Times are of any one clock.
//
// Only changes of the count are believed to be points in time: the rate is that between the first change after the
// warm-up and the last one, so neither the warm-up nor a step that was cut short is in it. A stop after the last
// change that is longer than any wait between two changes is: a job that stalls is not a fast one. A stretch between
// two changes in which the whole machine stood still is not, its work no more than its time: neither is the job's.
class RateWatch {
 public:
  enum class Verdict : std::uint8_t { kGoOn, kEnough, kStalled };

  RateWatch(const TrialBounds& bounds, Nanos start) : bounds_(bounds), last_(start) {}
  void See(Nanos now, const WorkCount& done);
  // Nobody could run here for so long, just now.
  void StoodStill(Nanos time);
  [[nodiscard]] Verdict Judge(Nanos now) const;
  // `stopped`: when it was told to end while it still worked; absent: it ended by itself. Absent without two changes
  // after the warm-up.
  [[nodiscard]] std::optional<WorkRate> Rate(std::optional<Nanos> stopped) const;
  // The latest count of its unit; absent: it has said nothing.
  [[nodiscard]] std::optional<std::int64_t> count() const { return count_; }
  [[nodiscard]] WorkUnit unit() const { return unit_; }
  // Whether the warm-up is over.
  [[nodiscard]] bool measuring() const { return begin_.has_value(); }

 private:
  struct Point {
    Nanos at{0};
    std::int64_t count = 0;
    WorkCount done;
  };
  // Of the stretches between two changes: how many, and the sums of time x time, time x work and work x work.
  struct Stretches {
    std::int64_t n = 0;
    double time_time = 0;
    double time_work = 0;
    double work_work = 0;
  };
  // Stretches in which the machine stood still.
  struct Lost {
    Nanos time{0};
    std::int64_t work = 0;
    WorkCount done;
    Nanos stood_still{0};
  };
  void EndStretch(Nanos now, std::int64_t work, const WorkCount& done);
  [[nodiscard]] double RelativeError(double seconds, double work) const;

  TrialBounds bounds_;
  WorkUnit unit_ = WorkUnit::kStep;
  std::optional<std::int64_t> count_;
  std::int64_t changes_ = 0;
  Nanos last_;  // change, or the start
  std::optional<Point> begin_;
  WorkCount done_;
  Stretches stretches_;
  Nanos longest_{0};  // between two changes
  Lost lost_;
  Nanos still_{0};  // since the last change the machine stood still for so long
};

}  // namespace idleburn
