#include "diagnose/read_again.h"

#include <algorithm>
#include <array>
#include <string>

namespace idleburn {
namespace {

constexpr std::string_view kScrapes =
    "several scrapes, 15 s apart or less, each sample with its time stamp (a Prometheus' range query has them)";

// The last row stands for every other source.
constexpr auto kSources = std::to_array<ReadAgain>({
    {"rocm_smi", "rocm-smi --showuse --showmeminfo vram --showpower --json every second, one document after the other",
     "--showmeminfo vram beside --showuse in rocm-smi"},
    {"dcgm", kScrapes, "DCGM_FI_DEV_FB_USED in the counters of dcgm-exporter"},
    {"nvidia_smi_exporter", kScrapes, "nvidia_smi_memory_used_bytes beside the utilization"},
    {"nvitop", kScrapes, "gpu_memory_used_MiB of nvitop-exporter"},
    {"jobstats", kScrapes, "nvidia_gpu_memory_used_bytes beside the duty cycle"},
    {"all_smi", kScrapes, "all_smi_gpu_memory_used_bytes beside the utilization"},
    {"dynolog", kScrapes, "the memory that dynolog logs beside the utilization"},
    {"nvidia_smi_dmon", "nvidia-smi dmon -s pucm -o DT for a minute or longer", "nvidia-smi dmon with -s um"},
    {"",
     "nvidia-smi --query-gpu=timestamp,index,uuid,name,utilization.gpu,memory.used,power.draw --format=csv -lms 200",
     "memory.used beside the utilization (nvidia-smi --query-gpu=timestamp,index,uuid,utilization.gpu,memory.used "
     "--format=csv -lms 200)"},
});

}  // namespace

const ReadAgain& HowToRead(const Scene& scene) {
  const auto* found = std::find_if(kSources.begin(), kSources.end() - 1, [&](const ReadAgain& row) {
    return std::any_of(scene.run.devices.begin(), scene.run.devices.end(), [&](const DeviceResult& d) {
      const auto& counters = scene.devices[d.device].counter;
      return std::any_of(counters.begin(), counters.end(), [&](const std::string& counter) {
        return counter.substr(0, counter.find('.')) == row.source;
      });
    });
  });
  return *found;
}

}  // namespace idleburn
