#include "fleet/dashboards.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "fleet/dashboard_panels.h"

namespace idleburn {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kTag = "idleburn";
constexpr int kGridColumns = 24;
constexpr std::string_view kEstimateNote =
    "An estimate: rates times the newest price. Bills come from idleburn fleet, which reads closed hours.";

// A template variable: its name and the query that lists its values.
struct VariableRow {
  std::string_view name;
  std::string_view label;
  std::string_view query;
};
constexpr VariableRow kNodeVariable = {"node", "Node", "label_values(idleburn_gpu_phase_seconds_total, node)"};
constexpr VariableRow kTeamVariable = {"team", "Team", "label_values(idleburn_owner_phase_closed_seconds_total, team)"};
constexpr VariableRow kClusterVariable = {"cluster", "Cluster",
                                          "label_values(idleburn_job_phase_seconds_total, cluster)"};
constexpr VariableRow kJobVariable = {
    "job", "Job", R"(label_values(idleburn_job_phase_seconds_total{cluster=~"$cluster", team=~"$team"}, job))"};

struct DashboardRow {
  DashboardId id;
  std::string_view name;  // of the file and of the address in Grafana
  std::string_view title;
  std::string_view about;
  std::array<const VariableRow*, 4> variables;  // nullptr: no more
};
constexpr std::array<DashboardRow, 5> kDashboards = {{
    {DashboardId::kCluster,
     "idleburn-cluster",
     "GPU cluster",
     "What all GPUs did, and why not more.",
     {&kNodeVariable}},
    {DashboardId::kTeam,
     "idleburn-team",
     "GPU teams",
     "Which team holds GPUs, and how much of them is idle.",
     {&kNodeVariable, &kTeamVariable}},
    {DashboardId::kJob,
     "idleburn-job",
     "GPU jobs",
     "What the GPUs of a job did, and how its nodes were.",
     {&kNodeVariable, &kClusterVariable, &kTeamVariable, &kJobVariable}},
    {DashboardId::kCost,
     "idleburn-cost",
     "GPU cost (estimate)",
     "What GPUs cost now, and what idle time costs. All amounts are estimates. Bills come from idleburn fleet.",
     {&kNodeVariable, &kTeamVariable}},
    {DashboardId::kAgent,
     "idleburn-agent",
     "GPU agents",
     "Whether the agents work, and whether their counters can be trusted.",
     {&kNodeVariable}},
}};

// How Grafana names a unit. "suffix:" makes a unit that Grafana does not scale.
std::string_view GrafanaUnit(PanelUnit unit) {
  switch (unit) {
    case PanelUnit::kCount:
    case PanelUnit::kGpus:
    case PanelUnit::kMoney:
      return "none";
    case PanelUnit::kShare:
      return "percentunit";
    case PanelUnit::kGpuHours:
      return "suffix: GPU-h";
    case PanelUnit::kSeconds:
      return "s";
    case PanelUnit::kBytes:
      return "bytes";
    case PanelUnit::kBytesPerSecond:
      return "Bps";
    case PanelUnit::kWatts:
      return "watt";
    case PanelUnit::kJoules:
      return "joule";
    case PanelUnit::kCelsius:
      return "celsius";
  }
  return "none";
}

// One color for each phase on every dashboard. Time without data is grey, never the color of idle time.
struct PhaseColor {
  std::string_view phase;
  std::string_view color;
};
constexpr std::array<PhaseColor, 5> kPhaseColors = {{{"idle", "red"},
                                                     {"underutilized", "orange"},
                                                     {"productive", "green"},
                                                     {"compute_bound", "blue"},
                                                     {"unobserved", "#808080"}}};

bool IsTimeLine(PanelKind kind) { return kind == PanelKind::kTimeSeries || kind == PanelKind::kStacked; }

std::string_view GrafanaType(PanelKind kind) {
  if (IsTimeLine(kind)) return "timeseries";
  if (kind == PanelKind::kStat) return "stat";
  return kind == PanelKind::kTable ? "table" : "bargauge";
}

int HeightOf(PanelKind kind) {
  if (kind == PanelKind::kSection) return 1;
  return kind == PanelKind::kStat ? 4 : 8;
}

ordered_json DataSource() { return {{"type", "prometheus"}, {"uid", "${datasource}"}}; }

// The labels by which an agent tells its counters apart. Two engines that scrape one agent differ in other labels.
// A label that a counter lacks changes nothing.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kCounterLabels = {{
    {"idleburn_gpu_", "node, uuid, phase, memory, decile, reason, direction, source"},
    {"idleburn_job_", "node, cluster, job, user, team, experiment, phase"},
    {"idleburn_host_", "node, resource, kind, mode, device, direction"},
    {"idleburn_", "node, source"},
}};

// The labels of the counter of a rate; empty for owners, whose rows name them by themselves.
std::string_view CounterLabels(std::string_view metric) {
  if (metric.starts_with("idleburn_owner_")) return {};
  for (const auto& [begin, labels] : kCounterLabels) {
    if (metric.starts_with(begin)) return labels;
  }
  return {};
}

