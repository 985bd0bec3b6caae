#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "classify/totals.h"
#include "price/catalogue.h"
#include "price/rate_card.h"
#include "telemetry/device.h"

namespace idleburn {

// A GPU of the catalogue, on demand.
struct CheaperGpu {
  std::string gpu;             // "A100-40GB-SXM"
  std::int64_t memory_gb = 0;  // of 10^9 bytes, as its data sheet says: the least that a driver reports
  Money per_gpu_hour;
  std::string key;               // usable with --price
  std::optional<Instant> as_of;  // absent: undated
};

// Readings of memory are taken now and then, and what lies between two of them is not seen: so much more must fit.
inline constexpr std::int64_t kMemoryHeadroomPercent = 10;

// Whether the highest memory of the run's GPUs of one model fits a GPU that costs less an hour. How fast that one is
// is not looked at. Memory is what was in use, with what an allocator keeps for later: the work may need less.
struct PeakFit {
  std::string gpu_name;         // as its driver prints it
  std::int64_t peak_bytes = 0;  // of the GPU that used most
  std::optional<CheaperGpu> cheapest;
  std::size_t others = 0;  // other models that fit and cost less
  std::string reason;      // why there is none: "no_price", "other_currency", "none_fits"
};

// By model, of whole GPUs whose memory was read; MIG instances are parts of a board that is paid for as a whole.
// Compared with the least that any GPU of the model costs; where its price is only a range, with the low end.
std::vector<PeakFit> PeakFits(const RunResult& run, const DeviceTable& devices, const RateCard& rates,
                              const Catalogue& catalogue);

}  // namespace idleburn
