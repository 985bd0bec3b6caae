// Any bytes are a file of rocprofv3 or are not; where they are, every window reads the same profile, and it is sound.
#include "profile/profile_importers.h"
#include "profile/trace_reader.h"
#include "profile_fuzz.h"

namespace {

idleburn::Result<idleburn::Profile> Read(const std::string& text, std::size_t window) {
  idleburn::StringSource in(text, "fuzz");
  idleburn::DataQuality quality;
  return idleburn::ReadRocprof(in, quality, {window, 4096});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  idleburn::SniffRocprof(text);
  const auto profile = Read(text, std::size_t{1} << 16);
  const auto piecewise = Read(text, 1 + size % 61);
  CHECK(profile.has_value() == piecewise.has_value());
  if (!profile) {
    CHECK(profile.error().message.find('\n') == std::string::npos);
    return 0;
  }
  CHECK(*profile == *piecewise);
  idleburn::CheckProfile(*profile);
  return 0;
}
