#include "fleet/edge_queries.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>

#include "text/number.h"

namespace idleburn {
namespace {

constexpr std::string_view kRenamed = "exported_";
// Of the pattern in one question. VictoriaMetrics refuses a question of more than 16 KiB (-search.maxQueryLen).
constexpr std::size_t kBytesOfNames = 12'000;

}  // namespace

std::string AgentLabel(const EngineSeries& series, std::string_view name) {
  std::string_view found;
  for (const auto& [label, value] : series.labels) {
    if (label == name && found.empty()) found = value;
    if (label.size() == kRenamed.size() + name.size() && label.starts_with(kRenamed) && label.ends_with(name) &&
        !value.empty()) {
      found = value;
    }
  }
  return std::string(found);
}

JobKey JobKeyOf(const EngineSeries& series) {
  return {AgentLabel(series, "cluster"), AgentLabel(series, "job"), AgentLabel(series, "user"),
          AgentLabel(series, "team"), AgentLabel(series, "experiment")};
}

std::optional<std::pair<std::int64_t, std::int64_t>> SlicesIn(std::string_view label) {
  const std::size_t slash = label.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto part = ParseInteger(label.substr(0, slash));
  const auto of = ParseInteger(label.substr(slash + 1));
  if (!part || !of || *part < 1 || *of < *part) return std::nullopt;
  return std::pair(*part, *of);
}

std::string NamesPattern(const std::vector<std::string>& names) {
  constexpr std::string_view kSpecial = "\\.+*?()|[]{}^$";
  std::string pattern;
  for (const std::string& name : names) {
    if (!pattern.empty()) pattern += '|';
    for (const char c : name) {
      if (kSpecial.find(c) != std::string_view::npos) pattern += "\\\\";
      if (c == '"' || c == '\\') pattern += '\\';
      if (c == '\n') {
        pattern += "\\n";
      } else {
        pattern += c;
      }
    }
  }
  return pattern;
}

std::vector<std::vector<std::string>> NameGroups(const std::vector<std::string>& names, std::size_t most) {
  std::vector<std::vector<std::string>> groups;
  std::size_t bytes = 0;
  for (const std::string& name : names) {
    const std::size_t more = NamesPattern({name}).size() + 1;
    bytes += more;
    if (groups.empty() || bytes > kBytesOfNames || groups.back().size() >= most) {
      groups.emplace_back();
      bytes = more;
    }
    groups.back().push_back(name);
  }
  return groups;
}

void NodeLabels::Add(const EngineSeries& series) { (series.Label("exported_node").empty() ? own : renamed) = true; }

std::vector<std::string> NodeMatchers(const std::vector<std::string>& nodes, const NodeLabels& labels) {
  if (nodes.empty()) return {""};
  const std::string names = "node=~\"" + NamesPattern(nodes) + "\"";
  if (labels.own && !labels.renamed) return {names};
  if (labels.renamed && !labels.own) return {"exported_" + names};
  return {names + ",exported_node=\"\"", "exported_" + names};
}

std::optional<std::size_t> AgentPhase(const EngineSeries& series) {
  const std::string_view name = series.Label("phase");
  const auto* const found = std::find(kFleetPhaseNames.begin(), kFleetPhaseNames.end(), name);
  if (found == kFleetPhaseNames.end()) return std::nullopt;
  return static_cast<std::size_t>(found - kFleetPhaseNames.begin());
}

namespace {

EpochKey EpochKeyOf(const EngineSeries& series, std::string_view name) {
  return {AgentLabel(series, name), ParseInteger(series.Label("epoch")).value_or(0)};
}

// The larger value counts: of several replicas each tells the same counter.
void TakeLarger(const EngineSeries& series, std::size_t phase, std::int64_t to_edge, AtEdges* values) {
  for (const auto& [time, value] : series.points) {
    std::int64_t& ms = (*values)[time - to_edge][phase];
    ms = std::max(ms, value);
  }
}

// What is asked of the counters, and where it belongs.
struct CounterQuestion {
  const char* before;  // the expression before and after the matcher
  const char* after;
  std::int64_t late;  // of the moment after the edge
  AtEdges* (*place)(const EngineSeries&, NodeReadings*);
};

// Finished jobs are shown for ten minutes after their end.
constexpr std::int64_t kAfterEdge = 15 * 60;

constexpr std::array<CounterQuestion, 1> kStampQuestions = {
    {{"last_over_time(idleburn_closed_timestamp_seconds", "[50m])", kReadEdgeAfter, nullptr}}};
constexpr std::array<CounterQuestion, 3> kClosedQuestions = {{
    {"last_over_time(idleburn_gpu_phase_closed_seconds_total", "[50m])", kReadEdgeAfter,
     [](const EngineSeries& s, NodeReadings* n) { return &n->gpus[EpochKeyOf(s, "uuid")]; }},
    {"last_over_time(idleburn_owner_phase_closed_seconds_total", "[50m])", kReadEdgeAfter,
     [](const EngineSeries& s, NodeReadings* n) { return &n->teams[EpochKeyOf(s, "team")]; }},
    {"last_over_time(idleburn_job_phase_closed_seconds_total", "[50m])", kReadEdgeAfter,
     [](const EngineSeries& s, NodeReadings* n) { return &n->jobs[JobKeyOf(s)].twin; }},
}};
constexpr std::array<CounterQuestion, 3> kLiveQuestions = {{
    {"last_over_time(idleburn_job_phase_seconds_total", "[1h])", 0,
     [](const EngineSeries& s, NodeReadings* n) { return &n->jobs[JobKeyOf(s)].before; }},
    {"last_over_time(idleburn_job_phase_seconds_total", "[15m])", kAfterEdge,
     [](const EngineSeries& s, NodeReadings* n) { return &n->jobs[JobKeyOf(s)].after; }},
    {"min_over_time(idleburn_job_phase_seconds_total", "[15m])", kAfterEdge,
     [](const EngineSeries& s, NodeReadings* n) { return &n->jobs[JobKeyOf(s)].after_first; }},
}};

// Questions about the nodes of a range.
class EdgeReader {
 public:
  EdgeReader(Engine& engine, const EdgeRange& range, EngineTrouble* trouble, EdgeReadings* readings)
      : engine_(engine), range_(range), trouble_(trouble), readings_(*readings) {}

