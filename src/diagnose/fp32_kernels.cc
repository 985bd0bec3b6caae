#include "diagnose/fp32_kernels.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace idleburn {

bool IsFp32Matrix(std::string_view kernel) {
  for (const std::string_view word : {"sgemm", "scudnn"}) {
    for (std::size_t at = kernel.find(word); at != std::string_view::npos; at = kernel.find(word, at + 1)) {
      if (at == 0 || std::isalnum(static_cast<unsigned char>(kernel[at - 1])) == 0) return true;
    }
  }
  return false;
}

IntervalSet Fp32Time(const Profile& profile, const ProfiledDevice& device, Interval window) {
  std::vector<bool> fp32(profile.names.size());
  std::transform(profile.names.begin(), profile.names.end(), fp32.begin(), IsFp32Matrix);
  IntervalUnion time;
  for (const DeviceEvent& e : device.events) {
    if (e.op == DeviceOp::kKernel && fp32[e.name]) time.Add({e.start_ns, e.end_ns});
  }
  return Clip(time.Take(), window);
}

}  // namespace idleburn
