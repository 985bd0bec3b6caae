#include "isolate/work_rate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "stats/student_t.h"

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

std::optional<double> WorkRate::LogError(double level) const {
  if (relative_error <= 0) return std::nullopt;
  return StudentTQuantile(static_cast<double>(changes - 1), (1 + level) / 2) * relative_error;
}

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
    stretches_ = {};
  }
  const std::int64_t before = count_.value_or(0);
  unit_ = row->unit;
  count_ = count;
  done_ = done;
  if (count == 0) return;  // it says that it has begun
  ++changes_;
  if (begin_) {
    longest_ = std::max(longest_, now - last_);
    const double seconds = static_cast<double>((now - last_).count()) / 1e9;
    const auto work = static_cast<double>(count - before);
    ++stretches_.n;
    stretches_.time_time += seconds * seconds;
    stretches_.time_work += seconds * work;
    stretches_.work_work += work * work;
  } else if (unit_ == WorkUnit::kStep ? count > bounds_.skip_steps : changes_ > bounds_.skip_steps) {
    begin_ = Point{now, count, done};
  }
  last_ = now;
}

RateWatch::Verdict RateWatch::Judge(Nanos now) const {
  if (begin_ && bounds_.time && now - begin_->at >= *bounds_.time) return Verdict::kEnough;
  if (begin_ && bounds_.steps && *count_ - begin_->count >= *bounds_.steps) return Verdict::kEnough;
  return now - last_ >= bounds_.patience ? Verdict::kStalled : Verdict::kGoOn;
}

// Each stretch should take its share of the time: what it differs by is noise, of which the whole has sqrt(n) as much.
double RateWatch::RelativeError(double seconds, double work) const {
  constexpr std::int64_t kFewest = 3;
  if (stretches_.n < kFewest || seconds <= 0) return 0;
  const double each = seconds / work;
  const double squares = stretches_.time_time - 2 * each * stretches_.time_work + each * each * stretches_.work_work;
  const auto n = static_cast<double>(stretches_.n);
  return std::sqrt(std::max(0.0, squares) / (n - 1) * n) / seconds;
}

std::optional<WorkRate> RateWatch::Rate(std::optional<Nanos> stopped) const {
  if (!begin_ || *count_ <= begin_->count) return std::nullopt;
  const bool stalled = stopped && *stopped - last_ > longest_;
  const Nanos end = stalled ? *stopped : last_;
  WorkRate rate{unit_, *count_ - begin_->count, end - begin_->at};
  const auto less = [](const std::optional<std::int64_t>& after, const std::optional<std::int64_t>& before) {
    return after && before && *after > *before ? std::optional(*after - *before) : std::nullopt;
  };
  rate.done = {less(done_.steps, begin_->done.steps), less(done_.samples, begin_->done.samples),
               less(done_.tokens, begin_->done.tokens), less(done_.epochs, begin_->done.epochs)};
  rate.changes = stretches_.n;
  rate.relative_error =
      RelativeError(static_cast<double>((last_ - begin_->at).count()) / 1e9, static_cast<double>(rate.work));
  return rate;
}

}  // namespace idleburn