  Result<void> ReadClosed() {
    matchers_ = NodeMatchers(range_.nodes, range_.labels);
    TRY(ReadClosedStamps());
    TRY(ReadSlices());
    return ReadCounters(kClosedQuestions);
  }

  Result<void> ReadLive(const std::vector<std::string>& jobs) {
    matchers_ = NodeMatchers(range_.nodes, range_.labels);
    if (!jobs.empty()) matchers_ = {"job=~\"" + NamesPattern(jobs) + "\""};
    return ReadCounters(kLiveQuestions);
  }

 private:
  // An edge is readable if the agent says that its closed counters are those of this edge.
  Result<void> ReadClosedStamps() {
    std::map<std::string, std::set<std::string>> tellers;
    const auto take = [&](std::size_t, const EngineSeries& series) {
      const std::string node = AgentLabel(series, "node");
      NodeReadings& readings = readings_.nodes[node];
      std::string others;
      // Two scrape jobs of one Prometheus are no replicas.
      for (const auto& [name, value] : series.labels) {
        if (name != "job" && name != "exported_job") others += name + "=" + value + ";";
      }
      tellers[node].insert(others);
      for (const auto& [time, value] : series.points) {
        if (value == (time - kReadEdgeAfter) * 1000) readings.edges.insert(time - kReadEdgeAfter);
      }
    };
    TRY(EachSeries(kStampQuestions, take));
    for (const auto& [node, who] : tellers) readings_.replicated_nodes += who.size() > 1 ? 1 : 0;
    return {};
  }

