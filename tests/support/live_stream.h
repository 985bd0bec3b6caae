#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "telemetry/chunk_codec.h"
#include "telemetry/device.h"
#include "telemetry/live_sink.h"

namespace idleburn::testing {

// Keeps all that is pushed.
struct KeptStream final : LiveSink {
  void OnSamples(std::span<const Sample> samples) override {
    for (const Sample& sample : samples) batch.Add(sample);
  }
  void OnHost(std::span<const HostSample> samples) override {
    for (const HostSample& sample : samples) batch.Add(sample);
  }
  void OnWork(const WorkMark& mark) override { batch.Add(mark); }
  void OnNote(const Note& note) override { batch.Add(note); }
  void OnFact(const RunFact& fact) override { batch.Add(fact); }

  RecordBatch batch;
};

// One record as text: all fields, so that two records are equal if their texts are.
inline std::string Described(const Sample& s) {
  std::string text = "sample " + std::to_string(s.time.nanos()) + " gpu " + std::to_string(s.device) + " " +
                     std::to_string(s.unavailable) + " " + std::to_string(static_cast<int>(s.reason));
  for (std::size_t i = 0; i < kSignalCount; ++i) {
    if ((s.present >> i & 1) != 0) text += " " + std::to_string(i) + "=" + std::to_string(s.value[i]);
  }
  return text;
}
inline std::string Described(const HostSample& s) {
  std::string text = "host " + std::to_string(s.time.nanos()) + " " + std::to_string(static_cast<int>(s.scope)) + " " +
                     std::to_string(s.unavailable);
  for (std::size_t i = 0; i < kHostSignalCount; ++i) {
    if ((s.present >> i & 1) != 0) text += " " + std::to_string(i) + "=" + std::to_string(s.value[i]);
  }
  return text;
}
inline std::string Described(const WorkMark& m) {
  const auto amount = [](const std::optional<std::int64_t>& a) { return a ? std::to_string(*a) : std::string("-"); };
  return "work " + std::to_string(m.time.nanos()) + " " + std::to_string(m.rank) + " " +
         amount(m.done[WorkUnit::kStep]) + " " + amount(m.done[WorkUnit::kSample]) + " " +
         amount(m.done[WorkUnit::kToken]) + " " + amount(m.done[WorkUnit::kEpoch]);
}
inline std::string Described(const Note& n) {
  return "note " + std::to_string(n.time.nanos()) + " " + std::to_string(static_cast<int>(n.kind)) + " " + n.text;
}
inline std::string Described(const RunFact& f) { return "fact " + f.key + "=" + f.value; }

// Calls `visit` with each record in its order.
template <typename Visit>
void ForEach(const RecordBatch& batch, Visit visit) {
  std::map<RecordKind, std::size_t> at;
  for (const RecordKind kind : batch.order) {
    const std::size_t i = at[kind]++;
    switch (kind) {
      case RecordKind::kSample:
        visit(batch.samples[i]);
        break;
      case RecordKind::kHost:
        visit(batch.hosts[i]);
        break;
      case RecordKind::kWork:
        visit(batch.marks[i]);
        break;
      case RecordKind::kNote:
        visit(batch.notes[i]);
        break;
      case RecordKind::kFact:
        visit(batch.facts[i]);
        break;
    }
  }
}

inline std::vector<std::string> Described(const RecordBatch& batch) {
  std::vector<std::string> texts;
  ForEach(batch, [&](const auto& record) { texts.push_back(Described(record)); });
  return texts;
}

inline void Push(const Sample& record, LiveSink& sink) { sink.OnSamples({&record, 1}); }
inline void Push(const HostSample& record, LiveSink& sink) { sink.OnHost({&record, 1}); }
inline void Push(const WorkMark& record, LiveSink& sink) { sink.OnWork(record); }
inline void Push(const Note& record, LiveSink& sink) { sink.OnNote(record); }
inline void Push(const RunFact& record, LiveSink& sink) { sink.OnFact(record); }

inline void PushAll(const RecordBatch& batch, LiveSink& sink) {
  ForEach(batch, [&](const auto& record) { Push(record, sink); });
}

// Four boards, the last with two MIG instances; everything that a table can hold is in some entry.
inline void EnterNode(DeviceTable& devices) {
  for (int i = 0; i < 4; ++i) {
    DeviceKey key;
    key.uuid = "GPU-00000000-1111-2222-3333-44444444444" + std::to_string(i);
    key.bus_id = "0000:0" + std::to_string(i) + ":00.0";
    if (i != 2) key.index = i;
    key.host = i == 1 ? "" : "node-7";
    key.name = "NVIDIA H100 80GB HBM3";
    const DeviceId id = devices.Enter(key);
    devices.NameCounter(id, Signal::kUtilization, "nvml.utilization.gpu");
    if (i == 0) devices.NameCounter(id, Signal::kXid, "nvml.xid");
    if (i < 3) continue;
    for (const char* instance : {"1", "5"}) {
      key.mig = MigInstance{instance, "1g.10gb", 1};
      devices.Enter(key);
    }
  }
}

// A stream of all kinds of records: ticks of every device at 10 Hz, now and then lanes, doubts, steps of the clock.
inline RecordBatch RandomStream(std::uint64_t seed, std::size_t ticks, std::size_t devices) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  RecordBatch batch;
  std::int64_t now = 1'772'445'600'000'000'000;
  std::int64_t energy = 1'000'000;
  for (std::size_t tick = 0; tick < ticks; ++tick) {
    now += 100'000'000 + static_cast<std::int64_t>(below(1000));
    if (below(500) == 0) now -= static_cast<std::int64_t>(below(200)) * kNanosPerSecond;
    for (DeviceId device = 0; device < devices; ++device) {
      Sample sample;
      sample.time = Instant::FromNanos(now);
      sample.device = device;
      if (below(20) == 0) {
        sample.SetUnavailable(Signal::kUtilization, static_cast<Unobserved>(below(kUnobservedCount)));
      } else {
        sample.Set(Signal::kUtilization, static_cast<std::int64_t>(below(101)) * kPercent);
      }
      sample.Set(Signal::kPower, 300'000 + static_cast<std::int64_t>(below(5000)) * 10);
      sample.Set(Signal::kEnergy, energy += static_cast<std::int64_t>(below(40'000)));
      if (tick % 10 == 0) sample.Set(Signal::kMemoryUsed, static_cast<std::int64_t>(below(80'000)) << 20);
      if (below(200) == 0) sample.Set(Signal::kXid, static_cast<std::int64_t>(random()));
      batch.Add(sample);
    }
    for (const HostScope scope : {HostScope::kMachine, HostScope::kWorkload}) {
      if (scope == HostScope::kWorkload && below(3) != 0) continue;
      HostSample host;
      host.time = Instant::FromNanos(now + 7);
      host.scope = scope;
      host.Set(HostSignal::kCpuTime, now / 3);
      if (below(10) == 0) host.SetUnavailable(HostSignal::kPsiIoFull);
      batch.Add(host);
    }
    if (below(10) == 0) {
      WorkMark mark;
      mark.time = Instant::FromNanos(now + 9);
      mark.rank = static_cast<std::int32_t>(below(4)) - 1;
      if (below(2) == 0) mark.done[WorkUnit::kStep] = static_cast<std::int64_t>(tick);
      if (below(2) == 0) mark.done[WorkUnit::kSample] = static_cast<std::int64_t>(random());
      if (below(2) == 0) mark.done[WorkUnit::kToken] = 0;
      if (below(2) == 0) mark.done[WorkUnit::kEpoch] = -1;
      batch.Add(mark);
    }
    if (below(30) == 0) {
      const std::string text(below(90), static_cast<char>(below(256)));
      batch.Add(Note{Instant::FromNanos(now), static_cast<NoteKind>(below(kNoteKindCount)), text});
    }
    if (below(40) == 0) batch.Add(RunFact{"key" + std::to_string(below(5)), std::string(below(40), 'v')});
  }
  return batch;
}

}  // namespace idleburn::testing
