#pragma once

#include <functional>
#include <mutex>
#include <span>

#include "telemetry/live_sink.h"

namespace idleburn {

// Lets several threads push into one sink, one at a time, until it is closed; what comes later is dropped.
class SinkGate : public LiveSink {
 public:
  // `out` lives until Close.
  explicit SinkGate(LiveSink& out) : out_(&out) {}

  void OnSamples(std::span<const Sample> samples) override {
    const std::lock_guard lock(mutex_);
    if (out_ != nullptr) out_->OnSamples(samples);
  }
  void OnHeld(std::span<const Sample> samples) override {
    const std::lock_guard lock(mutex_);
    if (out_ != nullptr) out_->OnHeld(samples);
  }
  void OnHost(std::span<const HostSample> samples) override {
    const std::lock_guard lock(mutex_);
    if (out_ != nullptr) out_->OnHost(samples);
  }
  void OnWork(const WorkMark& mark) override {
    const std::lock_guard lock(mutex_);
    if (out_ != nullptr) out_->OnWork(mark);
  }
  void OnNote(const Note& note) override {
    const std::lock_guard lock(mutex_);
    if (out_ != nullptr) out_->OnNote(note);
  }
  void OnFact(const RunFact& fact) override {
    const std::lock_guard lock(mutex_);
    if (out_ != nullptr) out_->OnFact(fact);
  }
  void OnHolders(const GpuHolders& holders) override {
    const std::lock_guard lock(mutex_);
    if (out_ != nullptr) out_->OnHolders(holders);
  }
  void ChangeDevices(const std::function<void()>& change) override {
    const std::lock_guard lock(mutex_);
    if (out_ != nullptr) out_->ChangeDevices(change);
  }
  // After this no call reaches the sink, nor is one under way.
  void Close() {
    const std::lock_guard lock(mutex_);
    out_ = nullptr;
  }

 private:
  std::mutex mutex_;
  LiveSink* out_;
};

}  // namespace idleburn
