#include "fleet/gpu_counters.h"

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "fleet/edge_queries.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr std::int64_t kLookback = 300;  // how old a value at an end of a piece may be: what engines call fresh
constexpr std::int64_t kShortestPart = 3600;
constexpr std::int64_t kEpochStep = 600;
constexpr std::int64_t kMostSteps = 10'000;  // Prometheus answers 11,000
constexpr std::size_t kNodesOfQuestion = 250;
constexpr std::size_t kMostUnanswered = 3;  // smallest parts one after another: such an engine does not work

constexpr std::array<std::string_view, kUtilizationDeciles> kDecileNames = {"0", "1", "2", "3", "4",
                                                                            "5", "6", "7", "8", "9"};
constexpr std::array<std::string_view, 2> kEnergyNames = {"counter", "power"};
constexpr std::array<std::string_view, 1> kBothNames = {"both"};
constexpr std::array<std::string_view, 1> kUnnamed = {""};

std::array<std::string_view, kEventReasonCount> ReasonNames() {
  std::array<std::string_view, kEventReasonCount> names;
  for (std::size_t i = 0; i < kEventReasonCount; ++i) names[i] = kEventReasonTable[i].name;
  return names;
}

// The counters of one name: their label, its values in the order of their places, and what brings them to thousandths
// that fit 64 bits.
struct CounterFamily {
  std::string_view metric;
  std::string_view label;  // empty: none
  std::size_t first = 0;
  std::span<const std::string_view> values;
  std::string_view scale;
};

// A question about one metric. `merge` joins replicas: max or min.
struct LiveQuestion {
  std::string_view merge;
  std::string_view function;
  std::string_view metric;
  std::string_view matcher;  // beside that of nodes
  std::string_view label;    // kept besides node and UUID; empty: none
  std::string_view scale;
};

std::string ExpressionOf(const LiveQuestion& question, const std::string& of_nodes, std::int64_t seconds) {
  std::string matchers(question.matcher);
  if (!matchers.empty() && !of_nodes.empty()) matchers += ",";
  matchers += of_nodes;
  std::string text(question.merge);
  text += " by (node, exported_node, uuid";
  if (!question.label.empty()) text.append(", ").append(question.label);
  text.append(") (").append(question.function).append("(").append(question.metric);
  text.append("{").append(matchers).append("}[").append(std::to_string(seconds)).append("s]))");
  return text.append(question.scale);
}

using TakeSeries = std::function<void(const EngineSeries&, std::int64_t value)>;

class CounterReader {
 public:
  CounterReader(Engine& engine, std::int64_t from, std::int64_t to) : engine_(engine), from_(from), to_(to) {}

  Result<GpuCountersRead> Run() {
    TRY(FindEpochs());
    std::map<CounterPiece, std::vector<std::string>> groups;
    for (const auto& [node, epochs] : epochs_) {
      nodes_.push_back(node);
      for (const CounterPiece& piece : PiecesOf(from_, to_, kLookback, epochs)) groups[piece].push_back(node);
    }
    for (const auto& [piece, nodes] : groups) {
      TRY(InGroups(nodes, [&, &of = piece](std::span<const std::string> some) { return ReadPiece(of, some); }));
    }
    TRY(InGroups(nodes_, [this](std::span<const std::string> some) { return ReadMemory(some); }));
    for (const auto& [gpu, rise] : rises_) {
      if (!IsPossible(rise, to_ - from_ + 2 * kLookback)) LeaveOut(gpu.node, "its counters rise faster than time");
    }
    for (const auto& [gpu, rise] : rises_) {
      if (left_out_.count(gpu.node) > 0) continue;
      GpuCounterSum& sum = read_.gpus[gpu];
      sum.rise = rise;
      const auto peak = peaks_.find(gpu);
      const auto total = totals_.find(gpu);
      if (peak != peaks_.end()) sum.memory_peak = peak->second;
      if (total != totals_.end()) sum.memory_total = total->second;
      sum.instance = instances_.count(gpu) > 0;
    }
    return std::move(read_);
  }

 private:
  static Result<void> InGroups(const std::vector<std::string>& nodes,
                               const std::function<Result<void>(std::span<const std::string>)>& read) {
    for (const std::vector<std::string>& group : NameGroups(nodes, kNodesOfQuestion)) TRY(read(group));
    return {};
  }

