#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "classify/totals.h"
#include "telemetry/device.h"
#include "telemetry/run_facts.h"

namespace idleburn {

// Where runs begin and end. A log may hold several runs with time between them that nobody recorded, so silences are
// told apart from gaps. At the ends of a window that is known, devices are carried to it (CarryToEnds).

// A device that is silent for longer than this may have ended its run: an hour, or 100 periods where that is more. Logs
// of one reading an hour have 100 hours (docs/readings.md, "Runs: what is billed").
inline constexpr std::int64_t kLeastSilence = kNanosPerHour;
inline constexpr std::int64_t kSilentPeriods = 100;
// So many silences of a device are told apart. Those that follow are unobserved time, as if another device had
// reported.
inline constexpr std::size_t kMostStretches = 4096;

// What a device adds to its totals in a long silence, if the run goes on because other devices report. Its last reading
// is held, the rest is a gap, and the energy counter runs on.
struct Silence {
  // What a signal of kMeasured was held at. Nothing is read in a silence, so there is no new peak.
  struct Held {
    std::size_t slot = 0;
    Integral mean;
    ValueSpread seconds;
    friend bool operator==(const Held&, const Held&) = default;
  };
  RunTime time;
  // By slot. The busy counter is among them.
  std::vector<Held> held;
  std::int64_t idle_held_ns = 0;
  std::int64_t idle_empty_ns = 0;
  std::int64_t idle_unknown_ns = 0;
  std::int64_t bound_with_activity_ns = 0;
  std::int64_t bound_with_power_ns = 0;
  Int128 energy_mj = 0;
  std::int64_t energy_ns = 0;
  std::int64_t energy_resets = 0;
  std::int64_t energy_out_of_range = 0;

  // What these totals hold, which must be of the silence alone. Energy is filled in by the caller.
  [[nodiscard]] static Silence Of(const DeviceTotals& totals);
  // The run went on: the silence is part of it.
  void AddTo(DeviceTotals* totals) const;
  friend bool operator==(const Silence&, const Silence&) = default;
};

// A part of a device's time without a long silence.
struct Stretch {
  // In nanoseconds since the epoch: its first row, or the second of it where seconds count whole.
  std::int64_t first = 0;
  std::int64_t last = 0;
  // A row of any device until then belongs to the same run.
  std::int64_t reach = 0;
  RunTime time;
  // Until the device's next stretch.
  Silence after;
  friend bool operator==(const Stretch&, const Stretch&) = default;
};

// Tells the runs of a log apart. A run ends where all its devices are silent for longer than each of them may be:
//
//     GPU 0   xxxxxxx          xxxxx                      xxxxx
//     GPU 1      xxxxxxxxxxxxxxxxx                        xxxxx
//             |------- run 0 ------|     not recorded     |run 1
//
// `stretches` are those of every device, in order of time. The answer is in order of time, and does not depend on the
// order of devices.
std::vector<RunSpan> RunsOf(const std::vector<std::vector<Stretch>>& stretches);

// Enters the runs of a device from its stretches, and adds to its totals the silences within runs. Those between runs
// are nobody's time.
void EnterRuns(const std::vector<Stretch>& stretches, const std::vector<RunSpan>& runs, DeviceResult* device);

// Carries every device of a run to the ends of a window whose start is known. Where a device was silent at either end
// for longer than `hold` (by its position in the run), that time is unobserved.
//
// In a window that the user named, boards that took turns in one slot share it: a board that was replaced is one
// board's worth. They have one host and index, or bus id, and were never read at one time. Boards known by UUID alone
// have no slot. That is wrong where two machines have one name; who names them apart (NODE=FILE) has two boards for the
// whole window.
//
//     GPU 0, old board   ---xxxxxxxxx|                 x: rows      -: unobserved
//     GPU 0, new board               |---xxxxxxxxxx--
void CarryToEnds(const RunWindow& window, const DeviceTable& devices, const std::vector<Nanos>& hold, RunResult* run);

}  // namespace idleburn
