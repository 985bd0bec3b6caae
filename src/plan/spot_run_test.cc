#include "plan/spot_run.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "support/property.h"

namespace idleburn {
namespace {

using std::chrono::minutes;

// An hour of work, a checkpoint of 2 minutes after every 10, 3 minutes to restart.
constexpr CheckpointedWork kJob{Hours(1), minutes(10), minutes(2), minutes(3)};

double InMinutes(Hours span) { return span / minutes(1); }

TEST(JobRunTest, NoCheckpointWhenAllIsDone) {
  JobProgress progress;
  const auto used = UseMachine(kJob, {}, Hours(10), progress);
  EXPECT_DOUBLE_EQ(InMinutes(*used), 3 + 60 + 5 * 2);
  EXPECT_DOUBLE_EQ(InMinutes(progress.billed), 73);
  EXPECT_EQ(progress.interruptions, 0);
}

TEST(JobRunTest, OnlyCompletedCheckpointsCount) {
  // 3 to restart, two of 12 minutes each, and a third that lacks a second.
  JobProgress progress;
  EXPECT_FALSE(UseMachine(kJob, {}, minutes(3 + 36) - std::chrono::seconds(1), progress));
  EXPECT_DOUBLE_EQ(InMinutes(progress.kept), 20);
  EXPECT_FALSE(UseMachine(kJob, {}, minutes(3 + 12), progress));  // this one is just complete
  EXPECT_DOUBLE_EQ(InMinutes(progress.kept), 30);
  EXPECT_EQ(progress.interruptions, 2);
  EXPECT_DOUBLE_EQ(InMinutes(*UseMachine(kJob, {}, Hours(9), progress)), 3 + 30 + 2 * 2);
}

TEST(JobRunTest, AMachineThatGoesWhileTheJobStartsGivesNothing) {
  JobProgress progress;
  EXPECT_FALSE(UseMachine(kJob, minutes(2), minutes(1), progress));
  EXPECT_EQ(progress.billed, Hours{});  // provisioning is not billed
  EXPECT_FALSE(UseMachine(kJob, minutes(2), std::chrono::seconds(150), progress));
  EXPECT_DOUBLE_EQ(InMinutes(progress.billed), 0.5);
  EXPECT_EQ(progress.kept, Hours{});
  EXPECT_EQ(progress.interruptions, 2);
}

TEST(JobRunTest, AnIntervalBeyondTheWorkWritesNothing) {
  CheckpointedWork job = kJob;
  job.interval = Hours(1);
  JobProgress progress;
  EXPECT_DOUBLE_EQ(InMinutes(*UseMachine(job, {}, Hours(2), progress)), 63);
}

// The same second by second: restart, then work and checkpoints, as a state machine.
JobProgress StepBySecond(const CheckpointedWork& job, std::int64_t available, JobProgress progress, bool* done) {
  const auto whole = [](Hours h) { return static_cast<std::int64_t>(h / std::chrono::seconds(1) + 0.5); };
  std::int64_t restart = whole(job.restart);
  std::int64_t kept = whole(progress.kept);
  std::int64_t worked = 0;
  std::int64_t writing = 0;
  std::int64_t second = 0;
  *done = false;
  for (; second < available; ++second) {
    if (restart > 0) {
      --restart;
    } else if (writing > 0) {
      if (--writing == 0) {
        kept += worked;
        worked = 0;
      }
    } else if (++worked + kept == whole(job.work)) {
      *done = true;
      ++second;
      break;
    } else if (worked == whole(job.interval)) {
      writing = whole(job.checkpoint);
    }
  }
  progress.kept = *done ? job.work : Hours(std::chrono::seconds(kept));
  progress.billed += std::chrono::seconds(second);
  progress.interruptions += *done ? 0 : 1;
  return progress;
}

TEST(JobRunTest, AgreesWithAStateMachineOfSeconds) {
  test::ExpectProperty("seconds", [] {
    const auto some = [](int from, int to) { return Hours(std::chrono::seconds(*rc::gen::inRange(from, to))); };
    const CheckpointedWork job{some(1, 2000), some(1, 400), some(1, 60), some(0, 100)};
    JobProgress fast;
    JobProgress slow;
    for (int stay = 0; stay < 6; ++stay) {
      const int available = *rc::gen::inRange(0, 900);
      bool done = false;
      slow = StepBySecond(job, available, slow, &done);
      const auto used = UseMachine(job, {}, std::chrono::seconds(available), fast);
      RC_ASSERT(used.has_value() == done);
      RC_ASSERT(std::abs((fast.kept - slow.kept).count()) < 1e-9);
      RC_ASSERT(std::abs((fast.billed - slow.billed).count()) < 1e-9);
      RC_ASSERT(fast.interruptions == slow.interruptions);
      if (done) break;
    }
  });
}

}  // namespace
}  // namespace idleburn
