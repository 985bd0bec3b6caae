#pragma once

#include <cstdint>
#include <optional>

#include "run/progress_text.h"

namespace idleburn {

// A count that only rises, over several passes.
struct ProgressTrack {
  std::optional<std::int64_t> first;  // as printed
  std::int64_t last = 0;
  std::int64_t total = 0;
  std::int64_t stride = 0;  // between the first two of a log; 0: not known
  std::int64_t offset = 0;  // printed, but not done by this job
  std::int64_t base = 0;    // of finished passes
  std::int64_t epochs = 0;  // told of when this pass began
  bool advanced = false;
  bool rounded = false;      // as printed
  bool from_zero = false;    // of a log: this pass began with 0, so that its last number is one less than it did
  bool in_bits = false;      // of a bar: this pass was drawn between its start and its end
  bool was_in_bits = false;  // and the pass before

  [[nodiscard]] std::int64_t done() const {
    return base + last - offset + (from_zero && total > 0 && last == total - 1 ? 1 : 0);
  }
  void NextPass(std::int64_t epochs_told);
  // The next number of a log. `next_epoch`: the line itself tells of a new one; `epochs_told`: how many were by now.
  void OnLogCount(const ProgressText::Count& count, bool next_epoch, std::int64_t epochs_told);
};

}  // namespace idleburn
