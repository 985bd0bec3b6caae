#include "import/index_watch.h"

#include <gtest/gtest.h>

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
  EXPECT_TRUE(Says(log.Verdict(), "log:42: GPU 3 is not in the rows from here on, while others are: the indices moved"))
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
  EXPECT_TRUE(Says(second.Verdict(), "log:42: GPU 3 is not in the rows")) << second.Verdict();

  Log alike(4);
  alike.Sweeps(10, {30, 30, 30, 30});
  alike.Sweeps(10, {30, 30, 30});
  EXPECT_TRUE(Says(alike.Verdict(), "log:42: GPU 3")) << "could be any of them: " << alike.Verdict();
}

TEST(IndexWatchTest, AGpuThatComesLateIsRefused) {
  Log log(4);
  log.Sweeps(10, {0, 0, 0});
  log.Sweeps(10, {0, 0, 0, 0});
  EXPECT_TRUE(Says(log.Verdict(), "log:35: GPU 3 is not in the rows before, while others are")) << log.Verdict();
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
  EXPECT_TRUE(Says(log.Verdict(), "log:7: GPU 1 has the size of memory here that another had")) << log.Verdict();
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

}  // namespace
}  // namespace idleburn
