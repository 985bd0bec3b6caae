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

// Work done in a span of time.
struct WorkPace {
  Nanos time{0};
  WorkCount done;
};

// Keeps of a live stream what a report says besides the GPUs: the use of the host, the work done, what happened.
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

  // Absent if nothing was read of that scope.
  [[nodiscard]] std::optional<HostUse> Use(HostScope scope) const;
  // The same over time.
  [[nodiscard]] const HostTimeline& host() const { return host_; }
  // Mean, p95 and peak of it.
  [[nodiscard]] const HostStatistics& statistics() const { return statistics_; }
  // All ranks together.
  [[nodiscard]] WorkCount Work() const;
  // What was done between the first and the last mark of each rank, and how long that took; absent without two marks.
  [[nodiscard]] std::optional<WorkPace> Pace() const;
  // The first of each kind and text, in order; a few of them.
  [[nodiscard]] const std::vector<Note>& notes() const { return notes_; }
  [[nodiscard]] const std::map<std::string, std::string>& facts() const { return facts_; }
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

// The use of the host in a few lines for people: CPU, waiting, storage, network, memory. A quantity that was not to
// be had is said to be unknown.
std::string DescribeUse(const HostUse& use, HostScope scope);

}  // namespace idleburn
