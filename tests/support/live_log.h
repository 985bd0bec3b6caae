#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/live_sink.h"

namespace idleburn::testing {

// Keeps everything that is pushed.
class LiveLog : public LiveSink {
 public:
  void OnSamples(std::span<const Sample> pushed) override {
    samples.insert(samples.end(), pushed.begin(), pushed.end());
  }
  void OnHost(std::span<const HostSample> pushed) override { host.insert(host.end(), pushed.begin(), pushed.end()); }
  void OnWork(const WorkMark& mark) override { work.push_back(mark); }
  void OnNote(const Note& note) override { notes.push_back(note); }
  void OnFact(const RunFact& fact) override { facts.push_back(fact); }
  void OnHolders(const GpuHolders& list) override { holders.push_back(list); }
  void OnPorts(std::span<const PortTraffic> pushed) override { ports.assign(pushed.begin(), pushed.end()); }

  // The readings of one signal of one device.
  [[nodiscard]] std::vector<std::pair<Instant, std::int64_t>> Of(DeviceId device, Signal signal) const {
    std::vector<std::pair<Instant, std::int64_t>> readings;
    for (const Sample& s : samples) {
      if (s.device == device && s.Has(signal)) readings.emplace_back(s.time, s.Get(signal));
    }
    return readings;
  }
  // When one signal of one device was said to be unavailable, and why.
  [[nodiscard]] std::vector<std::pair<Instant, Unobserved>> Lacking(DeviceId device, Signal signal) const {
    std::vector<std::pair<Instant, Unobserved>> missing;
    for (const Sample& s : samples) {
      if (s.device == device && s.Lacks(signal)) missing.emplace_back(s.time, s.reason);
    }
    return missing;
  }
  // The last value of a host's scope; absent if it never had one.
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
  [[nodiscard]] std::vector<std::string> Notes(NoteKind kind) const {
    std::vector<std::string> texts;
    for (const Note& note : notes) {
      if (note.kind == kind) texts.push_back(note.text);
    }
    return texts;
  }
  [[nodiscard]] std::optional<std::string> Fact(std::string_view key) const {
    const auto found = std::find_if(facts.rbegin(), facts.rend(), [&](const RunFact& f) { return f.key == key; });
    return found == facts.rend() ? std::nullopt : std::optional(found->value);
  }
  // True if the stamps of every device rise from sample to sample.
  [[nodiscard]] bool InOrder() const {
    std::vector<Instant> last;
    for (const Sample& s : samples) {
      if (last.size() <= s.device) last.resize(s.device + 1, Instant::FromNanos(INT64_MIN));
      if (s.time <= last[s.device]) return false;
      last[s.device] = s.time;
    }
    return true;
  }

  std::vector<Sample> samples;
  std::vector<HostSample> host;
  std::vector<WorkMark> work;
  std::vector<Note> notes;
  std::vector<RunFact> facts;
  std::vector<GpuHolders> holders;
  std::vector<PortTraffic> ports;  // as last pushed
};

}  // namespace idleburn::testing
