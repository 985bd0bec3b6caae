#include "cli/plan_output.h"

#include <gtest/gtest.h>

#include "support/documented_keys.h"

namespace idleburn {
namespace {

PlanAnswer Answer(const PlanWords& words) {
  const Result<PlannedRun> plan = ReadPlan(words);
  EXPECT_TRUE(plan) << plan.error().message;
  Result<PlanReport> report = MakePlan(ShippedCalibration(), *plan);
  EXPECT_TRUE(report);
  return {std::move(*report), std::nullopt};
}

// With a price on demand and on spot, and all that is known of spot machines.
PlanAnswer Priced(PlanWords words, const OptionCaps& caps) {
  words["micro_batch"] = "1";
  words["checkpointing"] = "full";
  words["gpu"] = "A100-80GB-SXM";
  PlanAnswer answer = Answer(words);
  const Catalogue catalogue = Catalogue::BuiltIn();
  OptionsQuestion question;
  question.offers = {&ShippedCalibration(), &catalogue, {}, {1}, {}};
  question.caps = caps;
  question.spot.machines = UpAndDown{std::chrono::hours(8), std::chrono::hours(1), {}};
  const SeatHistory seat = {{Nanos(), std::chrono::hours(8), true}};
  question.spot.history = SpotTrace::EndToEnd({"a", std::chrono::hours(20), {seat}});
  question.spot.launch.checkpoint = std::chrono::seconds(30);
  question.offers.machines = question.spot.machines;
  question.spot.missing = {};
  const Result<std::optional<PlanOptions>> options = MakePlanOptions(answer.report, question);
  EXPECT_TRUE(options);
  answer.options = *options;
  return answer;
}

const PlanWords kLarge = {{"model", "llama-3.1-8b"}, {"seq_len", "4096"},         {"micro_batch", "8"},
                          {"gpu", "RTX-4090"},       {"samples", "100000"},       {"epochs", "3"},
                          {"method", "lora"},        {"samples_per_min", "1100"}, {"budget_gpu_hours", "2"}};

TEST(PlanOutputTest, TheVerdictComesFirst) {
  const std::string text = PlanText(Answer(kLarge), 100);
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
  const std::string text = PlanText(Answer({{"model", "llama-2-7b"}, {"seq_len", "512"}}), 100);
  EXPECT_NE(text.find("Throughput: unknown without --gpu"), std::string::npos) << text;
  EXPECT_NE(text.find("Time: unknown without --samples"), std::string::npos) << text;
}

TEST(PlanOutputTest, DocumentAndWriterAgree) {
  PlanAnswer unknown = Priced(kLarge, {});
  unknown.options->spot.missing = {"--uptime 8h"};
  const OptionCaps kept{Hours(1e6), Money::Cents(1'000'000'00), Hours(1e6)};
  const OptionCaps broken{Hours(1e-3), {}, {}};
  const std::vector<std::string> documents = {
      PlanJson(Answer(kLarge)), PlanJson(Answer({{"model", "llama-2-7b"}, {"seq_len", "512"}})), PlanJson(unknown),
      PlanJson(Priced(kLarge, kept)), PlanJson(Priced(kLarge, broken))};
  test::ExpectDocumented("idleburn.plan/1", documents);
}

}  // namespace
}  // namespace idleburn
