#include "diagnose/kernel_classes.h"

#include <algorithm>
#include <unordered_map>

namespace idleburn {

std::vector<KernelClass> TopKernels(const Profile& profile, const ProfiledDevice& device, std::size_t most) {
  struct Sum {
    NameId name = kNoName;
    DeviceOp op = DeviceOp::kKernel;
    std::int64_t count = 0;
    std::int64_t ns = 0;
  };
  std::unordered_map<NameId, Sum> sums;
  for (const DeviceEvent& e : device.events) {
    if (e.op != DeviceOp::kKernel && e.op != DeviceOp::kComm) continue;
    Sum& sum = sums[e.name];
    sum.name = e.name;
    sum.op = e.op;
    ++sum.count;
    sum.ns += e.end_ns - e.start_ns;
  }
  std::vector<Sum> sorted;
  for (const auto& [name, sum] : sums) sorted.push_back(sum);
  std::sort(sorted.begin(), sorted.end(),
            [](const Sum& a, const Sum& b) { return a.ns != b.ns ? a.ns > b.ns : a.name < b.name; });
  if (sorted.size() > most) sorted.resize(most);
  std::vector<KernelClass> top;
  for (const Sum& sum : sorted) top.push_back({profile.names[sum.name], sum.op, sum.count, sum.ns});
  return top;
}

}  // namespace idleburn
