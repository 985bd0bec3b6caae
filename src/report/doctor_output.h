#pragma once

#include <span>
#include <string>

#include "doctor/doctor_checks.h"

namespace idleburn {

// The writers of `idleburn doctor` (docs/doctor.md). Both print the same results; `readings` adds the storage probe
// and the ids.

// For people, in `width` columns: counts, then what is wrong and how to fix it, then what was read. Storage speeds come
// last, if they were probed.
std::string DoctorText(std::span<const CheckResult> results, const DoctorReadings& readings, int width);
// The document of docs/json.md, schema idleburn.doctor/1.
std::string DoctorJson(std::span<const CheckResult> results, const DoctorReadings& readings);

}  // namespace idleburn
