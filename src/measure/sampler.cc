#include "measure/sampler.h"

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

#include "os/held_signals.h"
#include "telemetry/run_facts.h"
#include "text/figures.h"

namespace idleburn {

void Ticks::Served(Nanos now) {
  const std::int64_t late = now < next_ ? 0 : (now - next_) / period_;
  missed_ += late;
  next_ += period_ * (late + 1);
}

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

// Each lane's start is stored before the lane. CheckHang reads the start again last, so it never pairs a lane with
// the start of the lane before it.
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

// The first missed tick is noted at once. After that a note waits for ten missed ticks or for a minute.
void TickLoop::NoteMissed(Instant now, bool last) {
  const std::int64_t missed = ticks_.missed() - missed_noted_;
  if (missed == 0) return;
  const bool first = missed_noted_at_ == Instant::FromNanos(INT64_MIN);
  if (!last && !first && missed < kManyMissed && now - missed_noted_at_ < kQuiet) return;
  out_.OnNote({now, NoteKind::kMissedTicks,
               std::to_string(missed) + " readings were missed because idleburn ran too late (" +
                   DurationForPeople(missed * period_) + ")"});
  missed_noted_ = ticks_.missed();
  missed_noted_at_ = now;
}

void TickLoop::Finish() {
  const Instant now = line_.At(clock_->Monotonic());
  NoteMissed(now, true);
  for (const std::unique_ptr<Lane>& lane : lanes_) lane->Finish(now, out_);
}

// If the start changed while it looked, the lane moved on and does not hang.
void TickLoop::CheckHang(Nanos hang_after) {
  const std::int64_t since = busy_since_.load();
  const int busy = busy_lane_.load();
  const Nanos now = clock_->Monotonic();
  if (busy == kNobody || now - Nanos(since) < hang_after || busy_since_.load() != since) return;
  Lane& lane = *lanes_[static_cast<std::size_t>(busy)];
  if (hang_noted_ != since) {
    // The start of a lane's turn identifies the hang, so each is noted once.
    hang_noted_ = since;
    const std::string pending = lane.Pending();
    out_.OnNote({line_.At(now), NoteKind::kDriverHang,
                 (pending.empty() ? "a reading" : pending) + " has not returned for " +
                     DurationForPeople(now - Nanos(since)) +
                     ": its readings are unobserved until it returns; see dmesg"});
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

// Everything that a ticking thread touches. The thread shares it, because it may outlive the sampler. In particular
// it keeps the gate alive, which drops what the thread pushes after the sampler is gone.
struct Sampler::Served {
  Served(Nanos period, std::shared_ptr<RunClock> run_clock, const TimeLine& line,
         std::vector<std::unique_ptr<Lane>> lanes, std::shared_ptr<SinkGate> out)
      : clock(std::move(run_clock)), gate(std::move(out)), loop(period, clock, line, std::move(lanes), *gate) {}

  // The body of the ticking thread. Stop waits for `ended`, not for the thread, because a join has no time limit.
  void Tick(const std::stop_token& stop) {
    Try([&] {
      while (!stop.stop_requested()) loop.Step(stop);
      loop.Finish();
    });
    const std::lock_guard lock(mutex);
    ended = true;
    ended_changed.notify_all();
  }
  // The body of the watching thread. It looks five times in each `hang_after`, so a hang is noted at most a fifth
  // late.
  void Watch(Nanos hang_after, const std::stop_token& stop) {
    Try([&] {
      while (!stop.stop_requested()) {
        clock->SleepUntil(clock->Monotonic() + hang_after / 5, stop);
        if (!stop.stop_requested()) loop.CheckHang(hang_after);
      }
    });
  }
  // An exception (usually no memory) ends this thread and nothing else. It is stored without allocating.
  template <typename Body>
  // An exception (usually no memory) ends this thread and nothing else. Its text goes into an array of fixed size,
  // because a string might fail to allocate again.
  void Try(Body body) {
    const SignalStack signals;
    try {
      body();
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex);
      std::snprintf(failure.data(), failure.size(), "%s", error.what());
    }
  }
  std::string Failure() {
    const std::lock_guard lock(mutex);
    return failure.data();
  }
  // Whether the ticking thread ended by then.
  bool WaitForEnd(std::chrono::steady_clock::time_point until) {
    std::unique_lock lock(mutex);
    return ended_changed.wait_until(lock, until, [&] { return ended; });
  }

  std::shared_ptr<RunClock> clock;
  std::shared_ptr<SinkGate> gate;
  TickLoop loop;
  std::mutex mutex;
  std::condition_variable ended_changed;
  bool ended = false;
  std::array<char, 120> failure{};
};

Sampler::Sampler(const SamplerOptions& options, std::shared_ptr<RunClock> clock, const TimeLine& line, LiveSink& sink)
    : options_(options), clock_(std::move(clock)), line_(line), gate_(std::make_shared<SinkGate>(sink)) {}

Sampler::~Sampler() { Stop(); }

void Sampler::Serve(std::vector<std::unique_ptr<Lane>> lanes, std::optional<Nanos> patience) {
  Group group;
  group.patience = patience.value_or(options_.patience);
  group.served = std::make_shared<Served>(options_.period, clock_, line_, std::move(lanes), gate_);
  groups_.reserve(groups_.size() + 1);
  try {
    // The watcher starts first. If the second thread cannot be created, the first stops by itself when `group` is
    // destroyed.
    group.watching = std::jthread([served = group.served, hang_after = options_.hang_after](
                                      const std::stop_token& stop) { served->Watch(hang_after, stop); });
    group.ticking = std::jthread([served = group.served](const std::stop_token& stop) { served->Tick(stop); });
  } catch (const std::system_error& error) {
    statistics_.failures.push_back(std::string("no thread to read it: ") + error.what());
    return;
  }
  groups_.push_back(std::move(group));
}

// All threads are asked first and waited for afterwards, so that their patience runs at the same time.
void Sampler::Stop() {
  for (Group& group : groups_) {
    group.ticking.request_stop();
    group.watching.request_stop();
  }
  const auto now = std::chrono::steady_clock::now();
  for (Group& group : groups_) {
    // The watcher always ends, because it never calls a driver. After that nobody marks values as stale.
    group.watching.join();
    TickLoop& loop = group.served->loop;
    if (std::string failure = group.served->Failure(); !failure.empty()) {
      statistics_.failures.push_back(std::move(failure));
    }
    // The call may return at any time later. Then the lane is abandoned and touches nothing, and the gate is closed.
    if (!group.served->WaitForEnd(now + group.patience)) {
      loop.Abandon();
      group.ticking.detach();
      statistics_.abandoned = true;
      continue;
    }
    group.ticking.join();
    statistics_.ticks += loop.served();
    statistics_.missed += loop.missed();
    statistics_.late.Add(loop.late());
    statistics_.work.Add(loop.work());
    for (CallTimes& calls : loop.Calls()) statistics_.calls.push_back(std::move(calls));
  }
  groups_.clear();
  gate_->Close();
}

std::vector<RunFact> SamplerFacts(const SamplerStatistics& statistics) {
  std::vector<RunFact> facts;
  const auto tell = [&](const std::string& key, std::int64_t value) {
    facts.push_back({"sampler." + key, std::to_string(value)});
  };
  const auto tell_spread = [&](const std::string& key, const Spread& spread) {
    tell(key + "_p99", spread.Quantile(0.99).count());
    tell(key + "_max", spread.max().count());
  };
  tell("ticks", statistics.ticks);
  tell("missed", statistics.missed);
  tell_spread("late", statistics.late);
  tell_spread("work", statistics.work);
  if (statistics.abandoned) facts.push_back({"sampler.abandoned", "yes"});
  for (const std::string& failure : statistics.failures) facts.push_back({kMeasuringFailedFact, failure});
  for (const CallTimes& calls : statistics.calls) {
    facts.push_back({"sampler.calls." + calls.function,
                     std::to_string(calls.calls) + " " + std::to_string(calls.p50.count()) + " " +
                         std::to_string(calls.p99.count()) + " " + std::to_string(calls.max.count())});
  }
  return facts;
}

}  // namespace idleburn
