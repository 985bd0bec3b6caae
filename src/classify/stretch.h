#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "classify/totals.h"

namespace idleburn {

// A device that is silent for longer than this may have ended its run: an hour, or 100 periods where that is more. Logs
// of one reading an hour have 100 hours (docs/readings.md, "Runs: what is billed").
inline constexpr std::int64_t kLeastSilence = kNanosPerHour;
inline constexpr std::int64_t kSilentPeriods = 100;
// So many silences of a device are told apart. Those that follow are unobserved time, as if another device had
// reported.
inline constexpr std::size_t kMostStretches = 4096;

// What a device adds to its totals in a long silence, if the run goes on because other devices report: its last reading
// is held, the rest is a gap. The energy counter runs on.
struct Silence {
  // What a signal of kMeasured was held at. Nothing is read in a silence, so that no peak is.
  struct Held {
    std::size_t slot = 0;
    Integral mean;
    ValueSpread seconds;
    friend bool operator==(const Held&, const Held&) = default;
  };
  RunTime time;
  std::vector<Held> held;  // by slot; the busy counter is among them
  std::int64_t idle_held_ns = 0;
  std::int64_t idle_empty_ns = 0;
  std::int64_t idle_unknown_ns = 0;
  std::int64_t bound_with_activity_ns = 0;
  std::int64_t bound_with_power_ns = 0;
  Int128 energy_mj = 0;
  std::int64_t energy_ns = 0;
  std::int64_t energy_resets = 0;
  std::int64_t energy_out_of_range = 0;

  [[nodiscard]] static Silence Of(const DeviceTotals& totals);
  void AddTo(DeviceTotals* totals) const;
  friend bool operator==(const Silence&, const Silence&) = default;
};

// A part of a device's time without a long silence.
struct Stretch {
  std::int64_t first = 0;  // nanoseconds: of its first row, or the second of it where seconds count whole
  std::int64_t last = 0;
  std::int64_t reach = 0;  // a row of any device until then belongs to the same run
  RunTime time;
  Silence after;  // until the device's next stretch
  friend bool operator==(const Stretch&, const Stretch&) = default;
};

// Tells the runs of a log apart. A run ends where all its devices are silent for longer than each of them may be:
//
//     GPU 0   xxxxxxx          xxxxx                      xxxxx
//     GPU 1      xxxxxxxxxxxxxxxxx                        xxxxx
//             |------- run 0 ------|     not recorded     |run 1
//
// `stretches`: of every device, in order of time. The answer does not depend on the order of devices.
std::vector<RunSpan> RunsOf(const std::vector<std::vector<Stretch>>& stretches);

// Enters the runs of a device from its stretches, and adds to its totals the silences within runs.
void EnterRuns(const std::vector<Stretch>& stretches, const std::vector<RunSpan>& runs, DeviceResult* device);

}  // namespace idleburn
