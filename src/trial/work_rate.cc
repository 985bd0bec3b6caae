#include "trial/work_rate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "stats/mean.h"

namespace idleburn {
namespace {

// What is preferred comes first.
constexpr std::array<WorkUnit, 4> kUnits = {WorkUnit::kStep, WorkUnit::kSample, WorkUnit::kToken, WorkUnit::kEpoch};

// What is left must be enough to go by.
constexpr std::int64_t kFewestStretches = 3;
constexpr int kMostLostOf = 4;      // a quarter of the time
constexpr int kSpoiledFromOf = 20;  // a twentieth
constexpr Nanos kLongWait(2 * kNanosPerSecond);
constexpr int kLongWaits = 10;  // times as long as the usual wait

}  // namespace

std::optional<double> WorkRate::LogError(double level) const {
  if (relative_error <= 0) return std::nullopt;
  return StudentTQuantile(static_cast<double>(changes - 1), (1 + level) / 2) * relative_error;
}

void RateWatch::See(Nanos now, const WorkCount& done) {
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(), [&](WorkUnit u) { return done[u].has_value(); });
  if (unit == kUnits.end()) return;
  const std::int64_t count = *done[*unit];
  if (count_ && *unit == unit_ && count == *count_) return;
  // Markers took the place of lines, or a better unit came: what was counted before counts no more.
  if (count_ && (*unit != unit_ || count < *count_)) {
    begin_.reset();
    changes_ = 0;
    longest_ = Nanos(0);
    stretches_ = {};
    lost_ = {};
  }
  const std::int64_t before = count_.value_or(0);
  const WorkCount done_before = done_;
  unit_ = *unit;
  count_ = count;
  done_ = done;
  if (count == 0) return;  // it says that it has begun
  ++changes_;
  if (begin_) {
    EndStretch(now, count - before, done.Beyond(done_before));
  } else if (unit_ == WorkUnit::kStep ? count > bounds_.skip_steps : changes_ > bounds_.skip_steps) {
    begin_ = Point{now, count, done};
  }
  last_ = now;
  still_ = Nanos(0);
}

void RateWatch::StoodStill(Nanos time) {
  if (begin_) still_ += time;
}

void RateWatch::EndStretch(Nanos now, std::int64_t work, const WorkCount& done) {
  if (still_ > Nanos(0)) {
    lost_.time += now - last_;
    lost_.work += work;
    lost_.stood_still += still_;
    for (std::size_t u = 0; u < kWorkUnitCount; ++u) {
      if (done.of[u]) lost_.done.of[u] = lost_.done.of[u].value_or(0) + *done.of[u];
    }
    return;
  }
  longest_ = std::max(longest_, now - last_);
  const double seconds = static_cast<double>((now - last_).count()) / 1e9;
  const auto counted = static_cast<double>(work);
  ++stretches_.n;
  stretches_.time_time += seconds * seconds;
  stretches_.time_work += seconds * counted;
  stretches_.work_work += counted * counted;
}

// As long as asked without what is lost, but at most twice as long: a machine may stand still again and again.
RateWatch::Verdict RateWatch::Judge(Nanos now) const {
  if (begin_ && bounds_.time && now - begin_->at - std::min(lost_.time, *bounds_.time) >= *bounds_.time) {
    return Verdict::kEnough;
  }
  if (begin_ && bounds_.steps && *count_ - begin_->count - std::min(lost_.work, *bounds_.steps) >= *bounds_.steps) {
    return Verdict::kEnough;
  }
  return now - last_ >= bounds_.patience ? Verdict::kStalled : Verdict::kGoOn;
}

// Each stretch should take its share of the time: what it differs by is noise, of which the whole has sqrt(n) as much.
double RateWatch::RelativeError(double seconds, double work) const {
  if (stretches_.n < kFewestStretches || seconds <= 0) return 0;
  const double each = seconds / work;
  const double squares = stretches_.time_time - 2 * each * stretches_.time_work + each * each * stretches_.work_work;
  const auto n = static_cast<double>(stretches_.n);
  return std::sqrt(std::max(0.0, squares) / (n - 1) * n) / seconds;
}

std::optional<WorkRate> RateWatch::Rate(std::optional<Nanos> stopped) const {
  if (!begin_ || *count_ <= begin_->count) return std::nullopt;
  const Nanos watched = last_ - begin_->at;
  const bool clean = stretches_.n >= kFewestStretches && kMostLostOf * lost_.time <= watched;
  const Lost less = clean ? lost_ : Lost{};
  const bool stalled = stopped && still_ == Nanos(0) && *stopped - last_ > longest_;
  const Nanos end = stalled ? *stopped : last_;
  WorkRate rate{unit_, *count_ - begin_->count - less.work, end - begin_->at - less.time};
  rate.done = done_.Beyond(begin_->done);
  for (std::size_t u = 0; u < kWorkUnitCount; ++u) {
    if (less.done.of[u]) *rate.done.of[u] -= *less.done.of[u];
  }
  rate.changes = stretches_.n;
  const Nanos kept = watched - lost_.time;
  rate.relative_error =
      RelativeError(static_cast<double>(kept.count()) / 1e9, static_cast<double>(*count_ - begin_->count - lost_.work));
  rate.stood_still = lost_.stood_still + still_;
  rate.spoiled = lost_.time > Nanos(0) && (!clean || kSpoiledFromOf * lost_.time > watched);
  const Nanos longest = std::max(longest_, end - last_);
  if (stretches_.n > 0 && longest > std::max(kLongWait, kLongWaits * kept / stretches_.n)) rate.longest_wait = longest;
  return rate;
}

}  // namespace idleburn
