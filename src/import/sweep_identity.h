#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "telemetry/sample.h"

namespace idleburn {

// Tells the GPUs of a log apart that names none: nvidia-smi prints one row per GPU in a sweep, then pauses. Rows
// are separable only if every sweep has the same number of rows; a sweep with another number is refused, not
// guessed, because every row after it would belong to another GPU.
class SweepIdentity {
 public:
  // Learns from the first stamps of a log (in file order, at least kLearn if the log has as many).
  static constexpr std::size_t kLearn = 2048;
  explicit SweepIdentity(const std::vector<Instant>& first);

  [[nodiscard]] int gpus() const { return gpus_; }
  // Position of the next row's GPU in its sweep; nullopt if the sweep before it is not whole.
  std::optional<int> Next(Instant time);
  // Rows of the sweep that the input ended in; whole if equal to gpus().
  [[nodiscard]] int open_rows() const { return position_; }

 private:
  int gpus_ = 1;
  std::int64_t split_ns_ = 0;  // a longer interval separates sweeps
  int position_ = 0;
  std::optional<Instant> last_;
};

}  // namespace idleburn
