#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/model_facts.h"

namespace idleburn {

// The models that a plan knows by name: data/plan/models.csv, which the program contains. A name is looked up as it is
// written, then without the words that leave the shape as it is (docs/plan-models.md, "Names"). A version is never left
// out, because versions differ in their vocabulary.

// Finds a well-known model by its name, however it is written: "meta-llama/Llama-2-7b-chat-hf", "llama-2-7b",
// "Llama 2 7B". The facts keep the name as it was given. Absent if the table lacks it.
std::optional<ModelFacts> FindModel(std::string_view name);

// A name without its owner, its tuning and its way of writing, so that names of one shape are equal: "llama2-7b".
// Groups of digits stay apart: qwen2-57b is not qwen2.5-7b.
std::string PlainModelName(std::string_view name);

// What a name says of how its weights are stored.
enum class NamedFormat : std::uint8_t {
  kNone,
  // 4 and 8 bits, which adapters are trained on: "-bnb-4bit", "-AWQ", "-GPTQ-Int8".
  kFourBits,
  kEightBits,
  // A format of inference programs: nothing trains from it ("-GGUF").
  kInferenceOnly,
};
// Reads the format that a name ends with or contains.
NamedFormat FormatInName(std::string_view name);

// Whether a name says that its model is a mixture of experts: "8x7b", "30B-A3B", "MoE".
bool NamesExperts(std::string_view name);

// Every name in the table, as people write it ("llama-2-7b"), for suggestions.
std::vector<std::string> ModelNames();
// The three names of the table that are nearest to one that it lacks, nearest first: longer forms of it, then those
// with the fewest edits.
std::vector<std::string> NearestModels(std::string_view name);

}  // namespace idleburn
