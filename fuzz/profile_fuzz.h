#pragma once

#include <string>

#include "base/result.h"
#include "profile/profile_importers.h"
#include "profile/trace_reader.h"
#include "text/line_reader.h"

namespace idleburn {

// What every importer of profiles promises, whatever the input.
inline void CheckProfile(const Profile& profile) {
  for (const ProfiledDevice& device : profile.devices) {
    CHECK(!device.events.empty());
    for (const DeviceEvent& event : device.events) {
      CHECK(event.start_ns <= event.end_ns && event.end_ns - event.start_ns <= kLongestEventNs);
      CHECK(event.name < profile.names.size() && event.process < profile.processes.size() && event.bytes >= 0);
    }
    for (const Collective& collective : device.collectives) CHECK(collective.event < device.events.size());
  }
  for (const HostCall& call : profile.calls) {
    CHECK(call.start_ns <= call.end_ns && call.thread < profile.threads.size());
    CHECK(call.process < profile.processes.size());
  }
  for (const HostFrame& frame : profile.frames) {
    CHECK(frame.start_ns < frame.end_ns && frame.name < profile.names.size());
    CHECK(frame.thread < profile.threads.size());
  }
  for (const ProfiledStep& step : profile.steps) CHECK(step.start_ns <= step.end_ns);
}

// Feeds one input to a streaming importer: every window reads the same profile, or none with an error of one line.
template <typename Reader>
int FuzzWindows(bool (*sniff)(std::string_view), const Reader& reader, const unsigned char* data, std::size_t size) {
  const std::string text(data, data + size);
  sniff(text);
  const auto read = [&](std::size_t window) {
    StringSource in(text, "fuzz");
    DataQuality quality;
    return reader(in, quality, window);
  };
  const Result<Profile> profile = read(std::size_t{1} << 16);
  const Result<Profile> piecewise = read(1 + size % 61);
  CHECK(profile.has_value() == piecewise.has_value());
  if (!profile) {
    CHECK(profile.error().message.find('\n') == std::string::npos);
    return 0;
  }
  CHECK(*profile == *piecewise);
  CheckProfile(*profile);
  return 0;
}

// Feeds one input to an importer: it ends with a profile or with an error of one line.
inline int FuzzProfile(bool (*sniff)(std::string_view), decltype(ProfileImporter::read) read, const unsigned char* data,
                       std::size_t size) {
  const std::string text(data, data + size);
  sniff(text);
  DataQuality quality;
  StringSource source(text);
  const Result<Profile> profile = read(source, quality);
  if (profile) {
    CheckProfile(*profile);
  } else {
    CHECK(!profile.error().message.empty() && profile.error().message.find('\n') == std::string::npos);
  }
  return 0;
}

}  // namespace idleburn
