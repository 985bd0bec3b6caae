#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "measure/nvml_lane.h"
#include "os/dynamic_library.h"
#include "os/run_clock.h"
#include "places.h"
#include "standin/control.h"
#include "support/live_log.h"

namespace idleburn::testing {

// The stand-in for the driver's library, loaded into this process with a script of a manual clock.
class StandIn {
 public:
  explicit StandIn(const std::string& script, const std::string& library = IDLEBURN_STANDIN) : path_(library) {
    auto opened = DynamicLibrary::Open(library);
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    standin::LoadFunction* load = nullptr;
    opened->Find("idleburn_standin_load", &load);
    opened->Find("idleburn_standin_advance", &advance_);
    opened->Find("idleburn_standin_now", &now_);
    opened->Find("idleburn_standin_wall", &wall_);
    opened->Find("idleburn_standin_step_wall", &step_wall_);
    opened->Find("idleburn_standin_release", &release_);
    opened->Find("idleburn_standin_counts", &counts_);
    load(("clock manual\n" + script).c_str());
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  void Advance(Nanos span) const { advance_(span.count()); }
  void StepWall(Nanos span) const { step_wall_(span.count()); }
  void Release() const { release_(); }
  [[nodiscard]] Nanos Now() const { return Nanos(now_()); }
  [[nodiscard]] Instant Wall() const { return Instant::FromNanos(wall_()); }
  [[nodiscard]] standin::StandinCounts Counts() const {
    standin::StandinCounts counts;
    counts_(&counts);
    return counts;
  }

 private:
  std::string path_;
  standin::AdvanceFunction* advance_ = nullptr;
  standin::NowFunction* now_ = nullptr;
  standin::WallFunction* wall_ = nullptr;
  standin::StepWallFunction* step_wall_ = nullptr;
  standin::ReleaseFunction* release_ = nullptr;
  standin::CountsFunction* counts_ = nullptr;
};

// The stand-in's clock; sleeping moves it.
class StandInClock : public RunClock {
 public:
  explicit StandInClock(const StandIn& driver) : driver_(driver) {}
  ClockReading Read() override { return {driver_.Now(), driver_.Now(), driver_.Wall()}; }
  Nanos Monotonic() override { return driver_.Now(); }
  void SleepUntil(Nanos monotonic, const std::stop_token&) override {
    if (monotonic > driver_.Now()) driver_.Advance(monotonic - driver_.Now());
  }

 private:
  const StandIn& driver_;
};

// A lane over the stand-in, ticked by hand. t counts from the lane's opening, at which the stand-in's time is 0.
class StandInRun {
 public:
  explicit StandInRun(const std::string& script, const std::string& library = IDLEBURN_STANDIN)
      : driver(script, library), clock(std::make_shared<StandInClock>(driver)), line(clock->Read()) {
    auto loaded = NvmlLibrary::Open(driver.path(), clock);
    EXPECT_TRUE(loaded.has_value()) << loaded.error().message;
    auto opened = NvmlLane::Open(std::move(*loaded), Nanos(100'000'000), devices, log, clock, line);
    if (opened) {
      lane = std::move(*opened);
    } else {
      error = opened.error().message;
    }
  }

  // Ticks every `period` until `seconds` after the start.
  void RunUntil(double seconds, Nanos period = Nanos(100'000'000)) {
    while (driver.Now() + period <= Nanos(static_cast<std::int64_t>(seconds * 1e9))) {
      driver.Advance(period);
      lane->Tick(line.At(driver.Now()), log);
    }
  }
  void Finish() { lane->Finish(line.At(driver.Now()), log); }
  [[nodiscard]] double Seconds(Instant t) const { return static_cast<double>((t - line.At(Nanos(0))).count()) / 1e9; }
  [[nodiscard]] std::int64_t CallsOf(const std::string& function) const {
    for (const CallTimes& calls : lane->Calls()) {
      if (calls.function == function) return calls.calls;
    }
    return 0;
  }

  StandIn driver;
  std::shared_ptr<StandInClock> clock;
  TimeLine line;
  DeviceTable devices;
  LiveLog log;
  std::unique_ptr<NvmlLane> lane;
  std::string error;
};

}  // namespace idleburn::testing
