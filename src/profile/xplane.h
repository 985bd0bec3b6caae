#pragma once

#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "profile/profile.h"
#include "telemetry/data_quality.h"

namespace idleburn {

// Profiles of TensorFlow and JAX: *.xplane.pb, a protobuf XSpace, read one plane at a time.
//
// Streams of planes "/device:GPU:N" are the device's work; what is derived from them (XLA modules, framework ops) is
// not. Events of host planes with a correlation id are calls, "$file.py:12 f" is a Python frame, all else an operator.
// Steps are host events that carry a step number (jax.profiler.StepTraceAnnotation, tf.profiler Trace), else those of
// the first device's line "Steps". Other planes and lines are counted, other accelerators named.

bool SniffXplane(std::string_view head);
Result<Profile> ReadXplane(ByteSource& in, DataQuality& quality);

}  // namespace idleburn
