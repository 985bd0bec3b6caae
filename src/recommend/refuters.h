#pragma once

#include <string>
#include <string_view>

#include "diagnose/scene.h"
#include "recommend/lever_table.h"

namespace idleburn {

// What this run says against a lever, as a sentence; empty where nothing does. A reason beats any cause that would
// advise the lever.
std::string WhyNot(const Scene& scene, std::string_view lever);

// Whether the run shows what a lever needs (Lever::evidence) where that cause names it. The cause itself is all that
// most levers need; of the others it is what no cause tells.
bool IsShown(const Scene& scene, std::string_view lever, std::string_view cause);

// How a lever is applied: its own text, and what this run shows it is for besides (a notebook is culled by its server).
std::string HowTo(const Scene& scene, const Lever& lever);
// What forbids a lever that only NVIDIA's hardware or software has; empty where nothing does.
std::string AgainstOtherVendors(const Scene& scene);
// Whether matrix products are known to use the tensor cores.
bool UsesTensorCores(const DeviceResult& d);

}  // namespace idleburn
