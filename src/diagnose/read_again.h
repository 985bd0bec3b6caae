#pragma once

#include <string_view>

#include "diagnose/scene.h"

namespace idleburn {

// How to record a run again, or more of it, with what made its log: whoever uses one tool is not sent to another.
struct ReadAgain {
  std::string_view source;   // that its counters are named by: "nvidia_smi"; empty: any other
  std::string_view longer;   // so that readings cover time
  std::string_view holders;  // so that it tells whether a process holds a GPU
};
const ReadAgain& HowToRead(const Scene& scene);

}  // namespace idleburn
