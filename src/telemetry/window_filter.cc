#include "telemetry/window_filter.h"

#include <algorithm>

namespace idleburn {

void WindowFilter::See(Instant time) {
  first_ = std::min(first_.value_or(time), time);
  last_ = std::max(last_.value_or(time), time);
}

void WindowFilter::OnSamples(std::span<const Sample> samples) {
  within_.clear();
  for (const Sample& sample : samples) {
    See(sample.time);
    if (sample.time >= *window_.start && sample.time <= *window_.end) {
      within_.push_back(sample);
    } else {
      ++outside_;
    }
  }
  if (!within_.empty()) next_.OnSamples(within_);
}

void WindowFilter::OnColumns(const SampleColumns& columns) {
  if (columns.rows == 0) return;
  const auto [first, last] = std::minmax_element(columns.times, columns.times + columns.rows);
  if (*first < *window_.start || *last > *window_.end) return SampleSink::OnColumns(columns);
  See(*first);
  See(*last);
  next_.OnColumns(columns);
}

}  // namespace idleburn
