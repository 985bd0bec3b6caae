#include "diagnose/time_cut.h"

#include <algorithm>
#include <utility>

namespace idleburn {

void SliceCutter::Cut(TraceSlice* slice) {
  std::vector<Interval> parts;
  const std::int64_t border = slice->last ? slice->at.end : slice->at.end - 1;
  ForEachStretch(TraitsOf(rows_, *slice, cut_.recorded).of, slice->at, [&](Interval at, Traits traits) {
    if (cut_.removed.Contains(traits)) parts.push_back({at.start, std::min(at.end, border)});
  });
  const IntervalSet removed = IntervalSet::UnionOf(std::move(parts));
  const SliceClock clock(slice->at, before_, removed);
  before_ += removed.TotalNs();

  slice->at = clock(slice->at);
  for (SliceEvent& e : slice->events) e.at = clock(e.at);
  std::sort(slice->events.begin(), slice->events.end(), [](const SliceEvent& a, const SliceEvent& b) {
    return a.at.start != b.at.start ? a.at.start < b.at.start : a.row < b.row;
  });
  for (SliceCall& call : slice->calls) call.at = clock(call.at);
  for (std::int64_t& launch : slice->launches) launch = clock(launch);
  for (IntervalSet* set : {&slice->dataloader, &slice->loader_ahead, &slice->cpu_op, &slice->scalar_read,
                           &slice->overhead, &slice->peer_wait}) {
    *set = clock(*set);
  }
  slice->clock = clock;
}

MovedInstants::MovedInstants(std::vector<std::int64_t*> instants) : instants_(std::move(instants)) {
  std::sort(instants_.begin(), instants_.end(), [](const auto* a, const auto* b) { return *a < *b; });
}

void MovedInstants::Move(const TraceSlice& slice) {
  const Interval recorded = slice.clock.recorded();
  for (; next_ < instants_.size() && (slice.last || *instants_[next_] < recorded.end); ++next_) {
    std::int64_t& t = *instants_[next_];
    if (t < recorded.start) continue;  // before the window
    t = t <= recorded.end ? slice.clock(t) : t - recorded.end + slice.clock(recorded.end);
  }
}

}  // namespace idleburn
