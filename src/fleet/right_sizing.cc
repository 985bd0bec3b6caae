#include "fleet/right_sizing.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "price/peak_fit.h"
#include "telemetry/gpu_facts.h"

namespace idleburn {
namespace {

constexpr std::int64_t kNvlinkUnused = 1'000'000;  // kB: below 1 GB in the window is what an idle link moves
// Of the memory that a slice has by its share, so much is left to its processes at least.
constexpr std::int64_t kSliceMemoryPercent = 95;

// A GPU with less of its time observed may have been busy in the rest.
constexpr std::int64_t kJudgedPercent = 95;

// Source: NVIDIA Multi-Instance GPU User Guide, "Supported MIG Profiles". Slices that leave room for one only are not
// listed: nothing would share the board.
struct SliceRow {
  int board_slices;
  std::string_view profile;
  std::int64_t instances;
  std::int64_t compute;
  std::int64_t memory;
  std::int64_t memory_of;
};
constexpr std::array<SliceRow, 5> kSlices = {{
    {7, "1g", 7, 1, 1, 8},
    {7, "2g", 3, 2, 2, 8},
    {7, "3g", 2, 3, 4, 8},
    {4, "1g", 4, 1, 1, 4},
    {4, "2g", 2, 2, 2, 4},
}};

// A GPU with what the question needs.
struct SizedGpu {
  GpuOnNode gpu;
  std::string model;
  std::int64_t time_ms = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t total_bytes = 0;
  bool linked = false;  // moved data over NVLink
  GpuUse use;
  Money cost;

  [[nodiscard]] double BusyHigh() const {
    const std::int64_t observed = std::max<std::int64_t>(use.ObservedMs(), 1);
    return static_cast<double>(use.BusyHighMs()) / static_cast<double>(observed);
  }
};

// Whether a GPU has less memory or peak compute than another, and more of neither. What is not published is unknown.
bool IsSmaller(const GpuFacts& one, const GpuFacts& other) {
  if (!one.memory_gb || !other.memory_gb || !one.half_tflops || !other.half_tflops) return false;
  const bool fits = *one.memory_gb <= *other.memory_gb && *one.half_tflops <= *other.half_tflops;
  return fits && (*one.memory_gb < *other.memory_gb || *one.half_tflops < *other.half_tflops);
}

std::string OnlyOne(const std::vector<std::string>& names) { return names.size() == 1 ? names.front() : ""; }

class SizeJudge {
 public:
  SizeJudge(const FleetReport& report, const std::map<std::string, PackedNode>& owners, const Catalogue& catalogue)
      : report_(report), owners_(owners), catalogue_(catalogue) {
    for (const FleetGpu& gpu : report.gpus) booked_[{gpu.node, gpu.uuid}] = &gpu;
  }

  Result<void> Take(const GpuOnNode& gpu, const GpuCounterSum& sum, const GpuUse& use) {
    const auto booked = booked_.find(gpu);
    if (booked == booked_.end() || use.ObservedMs() == 0) return {};
    const FleetGpu& facts = *booked->second;
    if (sum.instance) {
      ++all_.instances;
      return {};
    }
    if (!sum.memory_peak || facts.model.empty()) {
      ++all_.without_memory;
      return {};
    }
    if (use.ObservedMs() * 100 < use.counted_ms * kJudgedPercent) {
      ++all_.little_data;
      return {};
    }
    if (use.decile_ms[0] == use.ObservedMs() && use.idle_ms[0] == 0) {
      ++all_.unused;
      return {};
    }
    if (!facts.cost.total || report_.currency != "USD" || facts.time.TotalMs() == 0) ++all_.unpriced;
    ++all_.judged;
    SizedGpu sized{gpu,
                   facts.model,
                   facts.time.TotalMs(),
                   *sum.memory_peak,
                   sum.memory_total.value_or(0),
                   sum.rise[kNvlinkPlace] >= kNvlinkUnused,
                   use,
                   facts.cost.total.value_or(Money())};
    if (facts.cost.total && report_.currency == "USD" && sized.time_ms > 0) TRY(FindSmaller(sized));
    return FindSlice(sized, facts.cost.total.has_value());
  }

  FleetRightSizing Done() {
    for (auto& [key, candidate] : groups_) all_.candidates.push_back(std::move(candidate));
    std::stable_sort(all_.candidates.begin(), all_.candidates.end(),
                     [](const SizeCandidate& a, const SizeCandidate& b) {
                       return a.saving_at_most.value_or(Money()) > b.saving_at_most.value_or(Money());
                     });
    return std::move(all_);
  }

