#include "import/log_watch.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/collecting_sink.h"

namespace idleburn {
namespace {

// A log of GPUs with so many GiB in use, a second a sweep. Rows without memory: 0.
class Log {
 public:
  explicit Log(int gpus) {
    for (int gpu = 0; gpu < gpus; ++gpu) {
      DeviceKey key;
      key.index = gpu;
      devices_.Enter(key);
    }
  }
  void Sweeps(int count, const std::vector<std::int64_t>& gib, int first = 0) {
    for (int i = 0; i < count; ++i, ++second_) {
      for (std::size_t gpu = 0; gpu < gib.size(); ++gpu) Row(static_cast<int>(gpu) + first, gib[gpu]);
    }
  }
  void Row(int gpu, std::int64_t gib, std::int64_t total_gib = 0) {
    Sample sample;
    sample.time = Instant::FromNanos(second_ * kNanosPerSecond);
    sample.device = static_cast<DeviceId>(gpu);
    if (gib > 0) sample.Set(Signal::kMemoryUsed, gib << 30);
    if (total_gib > 0) sample.Set(Signal::kMemoryTotal, total_gib << 30);
    watch_.OnSample(sample, ++line_);
  }
  void GoTo(std::int64_t second) { second_ = second; }
  [[nodiscard]] std::string Verdict() const {
    const Result<void> verdict = watch_.Verdict("log");
    return verdict ? "" : verdict.error().message;
  }

