#include "plan/probed_row.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "plan/plan_words.h"
#include "text/number.h"

namespace idleburn {

// The size of a step is the tokens of it, as far as the row tells them. A number that all probes and the row share
// drops out of the line, so whatever is not said counts as 1.

namespace {

constexpr std::string_view kProbePrefix = "probe";
// Numbers whose product is the size of a step.
constexpr auto kSizeFactors = std::to_array<std::string_view>({"seq_len", "micro_batch", "grad_accum"});
// The same with the whole batch in one number.
constexpr auto kGlobalFactors = std::to_array<std::string_view>({"seq_len", "global_batch"});
constexpr std::string_view kTokensOfAStep = "tokens";
constexpr auto kSecondsColumns =
    std::to_array<std::string_view>({"s_per_iter", "s_per_step", "step_s", "step_time_s", "seconds", "time_s", "s"});
constexpr auto kTimeColumns = std::to_array<std::string_view>({"step_time", "time", "step"});  // with a unit
constexpr std::string_view kRateColumn = "tokens_s_per_gpu";

// The number of the probe and what its column says: "probe2_seq_len" is 2 and seq_len.
struct ProbeColumn {
  int number = 0;
  std::string_view says;
};

std::optional<ProbeColumn> ProbeColumnOf(std::string_view column) {
  if (!column.starts_with(kProbePrefix)) return std::nullopt;
  column.remove_prefix(kProbePrefix.size());
  if (column.size() < 3 || std::isdigit(static_cast<unsigned char>(column[0])) == 0 || column[1] != '_') {
    return std::nullopt;
  }
  return ProbeColumn{column[0] - '0', column.substr(2)};
}

// The name that a probe's column has for us.
std::string ProbeSays(std::string_view says) {
  if (says == "step_tokens" || says == "size") return std::string(kTokensOfAStep);
  const auto names = SynonymsOf(says);
  const std::string_view name = names.empty() ? says : names.front();
  return std::string(name == "global_batch_tokens" ? kTokensOfAStep : name);
}

// The probes of a row, by number.
using Probes = std::map<int, TableCells>;

Probes ProbesIn(const TableCells& cells) {
  Probes probes;
  for (const auto& [column, value] : cells) {
    const std::optional<ProbeColumn> probe = ProbeColumnOf(column);
    if (probe && !value.empty()) probes[probe->number][ProbeSays(probe->says)] = value;
  }
  return probes;
}

// The cell of a name or of another name for it; empty if there is none.
std::string CellNamed(const TableCells& cells, std::string_view name) {
  for (const std::string_view other : SynonymsOf(name)) {
    const auto found = cells.find(other);
    if (found != cells.end() && !found->second.empty()) return found->second;
  }
  const auto found = cells.find(name);
  return found == cells.end() ? std::string() : found->second;
}

// The size of a step: of the probe where it says a number, else of the row.
Result<double> SizeOf(const TableCells& row, const TableCells& probe, std::span<const std::string_view> factors) {
  double size = 1;
  for (const std::string_view factor : factors) {
    const std::string own = CellNamed(probe, factor);
    const std::string text = own.empty() ? CellNamed(row, factor) : own;
    if (!text.empty()) size *= TRY(ParseCount(factor, text));
  }
  return size;
}

// The time of a probe. A rate is turned into the time of the probe's tokens; absent is how many those are.
Result<MeasuredStep> TimeOf(const TableCells& probe, const std::optional<double>& tokens) {
  for (const std::string_view column : kSecondsColumns) {
    if (const std::string text = CellNamed(probe, column); !text.empty()) return ReadStepTime(text + "s");
  }
  for (const std::string_view column : kTimeColumns) {
    if (const std::string text = CellNamed(probe, column); !text.empty()) return ReadStepTime(text);
  }
  const std::string rate = CellNamed(probe, kRateColumn);
  if (rate.empty()) return Fail("a probe has no time; give probe1_s_per_iter and probe2_s_per_iter");
  if (!tokens) return Fail("the rate of a probe needs its tokens; give its seq_len and micro_batch");
  MeasuredStep step;
  step.seconds = *tokens / TRY(ParseCount(kRateColumn, rate));
  return step;
}

// The numbers that make up the size, where every number that a probe says is also known of the row.
Result<std::span<const std::string_view>> FactorsOf(const TableCells& row, const Probes& probes) {
  const auto said = [&](std::string_view name) {
    return std::any_of(probes.begin(), probes.end(),
                       [&](const auto& probe) { return !CellNamed(probe.second, name).empty(); });
  };
  if (said(kTokensOfAStep)) return std::span<const std::string_view>(&kTokensOfAStep, 1);
  std::span<const std::string_view> factors = kSizeFactors;
  if (said("global_batch")) factors = kGlobalFactors;
  for (const std::string_view factor : factors) {
    if (said(factor) && CellNamed(row, factor).empty()) {
      return Fail("the probes have a " + std::string(factor) + ", but the row has none");
    }
  }
  return factors;
}

}  // namespace

bool IsProbeColumn(std::string_view column) { return ProbeColumnOf(column).has_value(); }

Result<double> TokensOfStep(const TableCells& cells) {
  const bool global = CellNamed(cells, "micro_batch").empty();
  const bool gpus = !CellNamed(cells, "n_gpus").empty() && !CellNamed(cells, "global_batch").empty();
  if (CellNamed(cells, "seq_len").empty() || (global && !gpus)) {
    return Fail("the tokens of a step are not known; give seq_len and micro_batch");
  }
  if (!global) return SizeOf(cells, {}, kSizeFactors);
  return TRY(SizeOf(cells, {}, kGlobalFactors)) / TRY(ParseCount("n_gpus", CellNamed(cells, "n_gpus")));
}

Result<std::optional<LikelyRange>> ProbedStep(const TableCells& cells) {
  const Probes probes = ProbesIn(cells);
  if (probes.empty()) return std::nullopt;
  const std::span<const std::string_view> factors = TRY(FactorsOf(cells, probes));
  TableCells row = cells;
  if (factors.front() == kTokensOfAStep && CellNamed(cells, kTokensOfAStep).empty()) {
    const std::string batch = CellNamed(cells, "global_batch_tokens");
    row[std::string(kTokensOfAStep)] = batch.empty() ? std::to_string(TRY(TokensOfStep(cells))) : batch;
  }
  std::vector<MeasuredStep> steps;
  for (const auto& [number, probe] : probes) {
    const double size = TRY(SizeOf(row, probe, factors));
    TableCells whole = row;
    for (const auto& [name, value] : probe) whole[name] = value;
    const Result<double> tokens = TokensOfStep(whole);
    steps.push_back(TRY(TimeOf(probe, tokens ? std::optional(*tokens) : std::nullopt)));
    steps.back().size = size;
  }
  const StepLine line = TRY(FitSteps(std::move(steps)));
  return StepSecondsAt(line, TRY(SizeOf(row, {}, factors)));
}

}  // namespace idleburn
