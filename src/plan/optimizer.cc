#include "plan/optimizer.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "text/strings.h"
#include "text/suggestion.h"

namespace idleburn {
namespace {

constexpr auto kOptimizers = std::to_array<OptimizerFacts>({
    {"adamw", 8, 4},
    {"adam", 8, 4},
    {"adamw_torch", 8, 4},
    {"adamw_torch_fused", 8, 4},
    {"adamw_hf", 8, 4},
    {"adamw_apex_fused", 8, 4},
    {"adamw_torch_8bit", 2.03, 2.03},
    {"adamw_torch_4bit", 1.06, 1.06},
    {"adamw_8bit", 2.03, 2.03},
    {"adamw_bnb_8bit", 2.03, 2.03},
    {"paged_adamw_8bit", 2.03, 2.03},
    {"paged_adamw", 8, 8},
    {"paged_adamw_32bit", 8, 8},
    {"sgd", 4, 2},
    {"lion", 4, 2},
    {"lion_8bit", 1.02, 1.02},
    {"paged_lion_8bit", 1.02, 1.02},
    {"muon", 4, 2},
    {"adafactor", 0.1, 0.1},
});

}  // namespace

Result<OptimizerFacts> OptimizerNamed(std::string_view name) {
  std::vector<std::string> names;
  const std::string plain = Squash(name.substr(name.rfind('.') + 1));  // "torch.optim.AdamW"
  for (const OptimizerFacts& optimizer : kOptimizers) {
    if (Squash(optimizer.name) == plain) return optimizer;
    names.emplace_back(optimizer.name);
  }
  return FailUsage("optimizer '" + std::string(name.substr(0, 40)) + "' is not known; " + SuggestionFor(name, names));
}

}  // namespace idleburn
