#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "classify/cadence_watch.h"

namespace idleburn {

// One stretch of a device's samples, classified by itself, that can be joined exactly to the stretch before it:
//
//     Append(classify(A), classify(B)) == classify(A then B), to the nanosecond, for every field.
//
// Facts that are read once in a while (limits, the highest SM clock) are carried over, but the seconds of a stretch
// that names none were judged without: where such a fact is read, it is read in every stretch.
//
// What a reading means depends on a bounded past (held values, spin runs, ticks), so a partial keeps its first
// samples raw, until everything that could have come before them no longer matters, and totals only of the rest.
// Joining feeds those raw samples to the earlier stretch and then adds the totals. So a huge archive can be cut
// anywhere, classified in any order and merged in order.
class DevicePartial {
 public:
  // All partials of a device must use the same pieces (CadenceWatch::pieces, at least one) and thresholds: what a
  // reading means depends on the pace at which the source was read, which a stretch of its own does not tell.
  DevicePartial(const Thresholds& thresholds, std::vector<CadencePiece> pieces, std::int64_t max_sm_khz);

  void Feed(const Sample& sample);
  // Joins the stretch that follows. Fails if `next` does not start after this one, or if the wall clock of this
  // one went back (its times were moved).
  Result<void> Append(const DevicePartial& next);
  // Ends the input and returns the classifier with the final totals.
  DeviceClassifier Finish() &&;

 private:
  void Detach();

  std::vector<CadencePiece> pieces_;
  std::size_t piece_ = 0;  // in force
  std::int64_t horizon_;
  std::vector<Sample> head_;
  bool detached_ = false;
  std::int64_t detach_at_ = 0;
  Instant last_;
  DeviceClassifier live_;
  std::optional<DeviceClassifier> head_live_;  // where it was detached; live_ has the totals since
};

}  // namespace idleburn