 private:
  DeviceTable devices_;
  IndexWatch watch_{devices_};
  std::int64_t second_ = 1'000'000;
  std::int64_t line_ = 1;
};

bool Says(const std::string& verdict, const std::string& start) { return verdict.rfind(start, 0) == 0; }

TEST(IndexWatchTest, AGpuThatIsLostMidwayIsRefused) {
  Log log(4);
  log.Sweeps(10, {0, 0, 0, 0});
  log.Sweeps(10, {0, 0, 0});
  EXPECT_TRUE(Says(
      log.Verdict(),
      "log:42: GPU 3 is missing from the rows from here on, where other GPUs are: the GPU indices may have changed"))
      << log.Verdict();
}

TEST(IndexWatchTest, AllThereOrMissingForAWhileIsFine) {
  Log whole(4);
  whole.Sweeps(20, {0, 0, 0, 0});
  whole.Sweeps(1, {0, 0});  // the log ends within a sweep
  EXPECT_EQ(whole.Verdict(), "");

  Log pause(2);
  pause.Sweeps(10, {0, 0});
  pause.Sweeps(12, {0});
  pause.Sweeps(10, {0, 0});
  EXPECT_EQ(pause.Verdict(), "");

  Log middle(3);  // indices would have moved up
  middle.Sweeps(10, {0, 0, 0});
  for (int i = 0; i < 10; ++i) {
    middle.Sweeps(1, {0});
    middle.Row(2, 0);
  }
  EXPECT_EQ(middle.Verdict(), "");
}

TEST(IndexWatchTest, LogsOfOneGpuAfterTheOtherAreFine) {
  Log same_time(2);
  same_time.Sweeps(20, {0});
  same_time.GoTo(1'000'000);
  same_time.Sweeps(20, {0}, 1);
  EXPECT_EQ(same_time.Verdict(), "");

  Log reversed(2);
  reversed.Sweeps(20, {0}, 1);
  reversed.GoTo(1'000'000);
  reversed.Sweeps(20, {0});
  EXPECT_EQ(reversed.Verdict(), "");

  Log later(2);
  later.Sweeps(20, {0});
  later.Sweeps(20, {0}, 1);
  EXPECT_EQ(later.Verdict(), "");
}

TEST(IndexWatchTest, MemoryInUseShowsWhichGpuWasLost) {
  Log last(4);
  last.Sweeps(10, {10, 20, 30, 40});
  last.Sweeps(10, {10, 20, 30});
  EXPECT_EQ(last.Verdict(), "") << "GPU 2 has what it had, and not what GPU 3 had";

  Log second(4);
  second.Sweeps(10, {10, 20, 30, 40});
  second.Sweeps(10, {10, 30, 40});
  EXPECT_TRUE(Says(second.Verdict(), "log:42: GPU 3 is missing from the rows")) << second.Verdict();

  Log alike(4);
  alike.Sweeps(10, {30, 30, 30, 30});
  alike.Sweeps(10, {30, 30, 30});
  EXPECT_TRUE(Says(alike.Verdict(), "log:42: GPU 3")) << "could be any of them: " << alike.Verdict();
}

TEST(IndexWatchTest, AGpuThatComesLateIsRefused) {
  Log log(4);
  log.Sweeps(10, {0, 0, 0});
  log.Sweeps(10, {0, 0, 0, 0});
  EXPECT_TRUE(Says(log.Verdict(), "log:35: GPU 3 is missing from the rows before, where other GPUs are"))
      << log.Verdict();
}

TEST(IndexWatchTest, AnotherSizeOfMemoryIsAnotherBoard) {
  Log log(3);
  log.Row(0, 5, 40);
  log.Row(1, 5, 80);
  log.Row(2, 5, 40);
  log.Row(1, 5, 79);
  EXPECT_EQ(log.Verdict(), "") << "a driver keeps more for itself than another";
  log.Row(1, 5, 20);
  EXPECT_EQ(log.Verdict(), "") << "no GPU here had that";
  log.Row(1, 5, 40);
  EXPECT_TRUE(Says(log.Verdict(), "log:7: GPU 1 has the memory size here that another GPU had before"))
      << log.Verdict();
}

// Of columns only as much is looked at as the verdict needs.
TEST(IndexWatchTest, ColumnsAreTheRowsTheyHold) {
  for (const std::size_t lost_from : {0U, 17U, 40U, 4000U}) {
    DeviceTable devices;
    for (int gpu = 0; gpu < 4; ++gpu) {
      DeviceKey key;
      key.index = gpu;
      devices.Enter(key);
    }
    std::vector<Instant> times;
    std::vector<DeviceId> ids;
    for (std::size_t sweep = 0; sweep < 60; ++sweep) {
      for (DeviceId gpu = 0; gpu < (sweep < lost_from || sweep == 0 ? 4U : 3U); ++gpu) {
        times.push_back(Instant::FromNanos(static_cast<std::int64_t>(sweep + 1) * kNanosPerSecond));
        ids.push_back(gpu);
      }
    }
    IndexWatch by_row(devices);
    IndexWatch by_column(devices);
    constexpr std::size_t kStretch = 70;
    for (std::size_t from = 0; from < ids.size(); from += kStretch) {
      SampleColumns columns;
      columns.rows = std::min(kStretch, ids.size() - from);
      columns.times = times.data() + from;
      columns.devices = ids.data() + from;
      // The first row of each GPU is read by itself in a log too.
      if (from > 0) by_column.OnColumns(columns, static_cast<std::int64_t>(from) + 2);
      for (std::size_t row = 0; row < columns.rows; ++row) {
        Sample sample;
        columns.Get(row, sample);
        const auto line = static_cast<std::int64_t>(from + row) + 2;
        by_row.OnSample(sample, line);
        if (from == 0) by_column.OnSample(sample, line);
      }
    }
    const Result<void> rows = by_row.Verdict("log");
    const Result<void> columns = by_column.Verdict("log");
    ASSERT_EQ(rows.has_value(), columns.has_value()) << lost_from;
    EXPECT_EQ(rows.has_value(), lost_from == 4000U);
    if (!rows) {
      EXPECT_EQ(rows.error().message, columns.error().message);
    }
  }
}

using testing::Collected;

// What the guard made of readings of one field, in micro-percent.
struct Guarded {
  std::vector<std::int64_t> passed;
  std::size_t unavailable = 0;
  std::string error;
  bool unproven = false;
};

Guarded Guard(const std::vector<std::int64_t>& values, const std::string& counter,
              const std::map<std::string, PercentUnit>& units = {}) {
  Collected out;
  DeviceKey key;
  key.index = 0;
  const DeviceId device = out.devices.Enter(key);
  out.devices.NameCounter(device, Signal::kUtilization, counter);
  ImportOptions options;
  options.units = units;
  PercentGuard guard(out, out.devices, options);
  for (const std::int64_t value : values) {
    Sample s;
    s.device = device;
    s.Set(Signal::kUtilization, value);
    s.Set(Signal::kPower, 100'000);
    guard.OnSamples({&s, 1});
  }
  Guarded result;
  const Result<void> checked = guard.Check("f", out.quality);
  result.error = checked ? "" : checked.error().message;
  result.unproven = out.quality.CountOf(QualityId::kScaleUnproven) == 1;
  for (const Sample& s : out.samples) {
    EXPECT_EQ(s.Get(Signal::kPower), 100'000);
    if (s.Has(Signal::kUtilization)) result.passed.push_back(s.Get(Signal::kUtilization));
    result.unavailable += s.Lacks(Signal::kUtilization) ? 1U : 0U;
  }
  return result;
}

const std::string kDcgm = "dcgm.DCGM_FI_DEV_GPU_UTIL";
constexpr std::int64_t kHalf = kPercent / 2;

TEST(PercentGuard, FractionsThatNeverExceedOneAreRefusedInEverySource) {
  for (const char* counter : {"dcgm.DCGM_FI_DEV_GPU_UTIL", "dcgm.DCGM_FI_DEV_GPU_UTIL_RATIO", "nvitop.gpu_utilization",
                              "nvidia_smi.utilization.gpu [%]", "nvidia_smi_dmon.sm", "telegraf.utilization_gpu",
                              "cloudwatch.nvidia_smi_utilization_gpu", "gcp.gpu/utilization", "jobstats.duty_cycle"}) {
    const std::string error = Guard({0, kHalf, kPercent}, counter).error;
    EXPECT_NE(error.find("never exceeds 1: ratio or percent? Say --unit ratio or --unit percent"), std::string::npos)
        << counter << ": " << error;
    EXPECT_EQ(Guard({0, kHalf, 37 * kPercent}, counter).error, "") << counter;
  }
}

TEST(PercentGuard, FieldsOfRatiosAndColumnsOfTheUserAreLeftAlone) {
  for (const char* counter :
       {"nvidia_smi_exporter.utilization_gpu_ratio", "csv.util", "parquet.util", "jobstats.graphics_util_percent"}) {
    EXPECT_EQ(Guard({0, kHalf, kPercent}, counter).error, "") << counter;
  }
}

TEST(PercentGuard, OnlyZerosAndOnesAreADoubtWhereNoUnitIsWritten) {
  EXPECT_TRUE(Guard({0, kPercent, 0}, kDcgm).unproven);
  EXPECT_FALSE(Guard({0, 0}, kDcgm).unproven);
  EXPECT_FALSE(Guard({0, kPercent, 2 * kPercent}, kDcgm).unproven);
  EXPECT_FALSE(Guard({0, kPercent}, "nvidia_smi.utilization.gpu [%]").unproven);
  EXPECT_FALSE(Guard({0, kPercent}, kDcgm, {{"", PercentUnit::kHundred}}).unproven);
}

TEST(PercentGuard, TheUserDecides) {
  const std::vector<std::int64_t> values = {0, kHalf, kPercent};
  for (const char* name : {"", "DCGM_FI_DEV_GPU_UTIL"}) {
    const Guarded percent = Guard(values, kDcgm, {{name, PercentUnit::kHundred}});
    EXPECT_EQ(percent.error, "");
    EXPECT_EQ(percent.passed, values);
    const Guarded ratio = Guard(values, kDcgm, {{name, PercentUnit::kOne}});
    EXPECT_EQ(ratio.error, "");
    EXPECT_EQ(ratio.passed, (std::vector<std::int64_t>{0, 50 * kPercent, kFull}));
  }
  EXPECT_NE(Guard(values, kDcgm, {{"DCGM_FI_DEV_MEM_COPY_UTIL", PercentUnit::kOne}}).error, "");
  EXPECT_NE(
      Guard({kHalf, 37 * kPercent}, kDcgm, {{"", PercentUnit::kOne}}).error.find("exceeds 1, so it is not a ratio"),
      std::string::npos);
}

// The rule as it is written down, over whole files.
RC_GTEST_PROP(PercentGuard, AgreesWithTheRule, ()) {
  const auto values = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::element<std::int64_t>(
      0, 1, kPercent / 4, kHalf, kPercent, kPercent, 3 * kHalf, 2 * kPercent, 60 * kPercent));
  bool fraction = false;
  std::int64_t most = 0;
  for (const std::int64_t value : values) {
    fraction = fraction || value % kPercent != 0;
    most = std::max(most, value);
  }
  const Guarded guarded = Guard(values, kDcgm);
  RC_ASSERT(guarded.error.empty() == !(fraction && most <= kPercent));
  RC_ASSERT(guarded.unproven == (!fraction && most == kPercent));
  RC_ASSERT(guarded.passed == values);
}

}  // namespace

}  // namespace idleburn
