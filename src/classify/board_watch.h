#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "classify/thresholds.h"
#include "telemetry/sample.h"

namespace idleburn {

// Finds the stretches in which a MIG board works while the graphics engine of every instance reads exactly 0. Then it
// is the counter that is broken, not the board that is idle.
//
// Power is the board's and activity its instances', so neither alone can tell. A single instance is no witness either:
// its neighbours may draw the power.
class BoardWatch {
 public:
  // `thresholds` outlives this. `power_limit_mw` is the limit of the board by its name; it counts until one is read.
  BoardWatch(const Thresholds& thresholds, std::optional<std::int64_t> power_limit_mw)
      : thresholds_(&thresholds), power_limit_mw_(power_limit_mw) {}

  // Takes samples of the board and its instances, in order of time. `slices` is the size of the instance.
  void OnBoard(const Sample& sample);
  void OnInstance(const Sample& sample, int slices);

  // Whether the board worked unseen in all of the seconds [from, to) since the epoch.
  [[nodiscard]] bool WorksUnseen(std::int64_t from, std::int64_t to) const;

 private:
  // Nanoseconds since the epoch, half-open.
  struct Stretch {
    std::int64_t from;
    std::int64_t to;
  };
  struct Instance {
    int slices = 0;
    bool zero = false;
  };
  [[nodiscard]] bool AllZero() const;
  void Update(std::int64_t time);

  const Thresholds* thresholds_;
  std::optional<std::int64_t> power_limit_mw_;
  bool limit_read_ = false;
  std::map<DeviceId, Instance> instances_;
  // By the reading of power at power_time_; and since when that was so.
  bool works_ = false;
  std::int64_t power_time_ = INT64_MIN;
  std::int64_t works_since_ = 0;
  // Whether every instance reads 0, and since when.
  bool zero_ = false;
  std::int64_t zero_since_ = 0;
  // When the stretch began that goes on; absent: there is none.
  std::optional<std::int64_t> since_;
  // Those that have ended and were long enough to decide.
  std::vector<Stretch> stretches_;
};

}  // namespace idleburn
