#include "report/memory_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "report/json_values.h"
#include "text/figures.h"

namespace idleburn {
namespace {

using MemoryDocument = nlohmann::ordered_json;
using OomCause = OutOfMemory::Cause;

constexpr std::size_t kHoldersNamed = 3;    // in the reasons
constexpr std::size_t kHoldersShown = 20;   // in a table for people
constexpr std::size_t kHoldersInJson = 50;  // the largest
constexpr std::size_t kFailuresShown = 20;
constexpr const char* kRecordHistory =
    "record the history: torch.cuda.memory._record_memory_history() before the run, _dump_snapshot(FILE) after it";

std::string MemoryText(std::int64_t bytes) { return BinaryBytes(static_cast<double>(bytes)); }
std::string MemoryOrUnknown(const std::optional<std::int64_t>& bytes) { return bytes ? MemoryText(*bytes) : "unknown"; }

std::string SiteText(const MemoryHolder& holder) {
  if (holder.before_trace) return "allocated before the trace begins";
  return holder.site.empty() ? "no Python line of the program recorded" : holder.site;
}

std::int64_t LargestLevel(const GpuMemoryUse& use) {
  if (use.peak) return use.peak->allocated;
  return use.now ? use.now->allocated : 0;
}

// The GPU that the verdict is about: one that ran out of memory, else the fullest.
const GpuMemoryUse& MainGpu(const MemoryAudit& audit) {
  return *std::max_element(audit.gpus.begin(), audit.gpus.end(), [](const GpuMemoryUse& a, const GpuMemoryUse& b) {
    return std::pair(!a.failed.empty(), LargestLevel(a)) < std::pair(!b.failed.empty(), LargestLevel(b));
  });
}

// Who held the memory that the verdict speaks of.
std::vector<MemoryHolder> HoldersOf(const GpuMemoryUse& use) {
  if (use.peak) return use.peak->holders;
  return use.now ? use.now->holders : std::vector<MemoryHolder>();
}

std::string MemoryVerdict(const GpuMemoryUse& use) {
  std::string text;
  if (!use.failed.empty()) {
    const OutOfMemory& last = use.failed.back();
    const std::string times = use.failed.size() == 1 ? "once: " : fmt::format("{} times, last: ", use.failed.size());
    text = fmt::format("GPU {} ran out of memory {}{} asked, {} free on the device. ", use.device, times,
                       MemoryText(last.asked), MemoryText(last.device_free));
  }
  if (use.peak) {
    const MemoryPeak& peak = *use.peak;
    text += fmt::format("GPU {} peaked at {}{} allocated, {}{} reserved", use.device, peak.exact ? "" : "at least ",
                        MemoryText(peak.allocated), peak.exact ? "" : "at least ", MemoryText(peak.reserved));
    if (peak.reserved_then && *peak.reserved_then >= peak.allocated) {
      text += fmt::format("; {} was reserved and not used at the peak of allocation",
                          MemoryText(*peak.reserved_then - peak.allocated));
    }
    return text + ".";
  }
  if (!use.now) return text + fmt::format("GPU {}: the trace has no event that moved memory.", use.device);
  return text +
         fmt::format("GPU {} holds {} allocated, {} reserved, at the moment of the snapshot; its peak is unknown.",
                     use.device, MemoryText(use.now->allocated), MemoryText(use.now->reserved));
}

std::string MemoryShare(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? "unknown" : PercentText(static_cast<double>(part) / static_cast<double>(whole));
}

std::string FailureSentence(const OutOfMemory& failed) {
  switch (failed.CauseOf()) {
    case OomCause::kInPieces:
      return fmt::format("fragmentation: {} was reserved and unused, which with {} free was enough for {}, in pieces",
                         MemoryText(*failed.unused), MemoryText(failed.device_free), MemoryText(failed.asked));
    case OomCause::kExhausted:
      return fmt::format("full: {} reserved and unused and {} free were less than the {} asked",
                         MemoryText(*failed.unused), MemoryText(failed.device_free), MemoryText(failed.asked));
    case OomCause::kRefused:
      return fmt::format(
          "the device had {} free for {}: a limit of the process (set_per_process_memory_fraction) or rounding "
          "refused it",
          MemoryText(failed.device_free), MemoryText(failed.asked));
    case OomCause::kNotKnown:
      break;
  }
  return "unknown: the file does not tell what was reserved when the allocation failed";
}

std::vector<std::string> MemoryReasons(const GpuMemoryUse& use) {
  std::vector<std::string> why;
  if (!use.failed.empty()) why.push_back("The last failure: " + FailureSentence(use.failed.back()));
  const std::vector<MemoryHolder> holders = HoldersOf(use);
  for (std::size_t i = 0; i < std::min(holders.size(), kHoldersNamed); ++i) {
    why.push_back(fmt::format("{} ({}{}): {}", MemoryText(holders[i].bytes),
                              MemoryShare(holders[i].bytes, LargestLevel(use)),
                              use.peak ? " of the peak" : " of what is held", SiteText(holders[i])));
  }
  if (use.now && use.now->Free() > 0) {
    why.push_back(
        fmt::format("At the snapshot {} of {} reserved is free, {} of it between used blocks; largest piece {}",
                    MemoryText(use.now->Free()), MemoryText(use.now->reserved), MemoryText(use.now->free_split),
                    MemoryText(use.now->largest_free)));
  }
  return why;
}

// The line of the program that holds most. Empty if none is known.
std::string LargestKnownLine(const GpuMemoryUse& use) {
  for (const MemoryHolder& holder : HoldersOf(use)) {
    if (!holder.site.empty()) return holder.site;
  }
  return {};
}

std::vector<std::string> MemoryAdvice(const MemoryAudit& audit, const GpuMemoryUse& use) {
  std::vector<std::string> next;
  const bool failed_in_pieces = !use.failed.empty() && use.failed.back().CauseOf() == OomCause::kInPieces;
  const bool fragmented = failed_in_pieces || (use.now && IsFragmented(*use.now));
  if (fragmented && audit.expandable.value_or(false)) {
    next.emplace_back("expandable_segments is on already, so look at streams and CUDA graphs, which keep own pools");
  } else if (fragmented) {
    next.emplace_back("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets free pieces join, then measure again");
  }
  if (const std::string line = LargestKnownLine(use); !line.empty()) {
    next.push_back(fmt::format(
        "{} holds most: if activations, use gradient checkpointing or a smaller batch; if weights or optimizer state, "
        "shard or shrink them",
        line));
  } else if (LargestLevel(use) > 0) {
    next.emplace_back("no line is known: record with _record_memory_history(stacks=\"python\")");
  }
  if (!use.peak) next.emplace_back(kRecordHistory);
  return next;
}

std::vector<std::string> MemoryDoubts(const MemoryAudit& audit, const GpuMemoryUse& use) {
  std::vector<std::string> doubts;
  if (!audit.has_trace) doubts.emplace_back("The file has no device_traces, so the peak is unknown.");
  if (audit.has_trace && !use.peak) doubts.emplace_back("This GPU's trace moved no memory, so the peak is unknown.");
  if (!audit.has_segments) {
    doubts.emplace_back(
        "The file has no segments, so memory from before the trace is unknown and peaks are lower bounds.");
  } else if (use.peak && !use.peak->exact) {
    doubts.emplace_back("The trace and the final state contradict each other, so peaks are lower bounds.");
  }
  if (use.now && use.now->pools > 1 && use.now->Free() > 0) {
    doubts.push_back(
        fmt::format("{} pools of streams or CUDA graphs do not lend each other free memory.", use.now->pools));
  }
  return doubts;
}

ReportTable GpuMemoryTable(const MemoryAudit& audit) {
  ReportTable table;
  table.title = "Memory of each GPU";
  table.columns = {{"GPU", kLeft}};
  for (const char* head : {"peak allocated", "peak reserved", "allocated now", "reserved now", "free in pieces",
                           "largest piece", "failures"}) {
    table.columns.push_back({head, kRight});
  }
  for (const GpuMemoryUse& use : audit.gpus) {
    const auto peak = [&](std::int64_t bytes) { return (use.peak->exact ? "" : ">= ") + MemoryText(bytes); };
    table.rows.push_back(
        {std::to_string(use.device), use.peak ? peak(use.peak->allocated) : "unknown",
         use.peak ? peak(use.peak->reserved) : "unknown", use.now ? MemoryText(use.now->allocated) : "unknown",
         use.now ? MemoryText(use.now->reserved) : "unknown", use.now ? MemoryText(use.now->free_split) : "unknown",
         use.now ? MemoryText(use.now->largest_free) : "unknown", std::to_string(use.failed.size())});
  }
  table.notes.emplace_back(
      "Allocated is what was asked for, without rounding. Peaks of allocated and reserved may be at two moments.");
  return table;
}

ReportTable HolderTable(std::string title, const std::vector<MemoryHolder>& holders, std::int64_t whole) {
  ReportTable table;
  table.title = std::move(title);
  table.columns = {{"allocated at", kLeft, true}, {"memory", kRight}, {"share", kRight}, {"blocks", kRight}};
  std::int64_t rest = 0;
  for (const MemoryHolder& holder : holders) {
    if (table.rows.size() == kHoldersShown) {
      rest += holder.bytes;
      continue;
    }
    table.rows.push_back(
        {SiteText(holder), MemoryText(holder.bytes), MemoryShare(holder.bytes, whole), std::to_string(holder.blocks)});
  }
  if (rest > 0) {
    table.notes.push_back(
        fmt::format("{} more lines hold {} together.", holders.size() - kHoldersShown, MemoryText(rest)));
  }
  return table;
}

ReportTable FailureTable(const GpuMemoryUse& use) {
  ReportTable table;
  table.title = fmt::format("GPU {}: allocations that failed", use.device);
  table.columns = {
      {"asked", kRight}, {"device free", kRight}, {"reserved", kRight}, {"unused", kRight}, {"cause", kLeft, true}};
  for (const OutOfMemory& failed : use.failed) {
    if (table.rows.size() == kFailuresShown) break;
    table.rows.push_back({MemoryText(failed.asked), MemoryText(failed.device_free), MemoryOrUnknown(failed.reserved),
                          MemoryOrUnknown(failed.unused), FailureSentence(failed)});
  }
  if (use.failed.size() > kFailuresShown) {
    table.notes.push_back(fmt::format("{} more failed.", use.failed.size() - kFailuresShown));
  }
  return table;
}

MemoryDocument HoldersJson(const std::vector<MemoryHolder>& holders) {
  MemoryDocument rows = MemoryDocument::array();
  for (const MemoryHolder& holder : holders) {
    if (rows.size() == kHoldersInJson) break;
    MemoryDocument row;
    PutText(row, "site", holder.site, holder.before_trace ? "before_trace" : "no_frames");
    row["bytes"] = holder.bytes;
    row["blocks"] = holder.blocks;
    rows.push_back(std::move(row));
  }
  return rows;
}

MemoryDocument PeakJson(const MemoryPeak& peak) {
  MemoryDocument json;
  json["exact"] = peak.exact;
  json["allocated_bytes"] = peak.allocated;
  json["reserved_bytes"] = peak.reserved;
  if (peak.reserved_then) {
    json["reserved_then_bytes"] = *peak.reserved_then;
  } else {
    PutUnknown(json, "reserved_then_bytes", "not_exact");
  }
  json["holders"] = HoldersJson(peak.holders);
  json["sites"] = peak.holders.size();
  return json;
}

MemoryDocument StateJson(const MemoryState& state) {
  MemoryDocument json;
  json["allocated_bytes"] = state.allocated;
  json["reserved_bytes"] = state.reserved;
  json["rounding_bytes"] = state.rounding;
  json["pending_free_bytes"] = state.pending;
  json["free_whole_segments_bytes"] = state.free_whole;
  json["free_split_bytes"] = state.free_split;
  json["free_expandable_bytes"] = state.free_mapped;
  json["largest_free_bytes"] = state.largest_free;
  json["segments"] = state.segments;
  json["pools"] = state.pools;
  json["fragmented"] = IsFragmented(state);
  json["holders"] = HoldersJson(state.holders);
  json["sites"] = state.holders.size();
  return json;
}

constexpr std::array<std::string_view, 4> kOomCauseNames = {"unknown", "in_pieces", "full", "limit_or_rounding"};

MemoryDocument FailureJson(const OutOfMemory& failed) {
  MemoryDocument json;
  json["asked_bytes"] = failed.asked;
  json["device_free_bytes"] = failed.device_free;
  for (const auto& [key, bytes] :
       {std::pair("reserved_bytes", failed.reserved), std::pair("unused_bytes", failed.unused)}) {
    if (bytes) {
      json[key] = *bytes;
    } else {
      PutUnknown(json, key, "not_exact");
    }
  }
  json["cause"] = kOomCauseNames[static_cast<std::size_t>(failed.CauseOf())];
  return json;
}

}  // namespace

ReportPage MemoryPage(const MemoryAudit& audit) {
  ReportPage page;
  page.heading = "GPU memory";
  page.title = "memory snapshot of PyTorch: " + audit.file;
  if (audit.gpus.empty()) {
    page.verdict = "The snapshot holds no GPU memory: it has neither segments nor events.";
    page.next.emplace_back(kRecordHistory);
    return page;
  }
  const GpuMemoryUse& main = MainGpu(audit);
  page.verdict = MemoryVerdict(main);
  page.why = MemoryReasons(main);
  page.next = MemoryAdvice(audit, main);
  if (auto doubts = MemoryDoubts(audit, main); !doubts.empty()) {
    page.points.push_back({"doubt", "Doubts", std::move(doubts)});
  }
  page.tables.push_back(GpuMemoryTable(audit));
  for (const GpuMemoryUse& use : audit.gpus) {
    if (use.peak) {
      page.tables.push_back(HolderTable(fmt::format("GPU {}: who held memory at the peak of allocation", use.device),
                                        use.peak->holders, use.peak->allocated));
    }
    if (use.now) {
      page.tables.push_back(HolderTable(fmt::format("GPU {}: who holds memory at the snapshot", use.device),
                                        use.now->holders, use.now->allocated));
    }
    if (!use.failed.empty()) page.tables.push_back(FailureTable(use));
  }
  return page;
}

std::string MemoryAuditJson(const MemoryAudit& audit) {
  auto json = BeginDocument<MemoryDocument>("idleburn.memory/1", RunIds());
  json["version"] = IDLEBURN_VERSION;
  json["file"] = Printable(audit.file);
  json["has_trace"] = audit.has_trace;
  json["has_segments"] = audit.has_segments;
  if (audit.expandable) {
    json["expandable_segments"] = *audit.expandable;
  } else {
    PutUnknown(json, "expandable_segments", "not_in_file");
  }
  json["gpus"] = MemoryDocument::array();
  for (const GpuMemoryUse& use : audit.gpus) {
    MemoryDocument gpu;
    gpu["gpu"] = use.device;
    gpu["events"] = use.events;
    if (use.peak) {
      gpu["peak"] = PeakJson(*use.peak);
    } else {
      PutUnknown(gpu, "peak", "no_trace");
    }
    if (use.now) {
      gpu["now"] = StateJson(*use.now);
    } else {
      PutUnknown(gpu, "now", "no_segments");
    }
    gpu["out_of_memory"] = MemoryDocument::array();
    for (const OutOfMemory& failed : use.failed) gpu["out_of_memory"].push_back(FailureJson(failed));
    gpu["doubts"] = MemoryDocument::array();
    for (const std::string& doubt : MemoryDoubts(audit, use)) gpu["doubts"].push_back(doubt);
    json["gpus"].push_back(std::move(gpu));
  }
  return json.dump(2) + "\n";
}

}  // namespace idleburn
