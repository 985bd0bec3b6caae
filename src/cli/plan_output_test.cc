#include "cli/plan_output.h"

#include <gtest/gtest.h>

#include "support/documented_keys.h"

namespace idleburn {
namespace {

PlanReport Report(const PlanWords& words) {
  const Result<PlannedRun> plan = ReadPlan(words);
  EXPECT_TRUE(plan) << plan.error().message;
  Result<PlanReport> report = MakePlan(ShippedCalibration(), *plan);
  EXPECT_TRUE(report);
  return std::move(*report);
}

const PlanWords kLarge = {{"model", "llama-3.1-8b"}, {"seq_len", "4096"},         {"micro_batch", "8"},
                          {"gpu", "RTX-4090"},       {"samples", "100000"},       {"epochs", "3"},
                          {"method", "lora"},        {"samples_per_min", "1100"}, {"budget_gpu_hours", "2"}};

TEST(PlanOutputTest, TheVerdictComesFirst) {
  const std::string text = PlanText(Report(kLarge), 100);
  EXPECT_EQ(text.find("llama-3.1-8b: "), 0U) << text;
  const std::size_t no = text.find("It does not fit on RTX-4090");
  const std::size_t change = text.find("Cheapest change that makes it fit: ");
  const std::size_t warning = text.find("Warning: ");
  const std::size_t table = text.find("Memory of one GPU");
  EXPECT_LT(no, change);
  EXPECT_LT(change, warning);
  EXPECT_LT(warning, table);
  EXPECT_LT(table, std::string::npos) << text;
}

TEST(PlanOutputTest, WhatIsNotKnownIsSaid) {
  const std::string text = PlanText(Report({{"model", "llama-2-7b"}, {"seq_len", "512"}}), 100);
  EXPECT_NE(text.find("Throughput: unknown without --gpu"), std::string::npos) << text;
  EXPECT_NE(text.find("Time: unknown without --samples"), std::string::npos) << text;
}

TEST(PlanOutputTest, DocumentAndWriterAgree) {
  const std::vector<std::string> documents = {PlanJson(Report(kLarge)),
                                              PlanJson(Report({{"model", "llama-2-7b"}, {"seq_len", "512"}}))};
  test::ExpectDocumented("idleburn.plan/1", documents);
}

}  // namespace
}  // namespace idleburn
