#include "tco/lever_kinds.h"

#include <algorithm>
#include <array>

namespace idleburn {
namespace {

constexpr auto kKinds = std::to_array<LeverKind>({
    {"lora", "LoRA instead of full fine-tuning",
     "train adapters on frozen weights; compare the task's score before and after"},
    {"fewer_runs", "fewer runs", "stop runs that cannot win any more, and keep seeds so that none is repeated"},
    {"active_learning", "active learning",
     "label first what the model is least sure of; stop when the score no longer rises"},
    {"ci_gates", "CI gates", "let a short run on little data pass before a long one starts; fail on a dearer one"},
    {"spot", "spot with checkpoints",
     "take the checkpoint interval of idleburn plan, and prove a resume with idleburn drill first"},
    {"reserved", "a commitment", "commit to the GPUs that are busy in every hour, and to no more"},
    {"less_waste", "less waste", "run idleburn audit, then do what it recommends; prove it with idleburn compare"},
    {"distillation", "distillation", "train a small model on the large one's answers, and serve that"},
    {"quantised_serving", "quantised serving", "serve at 8 or 4 bits; hold its answers against the full model's"},
    {"autoscaling", "autoscaling", "let replicas follow the load, with a floor for cold starts"},
    {"retire_models", "retired models", "switch off what serves fewer requests than its replicas cost"},
    {"smaller_gpu", "a smaller GPU", "take the cheapest GPU of idleburn plan that fits with its margin"},
});

}  // namespace

std::span<const LeverKind> LeverKinds() { return kKinds; }

const LeverKind* FindLeverKind(std::string_view id) {
  const auto* found = std::find_if(kKinds.begin(), kKinds.end(), [&](const LeverKind& k) { return k.id == id; });
  return found == kKinds.end() ? nullptr : found;
}

}  // namespace idleburn
