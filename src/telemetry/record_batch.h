#pragma once

#include <cstdint>
#include <vector>

#include "telemetry/live_sink.h"

namespace idleburn {

enum class RecordKind : std::uint8_t { kSample, kHost, kWork, kNote, kFact };

// Records of a live stream in the order in which they came.
struct RecordBatch {
  std::vector<RecordKind> order;
  std::vector<Sample> samples;
  std::vector<HostSample> hosts;
  std::vector<WorkMark> marks;
  std::vector<Note> notes;
  std::vector<RunFact> facts;

  void Add(const Sample& sample) {
    samples.push_back(sample);
    order.push_back(RecordKind::kSample);
  }
  void Add(const HostSample& sample) {
    hosts.push_back(sample);
    order.push_back(RecordKind::kHost);
  }
  void Add(const WorkMark& mark) {
    marks.push_back(mark);
    order.push_back(RecordKind::kWork);
  }
  void Add(const Note& note) {
    notes.push_back(note);
    order.push_back(RecordKind::kNote);
  }
  void Add(const RunFact& fact) {
    facts.push_back(fact);
    order.push_back(RecordKind::kFact);
  }
  void Append(const RecordBatch& later) {
    order.insert(order.end(), later.order.begin(), later.order.end());
    samples.insert(samples.end(), later.samples.begin(), later.samples.end());
    hosts.insert(hosts.end(), later.hosts.begin(), later.hosts.end());
    marks.insert(marks.end(), later.marks.begin(), later.marks.end());
    notes.insert(notes.end(), later.notes.begin(), later.notes.end());
    facts.insert(facts.end(), later.facts.begin(), later.facts.end());
  }
  void Clear() {
    order.clear();
    samples.clear();
    hosts.clear();
    marks.clear();
    notes.clear();
    facts.clear();
  }
  [[nodiscard]] bool empty() const { return order.empty(); }
  [[nodiscard]] std::size_t size() const { return order.size(); }
};

}  // namespace idleburn