// A panel and the further queries that follow it in the table.
using Queries = std::span<const PanelRow>;

std::string RefId(std::size_t i) { return std::string(1, static_cast<char>('A' + i)); }

ordered_json Targets(Queries queries) {
  ordered_json targets = ordered_json::array();
  const PanelKind kind = queries.front().kind;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    targets.push_back({{"refId", RefId(i)},
                       {"datasource", DataSource()},
                       {"editorMode", "code"},
                       {"expr", DashboardQuery(queries[i])},
                       {"format", kind == PanelKind::kTable ? "table" : "time_series"},
                       {"instant", !IsTimeLine(kind)},
                       {"range", IsTimeLine(kind)},
                       {"legendFormat", queries[i].legend}});
  }
  return targets;
}

// A value's property that holds only for the fields of that name, or for names that match a pattern.
ordered_json Override(std::string_view matcher, std::string_view name, std::string_view property, ordered_json value) {
  return {{"matcher", {{"id", matcher}, {"options", name}}},
          {"properties", ordered_json::array({{{"id", property}, {"value", std::move(value)}}})}};
}

ordered_json FieldConfigOf(Queries queries) {
  const PanelRow& first = queries.front();
  ordered_json defaults = {{"unit", GrafanaUnit(first.unit)}};
  if (first.unit == PanelUnit::kMoney || first.unit == PanelUnit::kGpuHours) defaults["decimals"] = 2;
  if (first.unit == PanelUnit::kShare) defaults["decimals"] = 1;
  if (first.unit == PanelUnit::kGpus) defaults["decimals"] = 1;
  defaults["noValue"] = "no data";
  defaults["color"] = {{"mode", IsTimeLine(first.kind) ? "palette-classic" : "fixed"}};
  if (!IsTimeLine(first.kind)) defaults["color"]["fixedColor"] = "text";
  if (IsTimeLine(first.kind)) {
    const bool stacked = first.kind == PanelKind::kStacked;
    if (first.unit != PanelUnit::kSeconds) defaults["min"] = 0;  // a clock offset may be negative
    defaults["custom"] = {{"lineWidth", 1},
                          {"fillOpacity", stacked ? 60 : 0},
                          {"showPoints", "never"},
                          {"stacking", {{"group", "A"}, {"mode", stacked ? "normal" : "none"}}}};
  }
  ordered_json overrides = ordered_json::array();
  if (first.kind == PanelKind::kTable) {
    for (const PanelRow& query : queries)
      overrides.push_back(Override("byName", query.legend, "unit", GrafanaUnit(query.unit)));
  }
  if (first.legend.find("{{phase}}") != std::string_view::npos) {
    for (const auto& [phase, color] : kPhaseColors) {
      overrides.push_back(
          Override("byRegexp", "/^" + std::string(phase) + "/", "color", {{"mode", "fixed"}, {"fixedColor", color}}));
    }
  }
  return {{"defaults", std::move(defaults)}, {"overrides", std::move(overrides)}};
}

ordered_json LastValue() {
  return {{"calcs", ordered_json::array({"lastNotNull"})}, {"fields", ""}, {"values", false}};
}

ordered_json OptionsOf(const PanelRow& panel) {
  if (IsTimeLine(panel.kind)) {
    return {
        {"legend",
         {{"displayMode", "list"}, {"placement", "bottom"}, {"showLegend", true}, {"calcs", ordered_json::array()}}},
        {"tooltip", {{"mode", "multi"}, {"sort", "desc"}}}};
  }
  if (panel.kind == PanelKind::kStat) {
    return {{"reduceOptions", LastValue()}, {"orientation", "auto"}, {"colorMode", "value"}, {"graphMode", "none"},
            {"justifyMode", "auto"},        {"textMode", "auto"},    {"wideLayout", true}};
  }
  if (panel.kind == PanelKind::kTable) {
    return {{"showHeader", true},
            {"cellHeight", "sm"},
            {"sortBy", ordered_json::array({{{"displayName", panel.legend}, {"desc", true}}})}};
  }
  return {
      {"reduceOptions", LastValue()}, {"orientation", "horizontal"}, {"displayMode", "basic"}, {"showUnfilled", true},
      {"valueMode", "text"},          {"namePlacement", "auto"},     {"sizing", "auto"}};
}

// The queries of a table become columns of one table, named by their legends.
ordered_json Transformations(Queries queries) {
  ordered_json names = ordered_json::object();
  for (std::size_t i = 0; i < queries.size(); ++i)
    names[queries.size() == 1 ? "Value" : "Value #" + RefId(i)] = queries[i].legend;
  return ordered_json::array(
      {{{"id", "merge"}, {"options", ordered_json::object()}},
       {{"id", "organize"}, {"options", {{"excludeByName", {{"Time", true}}}, {"renameByName", std::move(names)}}}}});
}

