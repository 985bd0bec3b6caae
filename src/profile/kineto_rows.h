#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/kineto_terms.h"
#include "profile/profile_builder.h"
#include "profile/trace_reader.h"
#include "telemetry/data_quality.h"

namespace idleburn {

// Turns the entries of a PyTorch trace into rows of a profile.
class KinetoRows {
 public:
  // `file` is its name. All outlive this.
  KinetoRows(const std::string& file, ProfileBuilder& builder, DataQuality& quality)
      : place_{&file}, builder_(builder), quality_(quality) {}

  void Add(const TraceEvent& event);
  // After the last entry.
  void Finish();

 private:
  struct SeenCategory {
    std::optional<TraceRole> role;
    std::int64_t entries = 0;
  };
  // An entry that has begun and not ended. `arguments` has kScanPad bytes more than its text.
  struct OpenRange {
    std::string category;
    std::string name;
    std::string arguments;
    std::int64_t start_ns = 0;
  };
  struct OpenRanges {
    std::vector<OpenRange> stack;
    std::int64_t beyond = 0;  // begun when the stack was full
  };
  struct DeviceUsers {
    std::string first;  // process that the entries name
    bool several = false;
  };

  SeenCategory& Category(std::string_view category);
  void AddComplete(const TraceEvent& event);
  void Open(const TraceEvent& event);
  void Close(const TraceEvent& event);
  // Between two times, by what its category is.
  void AddRange(const TraceEvent& event, std::int64_t start_ns, std::int64_t length_ns);
  void AddDeviceEvent(const TraceEvent& event, TraceRole role, Interval span);
  void AddHostRange(const TraceEvent& event, Interval span);
  void AddMemory(const TraceEvent& event);
  // Absent, and counted, where it is no time.
  std::optional<std::int64_t> Time(std::string_view micros);
  std::string_view Name(std::string_view text) { return Unescape(text, scratch_); }
  const std::string& TrackOf(const TraceEvent& event);
  std::uint32_t ThreadOf(const TraceEvent& event);
  std::uint16_t ProcessOf(const TraceEvent& event);
  void CountUnknown();

  Place place_;
  ProfileBuilder& builder_;
  DataQuality& quality_;
  std::unordered_map<std::string, SeenCategory, TextHash, std::equal_to<>> categories_;
  SeenCategory beyond_categories_;                    // all that came after too many
  std::unordered_map<std::string, OpenRanges> open_;  // by track
  std::map<std::int64_t, DeviceUsers> users_;
  std::optional<std::int64_t> earliest_ns_;
  std::string scratch_;
  // Neighbours in a file are mostly of one thread: that of the last.
  std::string track_process_;
  std::string track_thread_;
  std::string track_;
  std::optional<std::uint32_t> thread_;
  std::optional<std::uint16_t> process_;
};

}  // namespace idleburn
