#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "telemetry/run_window.h"
#include "telemetry/sample.h"

namespace idleburn {

// Passes on the rows of a window whose two ends are known, both ends included, and counts the others.
class WindowFilter final : public SampleSink {
 public:
  // Both outlive the filter.
  WindowFilter(SampleSink& next, const RunWindow& window) : next_(next), window_(window) {}

  void OnSamples(std::span<const Sample> samples) override;
  void OnColumns(const SampleColumns& columns) override;

  [[nodiscard]] std::int64_t rows_outside() const { return outside_; }
  // Of all rows, within and outside; absent where there was none.
  [[nodiscard]] std::optional<Instant> first() const { return first_; }
  [[nodiscard]] std::optional<Instant> last() const { return last_; }

 private:
  void See(Instant time);

  SampleSink& next_;
  const RunWindow& window_;
  std::vector<Sample> within_;
  std::int64_t outside_ = 0;
  std::optional<Instant> first_;
  std::optional<Instant> last_;
};

}  // namespace idleburn
