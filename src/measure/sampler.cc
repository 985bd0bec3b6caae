#include "measure/sampler.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

#include "measure/tick_loop.h"

namespace idleburn {

// Everything a ticking thread touches.
struct Sampler::Served {
  Served(Nanos period, std::shared_ptr<RunClock> run_clock, const TimeLine& line,
         std::vector<std::unique_ptr<Lane>> lanes, std::shared_ptr<SinkGate> out)
      : clock(std::move(run_clock)), gate(std::move(out)), loop(period, clock, line, std::move(lanes), *gate) {}

  void Tick(const std::stop_token& stop) {
    while (!stop.stop_requested()) loop.Step(stop);
    loop.Finish();
    const std::lock_guard lock(mutex);
    ended = true;
    ended_changed.notify_all();
  }
  void Watch(Nanos hang_after, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      clock->SleepUntil(clock->Monotonic() + hang_after / 5, stop);
      if (!stop.stop_requested()) loop.CheckHang(hang_after);
    }
  }
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
};

Sampler::Sampler(const SamplerOptions& options, std::shared_ptr<RunClock> clock, const TimeLine& line, LiveSink& sink)
    : options_(options), clock_(std::move(clock)), line_(line), gate_(std::make_shared<SinkGate>(sink)) {}

Sampler::~Sampler() { Stop(); }

void Sampler::Serve(std::vector<std::unique_ptr<Lane>> lanes, std::optional<Nanos> patience) {
  Group& group = groups_.emplace_back();
  group.patience = patience.value_or(options_.patience);
  group.served = std::make_shared<Served>(options_.period, clock_, line_, std::move(lanes), gate_);
  group.ticking = std::jthread([served = group.served](const std::stop_token& stop) { served->Tick(stop); });
  group.watching = std::jthread([served = group.served, hang_after = options_.hang_after](const std::stop_token& stop) {
    served->Watch(hang_after, stop);
  });
}

void Sampler::Stop() {
  for (Group& group : groups_) {
    group.ticking.request_stop();
    group.watching.request_stop();
  }
  const auto now = std::chrono::steady_clock::now();
  for (Group& group : groups_) {
    group.watching.join();
    TickLoop& loop = group.served->loop;
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

}  // namespace idleburn