 private:
  using GroupKey = std::tuple<std::string, std::string, std::string, std::string, std::string>;

  // The cheapest GPU with enough memory and enough peak compute for the busy share.
  Result<void> FindSmaller(const SizedGpu& gpu) {
    const std::optional<GpuFacts> own = FactsFor(gpu.model);
    if (!own) return {};
    const Money per_hour = TRY(Scale(gpu.cost, kMsPerGpuHour, gpu.time_ms));
    for (const CheaperGpu& other : CheaperFits(gpu.model, gpu.peak_bytes, per_hour, catalogue_)) {
      const std::optional<GpuFacts> facts = FactsFor(other.gpu);
      if (!facts || !IsSmaller(*facts, *own)) continue;
      const double needed = gpu.BusyHigh() * static_cast<double>(*own->half_tflops);
      if (static_cast<double>(*facts->half_tflops) < needed) continue;
      const Money theirs = TRY(Price(other.per_gpu_hour, gpu.time_ms * kNanosPerMs));
      return Put("smaller_gpu", other.gpu, other.key, gpu, Money::Nano(gpu.cost.nano() - theirs.nano()));
    }
    return {};
  }

  Result<void> FindSlice(const SizedGpu& gpu, bool priced) {
    if (gpu.linked || gpu.total_bytes == 0) return {};
    const std::optional<MigSliceSize> slice = SliceFor(gpu.model, gpu.peak_bytes, gpu.total_bytes, gpu.BusyHigh());
    if (!slice) return {};
    std::optional<Money> saving;
    if (priced) saving = TRY(Scale(gpu.cost, slice->instances - 1, slice->instances));
    return Put("mig_slice", slice->profile, "", gpu, saving);
  }

  Result<void> Put(const std::string& kind, const std::string& target, const std::string& key, const SizedGpu& gpu,
                   const std::optional<Money>& saving) {
    const auto node = owners_.find(gpu.gpu.node);
    const std::string team = node == owners_.end() ? "" : OnlyOne(node->second.teams);
    const std::string job = node == owners_.end() ? "" : OnlyOne(node->second.jobs);
    SizeCandidate& group = groups_[{kind, gpu.model, target, team, job}];
    if (group.gpus.empty()) {
      group.kind = kind;
      group.model = gpu.model;
      group.target = target;
      group.price_key = key;
      group.team = team;
      group.job = job;
    }
    group.gpus.push_back(gpu.gpu);
    group.time_ms += gpu.time_ms;
    group.peak_bytes = std::max(group.peak_bytes, gpu.peak_bytes);
    group.busy_low_ms += gpu.use.BusyLowMs();
    group.busy_high_ms += gpu.use.BusyHighMs();
    group.observed_ms += gpu.use.ObservedMs();
    if (saving) group.saving_at_most = TRY(Add(group.saving_at_most.value_or(Money()), *saving));
    return {};
  }

  const FleetReport& report_;
  const std::map<std::string, PackedNode>& owners_;
  const Catalogue& catalogue_;
  std::map<GpuOnNode, const FleetGpu*> booked_;
  std::map<GroupKey, SizeCandidate> groups_;
  FleetRightSizing all_;
};

}  // namespace

std::optional<MigSliceSize> SliceFor(const std::string& model, std::int64_t peak_bytes, std::int64_t total_bytes,
                                     double busy_share) {
  const std::optional<int> board = MigSlices(model);
  if (!board) return std::nullopt;
  const auto needed = static_cast<Int128>(peak_bytes) * (100 + kMemoryHeadroomPercent) * 100;
  for (const SliceRow& row : kSlices) {
    if (row.board_slices != *board) continue;
    const auto holds = static_cast<Int128>(total_bytes) * row.memory * kSliceMemoryPercent * 100;
    const double share = static_cast<double>(row.compute) / row.board_slices;
    if (holds < needed * row.memory_of || busy_share > share) continue;
    return MigSliceSize{std::string(row.profile), row.instances, row.compute,
                        row.board_slices,         row.memory,    row.memory_of};
  }
  return std::nullopt;
}

Result<FleetRightSizing> RightSizingOf(const GpuCountersRead& read, const FleetGpuUse& use, const FleetReport& report,
                                       const std::map<std::string, PackedNode>& owners, const Catalogue& catalogue) {
  SizeJudge judge(report, owners, catalogue);
  for (const GpuUseRow& row : use.gpus) TRY(judge.Take(row.gpu, read.gpus.at(row.gpu), row.use));
  return judge.Done();
}

}  // namespace idleburn
