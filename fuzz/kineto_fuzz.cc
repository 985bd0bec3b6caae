// Any bytes are a trace or are not; where they are, every window reads the same profile, and it is sound.
#include "base/check.h"
#include "profile/kineto_trace.h"
#include "text/line_reader.h"

namespace {

idleburn::Result<idleburn::Profile> Read(const std::string& text, std::size_t window) {
  idleburn::StringSource in(text, "fuzz");
  idleburn::DataQuality quality;
  return idleburn::ReadKineto(in, quality, {window, 4096});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  idleburn::SniffKineto(text);
  const auto profile = Read(text, std::size_t{1} << 16);
  const auto piecewise = Read(text, 1 + size % 61);
  CHECK(profile.has_value() == piecewise.has_value());
  if (!profile) {
    CHECK(profile.error().message.find('\n') == std::string::npos);
    return 0;
  }
  CHECK(*profile == *piecewise);
  for (const idleburn::ProfiledDevice& device : profile->devices) {
    CHECK(!device.events.empty());
    for (const idleburn::DeviceEvent& event : device.events) {
      CHECK(event.start_ns <= event.end_ns && event.end_ns - event.start_ns <= idleburn::kLongestEventNs);
      CHECK(event.name < profile->names.size() && event.bytes >= 0);
    }
    for (const idleburn::Collective& collective : device.collectives) CHECK(collective.event < device.events.size());
  }
  for (const idleburn::HostCall& call : profile->calls) {
    CHECK(call.thread < profile->threads.size() && call.process < profile->processes.size());
  }
  for (const idleburn::HostFrame& frame : profile->frames) CHECK(frame.thread < profile->threads.size());
  return 0;
}
