#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "classify/thresholds.h"
#include "telemetry/sample.h"

namespace idleburn {

// Finds the stretches in which a MIG board works while every instance's graphics engine reads exactly 0: then it is the
// counter that is broken. Power is the board's and activity its instances', so that neither alone can tell.
class BoardWatch {
 public:
  // `thresholds` outlives this. `power_limit_mw`: of the board by its name, until it is read.
  BoardWatch(const Thresholds& thresholds, std::optional<std::int64_t> power_limit_mw)
      : thresholds_(&thresholds), power_limit_mw_(power_limit_mw) {}

  // Samples of the board and its instances, in order of time. `slices`: of the instance, that of the sample.
  void OnBoard(const Sample& sample);
  void OnInstance(const Sample& sample, int slices);

  // Whether that was so in all of the seconds [from, to).
  [[nodiscard]] bool WorksUnseen(std::int64_t from, std::int64_t to) const;

 private:
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
  bool works_ = false;                   // by the last reading of power
  std::int64_t power_time_ = INT64_MIN;  // of that reading
  std::int64_t works_since_ = 0;
  bool zero_ = false;
  std::int64_t zero_since_ = 0;
  std::optional<std::int64_t> since_;  // of the stretch that goes on
  std::vector<Stretch> stretches_;     // that have ended, of those that are long enough to decide
};

}  // namespace idleburn
