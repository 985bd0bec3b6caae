#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "classify/totals.h"
#include "price/catalogue.h"
#include "price/rate_book.h"
#include "telemetry/device.h"

namespace idleburn {

// A GPU of the catalogue, on demand. Its price is in USD.
struct CheaperGpu {
  std::string gpu;             // "A100-40GB-SXM"
  std::int64_t memory_gb = 0;  // in 10^9 bytes as its data sheet says, the least that a driver reports
  Money per_gpu_hour;
  std::string key;               // usable with --price
  std::optional<Instant> as_of;  // absent: undated
};

// Memory is read now and then, and a higher value between two readings is not seen. So much more must fit.
inline constexpr std::int64_t kMemoryHeadroomPercent = 10;

// Whether the highest memory use of the run's GPUs of one model would fit a GPU that costs less per hour. It does not
// judge how fast that GPU is. Memory in use includes what an allocator keeps for later, so the work may need less.
struct PeakFit {
  std::string gpu_name;         // as its driver prints it
  std::int64_t peak_bytes = 0;  // of the GPU that used most
  std::optional<CheaperGpu> cheapest;
  std::size_t others = 0;  // other models that fit and cost less
  std::string reason;      // why there is no cheaper GPU: "no_price", "other_currency", "none_fits"
};

// The GPUs of other models that hold such a peak with the headroom, may replace that model, and cost less than `below`
// per hour. The cheapest comes first. `gpu_name` is as its driver prints it.
std::vector<CheaperGpu> CheaperFits(const std::string& gpu_name, std::int64_t peak_bytes, Money below,
                                    const Catalogue& catalogue);

// One entry per model of whole GPUs whose memory was read. MIG instances are left out: the board is paid for as a
// whole. Compares with the least that any GPU of the model costs; for a price range, with its low end.
std::vector<PeakFit> PeakFits(const RunResult& run, const DeviceTable& devices, const RateCard& rates,
                              const Catalogue& catalogue);

}  // namespace idleburn
