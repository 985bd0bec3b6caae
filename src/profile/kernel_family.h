#pragma once

#include <string_view>

#include "profile/profile.h"

namespace idleburn {

// What kind of work a device event is, by its operation and name: "matrix multiply", "attention", "NCCL, RCCL",
// "copy HtoD". Never empty; "other compute" for kernels whose name says nothing. Names are conventions of libraries, so
// a family groups kernels for reading and decides nothing.
std::string_view KernelFamily(std::string_view name, DeviceOp op, CopyKind copy);

}  // namespace idleburn
