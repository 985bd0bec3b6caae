#pragma once

#include <span>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "profile/profile.h"
#include "telemetry/data_quality.h"

namespace idleburn {

// One format of a profiler.
struct ProfileImporter {
  std::string_view name;  // "Nsight Systems SQLite"
  // True if the first bytes of an input (decompressed) look like this format.
  bool (*sniff)(std::string_view head);
  // Takes any source. A format that is read by position opens a plain file by the source's name, and writes any other
  // source to a temporary file first.
  Result<Profile> (*read)(ByteSource& in, DataQuality& quality);
};

// All formats, most specific first.
std::span<const ProfileImporter> ProfileImporters();

// The importer for an input by its first bytes; nullptr if it is no profile. A report that its profiler must export
// first is an error that says how; it is told by the ending of its name, since such formats are not public.
Result<const ProfileImporter*> FindProfileImporter(std::string_view name, std::string_view head);

}  // namespace idleburn
