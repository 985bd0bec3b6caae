#pragma once

#include <gtest/gtest.h>

#include <string>

#include "trial/lineage.h"

namespace idleburn::test {

// A leg of a drill as markers tell it, written by hand: a millisecond a line.
class ToldLeg {
 public:
  explicit ToldLeg(std::int64_t started_ms = 0) : trace_(Nanos(started_ms * kMs)), now_ms_(started_ms) {}

  // "resumed=40", "step=1,first_sample=0,last_sample=7", ...
  ToldLeg& Say(const std::string& line) {
    ++now_ms_;
    const auto marker = ParseMarker(line);
    EXPECT_TRUE(marker) << line;
    if (marker) trace_.Take(*marker, Nanos(now_ms_ * kMs));
    return *this;
  }
  // So many steps more of that many samples each, from that position on.
  ToldLeg& Steps(std::int64_t count, std::int64_t position, std::int64_t samples, std::int64_t order = 0) {
    for (std::int64_t i = 0; i < count; ++i, position += samples) {
      Say("step=" + std::to_string(++steps_) + ",first_sample=" + std::to_string(position) + ",last_sample=" +
          std::to_string(position + samples - 1) + ",order=" + std::to_string(order == 0 ? position + 1 : order));
    }
    return *this;
  }
  ToldLeg& Checkpoint(std::int64_t step, bool whole = true, std::int64_t lasts_ms = 1) {
    const std::string done = "step=" + std::to_string(steps_);
    Say(done + ",checkpoint_begin=" + std::to_string(step));
    now_ms_ += lasts_ms - 1;
    if (whole) Say(done + ",checkpoint_bytes=100,checkpoint_end=" + std::to_string(step));
    return *this;
  }
  [[nodiscard]] const LegTrace& trace() const { return trace_; }

 private:
  static constexpr std::int64_t kMs = 1'000'000;
  LegTrace trace_;
  std::int64_t now_ms_;
  std::int64_t steps_ = 0;
};

}  // namespace idleburn::test
