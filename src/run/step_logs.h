#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "run/progress_text.h"
#include "run/progress_track.h"

namespace idleburn {

// The logs of steps that one stream holds, told apart by what they call their steps: "step 10" is a training's, "kmeans
// iteration 10" beside it is not.
//
//   what shows a loss, or else a learning rate, an epoch, ...   is believed before what shows nothing of a training
//   what another name stands before ("kmeans iteration")         is believed last, and only where it shows that much
//   two that are as good and take turns                          count the same, one further than the other
//   two that are as good, one after the other                    are parts of one training
//   two that show nothing of a training                          nobody can tell: neither
class StepLogs {
 public:
  enum class Trust : std::uint8_t { kNothing, kUnclear, kPlain, kTraining };
  struct Said {
    Trust trust = Trust::kNothing;
    std::int64_t steps = 0;
    const ProgressTrack* track = nullptr;  // the one that they are of; null: of several
  };

  // A line with a step; the rest as ProgressTrack::OnLogCount takes it.
  void OnLine(const ProgressText& text, bool next_epoch, std::int64_t epochs_told);
  [[nodiscard]] Said Steps() const;

 private:
  struct Log {
    ProgressTrack track;
    int standing = 0;  // how much it looks like a training's; from 0 on
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  std::map<std::string, Log> logs_;
  std::int64_t lines_ = 0;
};

}  // namespace idleburn
