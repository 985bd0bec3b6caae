#include "run/progress_track.h"

#include <utility>

namespace idleburn {

void ProgressTrack::NextPass(std::int64_t epochs_told) {
  base = done();
  offset = 0;
  last = 0;
  epochs = epochs_told;
  from_zero = false;
  was_in_bits = std::exchange(in_bits, false);
}

void ProgressTrack::OnLogCount(const ProgressText::Count& count, bool next_epoch, std::int64_t epochs_told) {
  if (!first) {
    first = count.done;
    last = count.done;
    from_zero = count.done == 0;
    total = count.total;
    epochs = epochs_told;
    return;
  }
  if (stride == 0) {
    if (count.done <= last) return;  // said again by another process
    stride = count.done - *first;
    offset = *first <= stride ? 0 : *first;
  } else if (count.done < last) {
    const bool early = count.done <= stride;
    const bool anew = next_epoch || (early && (epochs_told > epochs || last >= 4 * stride));
    if (!anew) return;
    NextPass(epochs_told);
    from_zero = count.done == 0;
  }
  last = count.done;
  total = count.total;
}

}  // namespace idleburn
