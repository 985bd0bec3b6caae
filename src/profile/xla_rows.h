#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profile/interval_set.h"
#include "profile/profile_builder.h"
#include "telemetry/data_quality.h"

namespace idleburn {

// The profiler of TensorFlow and JAX writes planes (a device, the host) with lines (a stream, a thread) of events, as a
// protobuf and as a Chrome trace. This is what their names mean.
//
// Streams of planes "/device:GPU:N" are device work; lines derived from them (XLA modules, framework ops) are not.
// Host events with a correlation id are calls, "$file.py:12 f" is a Python frame, and any other host event is an
// operator. Steps are host events with a step number (jax.profiler.StepTraceAnnotation, tf.profiler Trace), else the
// line "Steps" of the first device. Other planes and lines are counted; other accelerators are named.

enum class XlaPlane : std::uint8_t { kGpu, kHost, kForeign, kNoWork };
// Absent if unknown.
std::optional<XlaPlane> FindXlaPlane(std::string_view plane);
// N for the plane "/device:GPU:N".
std::optional<std::int64_t> XlaDevice(std::string_view plane);

// The number at the start of a text.
std::optional<std::int64_t> LeadingNumber(std::string_view text);

// What the events of a line are.
struct XlaLine {
  enum class Role : std::uint8_t { kStream, kSteps, kOverhead, kThread, kNoWork, kForeign, kUnknown };
  Role role = Role::kUnknown;
  std::string name;         // of an unknown line, or of a foreign or unknown plane
  std::int64_t device = 0;  // for a stream or steps
  std::uint32_t stream = 0;
  std::uint32_t thread = 0;
};

struct XlaEvent {
  std::string_view name;
  Interval at;
  std::optional<std::int64_t> correlation;
  std::optional<std::int64_t> step;
  std::string_view details;  // for a copy or a set: "kind_src:pageable kind_dst:device size:4096 dest:0 async:1"
};

// Turns events into rows of a profile.
class XlaRows {
 public:
  // `file` is its name. All references outlive the rows.
  XlaRows(const std::string& file, ProfileBuilder& builder, DataQuality& quality);

  // `id` tells lines of the same name apart.
  XlaLine FindLine(std::string_view plane, std::string_view line, std::string_view id);
  void Add(const XlaLine& line, const XlaEvent& event);
  void CountUnknown(std::string_view what) { quality_.CountNamed(QualityId::kUnknownEvent, what, place_); }
  // Call after the last event.
  void Finish();

 private:
  void AddToStream(const XlaLine& line, const XlaEvent& event);
  void AddToThread(const XlaLine& line, const XlaEvent& event);
  void AddStepOfDevice(const XlaLine& line, const XlaEvent& event);

  Place place_;
  ProfileBuilder& builder_;
  DataQuality& quality_;
  bool host_steps_ = false;
  std::optional<std::int64_t> step_device_;  // the first device with a line of steps
  std::vector<ProfiledStep> device_steps_;
  std::set<std::pair<std::int64_t, std::string>> streams_;  // streams by device and name
  std::set<std::int64_t> shared_;                           // devices with the same stream twice
};

}  // namespace idleburn
