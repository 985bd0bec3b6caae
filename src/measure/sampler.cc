#include "measure/sampler.h"

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <utility>

#include "measure/tick_loop.h"
#include "os/signal_stack.h"

namespace idleburn {

// Everything a ticking thread touches.
struct Sampler::Served {
  Served(Nanos period, std::shared_ptr<RunClock> run_clock, const TimeLine& line,
         std::vector<std::unique_ptr<Lane>> lanes, std::shared_ptr<SinkGate> out)
      : clock(std::move(run_clock)), gate(std::move(out)), loop(period, clock, line, std::move(lanes), *gate) {}

  void Tick(const std::stop_token& stop) {
    Try([&] {
      while (!stop.stop_requested()) loop.Step(stop);
      loop.Finish();
    });
    const std::lock_guard lock(mutex);
    ended = true;
    ended_changed.notify_all();
  }
  void Watch(Nanos hang_after, const std::stop_token& stop) {
    Try([&] {
      while (!stop.stop_requested()) {
        clock->SleepUntil(clock->Monotonic() + hang_after / 5, stop);
        if (!stop.stop_requested()) loop.CheckHang(hang_after);
      }
    });
  }
  // What is thrown (no memory, mostly) ends this thread and nothing else. Kept without asking for memory.
  template <typename Body>
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
    group.watching = std::jthread([served = group.served, hang_after = options_.hang_after](
                                      const std::stop_token& stop) { served->Watch(hang_after, stop); });
    group.ticking = std::jthread([served = group.served](const std::stop_token& stop) { served->Tick(stop); });
  } catch (const std::system_error& error) {
    statistics_.failures.push_back(std::string("no thread to read it: ") + error.what());
    return;
  }
  groups_.push_back(std::move(group));
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
    if (std::string failure = group.served->Failure(); !failure.empty()) {
      statistics_.failures.push_back(std::move(failure));
    }
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
