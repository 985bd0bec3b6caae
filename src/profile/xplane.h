#pragma once

#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "profile/profile.h"
#include "telemetry/data_quality.h"

namespace idleburn {

// Profiles of TensorFlow and JAX in full: *.xplane.pb, a protobuf XSpace, read one plane at a time. What is in it:
// xla_rows.h. A file that is cut off is an error.

bool SniffXplane(std::string_view head);
Result<Profile> ReadXplane(ByteSource& in, DataQuality& quality);

}  // namespace idleburn
