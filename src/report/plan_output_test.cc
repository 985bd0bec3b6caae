#include "report/plan_output.h"

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
  PlanPrices prices = PlanPrices::Open(Settings::Load("", {}).value(), {"A100-80GB-SXM", "", "", Instant()}).value();
  OptionsQuestion question;
  question.offers = {&ShippedCalibration(), &prices, {1}, {}};
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

// By two probes of different size, and launched; without `exit 0` what it did was a part.
PlanAnswer Launched(const std::string& exit) {
  PlanWords words = {{"model", "llama-2-7b"}, {"method", "lora"},  {"seq_len", "1024"},
                     {"micro_batch", "4"},    {"gpu", "RTX-4090"}, {"samples", "1000"}};
  std::vector<RunReading> readings;
  for (const char* micro_batch : {"4", "2"}) {
    words["micro_batch"] = micro_batch;
    RunReading reading;
    reading.row = ReadPlan(words)->run;
    reading.at = Instant::FromNanos(1'763'755'200 * kNanosPerSecond);
    reading.steps = 20;
    reading.seconds = readings.empty() ? 20 : 12;
    reading.tokens_s = reading.row.run.micro_batch * 1024 * 20 / reading.seconds;
    reading.peak_bytes = 17 * kGib;
    readings.push_back(std::move(reading));
  }
  words["micro_batch"] = "4";
  const PlannedRun plan = *ReadPlan(words);
  const Evidence evidence = EvidenceOfProbes(ShippedCalibration(), plan, std::move(readings));
  PlanAnswer answer;
  answer.report = *MakePlan(ShippedCalibration(), plan, evidence);
  HistoryRun run;
  run.id = "aa11";
  run.ended = run.started + Nanos(kNanosPerHour);
  run.exit = exit;
  run.figures.memory_peak = 1;
  run.figures.work_unit = "step";
  run.figures.work = 250;
  run.state = RunState::kEnded;
  run.forecast = KeptForecast();
  run.forecast->basis = evidence.text;
  run.forecast->currency = "USD";
  run.forecast->hours = 1;
  run.forecast->hours_low = 0.9;
  run.forecast->hours_high = 1.1;
  run.forecast->tokens = 1024'000;
  run.forecast->tokens_per_step = 4096;
  answer.run = run;
  return answer;
}

// The whole text.
std::string PlanText(const PlanAnswer& answer, int width) { return PageText(PlanPage(answer), width, false); }

const PlanWords kLarge = {{"model", "llama-3.1-8b"}, {"seq_len", "4096"},         {"micro_batch", "8"},
                          {"gpu", "RTX-4090"},       {"samples", "100000"},       {"epochs", "3"},
                          {"method", "lora"},        {"samples_per_min", "1100"}, {"budget_gpu_hours", "2"}};

TEST(PlanOutputTest, TheVerdictComesFirst) {
  const std::string text = PlanText(Answer(kLarge), 100);
  EXPECT_EQ(text.find("llama-3.1-8b needs "), 0U) << text;
  const std::size_t no = text.find("does not fit on RTX-4090");
  const std::size_t change = text.find("Cheapest change that makes it fit: ");
  const std::size_t warning = text.find("Warning 1 of ");
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

// What is recommended may run elsewhere: speed and time say where they are of.
TEST(PlanOutputTest, SpeedAndTimeNameTheirGpu) {
  PlanWords words = kLarge;
  words["samples"] = "1000";
  const std::string text = PlanText(Answer(words), 100);
  EXPECT_NE(text.find("Throughput on RTX-4090 (does not fit): "), std::string::npos) << text;
  EXPECT_NE(text.find("  time  Time on RTX-4090 (does not fit): "), std::string::npos) << text;
  words["gpu"] = "H200";
  words["checkpointing"] = "full";
  words["micro_batch"] = "1";
  EXPECT_NE(PlanText(Answer(words), 100).find("  time  Time on H200-141GB: "), std::string::npos)
      << PlanText(Answer(words), 100);
}

// The catalogue's machine of eight at 12 an hour is 12 for the one GPU that is used.
TEST(PlanOutputTest, AMachineOfWhichOneGpuIsUsedIsSaid) {
  PlanAnswer answer = Priced(kLarge, {});
  PlanOptions& options = *answer.options;
  for (PlanOffer& offer : options.offers) offer.rented_gpus.reset();
  EXPECT_EQ(PlanText(answer, 200).find("-GPU machine, "), std::string::npos);
  PlanOffer& taken = options.offers[options.choice.best.value()];
  taken.rented_gpus = 8;
  const std::string text = PlanText(answer, 200);
  EXPECT_NE(text.find("per used GPU-hour"), std::string::npos) << text;
  EXPECT_NE(text.find("8-GPU machine, 1"), std::string::npos) << text;
  EXPECT_NE(text.find("  1/8  "), std::string::npos) << text;
}

TEST(PlanOutputTest, TheBasisIsPrinted) {
  const std::string text = PlanText(Launched("exit 0"), 200);
  EXPECT_NE(text.find("Basis: probe of 2025-11-21: 20 + 20 steps."), std::string::npos) << text;
  EXPECT_NE(text.find("(90 % interval; probe of 2025-11-21: 20 + 20 steps)"), std::string::npos) << text;
  // Twice the sequences in 1 s instead of 0.6 s: about 0.2 s are there whatever the size, 4096 tokens take 0.8 s.
  EXPECT_NE(text.find("A pass takes 1 s; 20.0 % of it does not depend on its size"), std::string::npos) << text;
  EXPECT_NE(text.find("5,120 tokens/s per GPU"), std::string::npos) << text;
}

TEST(PlanOutputTest, WhatItLeavesBehindIsSaid) {
  const std::string text = PlanText(Answer({{"model", "llama-3.1-8b"}, {"seq_len", "512"}}), 100);
  EXPECT_NE(text.find("128 KiB of keys and values per token: 1 GiB for a sequence of 8192"), std::string::npos) << text;
}

TEST(PlanOutputTest, DocumentAndWriterAgree) {
  PlanAnswer unknown = Priced(kLarge, {});
  unknown.options->spot.missing = {"--uptime 8h"};
  const OptionCaps kept{Hours(1e6), Money::Cents(1'000'000'00), Hours(1e6)};
  const OptionCaps broken{Hours(1e-3), {}, {}};
  const std::vector<std::string> documents = {PlanJson(Answer(kLarge)),
                                              PlanJson(Answer({{"model", "llama-2-7b"}, {"seq_len", "512"}})),
                                              PlanJson(unknown),
                                              PlanJson(Priced(kLarge, kept)),
                                              PlanJson(Priced(kLarge, broken)),
                                              PlanJson(Launched("exit 0")),
                                              PlanJson(Launched("exit 1")),
                                              PlanJson(Answer({{"measured", "512=182ms+-6ms/20,4096=0.911s"},
                                                               {"seq_len", "2048"},
                                                               {"samples", "1000000"},
                                                               {"gpus", "8"}}))};
  test::ExpectDocumented("idleburn.plan/1", documents);
}

}  // namespace
}  // namespace idleburn
