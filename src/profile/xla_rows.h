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

// The profiler of TensorFlow and JAX writes planes (a device, the host) with lines (a stream, a thread) of events, as
// a protobuf and as a Chrome trace. This is what their names mean, for both readers.
//
// Streams of planes "/device:GPU:N" are device work; lines derived from them (XLA modules, framework ops) are not.
// Host events with a correlation id are calls, "$file.py:12 f" is a Python frame, and any other host event is an
// operator. Steps are host events with a step number (jax.profiler.StepTraceAnnotation, tf.profiler Trace), else the
// line "Steps" of each device, for that device. Other planes and lines are counted; other accelerators are named.

// What a plane is: a GPU, host threads, another accelerator, or nothing that did work.
enum class XlaPlane : std::uint8_t { kGpu, kHost, kForeign, kNoWork };
// The kind of a plane by the start of its name. Absent if unknown.
std::optional<XlaPlane> FindXlaPlane(std::string_view plane);
// N for the plane "/device:GPU:N".
std::optional<std::int64_t> XlaDevice(std::string_view plane);

// The number at the start of a text: 13 for "13(Compute)". Absent if there is none.
std::optional<std::int64_t> LeadingNumber(std::string_view text);

// What the events of a line are. A reader finds it once for each line and passes it with each event.
struct XlaLine {
  enum class Role : std::uint8_t { kStream, kSteps, kOverhead, kThread, kNoWork, kForeign, kUnknown };
  Role role = Role::kUnknown;
  std::string name;         // of an unknown line, or of a foreign or unknown plane
  std::int64_t device = 0;  // for a stream or steps
  std::uint32_t stream = 0;
  std::uint32_t thread = 0;
};

// An event of a line. Its texts are valid during the call that takes it.
struct XlaEvent {
  std::string_view name;
  Interval at;
  std::optional<std::int64_t> correlation;
  std::optional<std::int64_t> step;
  std::string_view details;  // for a copy or a set: "kind_src:pageable kind_dst:device size:4096 dest:0 async:1"
};

// Turns events into rows of a profile. XlaTrace and XplaneReader push events in file order and call Finish.
class XlaRows {
 public:
  // `file` is its name. All references outlive the rows.
  XlaRows(const std::string& file, ProfileBuilder& builder, DataQuality& quality);

  // The meaning of a line. `id` tells lines of the same name apart. Call it once for each line: a stream that is
  // found twice on one device means that two hosts share the number.
  XlaLine FindLine(std::string_view plane, std::string_view line, std::string_view id);
  void Add(const XlaLine& line, const XlaEvent& event);
  void CountUnknown(std::string_view what) { quality_.CountNamed(QualityId::kUnknownEvent, what, place_); }
  // Call after the last event. Takes the steps of a device if the host marked none.
  void Finish();

 private:
  void AddToStream(const XlaLine& line, const XlaEvent& event);
  void AddToThread(const XlaLine& line, const XlaEvent& event);
  // Adds an event of a line "Steps". Only those of the first device count, so that no step counts twice.
  void AddStepOfDevice(const XlaLine& line, const XlaEvent& event);

  Place place_;
  ProfileBuilder& builder_;
  DataQuality& quality_;
  bool host_steps_ = false;
  std::vector<ProfiledStep> device_steps_;
  std::set<std::pair<std::int64_t, std::string>> streams_;  // streams by device and name
  std::set<std::int64_t> shared_;                           // devices with the same stream twice
};

}  // namespace idleburn
