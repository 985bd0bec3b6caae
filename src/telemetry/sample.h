#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/time.h"
#include "telemetry/signal.h"

namespace idleburn {

// Position of a device in the DeviceTable of its run.
using DeviceId = std::uint32_t;

// Why a stretch of time carries no valid value.
enum class Unobserved : std::uint8_t { kGap, kSentinel, kUnsupported, kInvalidCounter, kClock, kPermission, kStale };
inline constexpr std::size_t kUnobservedCount = 7;
inline constexpr std::array<std::string_view, kUnobservedCount> kUnobservedNames = {
    "gap", "sentinel", "unsupported", "invalid_counter", "clock", "permission", "stale"};

// What one source said about one device at one time. `value` holds only the signals of `present`; the rest is
// not initialised. A signal that was asked for and had no valid value is in `unavailable`, never 0.
struct Sample {
  Sample() {}  // NOLINT(modernize-use-equals-default): `= default` would have Sample() clear `value` for every row

  Instant time;
  DeviceId device = 0;
  std::uint32_t present = 0;
  std::uint32_t unavailable = 0;
  Unobserved reason = Unobserved::kSentinel;  // of `unavailable`; of a busy counter, if one is among them
  std::array<std::int64_t, kSignalCount> value;

  [[nodiscard]] bool Has(Signal s) const { return (present & Bit(s)) != 0; }
  [[nodiscard]] bool Lacks(Signal s) const { return (unavailable & Bit(s)) != 0; }
  [[nodiscard]] std::int64_t Get(Signal s) const { return value[Index(s)]; }
  void Set(Signal s, std::int64_t v) {
    present |= Bit(s);
    value[Index(s)] = v;
  }
  // Time is unobserved for want of a busy counter, so no other signal's reason may stand for that one's.
  void SetUnavailable(Signal s, Unobserved why) {
    constexpr std::uint32_t kEngine = Bit(Signal::kGrEngineActive);
    const std::uint32_t before_it = s == Signal::kUtilization      ? 0
                                    : s == Signal::kGrEngineActive ? Bit(Signal::kUtilization)
                                                                   : Bit(Signal::kUtilization) | kEngine;
    if ((unavailable & before_it) == 0) reason = why;
    unavailable |= Bit(s);
  }
};

// Samples as columns: rows that all have the same signals, and lack none. Points at what it was made from.
struct SampleColumns {
  std::size_t rows = 0;
  const Instant* times = nullptr;  // of each row, as all below
  const DeviceId* devices = nullptr;
  std::uint32_t present = 0;
  std::array<const std::int64_t*, kSignalCount> values{};  // of the signals present

  void Get(std::size_t row, Sample& sample) const;
};

// The one seam between everything that measures and everything that thinks. Samples of a device come in order
// of time, except where the source itself went backwards.
class SampleSink {
 public:
  SampleSink() = default;
  SampleSink(const SampleSink&) = delete;
  SampleSink& operator=(const SampleSink&) = delete;
  virtual ~SampleSink() = default;
  virtual void OnSamples(std::span<const Sample> samples) = 0;
  // The same, from a source that reads by column. For a sink that does not care they are made samples.
  virtual void OnColumns(const SampleColumns& columns);
};

}  // namespace idleburn
