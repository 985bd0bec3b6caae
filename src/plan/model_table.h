#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/model_facts.h"

namespace idleburn {

// A well-known model by its name, however written: "meta-llama/Llama-2-7b-hf", "llama-2-7b", "Llama 2 7B".
std::optional<ModelFacts> FindModel(std::string_view name);

// The name without its owner, its tuning and its way of writing: of one shape, "llama27b".
std::string PlainModelName(std::string_view name);

// Every name of the table.
std::vector<std::string> ModelNames();

}  // namespace idleburn