  // Asks about (from, to]. Parts may come in any order and number, so `take` keeps extremes. No nodes: all of them.
  Result<void> Ask(const LiveQuestion& question, std::span<const std::string> nodes, std::int64_t from, std::int64_t to,
                   const TakeSeries& take) {
    EngineTrouble trouble;
    Result<std::vector<EngineSeries>> answer;
    for (const std::string& matcher : NodeMatchers({nodes.begin(), nodes.end()}, labels_)) {
      answer = engine_.At(ExpressionOf(question, matcher, to - from), to, &trouble);
      if (!answer) break;
      for (const EngineSeries& series : *answer) {
        if (!series.points.empty()) take(series, series.points.back().second);
      }
    }
    if (answer) {
      unanswered_in_a_row_ = 0;
      return {};
    }
    if (!trouble.too_much) return tl::unexpected<Error>(answer.error());
    if (nodes.size() > 1) {
      TRY(Ask(question, nodes.first(nodes.size() / 2), from, to, take));
      return Ask(question, nodes.subspan(nodes.size() / 2), from, to, take);
    }
    if (to - from > kShortestPart) {
      const std::int64_t middle = from + (to - from) / 2;
      TRY(Ask(question, nodes, from, middle, take));
      return Ask(question, nodes, middle, to, take);
    }
    if (nodes.empty() || ++unanswered_in_a_row_ == kMostUnanswered) return tl::unexpected<Error>(answer.error());
    LeaveOut(nodes.front(), answer.error().message);
    return {};
  }

  // A node with a part missing has no sum.
  void LeaveOut(const std::string& node, const std::string& why) {
    if (left_out_.insert(node).second) read_.missing.push_back("node " + Printable(node) + ": " + why);
  }

  // Every epoch that was shown, and since when. Most nodes have one that is older than the window.
  Result<void> FindEpochs() {
    std::map<std::string, std::set<std::int64_t>> born;
    const LiveQuestion question{"max", "last_over_time", kMarker, kMarkerMatcher, "epoch", ""};
    for (std::int64_t begin = from_ - kLookback; begin < to_; begin += kDaySeconds) {
      TRY(Ask(question, {}, begin, std::min(to_, begin + kDaySeconds), [&](const EngineSeries& series, std::int64_t) {
        labels_.Add(series);
        if (const auto epoch = ParseInteger(series.Label("epoch"))) born[AgentLabel(series, "node")].insert(*epoch);
      }));
    }
    for (const auto& [node, all] : born) {
      const bool old = all.size() == 1 && *all.begin() < from_;
      for (const std::int64_t epoch : all) {
        AgentEpoch found{epoch, AgentEpoch::kLongAgo, AgentEpoch::kLongAgo};
        if (!old) TRY(FindBegin(node, &found));
        epochs_[node].push_back(found);
      }
      std::sort(epochs_[node].begin(), epochs_[node].end(),
                [](const AgentEpoch& a, const AgentEpoch& b) { return a.shown_from < b.shown_from; });
      read_.lost_states += static_cast<std::int64_t>(all.size()) - 1;
    }
    return {};
  }

  // When the engine first shows an epoch: first to ten minutes, then to the sample. The clocks of agent and engine may
  // differ by any amount.
  Result<void> FindBegin(const std::string& node, AgentEpoch* epoch) {
    std::int64_t first_ms = INT64_MAX;
    for (const std::string& matcher : NodeMatchers({node}, labels_)) {
      const std::string series = std::string(kMarker) + "{" + std::string(kMarkerMatcher) + "," + matcher +
                                 ",epoch=\"" + std::to_string(epoch->born) + "\"}";
      const std::optional<std::int64_t> shown = TRY(FirstSample(series));
      if (!shown) continue;
      first_ms = std::min(first_ms, *shown);
    }
    if (first_ms == INT64_MAX || first_ms == 0) return {};
    epoch->shown_from = (first_ms + 999) / 1000;
    epoch->old_until = (first_ms - 1) / 1000;
    return {};
  }

  // The time of the first sample of series, in milliseconds. 0: it is older than the window. Absent: there is none.
  Result<std::optional<std::int64_t>> FirstSample(const std::string& series) {
    const std::int64_t begin = (from_ - kLookback) / kEpochStep * kEpochStep;
    const std::int64_t step = ((to_ - begin) / kMostSteps / kEpochStep + 1) * kEpochStep;
    const std::string expression = "max(last_over_time(" + series + "[" + std::to_string(step) + "s]))";
    std::int64_t slot = INT64_MAX;
    for (const EngineSeries& row : TRY(engine_.Range(expression, begin, to_ + step, step))) {
      for (const auto& [time, value] : row.points) slot = std::min(slot, time);
    }
    if (slot == INT64_MAX) return std::optional<std::int64_t>();
    if (slot == begin) return std::optional<std::int64_t>(0);
    const EngineAnswer answer = TRY(engine_.Samples(series, slot - step, slot + 1, nullptr));
    std::int64_t first_ms = INT64_MAX;
    for (const JsonNode& row : answer.data.GetItems("result")) {
      for (const JsonNode& pair : row.GetItems("values")) {
        const std::vector<JsonNode> both = pair.Items();
        const ScaledNumber time = both.size() == 2 ? ParseScaled(both[0].Text(), 3) : ScaledNumber();
        if (time.value > 0) first_ms = std::min(first_ms, time.value);
      }
    }
    return first_ms == INT64_MAX ? std::nullopt : std::optional(first_ms);
  }

