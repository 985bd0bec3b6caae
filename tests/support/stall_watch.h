#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace idleburn::testing {

// How long this machine let a process wait that had nothing to do but to wake up, while this lives: of what is measured
// meanwhile nothing can be expected that is finer than that.
class StallWatch {
 public:
  [[nodiscard]] double longest_seconds() const { return longest_seconds_; }

 private:
  using Clock = std::chrono::steady_clock;
  std::atomic<double> longest_seconds_ = 0;
  std::jthread thread_{[this](const std::stop_token& stop) {
    constexpr std::chrono::milliseconds kSleep(20);
    while (!stop.stop_requested()) {
      const Clock::time_point due = Clock::now() + kSleep;
      std::this_thread::sleep_until(due);
      const std::chrono::duration<double> late = Clock::now() - due;
      longest_seconds_ = std::max(longest_seconds_.load(), late.count());
    }
  }};
};

}  // namespace idleburn::testing
