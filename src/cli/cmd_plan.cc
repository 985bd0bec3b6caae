#include "cli/cmd_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/flags.h"
#include "cli/plan_output.h"
#include "cli/say.h"
#include "cli/spare_inputs.h"
#include "os/input_file.h"
#include "plan/plan_files.h"
#include "plan/predict_table.h"

namespace idleburn {
namespace {

constexpr std::size_t kMostReasons = 5;  // printed of a table's rows that could not be predicted

// The flags as they were written.
struct PlanRequest {
  std::string spec;
  std::string config;
  std::string predict;
  std::string format = "text";
  std::string output;
  std::map<std::string, std::string> words;  // by key of the plan
};

std::string FlagOf(std::string_view key) {
  std::string flag = "--" + std::string(key);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::vector<Flag> FlagsFor(PlanRequest& request) {
  std::vector<Flag> flags = {
      {"spec", "SPEC", "a plan in TOML, a training YAML, or a model's config.json", &request.spec},
      {"--config-json", "FILE", "a model's config.json, beside a SPEC that names none", &request.config},
      {"--predict", "FILE.csv", "predict every row of a table of configurations", &request.predict},
      {"--format", "text|json", "how to print it", &request.format},
      {"--output", "FILE", "write there instead of the terminal", &request.output}};
  for (const PlanKey& key : PlanKeys()) {
    flags.push_back(
        {FlagOf(key.name), std::string(key.value), std::string(key.help), &request.words[std::string(key.name)]});
  }
  return flags;
}

// What --predict says of itself, on standard error: the table goes to standard output.
void TellPredicted(const PredictedTable& table) {
  std::string nearness;
  for (const auto& [name, count] : table.nearness) {
    nearness += fmt::format("{}{} by {}", nearness.empty() ? "" : ", ", count, name);
  }
  Say(fmt::format("predicted {} of {} rows{}", table.predicted, table.rows,
                  nearness.empty() ? "" : " (" + nearness + ")"));
  std::size_t shown = 0;
  for (const auto& [reason, count] : table.reasons) {
    if (++shown > kMostReasons) {
      Say(fmt::format("and {} other reasons", table.reasons.size() - kMostReasons));
      break;
    }
    Say(fmt::format("{} rows left empty: {}", count, reason));
  }
  std::string unknown;
  for (const std::string& column : table.unknown_columns) unknown += (unknown.empty() ? "" : ", ") + column;
  if (!unknown.empty()) Say("columns not used: " + unknown);
}

Result<int> Predict(const PlanRequest& request) {
  Result<std::unique_ptr<ByteSource>> in = OpenInput(request.predict);
  if (!in) return tl::unexpected<Error>(in.error());
  const Result<PredictedTable> table = PredictTable(**in, ShippedCalibration());
  if (!table) return Fail("plan: " + table.error().message);
  TRY(WriteOutput(request.output, table->csv));
  TellPredicted(*table);
  return 0;
}

// The words of the files, with the flags laid over them.
Result<PlanWords> WordsOf(const PlanRequest& request) {
  PlanWords words;
  for (const std::string& path : {request.config, request.spec}) {
    if (path.empty()) continue;
    Result<std::unique_ptr<ByteSource>> in = OpenInput(path);
    if (!in) return tl::unexpected<Error>(in.error());
    Result<PlanFile> file = ReadPlanFile(**in, path);
    if (!file) return tl::unexpected<Error>(file.error());
    for (auto& [key, value] : file->words) words[key] = std::move(value);
    std::string unknown;
    for (const std::string& key : file->unused) unknown += (unknown.empty() ? "" : ", ") + key;
    if (!unknown.empty()) Say(path + ": keys not used: " + unknown);
  }
  for (const auto& [key, value] : request.words) {
    if (!value.empty()) words[key] = value;
  }
  return words;
}

}  // namespace

Result<int> RunPlan(const std::vector<std::string>& arguments, const Environment& environment) {
  PlanRequest request;
  std::string help;
  TRY(ReadFlags("plan", "What a training run needs in memory and time, before it is started.", FlagsFor(request),
                arguments, &help));
  if (!help.empty()) {
    TRY(Print(help));
    return 0;
  }
  if (request.format != "text" && request.format != "json") {
    return FailUsage("plan: --format '" + request.format.substr(0, 20) + "' is none of text, json");
  }
  TRY(SpareInputs(request.output, {request.config, request.spec, request.predict}));
  if (!request.predict.empty()) return Predict(request);
  const Result<PlanWords> words = WordsOf(request);
  if (!words) return tl::unexpected<Error>(Error{"plan: " + words.error().message, words.error().kind});
  const Result<PlannedRun> plan = ReadPlan(*words);
  if (!plan) return tl::unexpected<Error>(Error{"plan: " + plan.error().message, plan.error().kind});
  const Result<PlanReport> report = MakePlan(ShippedCalibration(), *plan);
  if (!report) return tl::unexpected<Error>(report.error());
  const int width = environment.terminal_out ? std::max(environment.columns, 60) : 100;
  TRY(WriteOutput(request.output, request.format == "json" ? PlanJson(*report) : PlanText(*report, width)));
  return 0;
}

}  // namespace idleburn
