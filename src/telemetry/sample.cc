#include "telemetry/sample.h"

#include <algorithm>
#include <bit>

namespace idleburn {

void SampleColumns::Get(std::size_t row, Sample& sample) const {
  sample.time = times[row];
  sample.device = devices[row];
  sample.present = present;
  sample.unavailable = 0;
  for (std::uint32_t bits = present; bits != 0; bits &= bits - 1) {
    const auto signal = static_cast<std::size_t>(std::countr_zero(bits));
    sample.value[signal] = values[signal][row];
  }
}

void SampleSink::OnColumns(const SampleColumns& columns) {
  std::array<Sample, 128> batch;  // stays in the nearest cache
  for (std::size_t at = 0; at < columns.rows; at += batch.size()) {
    const std::size_t count = std::min(batch.size(), columns.rows - at);
    for (std::size_t i = 0; i < count; ++i) columns.Get(at + i, batch[i]);
    OnSamples(std::span(batch).first(count));
  }
}

}  // namespace idleburn
