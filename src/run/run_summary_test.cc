#include "run/run_summary.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <span>

namespace idleburn {
namespace {

// Ten seconds: 20 s of CPU, 1 s of waiting for one, and pressure for half of the time.
HostUse Use() {
  using std::chrono::seconds;
  HostUse use;
  use.first = Instant{};
  use.last = use.first + seconds(10);
  use.change[Index(HostSignal::kCpuTime)] = Nanos(seconds(20)).count();
  use.change[Index(HostSignal::kCpuWait)] = Nanos(seconds(1)).count();
  use.change[Index(HostSignal::kPsiCpuSome)] = Nanos(seconds(5)).count();
  use.most[Index(HostSignal::kMemoryUsed)] = 2'500'000'000;
  return use;
}

// Pressure and memory are of the control group, in which others may run: they may not read as the workload's own.
TEST(DescribeUseTest, WhatTheGroupDidIsNotSaidOfTheWorkload) {
  const std::string text = DescribeUse(Use(), HostScope::kWorkload);
  EXPECT_NE(text.find("its control group: pressure cpu 50.0 %"), std::string::npos) << text;
  EXPECT_LT(text.find("waiting for a CPU"), text.find("its control group")) << text;
  EXPECT_NE(text.find("memory at most 2.33 GiB"), std::string::npos) << text;
}

TEST(DescribeUseTest, WhatWasNotReadIsUnknown) {
  const std::string text = DescribeUse(Use(), HostScope::kMachine);
  EXPECT_EQ(text.find("control group"), std::string::npos) << text;
  EXPECT_NE(text.find("on CPU 2 CPUs"), std::string::npos) << text;
  EXPECT_NE(text.find("io unknown memory unknown"), std::string::npos) << text;
}

// What counts in hundredths of a second says nothing of a hundredth, and nobody uses more CPUs than there are.
TEST(DescribeUseTest, CpusOfAMomentAreUnknownAndNeverMoreThanThereAre) {
  const auto said = [](std::int64_t watched_ms, std::int64_t cpu_ms) {
    HostUse use;
    use.last = use.first + Nanos(watched_ms * 1'000'000);
    use.change[Index(HostSignal::kCpuTime)] = cpu_ms * 1'000'000;
    use.most[Index(HostSignal::kCpus)] = 2;
    const std::string text = DescribeUse(use, HostScope::kMachine);
    return text.substr(text.find(": ") + 2, text.find("; ") - text.find(": ") - 2);
  };
  EXPECT_EQ(said(14, 60), "on CPU unknown");
  EXPECT_EQ(said(99, 60), "on CPU unknown");
  EXPECT_EQ(said(100, 60), "on CPU 0.6 of 2 CPUs");
  EXPECT_EQ(said(100, 230), "on CPU 2 of 2 CPUs");
}

// What was read once says how much there was before, and nothing of this run.
TEST(RunSummaryTest, ACounterThatWasReadOnceIsUnknown) {
  RunSummary summary;
  const auto tell = [&](std::int64_t milliseconds, std::optional<std::int64_t> cpu) {
    HostSample sample;
    sample.scope = HostScope::kMachine;
    sample.time = Instant::FromNanos(milliseconds * 1'000'000);
    if (cpu) sample.Set(HostSignal::kCpuTime, *cpu);
    summary.OnHost(std::span(&sample, 1));
  };
  const auto said = [&] { return DescribeUse(*summary.Use(HostScope::kMachine), HostScope::kMachine).substr(0, 32); };
  tell(0, 500);
  tell(900, std::nullopt);
  EXPECT_EQ(said(), "machine over 900 ms: on CPU unkn");
  tell(1000, 1'500'000'500);
  EXPECT_EQ(said(), "machine over 1 s: on CPU 1.5 CPU");
}

}  // namespace
}  // namespace idleburn
