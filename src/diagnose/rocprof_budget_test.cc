// Files of rocprofv3 against figures that count nanoseconds one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "diagnose/framework.h"
#include "diagnose/trace_diagnosis.h"
#include "profile/profile_importers.h"
#include "support/rocprof_file.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

using test::RocprofFile;

struct Work {
  int gpu;
  int kind;  // 0: kernel, 1: communication, 2: copy
  std::int64_t start;
  std::int64_t end;
};

// Of one GPU: compute, exposed communication, exposed copies, idle.
std::array<std::int64_t, 4> NaiveBudget(const std::vector<Work>& work, int gpu) {
  constexpr std::int64_t kEnd = 4000;
  std::vector<int> cells(kEnd, 3);  // the lowest kind at that nanosecond
  std::int64_t first = kEnd;
  std::int64_t last = 0;
  for (const Work& w : work) {
    if (w.gpu != gpu) continue;
    first = std::min(first, w.start);
    last = std::max(last, w.end);
    for (std::int64_t at = w.start; at < w.end; ++at) {
      int& cell = cells[static_cast<std::size_t>(at)];
      cell = std::min(cell, w.kind);
    }
  }
  std::array<std::int64_t, 4> parts{};
  for (std::int64_t at = first; at < last; ++at) {
    ++parts[static_cast<std::size_t>(cells[static_cast<std::size_t>(at)])];
  }
  return parts;
}

TEST(RocprofBudgetTest, IsThatOfCountedNanoseconds) {
  std::mt19937 random(4711);
  const auto upto = [&random](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 40; ++round) {
    RocprofFile file;
    std::vector<Work> work;
    for (int i = 0; i < 30; ++i) {
      const int start = 100 + upto(3000);
      const Work w{i < 2 ? i : upto(2), upto(3), start, start + 1 + upto(150)};
      work.push_back(w);
      const int correlation = 1000 + i;
      if (w.kind == 2) {
        file.Copy(RocprofFile::kCpu, RocprofFile::Gpu(w.gpu), 64, w.start, w.end, correlation);
      } else {
        file.Kernel(w.gpu, w.kind + 1, w.start, w.end, correlation);
      }
      file.Call(w.kind == 2 ? 1 : 0, w.start - 50, w.start - 40, correlation);
    }
    StringSource in(file.Text(round % 2 == 1), "results.json");
    DataQuality quality;
    const std::vector<Profile> profiles = {ReadRocprof(in, quality).value()};
    const TraceDiagnosis diagnosis = DiagnoseProfiles(profiles);
    ASSERT_EQ(diagnosis.devices.size(), 2U);
    for (int gpu = 0; gpu < 2; ++gpu) {
      const DeviceDiagnosis& device = diagnosis.devices[static_cast<std::size_t>(gpu)];
      const TraceBudget& b = device.budgets.front();
      EXPECT_EQ(device.device, gpu);
      EXPECT_EQ((std::array{b.compute_ns, b.exposed_comm_ns, b.exposed_copy_ns, b.idle_ns}), NaiveBudget(work, gpu));
      // Every launch is in the file, so all idle time has a class.
      ASSERT_TRUE(b.idle_by_class);
      EXPECT_EQ(b.IdleNs(IdleClass::kNoLaunchRecord), 0);
      EXPECT_EQ(device.framework, Framework::kHip);
    }
  }
}

// The wait before a launch belongs to what the host did then, here the synchronization of the call before.
TEST(RocprofBudgetTest, IdleTimeIsWhatTheHostDidBeforeTheLaunch) {
  RocprofFile file;
  file.Call(0, 1000, 1010, 1).Kernel(0, 1, 1020, 1100, 1);
  file.Call(2, 1050, 1800, 2).Call(0, 1900, 1910, 3).Kernel(0, 1, 1950, 2000, 3);
  StringSource in(file.Text(), "results.json");
  DataQuality quality;
  const std::vector<Profile> profiles = {ReadRocprof(in, quality).value()};
  const TraceBudget b = DiagnoseProfiles(profiles).devices.at(0).budgets.front();
  EXPECT_EQ(b.idle_ns, 850);
  EXPECT_EQ(b.IdleNs(IdleClass::kSyncApi), 700);       // 1100 to 1800
  EXPECT_EQ(b.IdleNs(IdleClass::kHostOther), 100);     // 1800 to 1900
  EXPECT_EQ(b.IdleNs(IdleClass::kLaunchLatency), 50);  // 1900 to 1950
}

}  // namespace
}  // namespace idleburn
