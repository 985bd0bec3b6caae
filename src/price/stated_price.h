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

// Which GPUs a price is for. Case does not matter. The text is read as the first of these that fits:
//  - "GPU-5f3a": the beginning of a UUID, with at least four digits;
//  - "node03": a host, with or without its domain or port;
//  - "A100": whole words of a model's name, so "A10" does not mean an A100;
//  - "" or "all": every GPU.
//
// A text without a mark of its kind was chosen over "host:node03": contracts and --price are typed by hand, and the
// names hardly ever collide.
class GpuSelector {
 public:
  explicit GpuSelector(std::string_view text);

  // How closely the text names the GPU. 0: not at all; then all < a model, by its number of words < a host < a UUID.
  [[nodiscard]] int Closeness(const GpuIdentity& gpu) const;
  [[nodiscard]] bool all() const { return text_.empty(); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// A price as given, and the GPUs it is for.
struct StatedPrice {
  GpuSelector gpus;
  std::string price;  // a number per GPU-hour, a key provider:instance[:market]@region, or a GPU's name
  std::string text;   // as it was given: "node03=1.9"
};

// Reads the text of --price: "8", or "A100=1.29,H100=gcp:a3-highgpu-1g@us-central1,2.10", a list of prices, each
// after the GPUs it is for; without a name it is for all. A missing price and GPUs that are named twice are usage
// errors.
Result<std::vector<StatedPrice>> ParseStatedPrices(std::string_view text);

}  // namespace idleburn
