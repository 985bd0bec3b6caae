#include "trial/cpu_cores.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <tuple>

#include "os/kept_file.h"
#include "text/number.h"

namespace idleburn {
namespace {

std::optional<int> NumberIn(const std::string& path) {
  const std::optional<std::int64_t> number = ParseInteger(FileText(path));
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

bool SameCore(const CpuPlace& a, const CpuPlace& b) { return a.package == b.package && a.core == b.core; }

}  // namespace

std::vector<CpuPlace> AllowedCpus(const std::string& sys) {
  std::vector<CpuPlace> places;
  constexpr int kMost = 1 << 14;
  cpu_set_t* const set = CPU_ALLOC(kMost);
  const std::size_t size = CPU_ALLOC_SIZE(kMost);
  if (set != nullptr && sched_getaffinity(0, size, set) == 0) {
    for (int cpu = 0; cpu < kMost; ++cpu) {
      if (!CPU_ISSET_S(static_cast<std::size_t>(cpu), size, set)) continue;
      const std::string folder = sys + "/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
      const std::optional<int> core = NumberIn(folder + "core_id");
      places.push_back({cpu, core ? NumberIn(folder + "physical_package_id").value_or(0) : 0, core.value_or(cpu)});
    }
  }
  CPU_FREE(set);
  return places;
}

double UsableCpus(const std::vector<CpuPlace>& allowed, std::optional<double> quota) {
  const auto count = static_cast<double>(allowed.size());
  return std::min(count, quota.value_or(count));
}

std::vector<int> HalfOfCpus(std::vector<CpuPlace> allowed, double usable) {
  std::sort(allowed.begin(), allowed.end(), [](const CpuPlace& a, const CpuPlace& b) {
    return std::tie(a.package, a.core, a.cpu) < std::tie(b.package, b.core, b.cpu);
  });
  std::vector<int> even;
  std::vector<int> odd;
  std::size_t cores = 0;
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    if (i > 0 && !SameCore(allowed[i - 1], allowed[i])) ++cores;
    (cores % 2 == 0 ? even : odd).push_back(allowed[i].cpu);
  }
  even.insert(even.end(), odd.begin(), odd.end());
  even.resize(std::min(even.size(), static_cast<std::size_t>(std::max(usable / 2, 1.0))));
  std::sort(even.begin(), even.end());
  return even;
}

}  // namespace idleburn