  // Shares of MIG instances: the label slices="1/7" of idleburn_gpu_info.
  Result<void> ReadSlices() {
    const std::string window = std::to_string(range_.last - range_.first + kEdgeSeconds) + "s";
    for (const std::string& matcher : matchers_) {
      const std::string which = "{" + matcher + (matcher.empty() ? "" : ",") + "slices!=\"\"}";
      TakeSlices(TRY(engine_.At("last_over_time(idleburn_gpu_info" + which + "[" + window + "])",
                                range_.last + kReadEdgeAfter, trouble_)));
    }
    return {};
  }

  void TakeSlices(const std::vector<EngineSeries>& answer) {
    for (const EngineSeries& series : answer) {
      const auto slices = SlicesIn(series.Label("slices"));
      if (slices) readings_.nodes[AgentLabel(series, "node")].slices[AgentLabel(series, "uuid")] = *slices;
    }
  }

  Result<void> ReadCounters(std::span<const CounterQuestion> counters) {
    return EachSeries(counters, [&](std::size_t counter, const EngineSeries& series) {
      const std::optional<std::size_t> phase = AgentPhase(series);
      const auto node = readings_.nodes.find(AgentLabel(series, "node"));
      if (!phase || node == readings_.nodes.end()) return;
      const CounterQuestion& each = counters[counter];
      TakeLarger(series, *phase, each.late, each.place(series, &node->second));
    });
  }

  // Asks each question for each matcher. `take` gets the number of the question.
  Result<void> EachSeries(std::span<const CounterQuestion> counters, const Engine::TakeSeries& take) {
    std::vector<RangeQuestion> questions;
    for (const std::string& matcher : matchers_) {
      const std::string braces = matcher.empty() ? "" : "{" + matcher + "}";
      for (const CounterQuestion& each : counters) {
        questions.push_back(
            {each.before + braces + each.after, range_.first + each.late, range_.last + each.late, kEdgeSeconds});
      }
    }
    return engine_.EachRange(questions, trouble_, [&](std::size_t question, const EngineSeries& series) {
      take(question % counters.size(), series);
    });
  }

  Engine& engine_;
  const EdgeRange& range_;
  EngineTrouble* trouble_;
  std::vector<std::string> matchers_;
  EdgeReadings& readings_;
};

}  // namespace

Result<std::set<std::string>> NodesWithEdges(Engine& engine, const std::vector<std::string>& among, std::int64_t first,
                                             std::int64_t last, NodeLabels* labels) {
  const std::string window = "[" + std::to_string(last - first + kEdgeSeconds) + "s]))";
  std::set<std::string> names;
  for (const std::string& matcher : NodeMatchers(among, {})) {
    const std::string braces = matcher.empty() ? "" : "{" + matcher + "}";
    for (const EngineSeries& series : TRY(engine.At(
             "count by (node, exported_node) (last_over_time(idleburn_closed_timestamp_seconds" + braces + window,
             last + kReadEdgeAfter))) {
      names.insert(AgentLabel(series, "node"));
      labels->Add(series);
    }
  }
  return names;
}

Result<EdgeReadings> ReadClosedEdges(Engine& engine, const EdgeRange& range, EngineTrouble* trouble) {
  EdgeReadings readings;
  TRY(EdgeReader(engine, range, trouble, &readings).ReadClosed());
  return readings;
}

Result<void> ReadLiveJobs(Engine& engine, const EdgeRange& range, const std::vector<std::string>& jobs,
                          EngineTrouble* trouble, EdgeReadings* readings) {
  return EdgeReader(engine, range, trouble, readings).ReadLive(jobs);
}

Result<EdgeReadings> ReadEdges(Engine& engine, const EdgeRange& range, EngineTrouble* trouble) {
  EdgeReadings readings = TRY(ReadClosedEdges(engine, range, trouble));
  TRY(ReadLiveJobs(engine, range, {}, trouble, &readings));
  return readings;
}

}  // namespace idleburn
