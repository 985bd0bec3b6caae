#pragma once

#include <string>
#include <string_view>

#include "diagnose/scene.h"

namespace idleburn {

// What this run says against a lever, as a sentence; empty where nothing does. A reason beats any cause that would
// advise the lever.
std::string WhyNot(const Scene& scene, std::string_view lever);

}  // namespace idleburn
