#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "profile/profile.h"

namespace idleburn {

// What of a capture is looked at. Between its first and last event a device looks busy even if most of each step went
// by before the first launch; the steps are the host's, and device work may run past the last one. So no figure stands
// without the name of its window.
enum class Window : std::uint8_t {
  kGpuSpan,       // from the start of the device's first event to the end of its last
  kProfilerSteps  // from the start of the first profiled step to the end of the last
};
std::string_view Name(Window window);

// At least one event.
Interval SpanOf(const ProfiledDevice& device);
// The steps of the processes that drive the device: its own processes' if they have any, else all.
std::vector<ProfiledStep> StepsOf(const Profile& profile, const ProfiledDevice& device);
// From the first start to the last end. At least one step.
Interval StepWindow(const std::vector<ProfiledStep>& steps);

}  // namespace idleburn
