// The idle gaps of traced devices with the cause of each stretch, in order of time: what a timeline draws.

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "diagnose/idle_time.h"
#include "diagnose/trace_diagnosis.h"
#include "profile/profile.h"

namespace idleburn {

// A stretch of an idle gap with one class and one cause. Stretches fill their gap.
struct GapStretch {
  Interval at;
  IdleClass what = IdleClass::kHostOther;
  bool attributed = false;  // false: correlation ids collide, `what` says nothing
  std::string_view cause;   // that claims the stretch; "" if none does
};

// Receives the stretches of one gap of a device, the device as its position in the diagnosis.
using TakeGap = std::function<void(std::size_t device, std::span<const GapStretch> gap)>;

// Visits the gaps of the deciding window of each diagnosed device. Neighbouring stretches with the same class and cause
// are one. The stretches of a device add up to its idle time, and those of a cause to what it claims of idle time.
void VisitGaps(std::span<const Profile> profiles, const TraceDiagnosis& diagnosis, const TakeGap& take);

}  // namespace idleburn
