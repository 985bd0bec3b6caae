#pragma once

#include <vector>

#include "diagnose/scene.h"

namespace idleburn {

// Every cause that this run's samples, its traces, or both together show, the largest share of the run first; never
// empty. A cause that samples and a trace both show is confirmed: they are independent. Shares and money of what only a
// trace shows are of the traced window; its bound is small where that window is a small part of the run.
std::vector<Finding> Diagnose(const Scene& scene);

}  // namespace idleburn
