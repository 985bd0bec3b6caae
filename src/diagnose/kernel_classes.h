#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace idleburn {

// A kernel and how its name was understood: shown, so that a kernel taken for the wrong class is seen.
struct KernelClass {
  std::string name;
  DeviceOp op = DeviceOp::kKernel;
  std::int64_t count = 0;
  std::int64_t ns = 0;  // sum of durations
};

// The kernels with the largest sums, the largest first.
std::vector<KernelClass> TopKernels(const Profile& profile, const ProfiledDevice& device, std::size_t most = 20);

}  // namespace idleburn
