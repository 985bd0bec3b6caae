#pragma once

#include <string>

#include "audit/memory_audit.h"
#include "report/format_writers.h"
#include "report/report_page.h"

namespace idleburn {

// For people: the peak of the GPU that matters most, who held it, what failed, and what to change.
ReportPage MemoryPage(const MemoryAudit& audit);
// The document of docs/json/memory.md, schema idleburn.memory/1.
std::string MemoryAuditJson(const MemoryAudit& audit);

inline constexpr auto kMemoryWriters = std::to_array<FormatWriter<MemoryAudit>>({
    {ReportFormat::kText, AsText<MemoryPage>},
    {ReportFormat::kJson, OnAnyPaper<MemoryAuditJson>},
    {ReportFormat::kHtml, AsHtml<MemoryPage>},
    {ReportFormat::kMarkdown, AsMarkdown<MemoryPage>},
});

}  // namespace idleburn