  Result<void> ReadTable(std::string_view merge, std::string_view function, std::span<const std::string> nodes,
                         std::int64_t from, std::int64_t to, CounterTable* table) {
    if (from >= to || nodes.empty()) return {};
    const std::array<std::string_view, kEventReasonCount> reasons = ReasonNames();
    const CounterFamily families[] = {
        {"idleburn_gpu_utilization_seconds_total", "decile", 0, kDecileNames, ""},
        {"idleburn_gpu_idle_seconds_total", "memory", kIdlePlace, kIdleMemoryKindNames, ""},
        {"idleburn_gpu_spin_wait_seconds_total", "", kSpinPlace, kUnnamed, ""},
        {"idleburn_gpu_energy_joules_total", "source", kEnergyPlace, kEnergyNames, ""},
        {"idleburn_gpu_throttled_seconds_total", "reason", kThrottledPlace, reasons, ""},
        {"idleburn_gpu_nvlink_bytes_total", "direction", kNvlinkPlace, kBothNames, " / 1e6"}};
    for (const CounterFamily& family : families) {
      const LiveQuestion question{merge, function, family.metric, "", family.label, family.scale};
      TRY(Ask(question, nodes, from, to, [&](const EngineSeries& series, std::int64_t value) {
        const auto name = std::find(family.values.begin(), family.values.end(), series.Label(family.label));
        if (name == family.values.end()) return;
        const std::size_t place = family.first + static_cast<std::size_t>(name - family.values.begin());
        const GpuOnNode gpu{AgentLabel(series, "node"), std::string(series.Label("uuid"))};
        merge == "min" ? table->TakeLeast(gpu, place, value) : table->TakeMost(gpu, place, value);
      }));
    }
    return {};
  }

  Result<void> ReadPiece(const CounterPiece& piece, std::span<const std::string> nodes) {
    PieceReadings read;
    const std::int64_t back = std::max(piece.seen_from, piece.from - kLookback);
    if (!piece.from_zero) TRY(ReadTable("max", "last_over_time", nodes, back, piece.from, &read.begin));
    TRY(ReadTable("max", "last_over_time", nodes, std::max(piece.from, piece.to - kLookback), piece.to, &read.end));
    std::vector<std::string> partly;
    for (const std::string& node : nodes) {
      if (!PieceIsWhole(piece, read, node)) partly.push_back(node);
    }
    for (std::int64_t begin = piece.from; begin < piece.to && !partly.empty(); begin += kDaySeconds) {
      const std::int64_t end = std::min(piece.to, begin + kDaySeconds);
      TRY(ReadTable("max", "max_over_time", partly, begin, end, &read.highest));
      if (!piece.from_zero) TRY(ReadTable("min", "min_over_time", partly, begin, end, &read.lowest));
    }
    AddRises(piece, read, &rises_);
    return {};
  }

  // Peaks of used memory, and what else gauges tell of each GPU.
  Result<void> ReadMemory(std::span<const std::string> nodes) {
    const auto keep = [](std::map<GpuOnNode, std::int64_t>* values) {
      return [values](const EngineSeries& series, std::int64_t value) {
        std::int64_t& kept = (*values)[{AgentLabel(series, "node"), std::string(series.Label("uuid"))}];
        kept = std::max(kept, value / 1000);
      };
    };
    const LiveQuestion used{"max", "max_over_time", "idleburn_gpu_memory_used_bytes", "", "", ""};
    const LiveQuestion total{"max", "last_over_time", "idleburn_gpu_memory_total_bytes", "", "", ""};
    const LiveQuestion slices{"max", "last_over_time", "idleburn_gpu_info", "slices!=\"\"", "", ""};
    for (std::int64_t begin = from_; begin < to_; begin += kDaySeconds) {
      const std::int64_t end = std::min(to_, begin + kDaySeconds);
      const std::int64_t recent = std::max(begin, end - kShortestPart);
      TRY(Ask(used, nodes, begin, end, keep(&peaks_)));
      TRY(Ask(total, nodes, recent, end, keep(&totals_)));
      TRY(Ask(slices, nodes, recent, end, keep(&instances_)));
    }
    return {};
  }

  // A series of each node with its epoch.
  static constexpr std::string_view kMarker = "idleburn_owner_phase_closed_seconds_total";
  static constexpr std::string_view kMarkerMatcher = "team=\"_unallocated\",phase=\"idle\"";

  Engine& engine_;
  std::int64_t from_;
  std::int64_t to_;
  std::map<std::string, std::vector<AgentEpoch>> epochs_;
  std::vector<std::string> nodes_;
  std::map<GpuOnNode, GpuCounterValues> rises_;
  std::map<GpuOnNode, std::int64_t> peaks_;
  std::map<GpuOnNode, std::int64_t> totals_;
  std::map<GpuOnNode, std::int64_t> instances_;
  std::set<std::string> left_out_;
  std::size_t unanswered_in_a_row_ = 0;
  NodeLabels labels_;
  GpuCountersRead read_;
};

}  // namespace

Result<GpuCountersRead> ReadGpuCounters(Engine& engine, std::int64_t from, std::int64_t to) {
  return CounterReader(engine, from, to).Run();
}

}  // namespace idleburn
