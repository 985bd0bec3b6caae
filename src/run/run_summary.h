#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "run/progress_lines.h"
#include "telemetry/host.h"
#include "telemetry/live_sink.h"
#include "telemetry/run_facts.h"

namespace idleburn {

// Work done in a span of time, for the cost of a unit of work.
struct WorkPace {
  Nanos time{0};
  WorkCount done;
};

// Collects from a live stream what a report shows besides the GPUs: host use, work done, notes and facts. An audit of
// a recording pushes into one too, so both show the same.
class RunSummary final : public LiveSink {
 public:
  void OnSamples(std::span<const Sample> /*samples*/) override {}
  void OnHost(std::span<const HostSample> samples) override;
  void OnWork(const WorkMark& mark) override;
  void OnNote(const Note& note) override;
  void OnFact(const RunFact& fact) override {
    facts_[fact.key] = fact.value;
    window_.Take(fact);
  }

  // The use of the machine or the workload. Absent if nothing was read of it.
  [[nodiscard]] std::optional<HostUse> Use(HostScope scope) const;
  // Host use over time.
  [[nodiscard]] const HostTimeline& host() const { return host_; }
  // Mean, p95 and peak of host use.
  [[nodiscard]] const HostStatistics& statistics() const { return statistics_; }
  // The work of all ranks together.
  [[nodiscard]] WorkCount Work() const;
  // The work between the first and the last mark, and the time between them. Start-up is left out, because until the
  // first mark nothing is known to be done. Absent without two marks at different times.
  [[nodiscard]] std::optional<WorkPace> Pace() const;
  // The first note of each kind and text, in order, and 50 at most.
  [[nodiscard]] const std::vector<Note>& notes() const { return notes_; }
  // The last value of each fact.
  [[nodiscard]] const std::map<std::string, std::string>& facts() const { return facts_; }
  // The window of the run that its facts state.
  [[nodiscard]] const RunWindow& window() const { return window_; }

 private:
  struct Scope {
    bool seen = false;
    HostUse use;
    std::array<std::optional<std::int64_t>, kHostSignalCount> first{};
  };
  std::array<Scope, kHostScopeCount> scopes_;
  HostTimeline host_;
  HostStatistics statistics_;
  std::map<std::int32_t, WorkMark> marks_;
  std::map<std::int32_t, WorkMark> first_marks_;
  std::vector<Note> notes_;
  std::map<std::string, std::string> facts_;
  RunWindow window_;
};

// Describes host use in one line: CPU, waiting, storage, network, memory. Unmeasured quantities are "unknown".
std::string DescribeUse(const HostUse& use, HostScope scope);

}  // namespace idleburn
