#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "price/gpu_selector.h"

namespace idleburn {

// A price as it is given, and for which GPUs.
struct StatedPrice {
  GpuSelector gpus;
  std::string price;  // a number per GPU-hour, or a key provider:instance[:market]@region
  std::string text;   // as it was given: "node03=1.9"
};

// From the text of --price: "8", "A100=1.29,H100=gcp:a3-highgpu-1g@us-central1,2.10": a list of prices, each behind the
// GPUs that it is for; without them it is for all. A price that is missing, and GPUs named twice, are usage errors.
Result<std::vector<StatedPrice>> ParseStatedPrices(std::string_view text);

}  // namespace idleburn