ordered_json PanelJson(Queries queries, int id, ordered_json place) {
  const PanelRow& row = queries.front();
  ordered_json panel = {{"id", id}, {"title", row.title}, {"gridPos", std::move(place)}};
  if (row.kind == PanelKind::kSection) {
    panel["type"] = "row";
    panel["collapsed"] = false;
    panel["panels"] = ordered_json::array();
    return panel;
  }
  panel["type"] = GrafanaType(row.kind);
  std::string about(row.about);
  if (row.unit == PanelUnit::kMoney) about += (about.empty() ? "" : " ") + std::string(kEstimateNote);
  if (!about.empty()) panel["description"] = about;
  panel["datasource"] = DataSource();
  panel["targets"] = Targets(queries);
  panel["fieldConfig"] = FieldConfigOf(queries);
  panel["options"] = OptionsOf(row);
  if (row.kind == PanelKind::kTable) panel["transformations"] = Transformations(queries);
  return panel;
}

// Puts panels from left to right. A panel that does not fit its line starts the next one.
class PanelGrid {
 public:
  ordered_json Place(const PanelRow& row) {
    const int width = row.kind == PanelKind::kSection ? kGridColumns : row.width;
    const int height = HeightOf(row.kind);
    if (x_ + width > kGridColumns) NextLine();
    ordered_json place = {{"x", x_}, {"y", y_}, {"w", width}, {"h", height}};
    x_ += width;
    line_height_ = std::max(line_height_, height);
    return place;
  }

 private:
  void NextLine() {
    x_ = 0;
    y_ += std::exchange(line_height_, 0);
  }
  int x_ = 0;
  int y_ = 0;
  int line_height_ = 0;
};

ordered_json Panels(DashboardId dashboard) {
  ordered_json panels = ordered_json::array();
  PanelGrid grid;
  int id = 0;
  const std::span<const PanelRow> rows = PanelRows();
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t end = i + 1;
    while (end < rows.size() && rows[end].kind == PanelKind::kMore) ++end;
    if (rows[i].dashboard == dashboard)
      panels.push_back(PanelJson(rows.subspan(i, end - i), ++id, grid.Place(rows[i])));
    i = end;
  }
  return panels;
}

ordered_json Variables(const DashboardRow& dashboard) {
  ordered_json list = ordered_json::array({{{"type", "datasource"},
                                            {"name", "datasource"},
                                            {"label", "Data source"},
                                            {"query", "prometheus"},
                                            {"refresh", 1},
                                            {"includeAll", false},
                                            {"multi", false}}});
  for (const VariableRow* row : dashboard.variables) {
    if (row == nullptr) break;
    list.push_back({{"type", "query"},
                    {"name", row->name},
                    {"label", row->label},
                    {"datasource", DataSource()},
                    {"query", row->query},
                    {"refresh", 2},
                    {"sort", 1},
                    {"multi", true},
                    {"includeAll", true},
                    {"allValue", ".*"},
                    {"current", {{"text", "All"}, {"value", "$__all"}}}});
  }
  return list;
}

ordered_json DashboardJson(const DashboardRow& dashboard) {
  const ordered_json links = ordered_json::array({{{"type", "dashboards"},
                                                   {"title", "Other GPU dashboards"},
                                                   {"tags", ordered_json::array({kTag})},
                                                   {"asDropdown", true},
                                                   {"icon", "external link"},
                                                   {"includeVars", true},
                                                   {"keepTime", true},
                                                   {"targetBlank", false},
                                                   {"tooltip", ""}}});
  return {{"uid", dashboard.name},
          {"title", dashboard.title},
          {"description", dashboard.about},
          {"tags", ordered_json::array({kTag})},
          {"schemaVersion", 39},
          {"editable", true},
          {"graphTooltip", 1},
          {"refresh", "1m"},
          {"time", {{"from", "now-24h"}, {"to", "now"}}},
          {"timezone", "browser"},
          {"links", links},
          {"annotations", {{"list", ordered_json::array()}}},
          {"templating", {{"list", Variables(dashboard)}}},
          {"panels", Panels(dashboard.id)}};
}

}  // namespace

std::string DashboardQuery(const PanelRow& row) {
  std::string_view expression = row.expression;
  std::string query;
  while (!expression.empty()) {
    std::size_t at = std::string_view::npos;
    std::size_t begin = 0;  // of the metric
    for (const std::string_view function : {"rate(", "increase("}) {
      if (const std::size_t found = expression.find(function); found < at) {
        at = found;
        begin = found + function.size();
      }
    }
    if (at == std::string_view::npos) return query + std::string(expression);
    begin = expression.find_first_not_of('\n', begin);
    const std::size_t end = expression.find("])", begin) + 2;  // a selector of names holds none
    const std::string_view labels = CounterLabels(expression.substr(begin));
    query += expression.substr(0, at);
    const std::string rise(expression.substr(at, end - at));
    query += labels.empty() ? rise : "max by (" + std::string(labels) + ") (" + rise + ")";
    expression.remove_prefix(end);
  }
  return query;
}

std::vector<FleetDashboard> FleetDashboards() {
  std::vector<FleetDashboard> dashboards;
  for (const DashboardRow& row : kDashboards)
    dashboards.push_back({std::string(row.name) + ".json", DashboardJson(row).dump(2) + "\n"});
  return dashboards;
}

}  // namespace idleburn
