#include "profile/profile_importers.h"

#include <array>

#include "profile/kineto_trace.h"

namespace idleburn {

std::span<const ProfileImporter> ProfileImporters() {
  static constexpr auto kImporters = std::to_array<ProfileImporter>({
      {"PyTorch profiler traces", SniffKineto,
       [](ByteSource& in, DataQuality& quality) { return ReadKineto(in, quality); }},
  });
  return kImporters;
}

}  // namespace idleburn
