#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnose/finding.h"
#include "diagnose/scene.h"
#include "recommend/try_patterns.h"

namespace idleburn {

// What this run says against trying a lever on any of its GPUs, as a sentence; empty where nothing does. `findings`:
// what was proved.
std::string WhyNotTry(const Scene& scene, const std::vector<Finding>& findings, std::string_view lever);

// Whether one GPU can have that lever: it has the hardware, the memory has room, and there is work that would change.
bool CanTry(const Scene& scene, const GpuPicture& gpu, std::string_view lever);

// What was read on those GPUs for the lever and against it, beside its pattern.
struct Weighed {
  std::vector<std::string> evidence;
  std::vector<std::string> against;
};
Weighed Weigh(const Scene& scene, const std::vector<const GpuPicture*>& gpus, std::string_view lever);

}  // namespace idleburn
