#include "plan/spot_trace.h"

#include <algorithm>
#include <numeric>

namespace idleburn {
namespace {

constexpr Hours kShortestTried = std::chrono::minutes(1);
constexpr double kStepTried = 1.1;

}  // namespace

std::optional<SpotTrace> SpotTrace::EndToEnd(const InterruptionHistory& history, std::size_t first, std::size_t count) {
  SpotTrace trace;
  bool lost = true;
  for (std::size_t i = first; i < std::min(history.seats.size(), first + count); ++i) {
    const SeatHistory& seat = history.seats[i];
    const Hours shift = trace.length_ - seat.front().start;
    for (const UpPeriod& period : seat) {
      if (lost) trace.stays_.push_back({shift + period.start, {}});
      trace.stays_.back().end = shift + period.end;
      lost = period.lost;
    }
    trace.length_ += history.end - seat.front().start;
  }
  if (!lost) {  // the last machine is the first one
    if (trace.stays_.size() == 1) return std::nullopt;
    trace.stays_.back().end = trace.length_ + trace.stays_.front().end;
    trace.stays_.erase(trace.stays_.begin());
  }
  if (trace.mean_uptime() <= Hours{}) return std::nullopt;
  return trace;
}

std::optional<SpotTrace> SpotTrace::EndToEnd(const InterruptionHistory& history) {
  return EndToEnd(history, 0, history.seats.size());
}

Hours SpotTrace::mean_uptime() const {
  if (stays_.empty()) return Hours{};
  const Hours up = std::accumulate(stays_.begin(), stays_.end(), Hours{},
                                   [](Hours sum, const Stay& stay) { return sum + (stay.end - stay.start); });
  return up / static_cast<double>(stays_.size());
}

double SpotTrace::up_fraction() const { return mean_uptime() * static_cast<double>(stays_.size()) / length_; }

RunLengths SpotTrace::Lengths() const {
  RunLengths lengths;
  for (std::size_t i = 0; i < stays_.size(); ++i) {
    const Hours next = i + 1 < stays_.size() ? stays_[i + 1].start : length_ + stays_.front().start;
    lengths.up.push_back(stays_[i].end - stays_[i].start);
    lengths.down.push_back(next - stays_[i].end);
  }
  return lengths;
}

std::optional<Hours> SpotTrace::MeanBilled(const CheckpointedWork& job, Hours unbilled, int starts) const {
  JobProgress all;
  for (int k = 0; k < starts; ++k) {
    const Hours start = stays_.front().start + length_ * ((k + 0.5) / starts);
    auto stay = std::find_if(stays_.begin(), stays_.end(), [&](const Stay& s) { return s.end > start; });
    Hours from = std::max(start, stay == stays_.end() ? start : stay->start);
    if (stay == stays_.end()) {
      stay = stays_.begin();
      from = stay->start;
    }
    JobProgress progress;
    while (!UseMachine(job, unbilled, stay->end - from, progress)) {
      if (progress.interruptions == kMostStays) return std::nullopt;
      if (++stay == stays_.end()) stay = stays_.begin();
      from = stay->start;
    }
    all.billed += progress.billed;
  }
  return all.billed / starts;
}

std::optional<IntervalChoice> ChooseInterval(const SpotTrace& trace, CheckpointedWork job, Hours unbilled, int starts) {
  IntervalChoice choice;
  choice.young = job.interval = YoungInterval(job.checkpoint, trace.mean_uptime());
  const std::optional<Hours> young = trace.MeanBilled(job, unbilled, starts);
  if (!young) return std::nullopt;
  choice.billed_young = choice.billed_best = *young;
  choice.best = choice.young;
  choice.tried = 1;
  for (job.interval = kShortestTried; job.interval < job.work * kStepTried; job.interval *= kStepTried) {
    ++choice.tried;
    const std::optional<Hours> billed = trace.MeanBilled(job, unbilled, starts);
    if (!billed || *billed >= choice.billed_best) continue;
    choice.billed_best = *billed;
    choice.best = job.interval;
  }
  choice.regret = choice.billed_young / choice.billed_best - 1;
  return choice;
}

}  // namespace idleburn
