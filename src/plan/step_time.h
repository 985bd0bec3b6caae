#pragma once

#include <array>
#include <span>
#include <string_view>

#include "plan/gpu_rate.h"
#include "plan/model_facts.h"
#include "plan/run_config.h"

namespace idleburn {

// What a token costs one GPU, each as seconds if the hardware gave its peak (docs/plan.md, "Time").
enum class TimeTerm {
  kLinear,           // matmuls of the layers and the head
  kAttention,        // attention scores and values, forward and backward
  kElementwise,      // traffic of norms, activations, residuals
  kVocabulary,       // traffic of logits and loss
  kSharding,         // gathering and reducing shards over the links, as far as the GPU waits for it
  kCrossNode,        // what grows with the number of nodes
  kOptimizer,        // traffic of the optimizer step, spread over its tokens
  kLaunches,         // kernel launches of the host, spread over a pass's tokens: the GPU waits where they take longer
  kPassOverhead,     // the same, where the GPU waits anyway: small kernels, synchronisation
  kSmallMatmul,      // matmuls too narrow to fill the GPU
  kShardHooks,       // host work of gathering shards layer by layer
  kAdapters,         // traffic of adapters beside frozen layers
  kDeltas,           // weight-sized matrices that adapters build in every pass
  kDequantize,       // unpacking quantised weights in every pass
  kExperts,          // tokens sent to experts on other GPUs
  kRouting,          // traffic of sorting tokens to experts and back
  kExpertLaunches,   // host work of routing and of many small matmuls
  kTensor,           // activations exchanged within a layer
  kExchange,         // shards over the links, where they take longer than all else
  kBubble,           // pipeline ranks that wait, as a share of all that a pass takes
  kAdapterLaunches,  // host work of adapters beside every layer
  kCount,
};
inline constexpr std::size_t kTimeTermCount = static_cast<std::size_t>(TimeTerm::kCount);
using TimeTerms = std::array<double, kTimeTermCount>;

std::string_view Name(TimeTerm term);

TimeTerms TermsOf(const ModelFacts& facts, const RunConfig& run, const GpuRate& gpu);

// Seconds per token and GPU: the work of the GPU, the work of the host that launches it and that of the links, of which
// the longest counts, as a smooth maximum, longer by the pipeline's bubble; `coefficients` has one a term.
double SecondsPerToken(const TimeTerms& terms, std::span<const double> coefficients);

}  // namespace idleburn
