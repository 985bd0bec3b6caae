#include "telemetry/run_facts.h"

#include <gtest/gtest.h>

#include <array>

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

TEST(RunIds, OfSeveralRunsOnlyWhatAllTellIsShared) {
  const RunIds one = IdsOf({{"run.id", "aa"}, {"env.PBS_JOBID", "9"}, {"env.WANDB_PROJECT", "bert"}});
  const RunIds other = IdsOf({{"run.id", "bb"}, {"env.PBS_JOBID", "9"}, {"env.MLFLOW_EXPERIMENT_NAME", "bert"}});
  const RunIds none;
  RunIds shared;
  shared.job = "9";
  shared.experiment = "bert";
  shared.named = {{"PBS_JOBID", "9"}};
  shared.not_shared = {"run"};
  EXPECT_EQ(SharedIds(std::array{one, other}), shared);
  EXPECT_EQ(SharedIds(std::array{one, one}), one);
  EXPECT_EQ(SharedIds({}), none);
  EXPECT_EQ(SharedIds(std::array{none, none}), none);
  for (const auto& runs : {std::array{one, none}, std::array{none, one}}) {
    EXPECT_EQ(IdsText(SharedIds(runs)), "");
    EXPECT_EQ(SharedIds(runs).not_shared, (std::set<std::string>{"experiment", "job", "run"}));
  }
}

TEST(RunIds, HeadATextOnlyWhereOneIsKnown) {
  EXPECT_EQ(IdsLine({}), "");
  EXPECT_EQ(TitleAndIds("2 GPUs", {}), "2 GPUs");
  const RunIds ids = IdsOf({{"env.PBS_JOBID", "9\x1b[31m"}});
  EXPECT_EQ(IdsLine(ids), "Ids: job 9?[31m\n");
  EXPECT_EQ(TitleAndIds("2 GPUs", IdsOf({{"env.PBS_JOBID", "9"}})), "2 GPUs; job 9");
}

TEST(RunIds, ASecretInAValueIsLeftOut) {
  const RunIds ids = IdsOf({{"env.SLURM_JOB_NAME", "train --api-key=0123456789abcdef"}});
  EXPECT_EQ(ids.named.at("SLURM_JOB_NAME").find("0123456789abcdef"), std::string::npos);
}

}  // namespace

}  // namespace idleburn
