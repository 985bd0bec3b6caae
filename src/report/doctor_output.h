#pragma once

#include <string>
#include <vector>

#include "doctor/doctor_checks.h"
#include "report/format_writers.h"
#include "report/screen.h"

namespace idleburn {

// The writers of `idleburn doctor` (docs/doctor.md). Both print the same results; `readings` adds the storage probe
// and the ids.

struct DoctorReport {
  std::vector<CheckResult> results;
  const DoctorReadings& readings;
};

// For people, in `width` columns: the counts, then what is wrong and how to fix it, then what was read.
std::string DoctorText(const DoctorReport& report, int width);
// The document of docs/json.md, schema idleburn.doctor/1.
std::string DoctorJson(const DoctorReport& report);

inline constexpr auto kDoctorWriters = std::to_array<FormatWriter<DoctorReport>>({
    {ReportFormat::kText,
     [](const DoctorReport& a, const Paper& paper) {
       return CutToScreen(DoctorText(a, std::max(paper.columns, 60)), paper);
     }},
    {ReportFormat::kJson, OnAnyPaper<DoctorJson>},
});

}  // namespace idleburn
