#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdio>

#include "plan/calibration.h"
#include "plan/plan_files.h"
#include "plan/plan_words.h"
#include "text/line_reader.h"

namespace idleburn {

// A run gets one answer, whether its words come from flags, a TOML file, a training YAML or a row of a table.

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// Bytes, tokens a second, each with both ends; 0 where nothing is predicted.
std::vector<double> AnswerOf(const RunRow& run) {
  std::vector<double> figures;
  const std::optional<Prediction> both[] = {PredictPeakBytes(ShippedCalibration(), run),
                                            PredictTokensPerSecond(ShippedCalibration(), run)};
  for (const std::optional<Prediction>& one : both) {
    for (double LikelyRange::*part : {&LikelyRange::likely, &LikelyRange::low, &LikelyRange::high}) {
      figures.push_back(one ? (*one).*part : 0);
    }
  }
  return figures;
}

std::vector<double> ByWords(const PlanWords& words) {
  const Result<PlannedRun> plan = ReadPlan(words);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? AnswerOf(plan->run) : std::vector<double>(6, 0);
}

std::vector<double> ByToml(const Pairs& pairs) {
  std::string text;
  for (const auto& [key, value] : pairs) text += key + " = \"" + value + "\"\n";
  const Result<PlanFile> file = ReadPlanToml(text, "run.toml");
  EXPECT_TRUE(file) << file.error().message;
  return ByWords(file->words);
}

std::vector<double> ByTable(const Pairs& pairs) {
  std::string config;
  for (const auto& [key, value] : pairs) config += key + "=" + value + ";";
  StringSource in{"key,quantity,config\na,peak_bytes,\"" + config + "\"\nb,tokens_s_per_gpu,\"" + config + "\"\n",
                  "rows.csv"};
  const Result<PredictedTable> table = PredictTable(in, ShippedCalibration());
  EXPECT_TRUE(table);
  EXPECT_TRUE(table->unknown_columns.empty()) << table->unknown_columns.front();
  EXPECT_TRUE(table->reasons.empty()) << table->reasons.begin()->first;
  std::vector<double> figures(6, 0);
  std::sscanf(table->csv.c_str(), "key,predicted,low,high\na,%lf,%lf,%lf\nb,%lf,%lf,%lf", &figures[0], &figures[1],
              &figures[2], &figures[3], &figures[4], &figures[5]);
  return figures;
}

// The same run as a configuration of axolotl; GPUs come from flags, because such a file names none.
std::vector<double> ByYaml(const Pairs& pairs) {
  const std::map<std::string, std::string> theirs = {{"model", "base_model"},
                                                     {"method", "adapter"},
                                                     {"rank", "lora_r"},
                                                     {"seq_len", "sequence_len"},
                                                     {"micro_batch", "micro_batch_size"},
                                                     {"accumulation", "gradient_accumulation_steps"},
                                                     {"optimizer", "optimizer"}};
  std::string text;
  PlanWords others;
  for (const auto& [key, value] : pairs) {
    const auto name = theirs.find(key);
    if (key == "checkpointing") {
      text += std::string("gradient_checkpointing: ") + (value == "full" ? "true" : "false") + "\n";
    } else if (name == theirs.end()) {
      others[key] = value;
    } else {
      text += name->second + ": " + value + "\n";
    }
  }
  Result<PlanFile> file = ReadTrainingYaml(text, "run.yaml");
  EXPECT_TRUE(file) << file.error().message;
  for (const auto& [key, value] : others) file->words[key] = value;
  return ByWords(file->words);
}

void ExpectSame(const std::vector<double>& one, const std::vector<double>& other) {
  for (std::size_t i = 0; i < one.size(); ++i) RC_ASSERT(std::abs(one[i] - other[i]) <= 1e-5 * std::abs(one[i]));
}

RC_GTEST_PROP(OneAnswer, HoweverARunIsWritten, ()) {
  const auto among = [](const std::vector<std::string>& values) { return *rc::gen::elementOf(values); };
  const bool lora = *rc::gen::arbitrary<bool>();
  Pairs pairs = {{"model", among({"llama-3.1-8b", "mistral-7b", "qwen2.5-14b", "mixtral-8x7b"})},
                 {"method", lora ? among({"lora", "qlora"}) : "full"},
                 {"seq_len", among({"512", "2048", "4096"})},
                 {"micro_batch", among({"1", "2", "8"})},
                 {"gpu", among({"H100-80GB-SXM", "A100-80GB-SXM", "RTX-4090"})},
                 {"gpus", among({"1", "8"})}};
  if (lora) pairs.emplace_back("rank", among({"8", "64"}));
  if (*rc::gen::arbitrary<bool>()) pairs.emplace_back("accumulation", among({"1", "4"}));
  if (*rc::gen::arbitrary<bool>()) pairs.emplace_back("checkpointing", among({"none", "full"}));
  if (*rc::gen::arbitrary<bool>()) pairs.emplace_back("optimizer", among({"adamw", "adamw_8bit", "paged_adamw_8bit"}));
  if (*rc::gen::arbitrary<bool>()) pairs.emplace_back("sharding", among({"none", "zero1", "fsdp", "hybrid"}));
  if (*rc::gen::arbitrary<bool>()) pairs.emplace_back("chunked_loss", among({"yes", "no", "fused"}));
  if (*rc::gen::arbitrary<bool>()) pairs.emplace_back("precision", among({"amp", "bf16", "fp32"}));
  const std::vector<double> flags = ByWords(PlanWords(pairs.begin(), pairs.end()));
  RC_ASSERT(flags[0] > 0);
  ExpectSame(flags, ByToml(pairs));
  ExpectSame(flags, ByTable(pairs));
  ExpectSame(flags, ByYaml(pairs));
}

}  // namespace
}  // namespace idleburn
