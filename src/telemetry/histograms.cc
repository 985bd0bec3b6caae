#include "telemetry/histograms.h"

#include <numeric>

#include "base/int128.h"

namespace idleburn {

// Above the exact bins, a bin's number is octave x 128 + 128..255, so octave 1 follows the exact bins directly.
std::int64_t ValueSpread::LowerEdge(std::size_t bin) {
  if (bin < static_cast<std::size_t>(kExact)) return static_cast<std::int64_t>(bin);
  const std::size_t octave = bin / kBinsOfOctave - 1;
  return static_cast<std::int64_t>(bin - kBinsOfOctave * octave) << octave;
}

void ValueSpread::Reach(std::size_t bin) {
  if (ns_.empty()) first_ = bin;
  if (bin < first_) {
    ns_.insert(ns_.begin(), first_ - bin, 0);
    first_ = bin;
  }
  if (bin - first_ >= ns_.size()) ns_.resize(bin - first_ + 1);
}

void ValueSpread::Merge(const ValueSpread& o) {
  if (o.ns_.empty()) return;
  Reach(o.first_);
  Reach(o.first_ + o.ns_.size() - 1);
  for (std::size_t i = 0; i < o.ns_.size(); ++i) ns_[o.first_ - first_ + i] += o.ns_[i];
}

std::int64_t ValueSpread::TotalNs() const { return std::accumulate(ns_.begin(), ns_.end(), std::int64_t{0}); }

std::optional<std::int64_t> ValueSpread::Percentile(std::int64_t percent) const {
  const Int128 total = TotalNs();
  if (total == 0) return std::nullopt;
  Int128 seen = 0;
  for (std::size_t i = 0; i < ns_.size(); ++i) {
    seen += ns_[i];
    if (ns_[i] > 0 && seen * 100 >= total * percent) return LowerEdge(first_ + i);
  }
  return std::nullopt;
}

std::int64_t ValueSpread::AtLeast(std::int64_t steps) const {
  std::int64_t ns = 0;
  for (std::size_t i = 0; i < ns_.size(); ++i) ns += LowerEdge(first_ + i) >= steps ? ns_[i] : 0;
  return ns;
}

}  // namespace idleburn
