#pragma once

#include <span>
#include <string>

#include "doctor/doctor_checks.h"

namespace idleburn {

// For people, the verdict first. `width`: columns of a line.
std::string DoctorText(std::span<const CheckResult> results, const DoctorReadings& readings, int width);
// The document of docs/json.md, schema idleburn.doctor/1.
std::string DoctorJson(std::span<const CheckResult> results, const DoctorReadings& readings);

}  // namespace idleburn
