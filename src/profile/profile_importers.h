#pragma once

#include <span>
#include <string_view>

#include "base/byte_source.h"
#include "profile/profile.h"
#include "telemetry/data_quality.h"

namespace idleburn {

// A profiler's file format.
struct ProfileImporter {
  std::string_view name;
  // True if the first bytes of an input (decompressed) look like this format.
  bool (*sniff)(std::string_view head);
  Result<Profile> (*read)(ByteSource& in, DataQuality& quality);
};

// All formats, most specific first.
std::span<const ProfileImporter> ProfileImporters();

}  // namespace idleburn
