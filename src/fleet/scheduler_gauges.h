#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fleet/engine.h"

// Gauges of a scheduler's exporters at equal steps: counts of GPUs, pods and jobs.
namespace idleburn {

// The steps of a window: step i stands for [from + i step, from + (i + 1) step) and is read in its middle.
struct AllocationSteps {
  std::int64_t from = 0;  // Unix seconds
  std::int64_t to = 0;
  std::int64_t step = 60;  // seconds

  [[nodiscard]] std::size_t Count() const { return static_cast<std::size_t>((to - from) / step); }
  // Those of an hour: one question asks for so many.
  [[nodiscard]] std::size_t OfHour() const { return static_cast<std::size_t>(std::max<std::int64_t>(1, 3600 / step)); }
};

// One series, with the exporter's own labels.
struct StepSeries {
  std::map<std::string, std::string, std::less<>> labels;
  std::vector<std::pair<std::size_t, std::int64_t>> counts;  // step and whole count

  [[nodiscard]] std::string Label(std::string_view name) const;
};

// What is asked: the series of a selector, with these labels only. Several series that differ in other labels come from
// replicas of an exporter or of its scrapers. The largest counts, never their sum.
struct StepQuestion {
  std::string selector;  // "kube_node_status_capacity{resource=~\"nvidia_com_gpu\"}"
  std::vector<std::string_view> labels;
  std::string condition;  // "== 1"; empty: none
};

// Labels of an exporter that its scrape has too. Prometheus then calls the exporter's own label "exported_pod", and
// "pod" is where the exporter runs. A series without the own label, as of a pod without a node, still has the other.
using RenamedLabels = std::set<std::string, std::less<>>;

// A part of the window that the engine did not answer.
struct MissingSteps {
  std::string selector;
  std::int64_t from = 0;
  std::int64_t to = 0;
};

// Reads steps [first, last) of a window. A question that is too much is asked in halves; what stays refused is in
// `missing`. What is seen of renamed labels is added to `renamed`. Fails if the engine is gone.
Result<std::vector<StepSeries>> ReadSteps(Engine& engine, const StepQuestion& question, const AllocationSteps& window,
                                          std::pair<std::size_t, std::size_t> steps, RenamedLabels* renamed,
                                          std::vector<MissingSteps>* missing);

}  // namespace idleburn
