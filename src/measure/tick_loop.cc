#include "measure/tick_loop.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace idleburn {
namespace {

constexpr std::int64_t kClockJump = 100'000'000;  // more than any clock is slewed between two ticks
constexpr std::int64_t kManyMissed = 10;
constexpr Nanos kQuiet(60 * kNanosPerSecond);  // between two notes of missed ticks

std::string Seconds(std::int64_t ns) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f s", static_cast<double>(ns) / 1e9);
  return text.data();
}

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
  const ClockReading read = clock_->Read();
  const Instant now = line_.At(read.monotonic);
  late_.Add(read.monotonic - ticks_.next());
  WatchClocks(read, now);
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    busy_since_.store(clock_->Monotonic().count());
    busy_lane_.store(static_cast<int>(i));
    lanes_[i]->Tick(line_.At(clock_->Monotonic()), out_);
    busy_lane_.store(kNobody);
  }
  const Nanos after = clock_->Monotonic();
  work_.Add(after - read.monotonic);
  ticks_.Served(after);
  NoteMissed(line_.At(after), false);
}

// Neither a step of the wall clock nor the sleep of the machine moves the time line: they are told, no more.
void TickLoop::WatchClocks(const ClockReading& read, Instant now) {
  if (last_read_) {
    const std::int64_t slept = ((read.boot - read.monotonic) - (last_read_->boot - last_read_->monotonic)).count();
    const std::int64_t passed = (read.boot - last_read_->boot).count();
    const std::int64_t step = (read.wall - last_read_->wall).count() - passed;
    if (slept > kClockJump) {
      out_.OnNote({now, NoteKind::kSuspend, "the machine slept for " + Seconds(slept) + ", which this run leaves out"});
    }
    if (std::abs(step) > kClockJump) {
      out_.OnNote({now, NoteKind::kClockStep,
                   "the wall clock was set " + std::string(step > 0 ? "forward" : "back") + " by " +
                       Seconds(std::abs(step)) + "; times of this run go on as before"});
    }
  }
  last_read_ = read;
}

void TickLoop::NoteMissed(Instant now, bool last) {
  const std::int64_t missed = ticks_.missed() - missed_noted_;
  if (missed == 0) return;
  const bool first = missed_noted_at_ == Instant::FromNanos(INT64_MIN);
  if (!last && !first && missed < kManyMissed && now - missed_noted_at_ < kQuiet) return;
  out_.OnNote({now, NoteKind::kMissedTicks,
               std::to_string(missed) + " of the last readings came too late to be taken (" +
                   Seconds(missed * period_.count()) + ")"});
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
                     Seconds((now - Nanos(since)).count()) + ": what it reads is unobserved until it does; see dmesg"});
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
