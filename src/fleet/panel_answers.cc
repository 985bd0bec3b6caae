#include "fleet/panel_answers.h"

#include <algorithm>
#include <array>

#include "fleet/dashboards.h"

namespace idleburn {
namespace {

constexpr std::int64_t kMostPoints = 96;
constexpr std::int64_t kShortestStep = 300;
// A rate needs two scrapes; agents are scraped every 30 s, and every few minutes at least.
constexpr std::int64_t kShortestRate = 600;
constexpr std::size_t kMostLines = 8;

// Sections of the dashboards that closed hours cannot answer.
struct AskedSection {
  DashboardId dashboard;
  std::string_view title;  // empty: all
};
constexpr auto kAskedSections = std::to_array<AskedSection>(
    {{DashboardId::kCluster, "GPU hardware"}, {DashboardId::kCluster, "Hosts"}, {DashboardId::kAgent, ""}});

bool IsAsked(DashboardId dashboard, std::string_view section) {
  return std::any_of(kAskedSections.begin(), kAskedSections.end(), [&](const AskedSection& asked) {
    return asked.dashboard == dashboard && (asked.title.empty() || asked.title == section);
  });
}

void ReplaceAll(std::string_view what, const std::string& with, std::string* text) {
  for (std::size_t at = text->find(what); at != std::string::npos; at = text->find(what, at + with.size())) {
    text->replace(at, what.size(), with);
  }
}

// A legend with its labels: "{{resource}}, {{kind}}" of a series is "cpu, some". A table's legend names its value, so
// the labels name the series.
std::string LineName(const PanelRow& row, const EngineSeries& series) {
  std::string name;
  if (row.kind == PanelKind::kTable) {
    for (const auto& [label, value] : series.labels) name += (name.empty() ? "" : ", ") + value;
    return name;
  }
  name = row.legend;
  for (const auto& [label, value] : series.labels) ReplaceAll("{{" + label + "}}", value, &name);
  return name;
}

PanelLine LineFrom(const PanelRow& row, const EngineSeries& series) {
  PanelLine line;
  line.name = LineName(row, series);
  double sum = 0;
  for (const auto& [second, thousandths] : series.points) {
    const double value = static_cast<double>(thousandths) / 1000;
    line.peak = line.points.empty() ? value : std::max(line.peak, value);
    line.last = value;
    sum += value;
    line.points.emplace_back(second, value);
  }
  line.mean = sum / static_cast<double>(line.points.size());
  return line;
}

}  // namespace

std::string WithoutVariables(std::string query, std::int64_t range_s, std::int64_t rate_s) {
  ReplaceAll("$node", ".*", &query);
  ReplaceAll("$__range", std::to_string(range_s) + "s", &query);
  ReplaceAll("$__rate_interval", std::to_string(rate_s) + "s", &query);
  return query;
}

PanelAnswers AskPanels(Engine& engine, std::int64_t from, std::int64_t to) {
  const std::int64_t step = ((to - from) / kMostPoints / kShortestStep + 1) * kShortestStep;
  const std::int64_t rate = std::max(step, kShortestRate);
  PanelAnswers answers;
  std::string_view section;
  bool late = false;
  for (const PanelRow& row : PanelRows()) {
    if (row.kind == PanelKind::kSection) section = row.title;
    if (row.kind == PanelKind::kSection || !IsAsked(row.dashboard, section)) continue;
    if (late) {
      ++answers.unanswered;
      continue;
    }
    const std::string query = WithoutVariables(DashboardQuery(row), to - from, rate);
    EngineTrouble trouble;
    const bool over_time = row.kind == PanelKind::kTimeSeries || row.kind == PanelKind::kStacked;
    const Result<std::vector<EngineSeries>> series =
        over_time ? engine.Range(query, from, to, step, &trouble) : engine.At(query, to, &trouble);
    if (!series) {
      ++answers.unanswered;
      late = trouble.late;
      continue;
    }
    PanelAnswer answer{&row, section, {}, 0};
    for (const EngineSeries& each : *series) {
      if (!each.points.empty()) answer.lines.push_back(LineFrom(row, each));
    }
    std::stable_sort(answer.lines.begin(), answer.lines.end(),
                     [](const PanelLine& a, const PanelLine& b) { return a.mean > b.mean; });
    answer.more = answer.lines.size() - std::min(answer.lines.size(), kMostLines);
    answer.lines.resize(answer.lines.size() - answer.more);
    if (!answer.lines.empty()) answers.panels.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace idleburn
