#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace idleburn {

// What a GPU is known by. Empty: not known.
struct GpuIdentity {
  std::string_view uuid;
  std::string_view host;
  std::string_view name;  // as its driver prints it
};

// Which GPUs a price is for: "GPU-5f3a" (the beginning of a UUID), "node03" (a host, with or without its domain),
// "A100" (words of a model's name: whole ones, so A10 is no A100), or all of them (empty, or "all"). Case does not
// matter. A text that can be read in several of these ways is the first.
class GpuSelector {
 public:
  explicit GpuSelector(std::string_view text);

  // How closely it names that GPU: 0 not at all; all < a model, by its words < a host < a UUID.
  [[nodiscard]] int Closeness(const GpuIdentity& gpu) const;
  [[nodiscard]] bool all() const { return text_.empty(); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

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
