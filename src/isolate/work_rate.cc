#include "isolate/work_rate.h"

#include <algorithm>
#include <array>

namespace idleburn {
namespace {

struct UnitRow {
  WorkUnit unit;
  std::optional<std::int64_t> WorkSaid::*count;
};
// What is preferred comes first.
constexpr std::array<UnitRow, 4> kUnits = {{{WorkUnit::kStep, &WorkSaid::steps},
                                            {WorkUnit::kSample, &WorkSaid::samples},
                                            {WorkUnit::kToken, &WorkSaid::tokens},
                                            {WorkUnit::kEpoch, &WorkSaid::epochs}}};

}  // namespace

void RateWatch::See(Nanos now, const WorkSaid& done) {
  const auto row =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const UnitRow& r) { return (done.*r.count).has_value(); });
  if (row == kUnits.end()) return;
  const std::int64_t count = *(done.*(row->count));
  if (count_ && row->unit == unit_ && count == *count_) return;
  // Markers took the place of lines, or a better unit came: what was counted before counts no more.
  if (count_ && (row->unit != unit_ || count < *count_)) {
    begin_.reset();
    changes_ = 0;
    longest_ = Nanos(0);
  }
  unit_ = row->unit;
  count_ = count;
  if (count == 0) return;  // it says that it has begun
  ++changes_;
  if (begin_) {
    longest_ = std::max(longest_, now - last_);
  } else if (unit_ == WorkUnit::kStep ? count > bounds_.skip_steps : changes_ > bounds_.skip_steps) {
    begin_ = Point{now, count};
  }
  last_ = now;
}

RateWatch::Verdict RateWatch::Judge(Nanos now) const {
  if (begin_ && bounds_.time && now - begin_->at >= *bounds_.time) return Verdict::kEnough;
  if (begin_ && bounds_.steps && *count_ - begin_->count >= *bounds_.steps) return Verdict::kEnough;
  return now - last_ >= bounds_.patience ? Verdict::kStalled : Verdict::kGoOn;
}

std::optional<WorkRate> RateWatch::Rate(std::optional<Nanos> stopped) const {
  if (!begin_ || *count_ <= begin_->count) return std::nullopt;
  const bool stalled = stopped && *stopped - last_ > longest_;
  const Nanos end = stalled ? *stopped : last_;
  return WorkRate{unit_, *count_ - begin_->count, end - begin_->at};
}

}  // namespace idleburn
