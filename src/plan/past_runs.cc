#include "plan/past_runs.h"

#include <algorithm>
#include <array>

#include "plan/gpu_rate.h"
#include "plan/token_scale.h"

namespace idleburn {
namespace {

// Shorter stretches say little of a run's speed.
constexpr std::int64_t kShortest = 2 * kNanosPerSecond;

// Keys that say how fast a run should be, and are no part of how it is configured.
constexpr std::array<std::string_view, 3> kOutcomes = {"samples_per_min", "tokens_per_s", "budget_gpu_hours"};

bool IsKey(std::string_view name) {
  const auto keys = PlanKeys();
  return std::any_of(keys.begin(), keys.end(), [&](const PlanKey& key) { return key.name == name; }) &&
         std::find(kOutcomes.begin(), kOutcomes.end(), name) == kOutcomes.end();
}

PlanWords WordsOf(const HistoryRun& run) {
  if (run.forecast) return WordsOfLine(run.forecast->plan);
  PlanWords words;
  for (const auto& [key, value] : run.tags) {
    if (IsKey(key)) words[key] = value;
  }
  const bool named = words.count("gpu") > 0 || run.figures.gpu_models.empty();
  if (!named && RateOf(run.figures.gpu_models)) words["gpu"] = run.figures.gpu_models;
  if (words.count("gpus") == 0 && run.figures.gpus.value_or(0) > 0) words["gpus"] = std::to_string(*run.figures.gpus);
  return words;
}

}  // namespace

std::string PlanLine(const PlanWords& words) {
  std::string line;
  for (const auto& [key, value] : words) {
    if (IsKey(key) && value.find(';') == std::string::npos) line += (line.empty() ? "" : ";") + key + "=" + value;
  }
  return line;
}

PlanWords WordsOfLine(const std::string& line) {
  PlanWords words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(';', at), line.size());
    const std::string word = line.substr(at, end - at);
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string key = word.substr(0, equals);
    if (equals < word.size() && IsKey(key)) words[key] = word.substr(equals + 1);
    at = end + 1;
  }
  return words;
}

std::vector<RunReading> ReadingsOf(const std::vector<HistoryRun>& runs) {
  std::vector<RunReading> readings;
  for (const HistoryRun& run : runs) {
    const RunFigures& f = run.figures;
    const PlanWords words = WordsOf(run);
    const Result<PlannedRun> plan = ReadPlan(words);
    if (!plan || run.state != RunState::kEnded) continue;
    const RunConfig& config = plan->run.run;
    RunReading reading;
    reading.row = plan->run;
    reading.at = run.started;
    const std::optional<double> tokens = TokensOf({f.pace_steps, f.pace_samples, f.pace_tokens, {}}, ScaleOf(config));
    if (tokens && f.pace_ns.value_or(0) >= kShortest) {
      reading.steps = f.pace_steps.value_or(0);
      reading.seconds = static_cast<double>(*f.pace_ns) / 1e9;
      reading.tokens_s = *tokens / reading.seconds / config.gpus;
    }
    if (f.memory_peak) reading.peak_bytes = static_cast<double>(*f.memory_peak);
    if (reading.tokens_s || reading.peak_bytes) readings.push_back(std::move(reading));
  }
  return readings;
}

}  // namespace idleburn
