#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace idleburn::testing {

// Agents with every GPU-second known, and what an engine would have scraped of them: live counters, closed counters,
// gauges. For tests of what a reader makes of scrapes that are missing, replicated or of a lost state.

using FromTo = std::pair<std::int64_t, std::int64_t>;  // Unix seconds, [from, to)

// A job that holds the first GPUs of its node.
struct CounterHold {
  std::string job;
  std::string team;
  std::size_t gpus = 1;
  FromTo when;
};

struct CounterNode {
  std::string name;
  std::vector<std::string> uuids;
  std::vector<std::int64_t> births;          // of its epochs: all but the first are lost states
  std::vector<CounterHold> holds = {};       // only of nodes with one epoch
  std::vector<FromTo> silent = {};           // not scraped
  std::vector<std::string> replicas = {""};  // values of the label `replica`; "": no label
  std::map<std::string, FromTo> here = {};   // of GPUs that are not there all the time
  std::string model = "NVIDIA H100 80GB HBM3";
  std::string slices = {};  // "1/7": its GPUs are MIG instances
  bool memory_gauge = true;
  bool energy_counter = true;
  bool power = true;
  std::size_t least_decile = 0;  // its GPUs are busy within these
  std::size_t most_decile = 9;
};

class CounterFleet {
 public:
  CounterFleet(std::int64_t from, std::int64_t to, std::int64_t scrape_seconds)
      : from_(from), to_(to), scrape_(scrape_seconds) {}
  void Add(const CounterNode& node) { nodes_.push_back(node); }

  // One line a series, for VictoriaMetrics' /api/v1/import.
  [[nodiscard]] std::string ImportLines() const;
  // The same as OpenMetrics, for promtool.
  [[nodiscard]] std::string OpenMetrics() const;

  // The decile of a GPU in a second; -1: no data.
  static int DecileAt(const CounterNode& node, const std::string& uuid, std::int64_t second);
  // What one counter of a GPU counts in a second, in thousandths. `cell` is METRIC without its prefix and suffix, and
  // its label: "utilization_seconds 3", "energy_joules power".
  static std::int64_t CountedIn(const CounterNode& node, const std::string& uuid, std::int64_t second,
                                const std::string& cell);
  // What scrapes in the window tell of a counter, from truth and the times of scrapes: the seconds from the newest
  // scrape at its begin, at most five minutes back, to the last scrape, of each epoch.
  [[nodiscard]] std::int64_t Told(const CounterNode& node, const std::string& uuid, const std::string& cell) const;
  // What happened in the window.
  [[nodiscard]] std::int64_t Truth(const CounterNode& node, const std::string& uuid, const std::string& cell) const;

  [[nodiscard]] const std::vector<CounterNode>& nodes() const { return nodes_; }
  static const std::vector<std::string>& Cells();
  // Bytes of used memory at a scrape.
  static std::int64_t MemoryAt(const std::string& uuid, std::int64_t second);

 private:
  struct Scrape {
    std::int64_t time = 0;   // of the engine
    std::int64_t until = 0;  // up to which second the agent had counted
    std::int64_t epoch = 0;
    std::string replica;
  };
  struct Series {
    std::vector<std::int64_t> times;
    std::vector<std::string> each;
  };
  using Labels = std::map<std::string, std::string>;  // with __name__
  using AllSeries = std::map<Labels, Series>;

  [[nodiscard]] std::vector<Scrape> ScrapesOf(const CounterNode& node) const;
  [[nodiscard]] AllSeries Make() const;
  void MakeLive(const CounterNode& node, const std::vector<Scrape>& scrapes, AllSeries* all) const;
  void MakeClosed(const CounterNode& node, const std::vector<Scrape>& scrapes, AllSeries* all) const;
  void MakeJobs(const CounterNode& node, const std::vector<Scrape>& scrapes, AllSeries* all) const;
  static void Put(const Scrape& scrape, Labels labels, std::int64_t thousandths, AllSeries* all);

  std::int64_t from_;
  std::int64_t to_;
  std::int64_t scrape_;
  std::vector<CounterNode> nodes_;
};

}  // namespace idleburn::testing
