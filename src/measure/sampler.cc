#include "measure/sampler.h"

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

#include "base/check.h"
#include "measure/sink_gate.h"
#include "measure/tick_loop.h"

namespace idleburn {

// Everything the ticking thread touches.
struct Sampler::Shared {
  Shared(const SamplerOptions& options, std::shared_ptr<RunClock> run_clock, const TimeLine& line,
         std::vector<std::unique_ptr<Lane>> lanes, LiveSink& sink)
      : clock(run_clock), gate(sink), loop(options.period, std::move(run_clock), line, std::move(lanes), gate) {}

  std::shared_ptr<RunClock> clock;
  SinkGate gate;
  TickLoop loop;
  std::mutex mutex;
  std::condition_variable ended_changed;
  bool ended = false;
};

Sampler::Sampler(const SamplerOptions& options, std::shared_ptr<RunClock> clock, const TimeLine& line,
                 std::vector<std::unique_ptr<Lane>> lanes, LiveSink& sink)
    : options_(options), shared_(std::make_shared<Shared>(options, std::move(clock), line, std::move(lanes), sink)) {}

Sampler::~Sampler() { Stop(); }

LiveSink& Sampler::sink() { return shared_->gate; }

void Sampler::Start() {
  CHECK(!ticking_.joinable());
  ticking_ = std::jthread([shared = shared_](const std::stop_token& stop) {
    while (!stop.stop_requested()) shared->loop.Step(stop);
    shared->loop.Finish();
    const std::lock_guard lock(shared->mutex);
    shared->ended = true;
    shared->ended_changed.notify_all();
  });
  watching_ = std::jthread([shared = shared_, hang_after = options_.hang_after](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      shared->clock->SleepUntil(shared->clock->Monotonic() + hang_after / 5, stop);
      if (!stop.stop_requested()) shared->loop.CheckHang(hang_after);
    }
  });
}

void Sampler::Stop() {
  if (!ticking_.joinable()) return;
  ticking_.request_stop();
  watching_.request_stop();
  watching_.join();
  bool ended = false;
  {
    std::unique_lock lock(shared_->mutex);
    ended = shared_->ended_changed.wait_for(lock, options_.patience, [&] { return shared_->ended; });
  }
  if (!ended) {
    shared_->loop.Abandon();
    shared_->gate.Close();
    ticking_.detach();
    statistics_.abandoned = true;
    return;
  }
  ticking_.join();
  const TickLoop& loop = shared_->loop;
  statistics_.ticks = loop.served();
  statistics_.missed = loop.missed();
  statistics_.late_p50 = loop.late().Quantile(0.5);
  statistics_.late_p99 = loop.late().Quantile(0.99);
  statistics_.late_max = loop.late().max();
  statistics_.work_p50 = loop.work().Quantile(0.5);
  statistics_.work_p99 = loop.work().Quantile(0.99);
  statistics_.work_max = loop.work().max();
  statistics_.calls = loop.Calls();
  shared_->gate.Close();
}

}  // namespace idleburn
