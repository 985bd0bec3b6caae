// A GPU and its agent, minute by minute, as an engine sees them: for tests of rules and queries.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent_metrics.h"

namespace idleburn::testing {

// What a GPU and its node do in each second of a while.
struct Doing {
  std::size_t phase = 2;  // of kAgentPhaseNames
  std::size_t decile = 8;
  IdleMemory memory = IdleMemory::kHeld;
  std::int64_t unobserved_ms = 0;  // of each second
  std::int64_t work_ms = 0;        // of each second, beside an idle phase
  std::int64_t spin_ms = 0;
  std::int64_t pcie = std::int64_t{1} << 30;  // bytes
  std::int64_t nvlink = std::int64_t{10} << 30;
  std::int64_t pcie_link = 63'015'384'615;  // what it can move; 0: not known
  std::int64_t nvlink_link = 900'000'000'000;
  std::optional<std::int64_t> sm_percent = {};  // SM activity; absent: the GPU does not tell it
  std::int64_t used_percent = 50;               // of the GPU's memory
  std::int64_t dollars = 2;                     // a GPU-hour
  bool agent_runs = true;
};
struct While {
  Doing doing;
  int minutes;
};

// The life of a GPU. The counters of a real agent count it, so each series and label is one that agents expose. It is
// scraped each minute, from minute 0 on.
class AgentStory {
 public:
  // `born`: the Unix second of minute 0. One job holds the GPU.
  AgentStory(std::string node, const NodeGpuShare& gpu, std::int64_t born);
  void Live(const std::vector<While>& whiles);

  [[nodiscard]] int minutes() const { return minutes_; }
  // The list `input_series` of promtool's test files. A scrape that fails makes a series stale.
  [[nodiscard]] std::string InputSeries() const;
  // Prometheus' text format with times, which VictoriaMetrics imports.
  [[nodiscard]] std::string Text() const;

 private:
  void Count(const Doing& doing);
  void Scrape(const Doing& doing);

  std::string node_;
  std::int64_t born_;
  NodeCounters counters_;
  HostRises host_;
  int minutes_ = 0;
  std::map<std::string, std::vector<std::pair<int, std::string>>> values_;  // by series: minute and value
};

}  // namespace idleburn::testing
