#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "plan/plan_words.h"

namespace idleburn {

// A file that describes a run or its model, in the words of a plan.
struct PlanFile {
  PlanWords words;
  std::vector<std::string> unused;  // keys that no plan knows, as the file writes them
};

// By the name's ending: .json is a model's config.json, .yaml or .yml a training configuration, all else TOML.
Result<PlanFile> ReadPlanFile(ByteSource& in, const std::string& name);

// A Hugging Face config.json. Fails if it is no JSON object or names no layers.
Result<PlanFile> ReadHfConfig(std::string_view text, const std::string& name);

// A training configuration of axolotl, LLaMA-Factory, torchtune or TRL: best effort, keys not understood are listed.
Result<PlanFile> ReadTrainingYaml(const std::string& text, const std::string& name);

// A plan in TOML: the names of PlanKeys at the top level.
Result<PlanFile> ReadPlanToml(std::string_view text, const std::string& name);

}  // namespace idleburn
