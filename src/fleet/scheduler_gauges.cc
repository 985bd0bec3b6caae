#include "fleet/scheduler_gauges.h"

#include <algorithm>

namespace idleburn {
namespace {

constexpr std::string_view kExported = "exported_";

// Series of one answer, by their labels. At equal steps the larger count stays.
using SeriesByLabels = std::map<std::map<std::string, std::string, std::less<>>, std::map<std::size_t, std::int64_t>>;

std::string ExpressionFor(const StepQuestion& question) {
  std::string by;
  for (const std::string_view label : question.labels) {
    by += (by.empty() ? "" : ", ") + std::string(label) + ", " + std::string(kExported) + std::string(label);
  }
  return "max by (" + by + ") (" + question.selector + (question.condition.empty() ? "" : " " + question.condition) +
         ")";
}

void MergeSteps(const std::vector<EngineSeries>& answer, const StepQuestion& question, const AllocationSteps& window,
                RenamedLabels* renamed, SeriesByLabels* all) {
  for (const EngineSeries& series : answer) {
    for (const auto& [label, value] : series.labels) {
      if (label.starts_with(kExported)) renamed->insert(label.substr(kExported.size()));
    }
  }
  for (const EngineSeries& series : answer) {
    std::map<std::string, std::string, std::less<>> labels;
    for (const std::string_view label : question.labels) {
      const bool other = renamed->find(label) != renamed->end();
      const std::string_view value = series.Label(std::string(other ? kExported : "") + std::string(label));
      if (!value.empty()) labels.emplace(label, value);
    }
    std::map<std::size_t, std::int64_t>& counts = (*all)[std::move(labels)];
    for (const auto& [second, thousandths] : series.points) {
      const auto step = static_cast<std::size_t>((second - window.from) / window.step);
      std::int64_t& count = counts[step];
      count = std::max(count, thousandths / 1000);
    }
  }
}

// Reads steps in parts that the engine can answer.
class StepReader {
 public:
  StepReader(Engine& engine, const StepQuestion& question, const AllocationSteps& window, RenamedLabels* renamed,
             std::vector<MissingSteps>* missing)
      : engine_(engine), question_(question), window_(window), renamed_(renamed), missing_(*missing) {}

  Result<void> Read(std::size_t first, std::size_t last) {
    if (first >= last) return {};
    const std::int64_t begin = At(first);
    EngineTrouble trouble;
    const auto answer = engine_.Range(ExpressionFor(question_), begin, At(last - 1), window_.step, &trouble);
    if (answer) {
      MergeSteps(*answer, question_, window_, renamed_, &all_);
      return {};
    }
    if (!trouble.too_much) return tl::unexpected<Error>(answer.error());
    if (last - first == 1) {
      const std::int64_t from = begin - window_.step / 2;
      if (!missing_.empty() && missing_.back().selector == question_.selector && missing_.back().to == from) {
        missing_.back().to += window_.step;
      } else {
        missing_.push_back({question_.selector, from, from + window_.step});
      }
      return {};
    }
    const std::size_t half = first + (last - first) / 2;
    TRY(Read(first, half));
    return Read(half, last);
  }

  std::vector<StepSeries> Take() {
    std::vector<StepSeries> series;
    for (const auto& [labels, counts] : all_) series.push_back({labels, {counts.begin(), counts.end()}});
    return series;
  }

 private:
  [[nodiscard]] std::int64_t At(std::size_t step) const {
    return window_.from + static_cast<std::int64_t>(step) * window_.step + window_.step / 2;
  }

  Engine& engine_;
  const StepQuestion& question_;
  const AllocationSteps& window_;
  RenamedLabels* renamed_;
  std::vector<MissingSteps>& missing_;
  SeriesByLabels all_;
};

}  // namespace

std::string StepSeries::Label(std::string_view name) const {
  const auto found = labels.find(name);
  return found == labels.end() ? std::string() : found->second;
}

Result<std::vector<StepSeries>> ReadSteps(Engine& engine, const StepQuestion& question, const AllocationSteps& window,
                                          std::pair<std::size_t, std::size_t> steps, RenamedLabels* renamed,
                                          std::vector<MissingSteps>* missing) {
  StepReader reader(engine, question, window, renamed, missing);
  TRY(reader.Read(steps.first, steps.second));
  return reader.Take();
}

}  // namespace idleburn
