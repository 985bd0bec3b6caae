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

// The profiler of TensorFlow and JAX writes planes (a device, the host) of lines (a stream, a thread) of events, as a
// protobuf (xplane.h) and as a Chrome trace (xla_trace.h). What the names mean is here.
//
// Streams of planes "/device:GPU:N" are the device's work; what is derived from them (XLA modules, framework ops) is
// not. Events of host planes with a correlation id are calls, "$file.py:12 f" is a Python frame, all else an operator.
// Steps are host events that carry a step number (jax.profiler.StepTraceAnnotation, tf.profiler Trace), else those of
// the first device's line "Steps". Other planes and lines are counted, other accelerators named.

enum class XlaPlane : std::uint8_t { kGpu, kHost, kForeign, kNoWork };
// Absent: not known.
std::optional<XlaPlane> XlaPlaneOf(std::string_view plane);
// The number of a plane "/device:GPU:N".
std::optional<std::int64_t> XlaDevice(std::string_view plane);

// The number a text starts with.
std::optional<std::int64_t> LeadingNumber(std::string_view text);

// What the events of a line are.
struct XlaLine {
  enum class Role : std::uint8_t { kStream, kSteps, kOverhead, kThread, kNoWork, kForeign, kUnknown };
  Role role = Role::kUnknown;
  std::string name;         // of an unknown line, or of the plane that is foreign or unknown
  std::int64_t device = 0;  // of a stream or of steps
  std::uint32_t stream = 0;
  std::uint32_t thread = 0;
};

struct XlaEvent {
  std::string_view name;
  Interval at;
  std::optional<std::int64_t> correlation;
  std::optional<std::int64_t> step;
  std::string_view details;  // of a copy or a set: "kind_src:pageable kind_dst:device size:4096 dest:0 async:1"
};

// Turns events into rows of a profile.
class XlaRows {
 public:
  // `file` is its name. All outlive this.
  XlaRows(const std::string& file, ProfileBuilder& builder, DataQuality& quality);

  // `id` tells lines of one name apart.
  XlaLine LineOf(std::string_view plane, std::string_view line, std::string_view id);
  void Add(const XlaLine& line, const XlaEvent& event);
  void CountUnknown(std::string_view what) { quality_.CountNamed(QualityId::kUnknownEvent, what, place_); }
  // After the last event.
  void Finish();

 private:
  void AddToStream(const XlaLine& line, const XlaEvent& event);
  void AddToThread(const XlaLine& line, const XlaEvent& event);
  void AddStepOfDevice(const XlaLine& line, const XlaEvent& event);

  Place place_;
  ProfileBuilder& builder_;
  DataQuality& quality_;
  bool host_steps_ = false;
  std::optional<std::int64_t> step_device_;  // the first with a line of steps
  std::vector<ProfiledStep> device_steps_;
  std::set<std::pair<std::int64_t, std::string>> streams_;  // of devices, as they are called
  std::set<std::int64_t> shared_;                           // devices of which a stream came twice
};

}  // namespace idleburn
