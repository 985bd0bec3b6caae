#include "diagnose/host_means.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace idleburn {
namespace {

constexpr std::int64_t kMilli = 1'000'000;

// A host read once a second from second 0 on; what each second adds to a counter.
class Host {
 public:
  // The counters of a scope rise by this much until the next call.
  Host& Second(HostScope scope, const std::vector<std::pair<HostSignal, std::int64_t>>& rises) {
    const auto s = static_cast<std::size_t>(scope);
    if (seconds_[s] == 0) Put(scope, rises, false);
    ++seconds_[s];
    Put(scope, rises, true);
    return *this;
  }
  [[nodiscard]] const HostTimeline& timeline() const { return timeline_; }

 private:
  void Put(HostScope scope, const std::vector<std::pair<HostSignal, std::int64_t>>& rises, bool rise) {
    const auto s = static_cast<std::size_t>(scope);
    HostSample sample;
    sample.time = Instant::FromNanos(seconds_[s] * kNanosPerSecond);
    sample.scope = scope;
    for (const auto& [signal, amount] : rises) {
      std::int64_t& value = values_[s][Index(signal)];
      value = Info(signal).counter ? value + (rise ? amount : 0) : amount;
      sample.Set(signal, value);
    }
    timeline_.Add(sample);
  }
  std::array<std::int64_t, kHostScopeCount> seconds_{};
  std::array<std::array<std::int64_t, kHostSignalCount>, kHostScopeCount> values_{};
  HostTimeline timeline_;
};

ChosenTimes Seconds(const std::vector<double>& shares) {
  ChosenTimes chosen;
  for (std::size_t s = 0; s < shares.size(); ++s) {
    chosen.At(static_cast<std::int64_t>(s)).Merge({std::llround(shares[s] * 1e9), kNanosPerSecond});
  }
  return chosen;
}

TEST(HostMeans, CountOnlyTheChosenTime) {
  Host host;
  for (const std::int64_t io : {100, 900, 300}) {
    host.Second(HostScope::kMachine, {{HostSignal::kPsiIoFull, io * kMilli}});
  }
  EXPECT_NEAR(*MeansOver(host.timeline(), Seconds({0, 1, 0})).psi_io_full, 0.9, 1e-9);
  EXPECT_NEAR(*MeansOver(host.timeline(), Seconds({1, 0, 1})).psi_io_full, 0.2, 1e-9);
  EXPECT_NEAR(*MeansOver(host.timeline(), Seconds({0, 1, 0.5})).psi_io_full, (0.9 + 0.5 * 0.3) / 1.5, 1e-9);
}

TEST(HostMeans, OfTheWorkloadBeforeTheMachine) {
  Host host;
  host.Second(HostScope::kMachine, {{HostSignal::kPsiCpuSome, 800 * kMilli}, {HostSignal::kPsiIoSome, 50 * kMilli}});
  host.Second(HostScope::kWorkload, {{HostSignal::kPsiCpuSome, 100 * kMilli}});
  const HostEvidence e = MeansOver(host.timeline(), Seconds({1}));
  EXPECT_NEAR(*e.psi_cpu_some, 0.1, 1e-9);
  EXPECT_NEAR(*e.psi_io_some, 0.05, 1e-9);
  EXPECT_FALSE(e.psi_memory_full);
  EXPECT_FALSE(e.cpus_free);
  EXPECT_FALSE(e.worker_on_cpu);
}

TEST(HostMeans, AWorkersShareIsOfAllWorkersTime) {
  Host host;
  host.Second(HostScope::kWorkload, {{HostSignal::kWorkerTime, 4'000 * kMilli},
                                     {HostSignal::kWorkerCpuTime, 1'200 * kMilli},
                                     {HostSignal::kWorkerCpuWait, 2'000 * kMilli},
                                     {HostSignal::kWorkerBlockedTime, 400 * kMilli}});
  const HostEvidence e = MeansOver(host.timeline(), Seconds({1}));
  EXPECT_NEAR(*e.worker_on_cpu, 0.3, 1e-9);
  EXPECT_NEAR(*e.run_queue_wait, 0.5, 1e-9);
  EXPECT_NEAR(*e.d_state, 0.1, 1e-9);
}

// Without workers: one process that reads (blocked 60 % of the time), and a hundred threads that wait 0.6 % each.
TEST(HostMeans, WithoutWorkersTheJobItselfIsLookedAt) {
  Host reads;
  reads.Second(HostScope::kWorkload, {{HostSignal::kWorkerTime, 0},
                                      {HostSignal::kCpuTime, 300 * kMilli},
                                      {HostSignal::kCpuWait, 0},
                                      {HostSignal::kBlockedTime, 600 * kMilli}});
  const HostEvidence one = MeansOver(reads.timeline(), Seconds({1}));
  EXPECT_NEAR(*one.d_state, 0.6, 1e-9);
  EXPECT_FALSE(one.worker_on_cpu);
  Host many;
  many.Second(HostScope::kWorkload, {{HostSignal::kCpuTime, 30'000 * kMilli}, {HostSignal::kCpuWait, 600 * kMilli}});
  EXPECT_LT(*MeansOver(many.timeline(), Seconds({1})).run_queue_wait, 0.02);
}

TEST(HostMeans, FreeCpusAreThoseThatTheJobMayUse) {
  Host host;
  host.Second(HostScope::kMachine, {{HostSignal::kCpus, 16}, {HostSignal::kCpuTime, 5'000 * kMilli}});
  EXPECT_NEAR(*MeansOver(host.timeline(), Seconds({1})).cpus_free, 11, 1e-9);
  host.Second(HostScope::kWorkload, {{HostSignal::kCpus, 2}, {HostSignal::kCpuTime, 1'900 * kMilli}});
  EXPECT_NEAR(*MeansOver(host.timeline(), Seconds({1})).cpus_free, 0.1, 1e-9);
}

TEST(HostMeans, WhatWasReadOverLessThanHalfOfThatTimeIsAbsent) {
  Host host;
  for (int s = 0; s < 4; ++s) host.Second(HostScope::kMachine, {{HostSignal::kPsiIoFull, 500 * kMilli}});
  EXPECT_TRUE(MeansOver(host.timeline(), Seconds({1, 1, 1, 1, 1, 1, 1, 1})).psi_io_full);
  EXPECT_FALSE(MeansOver(host.timeline(), Seconds({1, 1, 1, 1, 1, 1, 1, 1, 1})).psi_io_full);
  EXPECT_FALSE(MeansOver(host.timeline(), Seconds({0, 0, 0, 0})).psi_io_full);
  EXPECT_FALSE(MeansOver({}, Seconds({1})).psi_io_full);
}

// Whichever of the two pictures is the coarser.
TEST(HostMeans, PicturesOfDifferentWidthMeet) {
  Host host;
  for (int s = 0; s < 3000; ++s) {
    host.Second(HostScope::kMachine, {{HostSignal::kPsiIoFull, (s < 1504 ? 100 : 700) * kMilli}});
  }
  ASSERT_GT(host.timeline().Of(HostScope::kMachine).bucket_seconds, 1);
  ChosenTimes chosen;
  for (std::int64_t s = 2000; s < 3000; ++s) chosen.At(s).Merge({kNanosPerSecond, kNanosPerSecond});
  EXPECT_NEAR(*MeansOver(host.timeline(), chosen).psi_io_full, 0.7, 1e-6);
  ChosenTimes all;
  for (std::int64_t s = 0; s < 3000; ++s) {
    all.At(s).Merge({s < 1504 ? kNanosPerSecond : 0, kNanosPerSecond});
  }
  EXPECT_NEAR(*MeansOver(host.timeline(), all).psi_io_full, 0.1, 1e-6);
}

}  // namespace
}  // namespace idleburn
