#include "measure/experiment.h"

#include <gtest/gtest.h>

#include <map>
#include <regex>

namespace idleburn {
namespace {

std::map<std::string, std::string> FactsOf(const std::map<std::string, std::string>& environment) {
  std::map<std::string, std::string> facts;
  for (const RunFact& fact : ExperimentFacts([&](std::string_view name) -> std::optional<std::string> {
         const auto at = environment.find(std::string(name));
         return at == environment.end() ? std::nullopt : std::optional(at->second);
       })) {
    facts[fact.key] = fact.value;
  }
  return facts;
}

using Facts = std::map<std::string, std::string>;

TEST(Experiment, OnlyListedNamesAreKept) {
  EXPECT_EQ(FactsOf({{"SLURM_JOB_ID", "77"},
                     {"RANK", "0"},
                     {"CUDA_VISIBLE_DEVICES", "2,3"},
                     {"WANDB_API_KEY", "secret"},
                     {"AWS_SECRET_ACCESS_KEY", "secret"},
                     {"HOME", "/x"},
                     {"MLFLOW_RUN_ID", ""}}),
            (Facts{{"env.SLURM_JOB_ID", "77"}, {"env.RANK", "0"}, {"env.CUDA_VISIBLE_DEVICES", "2,3"}}));
}

TEST(Experiment, NoNameOnTheListSoundsSecret) {
  const std::regex secret("key|token|secret|passw|cred|auth|cookie|dsn", std::regex::icase);
  std::size_t asked = 0;
  ExperimentFacts([&](std::string_view name) -> std::optional<std::string> {
    EXPECT_FALSE(std::regex_search(std::string(name), secret)) << name;
    EXPECT_FALSE(name.empty());
    ++asked;
    return std::nullopt;
  });
  EXPECT_GT(asked, 50U);
}

TEST(Experiment, OfAddressesOnlyTheHostRemains) {
  EXPECT_EQ(FactsOf({{"MLFLOW_TRACKING_URI", "https://ann:word@mlflow.example.org:5000/a?token=1"}}),
            (Facts{{"env.MLFLOW_TRACKING_URI", "mlflow.example.org:5000"}}));
  EXPECT_EQ(FactsOf({{"MLFLOW_TRACKING_URI", "https://host?x=ann:word@other"}}),
            (Facts{{"env.MLFLOW_TRACKING_URI", "host"}}));
  EXPECT_EQ(FactsOf({{"MLFLOW_TRACKING_URI", "/data/mlruns"}}), Facts{});
}

TEST(Experiment, ValuesAreShortAndPrintable) {
  const Facts facts = FactsOf({{"WANDB_NAME", "a\x1b[31m\nb\x7f" + std::string(1000, 'x')}});
  const std::string& name = facts.at("env.WANDB_NAME");
  EXPECT_EQ(name.size(), 256U);
  EXPECT_EQ(name.substr(0, 9), "a?[31m?b?");
}

}  // namespace
}  // namespace idleburn
