#include "fleet/gpu_answer.h"

#include <algorithm>
#include <string>

#include "fleet/gpu_counters.h"
#include "fleet/gpu_use.h"
#include "fleet/node_packing.h"
#include "fleet/right_sizing.h"
#include "text/strings.h"

namespace idleburn {

Result<void> AddGpuFindings(Engine& engine, FleetLedger& ledger, const GpuQuestion& question, FleetReport* report) {
  const std::int64_t to = std::min(report->to, report->closed_through.value_or(report->from));
  if (to <= report->from) return {};
  const auto owners = TRY(PackedHours(ledger, report->from, to));
  report->packing = TRY(PackNodes(owners, *report));
  const Result<GpuCountersRead> read = ReadGpuCounters(engine, report->from, to);
  if (!read) {
    report->doubts.push_back({"gpu_counters_unread", 1, "warn",
                              "the live counters of the GPUs could not be read: " + Printable(read.error().message)});
    return {};
  }
  if (!read->missing.empty()) {
    report->doubts.push_back({"gpu_counters_left_out", static_cast<std::int64_t>(read->missing.size()), "warn",
                              "live counters are left out for " + read->missing.front()});
  }
  if (read->gpus.empty()) return {};
  report->gpu_use = UseOf(*read, *report);
  report->energy = TRY(EnergyOf(*read, question.energy, question.pue_millionths));
  report->right_sizing = TRY(RightSizingOf(*read, *report->gpu_use, *report, owners, question.catalogue));
  return {};
}

}  // namespace idleburn
