#pragma once

#include <optional>
#include <string>
#include <vector>

#include "telemetry/live_sink.h"

namespace idleburn::test {

// Keeps all that is pushed.
struct LiveLog final : LiveSink {
  void OnSamples(std::span<const Sample> batch) override { samples.insert(samples.end(), batch.begin(), batch.end()); }
  void OnHost(std::span<const HostSample> batch) override { host.insert(host.end(), batch.begin(), batch.end()); }
  void OnWork(const WorkMark& mark) override { work.push_back(mark); }
  void OnNote(const Note& note) override { notes.push_back(note); }
  void OnFact(const RunFact& fact) override { facts.push_back(fact); }

  // The last value of that scope; absent if it never had one.
  [[nodiscard]] std::optional<std::int64_t> Last(HostScope scope, HostSignal signal) const {
    std::optional<std::int64_t> value;
    for (const HostSample& s : host) {
      if (s.scope == scope && s.Has(signal)) value = s.Get(signal);
    }
    return value;
  }
  // Whether the last sample of that scope that speaks of the signal says that it cannot be had.
  [[nodiscard]] bool Lacks(HostScope scope, HostSignal signal) const {
    bool lacks = false;
    for (const HostSample& s : host) {
      if (s.scope == scope && (s.Has(signal) || s.Lacks(signal))) lacks = s.Lacks(signal);
    }
    return lacks;
  }

  std::vector<Sample> samples;
  std::vector<HostSample> host;
  std::vector<WorkMark> work;
  std::vector<Note> notes;
  std::vector<RunFact> facts;
};

}  // namespace idleburn::test
