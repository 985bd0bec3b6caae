#pragma once

#include <string>
#include <string_view>

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

}  // namespace idleburn
