#include "measure/tick_loop.h"

#include <string>
#include <utility>

#include "text/duration.h"

namespace idleburn {
namespace {

constexpr std::int64_t kManyMissed = 10;
constexpr Nanos kQuiet(60 * kNanosPerSecond);  // between two notes of missed ticks

}  // namespace

TickLoop::TickLoop(Nanos period, std::shared_ptr<RunClock> clock, const TimeLine& line,
                   std::vector<std::unique_ptr<Lane>> lanes, LiveSink& out)
    : clock_(std::move(clock)),
      line_(line),
      lanes_(std::move(lanes)),
      out_(out),
      ticks_(clock_->Monotonic(), period),
      period_(period) {}

void TickLoop::Step(const std::stop_token& stop) {
  clock_->SleepUntil(ticks_.next(), stop);
  if (stop.stop_requested()) return;
  const Nanos begun = clock_->Monotonic();
  late_.Add(begun - ticks_.next());
  Nanos after = begun;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    busy_since_.store(after.count());
    busy_lane_.store(static_cast<int>(i));
    lanes_[i]->Tick(line_.At(after), out_);
    after = clock_->Monotonic();
  }
  busy_lane_.store(kNobody);
  work_.Add(after - begun);
  ticks_.Served(after);
  NoteMissed(line_.At(after), false);
}

void TickLoop::NoteMissed(Instant now, bool last) {
  const std::int64_t missed = ticks_.missed() - missed_noted_;
  if (missed == 0) return;
  const bool first = missed_noted_at_ == Instant::FromNanos(INT64_MIN);
  if (!last && !first && missed < kManyMissed && now - missed_noted_at_ < kQuiet) return;
  out_.OnNote({now, NoteKind::kMissedTicks,
               std::to_string(missed) + " of the last readings came too late to be taken (" +
                   SecondsText(missed * period_) + ")"});
  missed_noted_ = ticks_.missed();
  missed_noted_at_ = now;
}

void TickLoop::Finish() {
  const Instant now = line_.At(clock_->Monotonic());
  NoteMissed(now, true);
  for (const std::unique_ptr<Lane>& lane : lanes_) lane->Finish(now, out_);
}

void TickLoop::CheckHang(Nanos hang_after) {
  const std::int64_t since = busy_since_.load();
  const int busy = busy_lane_.load();
  const Nanos now = clock_->Monotonic();
  if (busy == kNobody || now - Nanos(since) < hang_after || busy_since_.load() != since) return;
  Lane& lane = *lanes_[static_cast<std::size_t>(busy)];
  if (hang_noted_ != since) {
    hang_noted_ = since;
    const std::string pending = lane.Pending();
    out_.OnNote({line_.At(now), NoteKind::kDriverHang,
                 (pending.empty() ? "a reading" : pending) + " has not returned for " +
                     SecondsText(now - Nanos(since)) + ": what it reads is unobserved until it does; see dmesg"});
  }
  lane.PushStale(line_.At(now), out_);
}

void TickLoop::Abandon() {
  for (const std::unique_ptr<Lane>& lane : lanes_) lane->Abandon();
}

std::vector<CallTimes> TickLoop::Calls() const {
  std::vector<CallTimes> all;
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    for (CallTimes& calls : lane->Calls()) all.push_back(std::move(calls));
  }
  return all;
}

}  // namespace idleburn
