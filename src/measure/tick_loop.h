#pragma once

#include <atomic>
#include <memory>
#include <stop_token>
#include <vector>

#include "measure/call_times.h"
#include "measure/lane.h"
#include "measure/ticks.h"
#include "os/run_clock.h"
#include "telemetry/live_sink.h"

namespace idleburn {

// The work of a sampler's thread, tick by tick, and what its watchdog needs to know of it. Has no thread of its own.
class TickLoop {
 public:
  TickLoop(Nanos period, std::shared_ptr<RunClock> clock, const TimeLine& line,
           std::vector<std::unique_ptr<Lane>> lanes, LiveSink& out);

  // Waits for the next tick and serves it; returns early, without serving it, when asked to stop.
  void Step(const std::stop_token& stop);
  // After the last step: what the lanes still hold, and the last notes.
  void Finish();

  // Any thread. Notes a lane whose tick has taken `hang_after`, once, and says each time that its values are stale.
  void CheckHang(Nanos hang_after);
  // Any thread; for a loop whose thread is given up.
  void Abandon();

  // Not while a step is under way.
  [[nodiscard]] std::int64_t served() const { return late_.count(); }
  [[nodiscard]] std::int64_t missed() const { return ticks_.missed(); }
  [[nodiscard]] const Spread& late() const { return late_; }
  [[nodiscard]] const Spread& work() const { return work_; }
  [[nodiscard]] std::vector<CallTimes> Calls() const;

 private:
  void NoteMissed(Instant now, bool last);
  static constexpr int kNobody = -1;

  std::shared_ptr<RunClock> clock_;
  TimeLine line_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  LiveSink& out_;
  Ticks ticks_;
  Nanos period_;
  Spread late_;
  Spread work_;
  std::int64_t missed_noted_ = 0;
  Instant missed_noted_at_ = Instant::FromNanos(INT64_MIN);

  std::atomic<int> busy_lane_{kNobody};
  std::atomic<std::int64_t> busy_since_{0};  // monotonic
  std::int64_t hang_noted_ = -1;             // busy_since_ of the hang noted last; the watchdog's own
};

}  // namespace idleburn
