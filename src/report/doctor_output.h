#pragma once

#include <string>
#include <vector>

#include "doctor/doctor_checks.h"
#include "report/format_writers.h"
#include "report/report_page.h"

namespace idleburn {

// The writers of `idleburn doctor` (docs/doctor.md). Both print the same results; `readings` adds the storage probe
// and the ids.

struct DoctorReport {
  std::vector<CheckResult> results;
  const DoctorReadings& readings;
};

// For people: the counts, then what is wrong and how to fix it, then what was read.
ReportPage DoctorPage(const DoctorReport& report);
// The document of docs/json.md, schema idleburn.doctor/1.
std::string DoctorJson(const DoctorReport& report);

inline constexpr auto kDoctorWriters = std::to_array<FormatWriter<DoctorReport>>({
    {ReportFormat::kText, AsText<DoctorPage>},
    {ReportFormat::kJson, OnAnyPaper<DoctorJson>},
    {ReportFormat::kHtml, AsHtml<DoctorPage>},
    {ReportFormat::kMarkdown, AsMarkdown<DoctorPage>},
});

}  // namespace idleburn
