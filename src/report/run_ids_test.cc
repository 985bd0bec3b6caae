#include "report/run_ids.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

TEST(RunIds, OfSeveralNamesTheFirstCounts) {
  const RunIds ids = IdsOf({{"run.id", "0f3a"},
                            {"env.POD_NAME", "trainer-0"},
                            {"env.SLURM_JOB_ID", "4711"},
                            {"env.WANDB_PROJECT", "bert"},
                            {"env.RANK", "3"}});
  EXPECT_EQ(ids.run, "0f3a");
  EXPECT_EQ(ids.job, "4711");
  EXPECT_EQ(ids.experiment, "bert");
  EXPECT_EQ(ids.named.size(), 3U);
  EXPECT_EQ(IdsText(ids), "run 0f3a, job 4711, experiment bert");
}

TEST(RunIds, WhatNobodyToldIsEmpty) {
  EXPECT_EQ(IdsText(IdsOf({{"host", "node1"}})), "");
  EXPECT_EQ(IdsText(IdsOf({{"env.PBS_JOBID", "9.srv"}})), "job 9.srv");
}

}  // namespace
}  // namespace idleburn
