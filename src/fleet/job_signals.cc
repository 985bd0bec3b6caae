#include "fleet/job_signals.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "fleet/edge_queries.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

constexpr std::int64_t kStartLooksBack = kEdgeSeconds;

std::optional<std::size_t> SignalOf(const EngineSeries& series) {
  const std::string_view name = series.Label("signal");
  const auto* const found =
      std::find_if(kJobSignals.begin(), kJobSignals.end(), [&](const JobSignalRow& row) { return row.name == name; });
  if (found == kJobSignals.end()) return std::nullopt;
  return Index(found->id);
}

std::string Window(std::int64_t seconds) { return "[" + std::to_string(seconds) + "s])"; }

class SignalReader {
 public:
  // `matchers`: label matchers in braces; the series of any of them are read.
  SignalReader(Engine& engine, std::vector<std::string> matchers) : engine_(engine), matchers_(std::move(matchers)) {}

  JobSignals Run(std::int64_t from, std::int64_t to) {
    ReadStart(from);
    for (std::int64_t at = from; at < to; at += kDaySeconds) Part(at, std::min(to, at + kDaySeconds));
    return std::move(signals_);
  }

 private:
  using CounterId = std::tuple<std::string, JobKey, std::size_t>;  // node, job, signal
  using Values = std::map<CounterId, std::int64_t>;

  void Miss(std::int64_t from, const EngineTrouble& trouble) {
    signals_.missing.push_back(FormatUnixTime(from) + ": " + trouble.error.message);
  }

  // The last value of each counter in the time before `at`. Absent: the engine did not answer.
  std::optional<Values> Last(std::int64_t at, std::int64_t seconds, EngineTrouble* trouble) {
    Values values;
    for (const std::string& matcher : matchers_) {
      const auto answer =
          engine_.At("last_over_time(idleburn_job_signal_seconds_total" + matcher + Window(seconds), at, trouble);
      if (!answer) return std::nullopt;
      for (const EngineSeries& series : *answer) {
        const std::optional<std::size_t> signal = SignalOf(series);
        if (!signal || series.points.empty()) continue;
        std::int64_t& value = values[{AgentLabel(series, "node"), JobKeyOf(series), *signal}];
        value = std::max(value, series.points.back().second);
      }
    }
    return values;
  }

  // What a job had before the window is not of the window.
  void ReadStart(std::int64_t from) {
    EngineTrouble trouble;
    if (std::optional<Values> values = Last(from, kStartLooksBack, &trouble)) {
      last_ = std::move(*values);
    } else {
      Miss(from, trouble);
      signals_.start_known = false;
    }
  }

  void Part(std::int64_t from, std::int64_t to) {
    EngineTrouble trouble;
    const std::optional<Values> values = Last(to, to - from, &trouble);
    if (!values && trouble.too_much && to - from > kEdgeSeconds) {
      const std::int64_t half = from + (to - from) / kEdgeSeconds / 2 * kEdgeSeconds;
      Part(from, half);
      return Part(half, to);
    }
    if (!values) return Miss(from, trouble);
    for (const auto& [id, value] : *values) {
      std::int64_t& before = last_[id];
      const std::int64_t rise = value >= before ? value - before : value;
      signals_.jobs[std::get<1>(id)][std::get<2>(id)] += rise;
      before = value;
    }
  }

  Engine& engine_;
  std::vector<std::string> matchers_;
  JobSignals signals_;
  Values last_;
};

// Which nodes count signals, and which of them did not yet in the first hour of the window.
void ReadKnown(Engine& engine, std::int64_t from, std::int64_t to, JobSignals* signals) {
  const auto ask = [&](const std::string& metric, std::int64_t at, std::int64_t seconds) {
    const auto answer =
        engine.At("max by (node, exported_node, signal) (max_over_time(" + metric + Window(seconds) + ")", at);
    return answer ? *answer : std::vector<EngineSeries>();
  };
  for (const EngineSeries& series : ask("idleburn_job_signal_known", to, to - from)) {
    const std::optional<std::size_t> signal = SignalOf(series);
    if (!signal || series.points.empty()) continue;
    signals->known[AgentLabel(series, "node")][*signal] = series.points.back().second > 0;
  }
  std::set<std::string> counted;
  for (const EngineSeries& series : ask("idleburn_job_signal_known", from + kEdgeSeconds, kEdgeSeconds))
    counted.insert(AgentLabel(series, "node"));
  for (const EngineSeries& series : ask("idleburn_closed_timestamp_seconds", from + kEdgeSeconds, kEdgeSeconds)) {
    const std::string node = AgentLabel(series, "node");
    if (signals->known.contains(node) && !counted.contains(node)) signals->late.insert(node);
  }
}

}  // namespace

JobSignals ReadRankingSignals(Engine& engine, std::int64_t from, std::int64_t to) {
  std::vector<std::string> names;
  for (const JobSignal signal : kRankingSignals) names.emplace_back(kJobSignals[Index(signal)].name);
  JobSignals signals = SignalReader(engine, {"{signal=~\"" + NamesPattern(names) + "\"}"}).Run(from, to);
  ReadKnown(engine, from, to, &signals);
  return signals;
}

// Prometheus renames the agent's label `job` if it sets one itself.
void ReadSignalsOf(Engine& engine, std::int64_t from, std::int64_t to, const std::vector<std::string>& names,
                   JobSignals* signals) {
  if (names.empty() || signals->known.empty()) return;
  std::vector<std::string> matchers;
  for (const std::vector<std::string>& group : NameGroups(names, names.size())) {
    const std::string pattern = "=~\"" + NamesPattern(group) + "\"}";
    for (const char* label : {"job", "exported_job"}) matchers.push_back(std::string("{") + label + pattern);
  }
  const JobSignals all = SignalReader(engine, std::move(matchers)).Run(from, to);
  for (const auto& [job, each] : all.jobs) signals->jobs[job] = each;
  signals->missing.insert(signals->missing.end(), all.missing.begin(), all.missing.end());
  signals->start_known = signals->start_known && all.start_known;
}

}  // namespace idleburn
