#pragma once

#include <span>
#include <string>

#include "cli/doctor_checks.h"

namespace idleburn {

// For people, the verdict first. `width`: columns of a line.
std::string DoctorText(std::span<const CheckResult> results, int width);
// The document of docs/doctor.md, schema idleburn.doctor/1.
std::string DoctorJson(std::span<const CheckResult> results);

}  // namespace idleburn
