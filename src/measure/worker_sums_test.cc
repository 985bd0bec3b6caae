#include "measure/worker_sums.h"

#include <gtest/gtest.h>

#include <vector>

namespace idleburn {
namespace {

constexpr std::size_t kLauncher = 11;
constexpr std::size_t kTraining = 22;
constexpr std::size_t kTool = 33;

ProcessReading Reading(pid_t pid, pid_t parent, std::size_t command, std::int64_t second, std::int64_t cpu,
                       std::int64_t wait = 0, std::int64_t blocked = 0) {
  return {pid, parent, command, Instant::FromNanos(second * kNanosPerSecond), cpu, wait, blocked};
}

TEST(WorkerSums, AreThoseOfProcessesForkedFromAnother) {
  WorkerSums sums;
  for (const std::int64_t s : {0, 1}) {
    const std::vector<ProcessReading> all = {
        Reading(1, 0, kLauncher, s, 1000 * s), Reading(2, 1, kTraining, s, 2000 * s),
        Reading(3, 2, kTraining, s, 10 * s, 20 * s, 30 * s), Reading(4, 2, kTraining, s, 1 * s, 2 * s, 3 * s),
        Reading(5, 2, kTool, s, 7000 * s)};  // a tool that the training started
    sums.Update(all);
  }
  EXPECT_EQ(sums.times().alive, 2 * kNanosPerSecond);
  EXPECT_EQ(sums.times().cpu, 11);
  EXPECT_EQ(sums.times().wait, 22);
  EXPECT_EQ(sums.times().blocked, 33);
}

// Python's fork server has the command line of the workers below it, and is none itself.
TEST(WorkerSums, WhatStandsBetweenIsNoWorker) {
  WorkerSums sums;
  for (const std::int64_t s : {0, 1}) {
    const std::vector<ProcessReading> all = {Reading(2, 1, kTraining, s, 0), Reading(3, 2, kTraining, s, 500 * s),
                                             Reading(4, 3, kTraining, s, 10 * s)};
    sums.Update(all);
  }
  EXPECT_EQ(sums.times().cpu, 10);
}

TEST(WorkerSums, RanksOfALauncherAndProcessesOfUnknownCommandAreNone) {
  WorkerSums sums;
  for (const std::int64_t s : {0, 1}) {
    const std::vector<ProcessReading> all = {Reading(1, 0, kLauncher, s, 0), Reading(2, 1, kTraining, s, 9 * s),
                                             Reading(3, 1, kTraining, s, 9 * s), Reading(4, 0, 0, s, 0),
                                             Reading(5, 4, 0, s, 9 * s)};
    sums.Update(all);
  }
  EXPECT_EQ(sums.times().alive, 0);
  EXPECT_EQ(sums.times().cpu, 0);
}

TEST(WorkerSums, ANumberThatAnotherProcessHasCountsFromItsFirstReading) {
  WorkerSums sums;
  const auto at = [&](std::int64_t s, std::int64_t cpu) {
    const std::vector<ProcessReading> all = {Reading(2, 1, kTraining, s, 0), Reading(3, 2, kTraining, s, cpu)};
    sums.Update(all);
  };
  at(0, 500);
  at(1, 20);  // another process
  at(1, 20);  // not read again
  at(2, 25);
  EXPECT_EQ(sums.times().alive, kNanosPerSecond);
  EXPECT_EQ(sums.times().cpu, 5);
}

}  // namespace
}  // namespace idleburn
