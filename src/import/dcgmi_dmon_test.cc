#include "import/dcgmi_dmon.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/metrics_testing.h"

namespace idleburn {
namespace {

constexpr std::int64_t kStart = 1'783'117'320;  // seconds

ImportOptions Clock(std::int64_t period_ms = 1000) {
  ImportOptions options;
  options.start = Instant::FromNanos(kStart * kNanosPerSecond);
  options.period = Nanos(period_ms * 1'000'000);
  return options;
}

std::unique_ptr<Imported> Import(std::string text, const ImportOptions& options = Clock()) {
  return ImportText(&ImportDcgmiDmon, std::move(text), options);
}

const std::string kHeader =
    "#Entity   GPUTL  POWER       FBUSD  SMACT  DVNAM\n"
    "ID               W                              \n";

TEST(DcgmiDmon, ReadsATableWhoseHeaderComesAgain) {
  const std::string text = kHeader +
                           "GPU 0     95     412.250     1024   0.812  H100\n"
                           "GPU 1     N/A    70.500      N/A    N/A    H100\n"
                           "GPU 0     100    420.000     1024   0.900  H100\n"
                           "GPU 1     0      70.500      0      0.000  H100\n"
                           "\n" +
                           kHeader + "GPU 0     50     300.000     1024   0.400  H100\n";
  EXPECT_TRUE(SniffDcgmiDmon(text));
  const auto in = Import(text);
  ASSERT_EQ(in->error, "");
  ASSERT_EQ(in->devices.size(), 2U);
  EXPECT_EQ(in->Values(Signal::kUtilization, 0), (std::vector<std::int64_t>{95 * kPercent, kFull, 50 * kPercent}));
  EXPECT_EQ(in->Values(Signal::kPower, 1), (std::vector<std::int64_t>{70'500, 70'500}));
  EXPECT_EQ(in->Values(Signal::kSmActive, 0),
            (std::vector<std::int64_t>{81'200'000, 90'000'000, 40'000'000}));  // 0 to 1
  EXPECT_EQ(in->Values(Signal::kMemoryUsed, 0)[0], std::int64_t{1024} << 20);
  EXPECT_EQ(in->Missing(Signal::kUtilization, Unobserved::kUnsupported), 1U);
  EXPECT_EQ(in->samples.front().time.nanos(), kStart * kNanosPerSecond);
  EXPECT_EQ(in->samples.back().time.nanos(), (kStart + 2) * kNanosPerSecond);
  EXPECT_EQ(in->quality.Get(QualityId::kUnknownColumn).names, std::set<std::string>{"DVNAM"});
  EXPECT_EQ(in->devices[0].counter[Index(Signal::kUtilization)], "dcgm.DCGM_FI_DEV_GPU_UTIL");
  // The header of older versions.
  const auto old = Import("# Entity  GPUTL\n      Id\n    GPU 0  7\n    GPU 0  8\n");
  EXPECT_EQ(old->Values(Signal::kUtilization, 0), (std::vector<std::int64_t>{7 * kPercent, 8 * kPercent}));
}

TEST(DcgmiDmon, NoClockIsInvented) {
  const std::string text = kHeader + "GPU 0     95     412.250     1024   0.812  H100\n";
  ImportOptions no_start = Clock();
  no_start.start.reset();
  ImportOptions no_period = Clock();
  no_period.period.reset();
  for (const ImportOptions& options : {ImportOptions(), no_start, no_period}) {
    const auto in = Import(text, options);
    EXPECT_NE(in->error.find("--start TIME"), std::string::npos) << in->error;
    EXPECT_NE(in->error.find("--period TIME"), std::string::npos) << in->error;
    EXPECT_TRUE(in->samples.empty());
  }
}

TEST(DcgmiDmon, RowsThatAreNoneAreCounted) {
  const auto in = Import(kHeader +
                         "GPU-I 3   5      5           5      0.5    H100\n"
                         "Switch 0  5      5           5      0.5    H100\n"
                         "GPU 0     5      5\n"
                         "dmon was stopped by a signal\n"
                         "GPU 0     95     412.250     1024   0.812  H100\n"
                         "GPU 0     9");
  ASSERT_EQ(in->error, "");
  EXPECT_EQ(in->samples.size(), 1U);
  EXPECT_EQ(in->quality.CountOf(QualityId::kBadRow), 2);
  EXPECT_EQ(in->quality.CountOf(QualityId::kTornRow), 1);
  EXPECT_EQ(in->quality.Get(QualityId::kUnknownColumn).names,
            (std::set<std::string>{"DVNAM", "rows of GPU-I", "rows of Switch"}));
  EXPECT_NE(Import("#Entity   ECCUR\nID\nGPU 0     5\n")->error.find("dcgmi dmon -e 203"), std::string::npos);
}

// Sweeps as a naive writer makes them; a GPU that is lost midway takes no other's rows.
RC_GTEST_PROP(DcgmiDmon, EveryReadingStandsAtItsSweep, ()) {
  const int gpus = *rc::gen::inRange(1, 9);
  const int sweeps = *rc::gen::inRange(1, 20);
  const int lost = *rc::gen::inRange(1, gpus + 1);  // never GPU 0; gpus: none
  const int lost_from = *rc::gen::inRange(0, sweeps);
  const int period = *rc::gen::inRange(1, 5000);
  std::string text;
  std::map<std::pair<std::int64_t, int>, std::int64_t> want;
  int rows = 0;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (int gpu = 0; gpu < gpus; ++gpu) {
      if (gpu == lost && sweep >= lost_from) continue;
      if (rows++ % 14 == 0) text += "#Entity   GPUTL\nID\n";
      const int busy = *rc::gen::inRange(0, 101);
      text += "GPU " + std::to_string(gpu) + "     " + std::to_string(busy) + "\n";
      want[{kStart * kNanosPerSecond + std::int64_t{sweep} * period * 1'000'000, gpu}] = busy * kPercent;
    }
  }
  const auto in = Import(text, Clock(period));
  std::map<std::pair<std::int64_t, int>, std::int64_t> got;
  for (const Sample& s : in->samples) {
    got[{s.time.nanos(), in->devices[s.device].index.value_or(-1)}] = s.Get(Signal::kUtilization);
  }
  RC_ASSERT(got == want);
}

}  // namespace
}  // namespace idleburn
